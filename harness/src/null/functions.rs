//! The functions of a driver that does nothing, and the table of them.
//!
//! Relies on: callers uphold the contract of the driver's functions: outputs are valid for writes, and the configuration and lists of a
//! launch exist. The compiler compares each function with the type of its name.
#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "C functions")]

use super::{LOG, LastLaunch};
use crate::read;
use cuda_driver_sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute,
    CUjit_option, CUlaunchConfig, CUmodule, CUresult, CUstream, pfn,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const OK: CUresult = CUresult::SUCCESS;

macro_rules! table {
    ($($name:ident = $function:expr;)*) => {
        /// The function of that name, or null.
        pub(super) fn lookup(name: &str) -> *const c_void {
            match name {
                $(stringify!($name) => {
                    let function: pfn::$name = $function;
                    function as *const c_void
                })*
                _ => null(),
            }
        }
    };
}

table! {
    cuInit = init;
    cuDriverGetVersion = version::<13_000>;
    cuDeviceGet = device_get;
    cuDeviceGetAttribute = device_attribute;
    cuDeviceGetCount = device_count;
    cuDevicePrimaryCtxRetain = retain;
    cuDevicePrimaryCtxRelease_v2 = release;
    cuCtxGetCurrent = get_current;
    cuCtxSetCurrent = set_current;
    cuCtxSynchronize = ctx_synchronize;
    cuMemcpyDtoDAsync_v2 = dtod;
    cuMemcpyPeerAsync = peer;
    cuStreamCreateWithPriority = stream_create_with_priority;
    cuStreamCreate = stream_create;
    cuStreamSynchronize = stream_synchronize;
    cuStreamQuery = stream_query;
    cuEventQuery = event_query;
    cuEventSynchronize = event_synchronize;
    cuStreamDestroy_v2 = stream_destroy;
    cuEventCreate = event_create;
    cuEventDestroy_v2 = event_destroy;
    cuModuleLoadData = module_load;
    cuModuleLoadDataEx = module_load_with_options;
    cuModuleUnload = module_unload;
    cuModuleGetFunction = get_function;
    cuFuncGetAttribute = func_attribute;
    cuFuncSetAttribute = func_set_attribute;
    cuFuncGetParamInfo = param_info;
    cuEventRecord = event_record;
    cuStreamWaitEvent = stream_wait_event;
    cuMemAllocAsync = mem_alloc_async;
    cuMemFreeAsync = mem_free_async;
    cuMemAlloc_v2 = mem_alloc;
    cuMemFree_v2 = mem_free;
    cuMemsetD8Async = memset;
    cuMemcpyHtoDAsync_v2 = htod;
    cuMemcpyDtoHAsync_v2 = dtoh;
    cuLaunchKernelEx = launch_ex;
    cuLaunchKernel = launch;
}

macro_rules! versions {
    ($($version:literal)*) => {
        /// `cuDriverGetVersion` for the newest of these versions that is not newer than requested. A C function has no context, so there is
        /// one function for each version.
        pub(super) fn version_of(asked: u32) -> *const c_void {
            let known: &[(u32, pfn::cuDriverGetVersion)] = &[$(($version, version::<$version>)),*];
            let found = known.iter().rev().find(|(version, _)| *version <= asked).or(known.first());
            found.map_or(null(), |(_, function)| *function as *const c_void)
        }
    };
}
versions! {
    11_080 12_000 12_010 12_020 12_030 12_040 12_050 12_060 12_080 12_090 13_000 13_010 13_020 13_030 13_040 13_050
}

fn count() -> CUresult {
    LOG.with(|log| log.calls.set(log.calls.get() + 1));
    OK
}

/// Counts the call and writes `value` to `out`.
///
/// # Safety
///
/// 1. `out` is valid for writes: an output that the caller of a driver function has passed, as the head of this file says.
unsafe fn give<T>(out: *mut T, value: T) -> CUresult {
    // SAFETY: it is valid for writes of a `T`: duty 1.
    unsafe { out.write(value) };
    count()
}

fn handle<T>(number: usize) -> *mut T {
    without_provenance_mut(number)
}

/// Runs the action that is to run before a call of this function.
fn begin(name: &str) {
    let act = LOG.with(|log| {
        let mut act = log.act.borrow_mut();
        if act.as_ref().is_some_and(|(names, _)| names.contains(&name)) { act.take() } else { None }
    });
    act.into_iter().for_each(|(_, act)| act());
}

/// Counts a call that submits work.
fn submission(name: &str) -> CUresult {
    begin(name);
    count()
}

/// Counts a call that orders work on streams or ends it.
fn mark(name: &'static str, stream: CUstream) -> CUresult {
    begin(name);
    LOG.with(|log| log.marks.borrow_mut().push((name, stream.addr())));
    count()
}

unsafe extern "C" fn init(_: c_uint) -> CUresult {
    OK
}

unsafe extern "C" fn version<const VERSION: c_int>(out: *mut c_int) -> CUresult {
    // SAFETY: by the function's contract an output for a number.
    unsafe { out.write(VERSION) };
    OK
}

unsafe extern "C" fn device_get(out: *mut CUdevice, ordinal: c_int) -> CUresult {
    match ordinal {
        // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
        0..2 => unsafe { give(out, ordinal) },
        _ => CUresult::CUDA_ERROR_INVALID_DEVICE,
    }
}

unsafe extern "C" fn device_count(out: *mut c_int) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, 2) }
}

unsafe extern "C" fn device_attribute(out: *mut c_int, which: CUdevice_attribute, _: CUdevice) -> CUresult {
    use CUdevice_attribute as A;
    let value = match which {
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        | A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
        | A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => 1024,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => 64,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => i32::MAX,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y | A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => 65_535,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 49_152,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 232_448,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
        A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 132,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        _ => 1,
    };
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, value) }
}

/// Device 0 has context 0x1000, device 1 has 0x2000.
unsafe extern "C" fn retain(out: *mut CUcontext, device: CUdevice) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, handle(0x1000 * (device as usize + 1))) }
}

unsafe extern "C" fn release(_: CUdevice) -> CUresult {
    count()
}

unsafe extern "C" fn get_current(out: *mut CUcontext) -> CUresult {
    LOG.with(|log| log.queries.set(log.queries.get() + 1));
    // SAFETY: by the function's contract an output for a handle.
    unsafe { out.write(handle(super::current())) };
    OK
}

unsafe extern "C" fn set_current(context: CUcontext) -> CUresult {
    LOG.with(|log| log.current.set(context.addr()));
    count()
}

unsafe extern "C" fn ctx_synchronize() -> CUresult {
    mark("cuCtxSynchronize", null_mut())
}

unsafe extern "C" fn stream_create(out: *mut CUstream, _: c_uint) -> CUresult {
    let number = LOG.with(|log| log.streams.replace(log.streams.get() + 1));
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, handle(0x5000 + number)) }
}

unsafe extern "C" fn stream_create_with_priority(out: *mut CUstream, flags: c_uint, _: c_int) -> CUresult {
    // SAFETY: the output is that of this function, with the same requirements.
    unsafe { stream_create(out, flags) }
}

unsafe extern "C" fn stream_destroy(stream: CUstream) -> CUresult {
    mark("cuStreamDestroy_v2", stream)
}

unsafe extern "C" fn stream_synchronize(_: CUstream) -> CUresult {
    count()
}

unsafe extern "C" fn stream_wait_event(stream: CUstream, _: CUevent, _: c_uint) -> CUresult {
    mark("cuStreamWaitEvent", stream)
}

/// The result of `cuStreamQuery` and `cuEventQuery` on all threads.
static PROGRESS: AtomicU32 = AtomicU32::new(OK.0);

/// Sets the result of `cuStreamQuery` and `cuEventQuery` from now on, on all threads, because another thread may query the progress of
/// this thread's work.
///
/// ```
/// use cuda_driver_sys::CUresult;
/// use cuda_harness::null::{self, NullDriver};
///
/// let cuda = NullDriver::new().driver();
/// null::set_progress(CUresult::CUDA_ERROR_NOT_READY);
/// assert_eq!(unsafe { cuda.cuStreamQuery(std::ptr::null_mut()) }, CUresult::CUDA_ERROR_NOT_READY);
/// null::set_progress(CUresult::SUCCESS);
/// ```
pub fn set_progress(code: CUresult) {
    PROGRESS.store(code.0, Ordering::SeqCst);
}

fn progress() -> CUresult {
    let _ = count();
    CUresult(PROGRESS.load(Ordering::SeqCst))
}

unsafe extern "C" fn stream_query(_: CUstream) -> CUresult {
    progress()
}

unsafe extern "C" fn event_query(_: CUevent) -> CUresult {
    progress()
}

unsafe extern "C" fn event_synchronize(_: CUevent) -> CUresult {
    count()
}

unsafe extern "C" fn event_create(out: *mut CUevent, _: c_uint) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, handle(0x6000)) }
}

unsafe extern "C" fn event_destroy(_: CUevent) -> CUresult {
    count()
}

unsafe extern "C" fn event_record(_: CUevent, stream: CUstream) -> CUresult {
    mark("cuEventRecord", stream)
}

/// A different address for each allocation, so that tests can distinguish buffers.
fn fresh_address() -> CUdeviceptr {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    0x3000_0000_0000 + (COUNT.fetch_add(1, Ordering::Relaxed) << 36)
}

unsafe extern "C" fn mem_alloc(out: *mut CUdeviceptr, _: usize) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, fresh_address()) }
}

unsafe extern "C" fn mem_alloc_async(out: *mut CUdeviceptr, _: usize, _: CUstream) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, fresh_address()) }
}

unsafe extern "C" fn mem_free(_: CUdeviceptr) -> CUresult {
    count()
}

unsafe extern "C" fn mem_free_async(_: CUdeviceptr, stream: CUstream) -> CUresult {
    mark("cuMemFreeAsync", stream)
}

unsafe extern "C" fn module_load(out: *mut CUmodule, _: *const c_void) -> CUresult {
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, handle(0x7000)) }
}

unsafe extern "C" fn module_load_with_options(
    out: *mut CUmodule,
    image: *const c_void,
    _: c_uint,
    _: *mut CUjit_option,
    _: *mut *mut c_void,
) -> CUresult {
    // SAFETY: the output is that of this function, with the same requirements; the image is not read.
    unsafe { module_load(out, image) }
}

unsafe extern "C" fn module_unload(_: CUmodule) -> CUresult {
    count()
}

/// Every name except `missing` has one.
unsafe extern "C" fn get_function(out: *mut CUfunction, _: CUmodule, name: *const c_char) -> CUresult {
    // SAFETY: by the function's contract a C string, which is not written during the call.
    if unsafe { CStr::from_ptr(name) } == c"missing" {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, handle(0x8000)) }
}

unsafe extern "C" fn func_attribute(out: *mut c_int, which: CUfunction_attribute, _: CUfunction) -> CUresult {
    use CUfunction_attribute as A;
    let value = match which {
        A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => LOG.with(|log| log.threads.get()).unwrap_or(1024),
        A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => 49_152,
        A::CU_FUNC_ATTRIBUTE_NUM_REGS => 32,
        _ => 0,
    };
    // SAFETY: 1: `out` is an output of this function, valid for writes by its contract.
    unsafe { give(out, value) }
}

unsafe extern "C" fn func_set_attribute(_: CUfunction, _: CUfunction_attribute, _: c_int) -> CUresult {
    count()
}

unsafe extern "C" fn param_info(
    _: CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    let found = LOG.with(|log| log.sizes.borrow().get(index).copied());
    let Some(bytes) = found else { return CUresult::CUDA_ERROR_INVALID_VALUE };
    // SAFETY: 1: both are outputs of this function, valid for writes by its contract, but that `size` may be null, which is checked.
    unsafe {
        let _ = give(offset, 0);
        if size.is_null() { count() } else { give(size, bytes) }
    }
}

unsafe extern "C" fn memset(_: CUdeviceptr, _: u8, _: usize, _: CUstream) -> CUresult {
    submission("cuMemsetD8Async")
}

unsafe extern "C" fn htod(_: CUdeviceptr, _: *const c_void, _: usize, _: CUstream) -> CUresult {
    submission("cuMemcpyHtoDAsync_v2")
}

unsafe extern "C" fn dtod(_: CUdeviceptr, _: CUdeviceptr, _: usize, _: CUstream) -> CUresult {
    submission("cuMemcpyDtoDAsync_v2")
}

unsafe extern "C" fn peer(
    _: CUdeviceptr,
    _: CUcontext,
    _: CUdeviceptr,
    _: CUcontext,
    _: usize,
    _: CUstream,
) -> CUresult {
    submission("cuMemcpyPeerAsync")
}

unsafe extern "C" fn dtoh(out: *mut c_void, _: CUdeviceptr, bytes: usize, _: CUstream) -> CUresult {
    begin("cuMemcpyDtoHAsync_v2");
    // SAFETY: by the function's contract `out` is valid for writes of `bytes` bytes.
    unsafe { out.cast::<u8>().write_bytes(0, bytes) };
    count()
}

/// Records a launch, as a driver reads it, and returns the configured result.
///
/// # Safety
///
/// 1. `arguments` is null, or a list with an aligned pointer for each parameter that was [set](super::set_parameters), each to as many
///    bytes, initialised or padding, which are not written during the call.
unsafe fn launched(launch: LastLaunch, arguments: *mut *mut c_void) -> CUresult {
    let _ = count();
    let answer = LOG.with(|log| {
        log.launches.set(log.launches.get() + 1);
        let sizes = log.sizes.borrow();
        let sizes = sizes.iter().enumerate().filter(|_| !arguments.is_null());
        let copies = sizes.map(|(number, &size)| {
            let mut bytes = vec![0; size];
            // SAFETY: checked to be not null, so the list has that pointer, by duty 1; 1 of `copy`: it points to that many bytes, by the
            // same duty; `bytes` is new.
            unsafe { read::copy((*arguments.add(number)).cast(), &mut bytes) };
            bytes
        });
        *log.last.borrow_mut() = LastLaunch { arguments: copies.collect(), ..launch };
        log.answer.borrow().clone()
    });
    answer.map_or(OK, |answer| answer())
}

unsafe extern "C" fn launch_ex(
    config: *const CUlaunchConfig,
    _: CUfunction,
    arguments: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    // SAFETY: by the function's contract an aligned, initialised configuration, which is not written during the call, with its number
    // of attributes, whose ids are set; the list upholds the contract, which is duty 1 of `launched`.
    unsafe {
        let config = &*config;
        let id = |number: u32| (&raw const (*config.attrs.add(number as usize)).id).read().0;
        let launch = LastLaunch {
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared_bytes: config.sharedMemBytes,
            attributes: (0..config.numAttrs).map(id).collect(),
            arguments: Vec::new(),
        };
        launched(launch, arguments)
    }
}

unsafe extern "C" fn launch(
    _: CUfunction,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared_bytes: c_uint,
    _: CUstream,
    arguments: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    let launch =
        LastLaunch { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes, ..LastLaunch::default() };
    // SAFETY: 1: the list upholds the function's contract.
    unsafe { launched(launch, arguments) }
}
