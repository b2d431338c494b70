//! The table as a whole: what is in it, what is not, and handles that are none.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[cfg(not(miri))]
#[path = "driver_support/library.rs"]
mod library;
#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null_mut, without_provenance_mut};
use support::*;

#[test]
fn it_has_what_driver_580_has() {
    let cuda = cuda_emulator::driver();
    assert_eq!(cuda.version(), Ok(13_000));
    for function in FUNCTIONS {
        assert_eq!(cuda.has(function.name()), function.since <= 13_000, "{}", function.name());
    }
    assert_eq!(FUNCTIONS.iter().filter(|function| !cuda.has(function.name())).count(), 43);
    let newer = unsafe { cuda.cuFuncGetParamCount(null_mut(), null_mut()) };
    assert_eq!(newer, CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
}

#[test]
fn what_is_not_emulated_says_so() {
    let (cuda, _) = with_own_context();
    let ask = || unsafe { cuda.cuGraphicsUnregisterResource(null_mut()) };
    assert_eq!(ask(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(
        unsafe { cuda.cuGraphicsUnmapResources(0, null_mut(), null_mut()) },
        CUresult::CUDA_ERROR_NOT_SUPPORTED
    );
    assert_eq!(ask(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let calls = cuda_emulator::unsupported_calls();
    assert_eq!(calls.iter().filter(|name| **name == "cuGraphicsUnregisterResource").count(), 1);
    assert!(calls.contains(&"cuGraphicsUnmapResources"));
}

/// Each says it once, with what to do; `cuGetExportTable`, which programs ask without need, says nothing.
#[test]
fn what_is_not_emulated_says_what_to_do() {
    const VARIABLE: &str = "DRIVER_TABLE_MISSING";
    if std::env::var_os(VARIABLE).is_some() {
        let (cuda, _) = with_own_context();
        let older = cuda_emulator::symbol_address("cuMemAlloc");
        let older: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(older) };
        for _ in 0..2 {
            assert_eq!(older(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
            let code = unsafe { cuda.cuGraphicsUnregisterResource(null_mut()) };
            assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
            let code = unsafe { cuda.cuGetExportTable(&mut std::ptr::null(), &CUuuid::default()) };
            assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        assert_eq!(cuda_emulator::unsupported_calls().len(), 3);
        return;
    }
    let output = child("what_is_not_emulated_says_what_to_do", &[(VARIABLE, "1")]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("cuda-emulator:")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].contains("cuMemAlloc is not") && lines[0].contains("replaced by cuMemAlloc_v2"),
        "{text}"
    );
    assert!(lines[1].contains("copy through host memory"), "{text}");
}

/// Programs compare these with what they know of drivers.
#[test]
fn codes_are_described_as_drivers_do() {
    let cuda = driver();
    for (code, expected) in [
        (CUresult::CUDA_SUCCESS, "no error"),
        (CUresult::CUDA_ERROR_INVALID_VALUE, "invalid argument"),
        (CUresult::CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
        (CUresult::CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
        (CUresult::CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
        (CUresult::CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
        (CUresult::CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
        (CUresult::CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
        (CUresult::CUDA_ERROR_NOT_FOUND, "named symbol not found"),
        (CUresult::CUDA_ERROR_NOT_READY, "device not ready"),
        (CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
        (CUresult::CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
        (CUresult::CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
        (CUresult::CUDA_ERROR_UNKNOWN, "unknown error"),
    ] {
        let mut text = std::ptr::null();
        ok(unsafe { cuda.cuGetErrorString(code, &mut text) });
        assert_eq!(unsafe { std::ffi::CStr::from_ptr(text) }.to_str(), Ok(expected), "{code:?}");
    }
}

/// None is dereferenced: freed, of another kind, invented.
#[test]
fn handles_that_are_none_are_errors() {
    let (cuda, context) = with_own_context();
    let (good_stream, good_event) = (stream(&cuda, 0), event(&cuda, 0));
    let dead = stream(&cuda, 0);
    ok(unsafe { cuda.cuStreamDestroy(dead) });
    let addresses = [
        3,
        0x1000,
        0x1234_5678,
        usize::MAX,
        good_event.addr(),
        good_stream.addr() + 8,
        context.addr(),
        dead.addr(),
    ];
    for address in addresses {
        let code = CUresult::CUDA_ERROR_INVALID_HANDLE;
        let stream: CUstream = without_provenance_mut(address);
        unsafe {
            assert_eq!(cuda.cuStreamQuery(stream), code);
            assert_eq!(cuda.cuStreamSynchronize(stream), code);
            assert_eq!(cuda.cuStreamDestroy(stream), code);
            assert_eq!(cuda.cuEventRecord(good_event, stream), code);
            assert_eq!(cuda.cuModuleUnload(stream.cast()), code);
            assert_eq!(cuda.cuModuleGetFunction(&mut null_mut(), stream.cast(), c"a".as_ptr()), code);
            assert_eq!(launch(&cuda, stream.cast(), good_stream, &mut []), code);
            assert_eq!(cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(0), stream.cast()), code);
            assert_eq!(cuda.cuLibraryGetKernel(&mut null_mut(), stream.cast(), c"a".as_ptr()), code);
            assert_eq!(cuda.cuLibraryUnload(stream.cast()), code);
        }
    }
    for address in [3, 0x1000, usize::MAX, good_stream.addr(), context.addr() + 8] {
        let context: CUcontext = without_provenance_mut(address);
        unsafe {
            assert_eq!(cuda.cuEventQuery(context.cast()), CUresult::CUDA_ERROR_INVALID_HANDLE);
            assert_eq!(cuda.cuEventDestroy(context.cast()), CUresult::CUDA_ERROR_INVALID_HANDLE);
            assert_eq!(cuda.cuCtxSetCurrent(context), CUresult::CUDA_ERROR_INVALID_CONTEXT);
            assert_eq!(cuda.cuCtxPushCurrent(context), CUresult::CUDA_ERROR_INVALID_CONTEXT);
            assert_eq!(cuda.cuCtxDestroy(context), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
    }
}

#[test]
fn a_fault_is_reported_once_and_whole() {
    const VARIABLE: &str = "DRIVER_TABLE_FAULT";
    if std::env::var_os(VARIABLE).is_some() {
        let (cuda, _) = with_own_context();
        let kernel = function(&cuda, load(&cuda, KERNELS), "iota");
        let mut target = alloc(&cuda, 100);
        let code = launch_as(
            &cuda,
            kernel,
            [2, 1, 1],
            [32, 1, 1],
            0,
            null_mut(),
            [argument(&mut target)].as_mut_ptr(),
            null_mut(),
        );
        ok(code);
        assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        let fault = cuda_emulator::last_fault().unwrap();
        assert_eq!(cuda_emulator::faults().len(), 1);
        assert_eq!((fault.kind, fault.kernel.as_str()), (cuda_emulator::FaultKind::IllegalAddress, "iota"));
        assert!(fault.address >= Some(target + 100) && fault.ptx_line > 0, "{fault}");
        return;
    }
    let output = child("a_fault_is_reported_once_and_whole", &[(VARIABLE, "1")]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("cuda-emulator:").count(), 1, "{text}");
    for part in ["`iota`", "of 100 bytes", "PTX line", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The environment makes its calls fail, and has them and what was left behind written down.
#[test]
#[cfg(not(miri))]
fn the_shared_library_watches_a_program_where_it_is_asked() {
    const LIBRARY: &str = "CUDA_LAUNCH_TEST_LIBRARY";
    if let Some(path) = std::env::var_os(LIBRARY) {
        let cuda = unsafe { Driver::open(path) }.unwrap();
        let (mut context, mut memory) = (null_mut(), 0);
        unsafe {
            ok(cuda.cuInit(0));
            ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0));
            ok(cuda.cuCtxSetCurrent(context));
            ok(cuda.cuMemAlloc(&mut memory, 4096));
            assert_eq!(cuda.cuMemAlloc(&mut 0, 4096), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
            ok(cuda.cuMemAlloc(&mut 0, 4096));
        }
        return;
    }
    let Some(library) = library::shared_library() else { return skip::skipped("no cargo here to build it") };
    let log = std::env::temp_dir().join(format!("cuda-launch-harness-{}.log", std::process::id()));
    let name = "the_shared_library_watches_a_program_where_it_is_asked";
    let asked = [
        (LIBRARY, library.to_str().unwrap()),
        ("CUDA_LAUNCH_HARNESS_FAIL", "cuMemAlloc@2=OUT_OF_MEMORY"),
        ("CUDA_LAUNCH_HARNESS_LEAKS", "1"),
        ("CUDA_LAUNCH_HARNESS_LOG", log.to_str().unwrap()),
    ];
    let output = child(name, &asked);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("cuda-harness: 3 live, 0 mistakes"), "{text}");
    assert!(text.contains("memory#1 (4096 bytes), created by call"), "{text}");
    let calls = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let allocations: Vec<_> = calls.lines().filter(|line| line.contains("cuMemAlloc_v2(")).collect();
    assert_eq!(allocations.len(), 3, "{calls}");
    assert!(allocations[1].ends_with("= CUDA_ERROR_OUT_OF_MEMORY (injected)"), "{calls}");

    // Where the report cannot be written, the program ends as it would have.
    #[cfg(target_os = "linux")]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", name]).envs([asked[0], asked[1], asked[2]]).stderr(full);
        assert!(program.stdout(std::process::Stdio::null()).status().unwrap().success());
    }

    // What cannot be understood leaves no driver: a test that believes to be watched must not pass.
    let output = child(name, &[asked[0], ("CUDA_LAUNCH_HARNESS_FAIL", "cuMemAlloc@second=2")]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("CUDA_LAUNCH_HARNESS_FAIL is"), "{text}");
}

/// The shared library serves a program that opens it.
#[test]
#[cfg(not(miri))]
fn the_shared_library_is_the_same_driver() {
    // On a machine that only runs the tests there is none.
    let Some(library) = library::shared_library() else { return skip::skipped("no cargo here to build it") };
    let cuda = unsafe { Driver::open(library) }.unwrap();
    let own = cuda_emulator::driver();
    for function in FUNCTIONS {
        assert_eq!(cuda.has(function.name()), own.has(function.name()), "{}", function.name());
    }
    // It has a state of its own: this process's other driver is not initialised by it.
    let mut context = null_mut();
    unsafe {
        assert_eq!(cuda.cuDeviceGetCount(&mut 0), CUresult::CUDA_ERROR_NOT_INITIALIZED);
        ok(cuda.cuInit(0));
        ok(cuda.cuCtxCreate(&mut context, null_mut(), 0, 0));
        let store = function(&cuda, load(&cuda, KERNELS), "store");
        let (mut target, mut number) = (alloc(&cuda, 4), 7_u32);
        ok(launch(&cuda, store, null_mut(), &mut [argument(&mut target), argument(&mut number)]));
        assert_eq!(read(&cuda, target, 4), 7_u32.to_ne_bytes());
        let (mut start, mut status) = (null_mut(), CUdriverProcAddressQueryResult(9));
        ok(cuda.cuGetProcAddress(c"cuProfilerStart".as_ptr(), &mut start, 13_000, 0, &mut status));
        assert!(!start.is_null());
        ok(cuda.cuCtxDestroy(context));
    }
}
