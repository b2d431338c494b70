//! Green contexts and the log, code for code.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::{c_char, c_void};
use std::ptr::{from_mut, null_mut};
use std::sync::Mutex;
use support::*;

const OK: CUresult = CUresult::SUCCESS;
const SM: CUdevResourceType = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;

fn all(cuda: &Driver) -> CUdevResource {
    let mut resource = CUdevResource::default();
    ok(unsafe { cuda.cuDeviceGetDevResource(0, &mut resource, SM) });
    resource
}

fn count(resource: &CUdevResource) -> u32 {
    unsafe { resource.__bindgen_anon_1.sm.smCount }
}

/// A green context of all multiprocessors, and the context that calls take.
fn green_with_context(cuda: &Driver) -> (CUgreenCtx, CUcontext) {
    let (mut whole, mut description, mut green, mut context) =
        (all(cuda), null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuDevResourceGenerateDesc(&mut description, &mut whole, 1) });
    ok(unsafe { cuda.cuGreenCtxCreate(&mut green, description, 0, 1) });
    ok(unsafe { cuda.cuCtxFromGreenCtx(&mut context, green) });
    (green, context)
}

#[test]
fn parts_are_multiples_of_what_is_scheduled_together() {
    let cuda = cuda();
    let whole = all(&cuda);
    assert_eq!(count(&whole), 132);
    let split = |groups: u32, least, flags| {
        let mut parts = vec![CUdevResource::default(); groups as usize];
        let (mut made, mut rest) = (groups, CUdevResource::default());
        let code = unsafe {
            cuda.cuDevSmResourceSplitByCount(parts.as_mut_ptr(), &mut made, &whole, &mut rest, flags, least)
        };
        (code, made, count(&parts[0]), count(&rest))
    };
    assert_eq!(split(2, 10, 0), (OK, 2, 16, 100));
    assert_eq!(split(20, 16, 0), (OK, 8, 16, 4));
    assert_eq!(split(3, 1, 1), (OK, 3, 2, 126));
    assert_eq!(split(1, 133, 0).0, CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    assert_eq!(split(1, 8, 4).0, CUresult::CUDA_ERROR_INVALID_VALUE);
    // What came out of a split is not split again.
    let (mut part, mut made) = (CUdevResource::default(), 1);
    ok(unsafe { cuda.cuDevSmResourceSplitByCount(&mut part, &mut made, &whole, null_mut(), 0, 64) });
    let whole_part = part;
    let code =
        unsafe { cuda.cuDevSmResourceSplitByCount(&mut part, &mut made, &whole_part, null_mut(), 0, 8) };
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    // Without a place for parts, it tells how many there can be.
    let mut possible = 0;
    let code =
        unsafe { cuda.cuDevSmResourceSplitByCount(null_mut(), &mut possible, &whole, null_mut(), 0, 16) };
    assert_eq!((code, possible), (OK, 8));
    let other = CUdevResourceType::CU_DEV_RESOURCE_TYPE_WORKQUEUE;
    let mut resource = CUdevResource::default();
    let code = unsafe { cuda.cuDeviceGetDevResource(0, &mut resource, other) };
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

#[test]
fn a_green_context_keeps_the_primary_one_and_ends_with_its_streams() {
    let cuda = cuda();
    let (mut whole, mut description) = (all(&cuda), null_mut());
    ok(unsafe { cuda.cuDevResourceGenerateDesc(&mut description, &mut whole, 1) });
    let mut green = null_mut();
    let without = unsafe { cuda.cuGreenCtxCreate(&mut green, description, 0, 0) };
    assert_eq!(without, CUresult::CUDA_ERROR_INVALID_VALUE, "the flag is required");
    ok(unsafe { cuda.cuGreenCtxCreate(&mut green, description, 0, 1) });
    let (mut flags, mut active) = (0, 0);
    ok(unsafe { cuda.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active) });
    assert_eq!(active, 1);
    let mut stream = null_mut();
    let blocking = unsafe { cuda.cuGreenCtxStreamCreate(&mut stream, green, 0, 0) };
    assert_eq!(blocking, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(unsafe { cuda.cuGreenCtxStreamCreate(&mut stream, green, 1, 0) });
    let (mut context, mut told) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuCtxFromGreenCtx(&mut context, green) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    ok(unsafe { cuda.cuStreamGetGreenCtx(stream, &mut told) });
    assert_eq!(told, green);
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    ok(unsafe { cuda.cuGreenCtxDestroy(green) });
    assert_eq!(unsafe { cuda.cuGreenCtxDestroy(green) }, CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_ne!(unsafe { cuda.cuStreamSynchronize(stream) }, OK);
}

/// The names of the default streams mean those of the current context, also for a kernel of the other: so it runs at once, though the
/// default stream of its own context is kept waiting.
#[test]
fn kernels_run_on_the_default_stream_of_a_green_context_or_of_the_primary_one() {
    let (cuda, primary) = with_context();
    let (green, context) = green_with_context(&cuda);
    for (own, other) in [(primary, context), (context, primary)] {
        ok(unsafe { cuda.cuCtxSetCurrent(own) });
        let set = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry set(.param .u64 to) { \
                   .reg .u64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a], 7; ret; }";
        let set = function(&cuda, load(&cuda, set), "set");
        let mut to = alloc(&cuda, 4);
        let arguments = &mut [argument(&mut to)];
        // The kernel is loaded where its code is first run.
        ok(launch(&cuda, set, null_mut(), arguments));
        ok(unsafe { cuda.cuCtxSynchronize() });
        ok(unsafe { cuda.cuMemsetD32(to, 0, 1) });
        ok(unsafe { cuda.cuCtxSynchronize() });
        let mut busy = Busy::new(&cuda, null_mut());
        ok(unsafe { cuda.cuCtxSetCurrent(other) });
        ok(launch(&cuda, set, null_mut(), arguments));
        ok(unsafe { cuda.cuStreamSynchronize(null_mut()) });
        assert_eq!(read(&cuda, to, 4), 7_u32.to_ne_bytes());
        busy.release();
        ok(unsafe { cuda.cuCtxSetCurrent(own) });
        ok(unsafe { cuda.cuCtxSynchronize() });
    }
    ok(unsafe { cuda.cuCtxSetCurrent(primary) });
    ok(unsafe { cuda.cuGreenCtxDestroy(green) });
}

/// As driver 580 answers.
#[test]
fn a_green_context_has_a_legacy_stream_and_none_of_each_thread() {
    let (cuda, primary) = with_context();
    let (green, context) = green_with_context(&cuda);
    let of_thread = std::ptr::without_provenance_mut(2);
    for (current, expected) in [(primary, OK), (context, CUresult::CUDA_ERROR_INVALID_HANDLE), (primary, OK)]
    {
        ok(unsafe { cuda.cuCtxSetCurrent(current) });
        let to = alloc(&cuda, 4);
        assert_eq!(unsafe { cuda.cuMemsetD8Async(to, 0, 4, of_thread) }, expected);
        assert_eq!(host_function(&cuda, of_thread, || {}), expected);
        assert_eq!(unsafe { cuda.cuStreamSynchronize(of_thread) }, expected);
        let event = event(&cuda, 0);
        assert_eq!(unsafe { cuda.cuEventRecord(event, of_thread) }, expected);
        for legacy in [null_mut(), std::ptr::without_provenance_mut(1)] {
            ok(host_function(&cuda, legacy, || {}));
            ok(unsafe { cuda.cuStreamSynchronize(legacy) });
        }
    }
    ok(unsafe { cuda.cuGreenCtxDestroy(green) });
}

#[test]
fn errors_are_logged_once_and_told_to_listeners() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    unsafe extern "C" fn listen(data: *mut c_void, level: CUlogLevel, message: *mut c_char, length: usize) {
        assert_eq!(level, CUlogLevel::CU_LOG_LEVEL_ERROR);
        assert_eq!(data.addr(), 7);
        let bytes = unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) };
        HEARD.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
    }
    let cuda = cuda();
    let (mut handle, mut place) = (null_mut(), 0);
    ok(unsafe { cuda.cuLogsCurrent(&mut place, 0) });
    let data = std::ptr::without_provenance_mut(7);
    ok(unsafe { cuda.cuLogsRegisterCallback(Some(listen), data, &mut handle) });
    let mut device = 0;
    assert_eq!(unsafe { cuda.cuDeviceGet(&mut device, 77) }, CUresult::CUDA_ERROR_INVALID_DEVICE);
    ok(unsafe { cuda.cuLogsUnregisterCallback(handle) });
    assert_eq!(unsafe { cuda.cuLogsUnregisterCallback(handle) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    assert!(
        HEARD
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("(CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet"))
    );
    let (mut text, mut size) = ([0_u8; 25_601], 25_601);
    ok(unsafe { cuda.cuLogsDumpToMemory(from_mut(&mut place), text.as_mut_ptr().cast(), &mut size, 0) });
    let text = String::from_utf8_lossy(&text[..size]).into_owned();
    assert!(text.contains("(CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet"), "{text}");
    let mut small = [1_u8; 8];
    let mut size = small.len();
    ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), small.as_mut_ptr().cast(), &mut size, 0) });
    assert_eq!((size, small[7]), (7, 0), "cut, and ended by a NUL");
    assert_eq!(unsafe { cuda.cuLogsCurrent(&mut place, 1) }, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn an_event_of_a_green_context_is_behind_all_its_streams() {
    let cuda = cuda();
    let mut primary = null_mut();
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut primary, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(primary) });
    let of_primary = event(&cuda, 2);
    let (green, context) = green_with_context(&cuda);
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let [of_green, behind] = [event(&cuda, 2), event(&cuda, 2)];
    let (mut first, mut second) = (null_mut(), null_mut());
    for stream in [&mut first, &mut second] {
        ok(unsafe { cuda.cuGreenCtxStreamCreate(stream, green, 1, 0) });
    }
    for event in [of_primary, of_green] {
        let mut busy = Busy::new(&cuda, second);
        ok(unsafe { cuda.cuGreenCtxRecordEvent(green, event) });
        assert_eq!(unsafe { cuda.cuEventQuery(event) }, CUresult::CUDA_ERROR_NOT_READY);
        busy.release();
        ok(unsafe { cuda.cuEventSynchronize(event) });
    }
    // And all its streams wait for one.
    let mut busy = Busy::new(&cuda, second);
    ok(unsafe { cuda.cuEventRecord(of_green, second) });
    ok(unsafe { cuda.cuGreenCtxWaitEvent(green, of_green) });
    ok(unsafe { cuda.cuEventRecord(behind, first) });
    assert_eq!(unsafe { cuda.cuEventQuery(behind) }, CUresult::CUDA_ERROR_NOT_READY);
    busy.release();
    ok(unsafe { cuda.cuEventSynchronize(behind) });
    // An event of a context that shares nothing with it.
    let (mut created, mut other) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuCtxCreate_v3(&mut created, null_mut(), 0, 0, 0) });
    ok(unsafe { cuda.cuEventCreate(&mut other, 2) });
    let wrong = CUresult::CUDA_ERROR_INVALID_HANDLE;
    assert_eq!(unsafe { cuda.cuGreenCtxRecordEvent(green, other) }, wrong);
    assert_eq!(unsafe { cuda.cuGreenCtxRecordEvent(null_mut(), of_green) }, wrong);
    assert_eq!(unsafe { cuda.cuGreenCtxWaitEvent(null_mut(), of_green) }, wrong);
    ok(unsafe { cuda.cuCtxDestroy(created) });
}
