//! The record: what it says of each call, and whose calls are in it.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_harness::{Calls, Fault, Kind, Spy, SpyOptions, Value};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use support::{Cuda, FILL, ok, spy};

/// What `Cuda::program` does, with its context.
const PROGRAM: &str = "\
cuInit(Flags: 0)
cuDevicePrimaryCtxRetain(pctx -> context#1, dev: 0)
cuCtxSetCurrent(ctx: context#1)
cuStreamCreate(phStream -> stream#1, Flags: 1)
cuEventCreate(phEvent -> event#1, Flags: 0)
cuModuleLoadData(module -> module#1, image: pointer)
cuModuleGetFunction(hfunc -> function#1, hmod: module#1, name: \"fill\")
cuMemAlloc_v2(dptr -> memory#1, bytesize: 256)
cuLaunchKernel(fill, grid: (1, 1, 1), block: (64, 1, 1), stream: stream#1, arguments: [memory#1, 64, 7])
cuEventRecord(hEvent: event#1, hStream: stream#1)
cuMemcpyDtoHAsync_v2(dstHost: pointer, srcDevice: memory#1, ByteCount: 256, hStream: stream#1)
cuStreamSynchronize(hStream: stream#1)
cuMemFree_v2(dptr: memory#1)
cuEventDestroy_v2(hEvent: event#1)
cuModuleUnload(hmod: module#1)
cuStreamDestroy_v2(hStream: stream#1)
cuDevicePrimaryCtxRelease_v2(dev: 0)
";

#[test]
fn a_snapshot_is_the_same_in_each_run() {
    for _ in 0..2 {
        let spy = spy();
        assert_eq!(Cuda::new(spy.driver()).program(), Ok(vec![7; 64]));
        assert_eq!(spy.snapshot(), PROGRAM);
        spy.ledger().assert_clean();
    }
}

#[test]
fn a_call_has_its_answer_its_arguments_and_its_time() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let memory = cuda.alloc(100).unwrap();
    assert_eq!(unsafe { cuda.driver.cuMemFree(memory + 1) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(unsafe { cuda.driver.cuMemFree(memory) }, CUresult::SUCCESS);
    let calls = spy.calls();
    let alloc = calls.of("cuMemAlloc")[0].clone();
    assert_eq!((alloc.number(), alloc.name(), alloc.thread()), (4, "cuMemAlloc_v2", 1));
    assert_eq!(alloc.answer(), Some(CUresult::SUCCESS));
    assert_eq!(alloc.argument("bytesize"), Some(Value::Unsigned(100)));
    let name = alloc.argument("dptr").and_then(|value| value.object()).unwrap();
    assert_eq!((name.kind(), name.number(), name.offset()), (Kind::Memory, 1, 0));
    assert_eq!(alloc.argument("nothing"), None);
    assert!(alloc.took().is_some() && !alloc.is_injected());
    assert!(calls.windows(2).all(|two| two[0].at() <= two[1].at()));
    let line = calls.of("cuMemFree")[0].to_string();
    assert!(line.starts_with("#5 [thread 1, "), "{line}");
    assert!(line.ends_with("cuMemFree_v2(dptr: memory#1+1) = CUDA_ERROR_INVALID_VALUE"), "{line}");
}

#[test]
fn enums_texts_floats_and_structures_are_shown_by_type() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (start, end) = (cuda.event(), cuda.event());
    let (mut value, mut mode, mut time) = (0, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED, 0.0);
    let mut name = std::ptr::null();
    let mut pinned = null_mut();
    spy.clear();
    unsafe {
        let blocks = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X;
        ok(cuda.driver.cuDeviceGetAttribute(&mut value, blocks, 0)).unwrap();
        ok(cuda.driver.cuThreadExchangeStreamCaptureMode(&mut mode)).unwrap();
        ok(cuda.driver.cuThreadExchangeStreamCaptureMode(&mut mode)).unwrap();
        ok(cuda.driver.cuGetErrorName(CUresult::CUDA_ERROR_NOT_READY, &mut name)).unwrap();
        ok(cuda.driver.cuMemHostAlloc(&mut pinned, 64, 0)).unwrap();
        ok(cuda.driver.cuEventRecord(start, null_mut())).unwrap();
        ok(cuda.driver.cuEventRecord(end, CU_STREAM_PER_THREAD)).unwrap();
        ok(cuda.driver.cuCtxSynchronize()).unwrap();
        ok(cuda.driver.cuEventElapsedTime(&mut time, start, end)).unwrap();
        ok(cuda.driver.cuMemFreeHost(pinned)).unwrap();
        ok(cuda.driver.cuEventDestroy(start)).unwrap();
        ok(cuda.driver.cuEventDestroy(end)).unwrap();
    }
    let lines = spy.snapshot();
    for line in [
        "cuDeviceGetAttribute(pi -> 1024, attrib: CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, dev: 0)",
        "cuThreadExchangeStreamCaptureMode(mode -> CU_STREAM_CAPTURE_MODE_GLOBAL)",
        "cuGetErrorName(error: CUDA_ERROR_NOT_READY, pStr -> \"CUDA_ERROR_NOT_READY\")",
        "cuMemHostAlloc(pp -> pinned#1, bytesize: 64, Flags: 0)",
        "cuEventRecord(hEvent: event#1, hStream: default)",
        "cuEventRecord(hEvent: event#2, hStream: per-thread)",
        // A time is another one in each run.
        "cuEventElapsedTime_v2(pMilliseconds -> .., hStart: event#1, hEnd: event#2)",
        "cuMemFreeHost(p: pinned#1)",
    ] {
        assert!(lines.lines().any(|found| found == line), "{line}\n{lines}");
    }
    let elapsed = spy.calls().of("cuEventElapsedTime")[0].argument("pMilliseconds");
    assert_eq!(elapsed, Some(Value::Float(time)));
}

#[test]
fn launches_are_read_by_the_kernels_own_parameters() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let module = cuda.load(FILL);
    let fill = cuda.function(module, "fill");
    let memory = cuda.alloc(256).unwrap();
    let mut attributes = [CUlaunchAttribute::default()];
    attributes[0].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attributes[0].value.priority = -1;
    let config = CUlaunchConfig {
        gridDimX: 2,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 32,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 16,
        hStream: null_mut(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: 1,
    };
    // out, n, value, as the kernel has them: at 0, 8 and 12.
    let mut packed = Vec::from((memory + 8).to_le_bytes());
    packed.extend(5u32.to_le_bytes());
    packed.extend(0x01020304u32.to_le_bytes());
    let mut size = packed.len();
    let mut extra = [
        CU_LAUNCH_PARAM_BUFFER_POINTER,
        packed.as_mut_ptr().cast(),
        CU_LAUNCH_PARAM_BUFFER_SIZE,
        (&raw mut size).cast(),
        CU_LAUNCH_PARAM_END,
    ];
    spy.clear();
    unsafe {
        ok(cuda.driver.cuLaunchKernelEx(&config, fill, null_mut(), extra.as_mut_ptr())).unwrap();
        ok(cuda.driver.cuCtxSynchronize()).unwrap();
    }
    let calls = spy.calls();
    assert_eq!(
        calls[0].snapshot(),
        "cuLaunchKernelEx(fill, grid: (2, 1, 1), block: (32, 1, 1), shared: 16, stream: default, PRIORITY: -1, \
         arguments: [memory#1+8, 5, 16909060])"
    );
    assert!(calls[0].is_launch());
    let launch = calls.launches().next().unwrap();
    assert_eq!((launch.kernel(), launch.grid(), launch.block()), (Some("fill"), [2, 1, 1], [32, 1, 1]));
    assert_eq!((launch.shared_bytes(), launch.attributes()[0].value()), (16, "-1"));
    let value = &launch.parameters().unwrap()[2];
    assert_eq!((value.offset(), value.integer(), &*value.hex()), (12, Some(0x01020304), "04030201"));
    assert_eq!(value.bytes(), [4, 3, 2, 1]);
    unsafe {
        ok(cuda.driver.cuMemFree(memory)).unwrap();
        ok(cuda.driver.cuModuleUnload(module)).unwrap();
    }
}

/// As many bytes of parameters as a kernel could have before CUDA 12.1.
#[test]
fn huge_argument_lists_are_read_whole() {
    const COUNT: usize = 500;
    let parameters: Vec<_> = (0..COUNT).map(|n| format!(".param .u64 p{n}")).collect();
    let image = format!(
        ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry many({}) {{ ret; }}\n",
        parameters.join(", ")
    );
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let module = cuda.load(&image);
    let many = cuda.function(module, "many");
    let mut values: Vec<u64> = (0..COUNT as u64).map(|n| n * n).collect();
    let mut pointers: Vec<*mut c_void> =
        values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
    unsafe {
        let list = pointers.as_mut_ptr();
        ok(cuda.driver.cuLaunchKernel(many, 1, 1, 1, 1, 1, 1, 0, null_mut(), list, null_mut())).unwrap();
        ok(cuda.driver.cuCtxSynchronize()).unwrap();
        ok(cuda.driver.cuModuleUnload(module)).unwrap();
    }
    let calls = spy.calls();
    let launch = calls.launches().next().unwrap();
    let read: Vec<_> = launch.parameters().unwrap().iter().map(|p| p.integer().unwrap()).collect();
    assert_eq!(read, values);
}

#[test]
fn names_are_never_used_twice() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.clear();
    let streams: Vec<_> = (0..40).map(|_| cuda.stream()).collect();
    for stream in streams {
        ok(unsafe { cuda.driver.cuStreamDestroy(stream) }).unwrap();
    }
    // The emulator, like a driver, may give a handle again.
    let last = cuda.stream();
    ok(unsafe { cuda.driver.cuStreamDestroy(last) }).unwrap();
    let made: Vec<_> =
        spy.calls().of("cuStreamCreate").iter().map(|call| call.argument("phStream")).collect();
    let numbers: Vec<_> =
        made.iter().map(|value| value.clone().unwrap().object().unwrap().number()).collect();
    assert_eq!(numbers, (1..=41).collect::<Vec<_>>());
    let destroyed = spy.calls().of("cuStreamDestroy")[39].snapshot();
    assert_eq!(destroyed, "cuStreamDestroy_v2(hStream: stream#40)");
}

/// Both wait for each other in the middle, so that their calls are made side by side.
#[test]
fn two_spies_side_by_side_do_not_hear_each_other() {
    let meet = Arc::new(Barrier::new(2));
    let threads = [7, 8].map(|value| {
        let meet = meet.clone();
        thread::spawn(move || {
            let spy = spy();
            let cuda = Cuda::new(spy.driver());
            meet.wait();
            for _ in 0..50 {
                let memory = cuda.alloc(64 * value).unwrap();
                ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
            }
            meet.wait();
            spy.calls()
        })
    });
    let [a, b] = threads.map(|thread| thread.join().unwrap());
    let sizes = |calls: &Calls| -> Vec<_> {
        calls.of("cuMemAlloc").iter().map(|call| call.argument("bytesize")).collect()
    };
    assert_eq!(sizes(&a), vec![Some(Value::Unsigned(448)); 50]);
    assert_eq!(sizes(&b), vec![Some(Value::Unsigned(512)); 50]);
    assert_eq!((a.len(), b.len()), (103, 103));
}

#[test]
fn calls_of_threads_that_the_program_starts_are_heard() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.clear();
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                cuda.make_current();
                let memory = cuda.alloc(64).unwrap();
                ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
            });
        }
    });
    let calls = spy.calls();
    assert_eq!((calls.len(), calls.count("cuMemAlloc")), (12, 4));
    // The first thread made the context.
    for thread in 2..=5 {
        let names = calls.of_thread(thread).names();
        assert_eq!(names, ["cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemFree_v2"]);
    }
    assert!(calls.of_thread(1).is_empty() && calls.of_thread(6).is_empty());
}

#[test]
fn a_spy_over_a_spy_hears_the_same_calls() {
    let inner = spy();
    let outer = Spy::over(&inner.driver()).unwrap();
    assert_eq!(Cuda::new(outer.driver()).program(), Ok(vec![7; 64]));
    assert_eq!(outer.snapshot(), PROGRAM);
    // The outer one asks for the context and the kernel besides.
    let asked = ["cuCtxGetCurrent", "cuFuncGetName", "cuFuncGetParamInfo"];
    let heard = inner.calls().filter(|call| !asked.contains(&call.name()));
    assert_eq!(heard.snapshot(), PROGRAM);
    assert!(inner.calls().len() > heard.len());
}

/// A launch takes a kernel of a library for a function, and what asks for a function's name does not: the kind is only known of what a
/// call was heard to give.
#[test]
fn a_kernel_that_was_there_before_is_not_asked_for() {
    let inner = spy();
    let before = Cuda::new(inner.driver());
    let fill = before.function(before.load(FILL), "fill");
    let memory = before.alloc(256).unwrap();
    let outer = Spy::over(&inner.driver()).unwrap();
    let cuda = Cuda::new(outer.driver());
    // The first launch gives it a name in the record.
    for _ in 0..2 {
        cuda.fill(fill, null_mut(), memory, 64, 7).unwrap();
    }
    assert_eq!((inner.count("cuFuncGetName"), inner.count("cuFuncGetParamInfo")), (0, 0));
    assert_eq!(inner.count("cuLaunchKernel"), 2);
    let calls = outer.calls();
    assert!(calls.launches().all(|launch| launch.kernel().is_none() && launch.parameters().is_none()));
    let heard = cuda.function(cuda.load(FILL), "fill");
    cuda.fill(heard, null_mut(), memory, 64, 7).unwrap();
    let calls = outer.calls();
    assert_eq!(calls.launches().last().and_then(|launch| launch.kernel()), Some("fill"));
}

#[test]
fn a_driver_outlives_its_spy() {
    let inner = spy();
    let outer = Spy::over(&inner.driver()).unwrap();
    let driver = outer.driver();
    drop(outer);
    let clone = (*driver).clone();
    drop(driver);
    assert!(clone.version().is_ok());
    assert_eq!(inner.count("cuDriverGetVersion"), 1);
}

#[test]
fn what_is_kept_can_be_limited_and_cleared() {
    let spy = SpyOptions::new().keep(3).over(&cuda_emulator::driver()).unwrap();
    for _ in 0..5 {
        assert!(spy.driver().version().is_ok());
    }
    let numbers = |spy: &Spy| spy.calls().iter().map(|call| call.number()).collect::<Vec<_>>();
    assert_eq!(numbers(&spy), [3, 4, 5]);
    spy.clear();
    assert!(spy.calls().is_empty());
    let ((), calls) = spy.during(|| assert!(spy.driver().version().is_ok()));
    assert_eq!((calls.len(), numbers(&spy)), (1, vec![6]));
}

/// A function that a program looks up itself is the spy's, too.
#[test]
fn get_proc_address_hands_out_the_spys_functions() {
    let spy = SpyOptions::new().hide("cuMemGetInfo").over(&cuda_emulator::driver()).unwrap();
    let driver = spy.driver();
    let find = |name: &str| {
        let (name, mut found) = (CString::new(name).unwrap(), null_mut());
        let mut status = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
        let code = unsafe { driver.cuGetProcAddress(name.as_ptr(), &mut found, 12_000, 0, &mut status) };
        ok(code).unwrap();
        (found.cast_const(), status.0)
    };
    assert_eq!(find("cuDriverGetVersion"), (driver.address("cuDriverGetVersion"), 0));
    assert_eq!(find("cuMemAlloc"), (driver.address("cuMemAlloc_v2"), 0));
    // Its ABI of then has no shim.
    assert_ne!(find("cuMemGetInfo").0, cuda_emulator::driver().address("cuMemGetInfo"));
    assert_eq!(find("cuMemGetInfo"), (std::ptr::null(), 1));
}

#[test]
fn the_time_of_a_call_is_without_a_delay_before_it() {
    let spy = spy();
    let delay = Duration::from_millis(20);
    spy.inject(Fault::on("cuDriverGetVersion").delay(delay)).unwrap();
    let start = Instant::now();
    assert!(spy.driver().version().is_ok());
    assert!(start.elapsed() >= delay);
    let calls = spy.calls();
    assert_eq!((calls[0].answer(), calls[0].is_injected()), (Some(CUresult::SUCCESS), false));
    assert!(calls[0].took().unwrap() + delay <= start.elapsed());
}
