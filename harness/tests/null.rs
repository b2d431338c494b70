//! The driver that does nothing: what it counts, reads and answers. Runs under Miri too.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use cuda_harness::null::{self, LastLaunch, NullDriver};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::rc::Rc;
use std::thread;

const OK: CUresult = CUresult::SUCCESS;

#[test]
fn a_thread_counts_its_own_calls() {
    let cuda = NullDriver::new().driver();
    let (mut stream, mut event, mut context) = (null_mut(), null_mut(), null_mut());
    unsafe {
        assert_eq!(cuda.cuInit(0), OK);
        assert_eq!(cuda.cuDevicePrimaryCtxRetain(&mut context, 1), OK);
        assert_eq!(cuda.cuCtxSetCurrent(context), OK);
        assert_eq!(cuda.cuStreamCreate(&mut stream, 1), OK);
        assert_eq!(cuda.cuEventCreate(&mut event, 0), OK);
        assert_eq!((null::calls(), null::current()), (4, context.addr()));
        null::reset();
        let mut found = null_mut();
        assert_eq!((cuda.cuCtxGetCurrent(&mut found), found), (OK, context));
        assert_eq!(cuda.cuEventRecord(event, stream), OK);
        assert_eq!(cuda.cuStreamWaitEvent(stream, event, 0), OK);
        assert_eq!(cuda.cuCtxSynchronize(), OK);
        assert_eq!(cuda.cuStreamDestroy(stream), OK);
    }
    let at = stream.addr();
    let order = [
        ("cuEventRecord", at),
        ("cuStreamWaitEvent", at),
        ("cuCtxSynchronize", 0),
        ("cuStreamDestroy_v2", at),
    ];
    assert_eq!((null::calls(), null::queries(), null::launches()), (4, 1, 0));
    assert_eq!(null::marks(), order);
    let other = thread::spawn(|| (null::calls(), null::queries(), null::marks(), null::current()));
    assert_eq!(other.join().unwrap(), (0, 0, Vec::new(), 0));
    null::reset();
    assert_eq!((null::calls(), null::queries(), null::marks()), (0, 0, Vec::new()));
}

#[test]
fn a_launch_is_read_as_a_driver_reads_it() {
    /// With padding, which nobody has set.
    #[repr(C)]
    struct Padded(u8, u32);
    let cuda = NullDriver::new().driver();
    null::set_parameters(&[8, size_of::<Padded>()]);
    let (mut offset, mut size) = (7, 7);
    let mut padded = MaybeUninit::<Padded>::uninit();
    unsafe {
        assert_eq!(cuda.cuFuncGetParamInfo(null_mut(), 1, &mut offset, &mut size), OK);
        assert_eq!(size, 8);
        assert_eq!(cuda.cuFuncGetParamInfo(null_mut(), 0, &mut offset, null_mut()), OK);
        let past = cuda.cuFuncGetParamInfo(null_mut(), 2, &mut offset, &mut size);
        assert_eq!(past, CUresult::CUDA_ERROR_INVALID_VALUE);
        (&raw mut (*padded.as_mut_ptr()).0).write(3);
        (&raw mut (*padded.as_mut_ptr()).1).write(4);
    }
    let mut address = 64_u64;
    let mut list: [*mut c_void; 2] = [(&raw mut address).cast(), padded.as_mut_ptr().cast()];
    let mut attributes = [CUlaunchAttribute::default(); 2];
    attributes[0].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 2,
        gridDimZ: 3,
        blockDimX: 4,
        blockDimY: 5,
        blockDimZ: 6,
        sharedMemBytes: 7,
        attrs: attributes.as_mut_ptr(),
        numAttrs: 2,
        ..CUlaunchConfig::default()
    };
    null::reset();
    assert_eq!(unsafe { cuda.cuLaunchKernelEx(&config, null_mut(), list.as_mut_ptr(), null_mut()) }, OK);
    let launch = null::last_launch();
    assert_eq!((launch.grid, launch.block, launch.shared_bytes), ([1, 2, 3], [4, 5, 6], 7));
    assert_eq!(launch.attributes, [2, 8]);
    assert_eq!(launch.arguments[0], 64_u64.to_ne_bytes());
    assert_eq!((launch.arguments[1][0], &launch.arguments[1][4..]), (3, &4_u32.to_ne_bytes()[..]));
    let plain = || unsafe {
        cuda.cuLaunchKernel(null_mut(), 9, 1, 1, 8, 1, 1, 0, null_mut(), null_mut(), null_mut())
    };
    assert_eq!((plain(), null::calls(), null::launches()), (OK, 2, 2));
    let launch = null::last_launch();
    assert_eq!((launch.grid, launch.block, launch.arguments.len()), ([9, 1, 1], [8, 1, 1], 0));
    null::reset();
    assert_eq!(null::last_launch(), LastLaunch::default());
    // An answer may depend on what is so at the launch.
    null::answer_launches(|| CUresult(null::launches() as u32));
    assert_eq!((plain(), plain()), (CUresult(1), CUresult(2)));
}

#[test]
fn what_is_to_run_runs_once_before_the_call() {
    let cuda = NullDriver::new().driver();
    let calls = Rc::new(Cell::new(None));
    let told = calls.clone();
    null::reset();
    null::before_next(&["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"], move || {
        told.set(Some(null::calls()))
    });
    let mut bytes = [7_u8; 4];
    unsafe {
        assert_eq!(cuda.cuMemsetD8Async(64, 1, 4, null_mut()), OK);
        assert_eq!(calls.get(), None);
        assert_eq!(cuda.cuMemcpyDtoHAsync(bytes.as_mut_ptr().cast(), 64, 4, null_mut()), OK);
        assert_eq!((calls.take(), bytes), (Some(1), [0; 4]));
        assert_eq!(cuda.cuMemcpyHtoDAsync(64, bytes.as_ptr().cast(), 4, null_mut()), OK);
        assert_eq!(calls.get(), None);
    }
}

#[test]
fn it_is_the_driver_that_is_asked_for() {
    let cuda = NullDriver::new().hide("cuMemAlloc").hide("cuEventRecord").driver();
    assert!(!cuda.has("cuMemAlloc_v2") && !cuda.has("cuEventRecord") && cuda.has("cuMemFree_v2"));
    assert!(!cuda.has("cuGraphCreate") && !cuda.has("cuFuncGetParamCount"));
    for (asked, version) in [(11_080, 11_080), (12_031, 12_030), (99_000, 13_050), (0, 11_080)] {
        let cuda = NullDriver::new().version(asked).driver();
        assert_eq!(cuda.version(), Ok(version));
    }
    let (mut device, mut one, mut other, mut function) = (9, 0, 0, null_mut());
    let cuda = NullDriver::default().driver();
    unsafe {
        assert_eq!((cuda.cuDeviceGet(&mut device, 1), device), (OK, 1));
        for ordinal in [-1, 2] {
            assert_eq!(cuda.cuDeviceGet(&mut device, ordinal), CUresult::CUDA_ERROR_INVALID_DEVICE);
        }
        assert_eq!((cuda.cuMemAlloc(&mut one, 8), cuda.cuMemAlloc(&mut other, 8)), (OK, OK));
        assert_ne!(one, other);
        let missing = cuda.cuModuleGetFunction(&mut function, null_mut(), c"missing".as_ptr());
        assert_eq!(missing, CUresult::CUDA_ERROR_NOT_FOUND);
    }
}

#[test]
fn a_quiet_one_counts_and_nothing_else() {
    let cuda = NullDriver::new().quiet().hide("cuStreamQuery").driver();
    assert!(!cuda.has("cuStreamQuery"));
    let (mut one, mut other, mut memory) = (null_mut(), null_mut(), 0);
    let before = null::total_calls();
    null::reset();
    unsafe {
        assert_eq!(cuda.cuStreamCreateWithPriority(&mut one, 1, 0), OK);
        assert_eq!(cuda.cuStreamCreateWithPriority(&mut other, 1, 0), OK);
        assert_eq!(cuda.cuMemAllocAsync(&mut memory, 8, one), OK);
        // Nothing is read of these.
        assert_eq!(cuda.cuLaunchKernelEx(std::ptr::null(), null_mut(), null_mut(), null_mut()), OK);
    }
    assert_ne!(one, other);
    assert!(memory != 0 && null::total_calls() - before >= 4);
    assert_eq!((null::calls(), null::launches(), null::marks().len()), (0, 0, 0));
}
