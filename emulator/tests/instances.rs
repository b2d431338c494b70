//! Instances: emulators beside each other, each with what is its own.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Checks, FindingKind, Instance, InstanceError, InstanceOptions, take_findings};
use std::ptr::null_mut;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;
use support::*;

const ILLEGAL_ADDRESS: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

/// The instance's driver, with its primary context current on this thread.
fn begin(instance: &Instance) -> Arc<Driver> {
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    cuda
}

fn instance() -> (Instance, Arc<Driver>) {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    (instance, cuda)
}

/// Stores a number by a kernel and reads it back.
fn stores(cuda: &Driver, number: u32) -> CUresult {
    let (mut target, mut value) = (alloc(cuda, 4), number);
    let store = function(cuda, load(cuda, KERNELS), "store");
    ok(launch(cuda, store, null_mut(), &mut [argument(&mut target), argument(&mut value)]));
    let mut found = 0_u32;
    let code = unsafe { cuda.cuMemcpyDtoH(argument(&mut found), target, 4) };
    assert!(code != CUresult::SUCCESS || found == number, "{found} {number}");
    code
}

/// A kernel that writes where nothing is; the code of the wait for it.
fn faults(cuda: &Driver) -> CUresult {
    let mut nowhere = 64_u64;
    let store = function(cuda, load(cuda, KERNELS), "store");
    ok(launch(cuda, store, null_mut(), &mut [argument(&mut nowhere), argument(&mut 1_u32)]));
    unsafe { cuda.cuCtxSynchronize() }
}

#[test]
fn two_threads_have_a_driver_each() {
    let together = Arc::new(Barrier::new(2));
    let threads: Vec<_> = [false, true]
        .into_iter()
        .map(|is_faulty| {
            let together = Arc::clone(&together);
            thread::spawn(move || {
                let (instance, cuda) = instance();
                together.wait();
                for round in 0..20 {
                    ok(stores(&cuda, round));
                }
                if is_faulty {
                    assert_eq!(faults(&cuda), ILLEGAL_ADDRESS);
                }
                together.wait();
                // One is at its end, and the other goes on.
                let code = unsafe { cuda.cuMemAlloc(&mut 0, 4) };
                assert_eq!(code, if is_faulty { ILLEGAL_ADDRESS } else { CUresult::SUCCESS });
                assert_eq!(instance.faults().len(), usize::from(is_faulty));
                assert_eq!(instance.last_fault().is_some(), is_faulty);
                if !is_faulty {
                    ok(stores(&cuda, 1234));
                    assert_eq!(instance.live_handles().allocations, 22);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(cuda_emulator::faults().len(), 0);
}

#[test]
fn each_has_its_devices_and_its_memory() {
    let small = InstanceOptions::new().devices(2).memory(1 << 20).start().unwrap();
    let (a, (other, b)) = (begin(&small), instance());
    let count = |cuda: &Driver| {
        let mut count = 0;
        ok(unsafe { cuda.cuDeviceGetCount(&mut count) });
        count
    };
    assert_eq!((count(&a), count(&b)), (2, 1));
    let (mut first, mut second) = (0, 0);
    ok(unsafe { a.cuMemAlloc(&mut first, 1 << 20) });
    assert_eq!(unsafe { a.cuMemAlloc(&mut second, 1) }, OUT_OF_MEMORY);
    ok(unsafe { b.cuMemAlloc(&mut second, 2 << 20) });
    assert_eq!((small.live_handles().allocations, other.live_handles().allocations), (1, 1));
    assert_eq!((small.live_handles().pools, other.live_handles().pools), (2, 1));
    let streams = [stream(&b, 0), stream(&b, 0)];
    assert_eq!((small.live_handles().streams, other.live_handles().streams), (0, 2));
    streams.into_iter().for_each(|stream| ok(unsafe { b.cuStreamDestroy(stream) }));
    // Their addresses, too, are not the same.
    assert_ne!(first, second);
    let none = InstanceOptions::new().devices(0).start().unwrap();
    assert_eq!(unsafe { none.driver().cuInit(0) }, CUresult::CUDA_ERROR_NO_DEVICE);
}

/// As those that a driver never gave out.
#[test]
fn what_is_another_ones_is_refused() {
    let ((_a, a), (_b, b)) = (instance(), instance());
    let (process, _context) = with_own_context();
    for (own, other) in [(&a, &b), (&a, &process), (&process, &b)] {
        let (mut context, mut graph, mut pinned, mut pool) = (null_mut(), null_mut(), null_mut(), null_mut());
        let (mut array, mut library, mut object, mut linker) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        let (stream, event, memory) = (stream(own, 0), event(own, 0), alloc(own, 64));
        let module = load(own, KERNELS);
        let kernel = function(own, module, "nop");
        let shape = CUDA_ARRAY_DESCRIPTOR {
            Width: 4,
            Height: 0,
            Format: CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
        };
        let physical = CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                ..Default::default()
            },
            ..Default::default()
        };
        let text = std::ffi::CString::new(KERNELS).unwrap();
        let (mut mapped, mut reserved) = (0, 0);
        unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        unsafe {
            ok(own.cuCtxGetCurrent(&mut context));
            ok(own.cuGraphCreate(&mut graph, 0));
            ok(own.cuMemAllocHost(&mut pinned, 64));
            ok(own.cuDeviceGetDefaultMemPool(&mut pool, 0));
            ok(own.cuArrayCreate(&mut array, &shape));
            ok(own.cuLibraryLoadData(
                &mut library,
                text.as_ptr().cast(),
                null_mut(),
                null_mut(),
                0,
                null_mut(),
                null_mut(),
                0,
            ));
            ok(own.cuUserObjectCreate(&mut object, null_mut(), Some(nothing), 1, 1));
            ok(own.cuLinkCreate(0, null_mut(), null_mut(), &mut linker));
            ok(own.cuMemCreate(&mut mapped, 2 << 20, &physical, 0));
            ok(own.cuMemAddressReserve(&mut reserved, 2 << 20, 0, 0, 0));
            let codes = [
                ("stream", other.cuStreamQuery(stream), INVALID_HANDLE),
                ("event", other.cuEventQuery(event), INVALID_HANDLE),
                ("module", other.cuModuleUnload(module), INVALID_HANDLE),
                ("function", launch(other, kernel, null_mut(), &mut []), INVALID_HANDLE),
                ("context", other.cuCtxSetCurrent(context), INVALID_CONTEXT),
                ("graph", other.cuGraphDestroy(graph), INVALID_VALUE),
                ("memory", other.cuMemFree(memory), INVALID_VALUE),
                ("copy", other.cuMemsetD8(memory, 0, 64), INVALID_VALUE),
                ("pinned memory", other.cuMemFreeHost(pinned), INVALID_VALUE),
                ("pool", other.cuMemPoolTrimTo(pool, 0), INVALID_VALUE),
                ("array", other.cuArrayDestroy(array), INVALID_HANDLE),
                ("library", other.cuLibraryUnload(library), INVALID_HANDLE),
                ("user object", other.cuUserObjectRelease(object, 1), INVALID_VALUE),
                ("linker", other.cuLinkDestroy(linker), INVALID_HANDLE),
                ("physical memory", other.cuMemRelease(mapped), INVALID_VALUE),
                ("addresses", other.cuMemAddressFree(reserved, 2 << 20), INVALID_VALUE),
            ];
            for (kind, code, wanted) in codes {
                assert_eq!(code, wanted, "{kind}");
            }
            // Nothing has become of them.
            ok(own.cuStreamDestroy(stream));
            ok(own.cuEventDestroy(event));
            ok(launch(own, kernel, null_mut(), &mut []));
            ok(own.cuCtxSynchronize());
            ok(own.cuGraphDestroy(graph));
            ok(own.cuMemFree(memory));
            ok(own.cuMemFreeHost(pinned));
            ok(own.cuArrayDestroy(array));
            ok(own.cuLibraryUnload(library));
            ok(own.cuUserObjectRelease(object, 1));
            ok(own.cuLinkDestroy(linker));
            ok(own.cuMemRelease(mapped));
            ok(own.cuMemAddressFree(reserved, 2 << 20));
            ok(own.cuModuleUnload(module));
        }
    }
}

#[test]
fn a_thread_has_a_stack_of_contexts_for_each() {
    let ((_a, a), (_b, b)) = (instance(), instance());
    let current = |cuda: &Driver| {
        let mut context = null_mut();
        ok(unsafe { cuda.cuCtxGetCurrent(&mut context) });
        context
    };
    let (in_a, in_b) = (current(&a), current(&b));
    assert_ne!(in_a, in_b);
    let mut popped = null_mut();
    ok(unsafe { a.cuCtxPopCurrent(&mut popped) });
    assert_eq!((popped, current(&a), current(&b)), (in_a, null_mut(), in_b));
    assert_eq!(unsafe { a.cuMemAlloc(&mut 0, 4) }, INVALID_CONTEXT);
    ok(unsafe { b.cuMemAlloc(&mut 0, 4) });
    ok(unsafe { a.cuCtxPushCurrent(in_a) });
    assert_eq!((current(&a), current(&b)), (in_a, in_b));
    let other = Arc::clone(&a);
    thread::spawn(move || assert_eq!(current(&other), null_mut())).join().unwrap();
}

/// A capture in global mode forbids other threads what may wait; those of another driver it does not concern.
#[test]
fn a_capture_is_of_one() {
    let ((_a, a), (_b, b)) = (instance(), instance());
    let stream = stream(&a, 1);
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let mut graph = null_mut();
    ok(unsafe { a.cuStreamBeginCapture(stream, mode) });
    ok(unsafe { b.cuMemAlloc(&mut 0, 4) });
    ok(unsafe { a.cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { a.cuStreamBeginCapture(stream, mode) });
    let code = unsafe { a.cuMemAlloc(&mut 0, 4) };
    assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    // How strict a thread is to itself, too.
    let (mut in_a, mut in_b) = (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED, mode);
    ok(unsafe { a.cuThreadExchangeStreamCaptureMode(&mut in_a) });
    ok(unsafe { b.cuThreadExchangeStreamCaptureMode(&mut in_b) });
    assert_eq!((in_a, in_b), (mode, mode));
}

#[test]
fn a_log_and_what_is_missing_are_of_one() {
    let ((first, a), (second, b)) = (instance(), instance());
    let lines = |cuda: &Driver| {
        let (mut text, mut size) = (vec![0_u8; 4096], 4096);
        ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), text.as_mut_ptr().cast(), &mut size, 0) });
        String::from_utf8(text[..size].to_vec()).unwrap()
    };
    assert_eq!(unsafe { a.cuMemFree(4) }, INVALID_VALUE);
    assert!(lines(&a).contains("cuMemFree_v2"));
    assert_eq!(lines(&b), "");
    assert_eq!(unsafe { a.cuGraphicsUnregisterResource(null_mut()) }, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(first.unsupported_calls(), ["cuGraphicsUnregisterResource"]);
    assert!(second.unsupported_calls().is_empty());
}

/// A read of what nobody wrote, found where it was asked for.
#[test]
fn checks_are_of_one() {
    let checked = InstanceOptions::new().checks(Checks::KERNELS).workers(1).start().unwrap();
    let plain = InstanceOptions::new().checks(Checks::NONE).start().unwrap();
    for instance in [&checked, &plain] {
        let cuda = begin(instance);
        let (mut memory, add) = (alloc(&cuda, 4), function(&cuda, load(&cuda, KERNELS), "add"));
        assert!(instance.forget_written(memory, 4) && !instance.forget_written(memory, 512));
        ok(launch(&cuda, add, null_mut(), &mut [argument(&mut memory), argument(&mut 1_u32)]));
        ok(unsafe { cuda.cuCtxSynchronize() });
    }
    let (found, other) = (checked.take_findings().list, plain.take_findings().list);
    assert!(found.iter().any(|finding| finding.kind == FindingKind::Uninitialised), "{found:?}");
    assert!(other.is_empty() && checked.take_findings().list.is_empty() && take_findings().list.is_empty());
}

#[test]
fn a_reset_forgets_a_fault() {
    let (instance, cuda) = instance();
    let (memory, mut context) = (alloc(&cuda, 64), null_mut());
    ok(unsafe { cuda.cuCtxGetCurrent(&mut context) });
    assert_eq!(faults(&cuda), ILLEGAL_ADDRESS);
    assert_eq!(unsafe { cuda.cuMemAlloc(&mut 0, 4) }, ILLEGAL_ADDRESS);
    instance.reset().unwrap();
    assert!(instance.last_fault().is_none());
    assert_eq!(instance.live_handles(), Default::default());
    assert_eq!(unsafe { cuda.cuMemAlloc(&mut 0, 4) }, CUresult::CUDA_ERROR_NOT_INITIALIZED);
    let cuda = begin(&instance);
    ok(stores(&cuda, 3));
    // What was there before is gone.
    assert_eq!(unsafe { cuda.cuMemFree(memory) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuCtxPushCurrent(context) }, CUresult::SUCCESS);
    assert_eq!(unsafe { cuda.cuMemAlloc(&mut 0, 4) }, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/// Work of one calls the program, which calls others; its own refuses.
#[test]
fn callbacks_may_call_other_drivers() {
    let ((_a, a), (_b, b)) = (instance(), instance());
    let (process, _) = with_own_context();
    let stream = stream(&a, 1);
    let (sender, found) = mpsc::channel();
    let drivers = [Arc::clone(&a), Arc::clone(&b), process];
    let ask = move || {
        let ask = |cuda: &Arc<Driver>| unsafe { cuda.cuDeviceGetCount(&mut 0) };
        sender.send(drivers.each_ref().map(ask)).unwrap();
    };
    ok(host_function(&a, stream, ask));
    let codes = found.recv().unwrap();
    assert_eq!(codes, [CUresult::CUDA_ERROR_NOT_PERMITTED, CUresult::SUCCESS, CUresult::SUCCESS]);
}

#[test]
fn a_callback_cannot_reset_its_own() {
    let (instance, cuda) = instance();
    let stream = stream(&cuda, 1);
    let (sender, found) = mpsc::channel();
    let own = instance.clone();
    ok(host_function(&cuda, stream, move || sender.send(own.reset()).unwrap()));
    assert_eq!(found.recv().unwrap(), Err(InstanceError::InCallback));
    instance.reset().unwrap();
}

/// Its functions are those of the instance, whoever finds them.
#[test]
fn functions_are_found_by_name() {
    let old = InstanceOptions::new().as_of(11_080).start().unwrap();
    let cuda = begin(&old);
    assert_eq!(cuda.version(), Ok(11_080));
    let mut version = 0;
    ok(unsafe { cuda.cuDriverGetVersion(&mut version) });
    assert_eq!(version, 11_080);
    assert!(cuda.has("cuEventElapsedTime") && cuda.has("cuMemAlloc") && !cuda.has("cuFuncGetParamInfo"));
    for function in FUNCTIONS.iter().filter(|function| function.name() != "cuEventElapsedTime_v2") {
        assert_eq!(cuda.has(function.name()), function.since <= 11_080, "{}", function.name());
    }
    let find = |name: &std::ffi::CStr, version| {
        let mut address = null_mut();
        let code = unsafe { cuda.cuGetProcAddress_v1(name.as_ptr(), &mut address, version, 0) };
        (code, address)
    };
    assert_eq!(find(c"cuMemAlloc", 11_080), (CUresult::SUCCESS, cuda.address("cuMemAlloc").cast_mut()));
    assert_ne!(find(c"cuMemAlloc", 11_080).1, cuda_emulator::driver().address("cuMemAlloc").cast_mut());
    assert_eq!(find(c"cuFuncGetParamInfo", 11_080).0, CUresult::CUDA_ERROR_NOT_FOUND);
    assert_eq!(find(c"cuMemAlloc", 12_000).0, INVALID_VALUE);
    let (code, start) = find(c"cuProfilerStart", 11_080);
    ok(code);
    let start: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(start) };
    ok(start());
    drop((cuda, old));
    assert_ne!(start(), CUresult::SUCCESS);
}

/// Every attribute, by number, on the driver of every version: known from the version on that brought it.
#[test]
fn attributes_came_with_their_versions() {
    // As the headers have them.
    for (attribute, since) in [
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 12_000),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 12_010),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 12_020),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 12_030),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, 12_080),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 12_090),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 13_000),
    ] {
        assert_eq!(value_since("CUdevice_attribute", attribute.0), since, "{attribute:?}");
    }
    let attributes = 1..148;
    let now = Instance::new().unwrap();
    let (mut value, cuda) = (0, begin(&now));
    let get = |cuda: &Driver, value: &mut i32, number| unsafe {
        cuda.cuDeviceGetAttribute(value, CUdevice_attribute(number), 0)
    };
    let known: Vec<u32> =
        attributes.filter(|number| get(&cuda, &mut value, *number) == CUresult::SUCCESS).collect();
    for version in [11_080, 12_000, 12_020, 12_030, 12_040, 12_080, 12_090, 13_000] {
        let old = InstanceOptions::new().as_of(version).start().unwrap();
        let cuda = begin(&old);
        for number in &known {
            let is_later = value_since("CUdevice_attribute", *number) > version;
            let expected = if is_later { INVALID_VALUE } else { CUresult::SUCCESS };
            assert_eq!(get(&cuda, &mut value, *number), expected, "{number} in {version}");
        }
        let refused = known.iter().filter(|number| get(&cuda, &mut value, **number) == INVALID_VALUE);
        assert_eq!(refused.count() == 0, version == 13_000, "{version}");
    }
}

/// PTX that all these drivers read.
const STORE: &str = ".version 7.3\n.target sm_80\n.address_size 64\n.visible .entry store(.param .u64 p, .param .u32 v) {\n\
                     .reg .b64 a; .reg .b32 b; ld.param.u64 a, [p]; ld.param.u32 b, [v]; st.global.u32 [a], b; ret; }\n";

/// What else came after 11.8 is refused by its driver, and taken by the one that brought it.
#[test]
fn values_came_with_their_versions() {
    let both = |since: u32, answer: &dyn Fn(&Driver) -> CUresult| {
        for (version, expected) in [(since - 10, INVALID_VALUE), (since, CUresult::SUCCESS)] {
            // The version before 12.0 is 11.8.
            let version = if version == 11_990 { 11_080 } else { version };
            let instance = InstanceOptions::new().as_of(version).start().unwrap();
            assert_eq!(answer(&begin(&instance)), expected, "{version}");
        }
    };
    both(12_050, &|cuda| unsafe { cuda.cuCtxGetLimit(&mut 0, CUlimit::CU_LIMIT_CIG_ENABLED) });
    both(12_010, &|cuda| unsafe { cuda.cuDevicePrimaryCtxSetFlags(0, CUctx_flags::CU_CTX_SYNC_MEMOPS.0) });
    both(12_000, &|cuda| {
        let (mut value, stream) = (CUlaunchAttributeValue::default(), stream(cuda, 0));
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
        unsafe { cuda.cuStreamGetAttribute(stream, id, &mut value) }
    });
    both(12_080, &|cuda| {
        let (mut value, memory) = (0_u32, alloc(cuda, 4));
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
        unsafe { cuda.cuPointerGetAttribute((&raw mut value).cast(), attribute, memory) }
    });
    both(12_040, &|cuda| {
        let (mut module, text) = (null_mut(), std::ffi::CString::new(STORE).unwrap());
        let mut option = CUjit_option::CU_JIT_OVERRIDE_DIRECTIVE_VALUES;
        let mut value = null_mut();
        unsafe { cuda.cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 1, &mut option, &mut value) }
    });
    both(12_050, &|cuda| {
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
            value: CUlaunchAttributeValue { sharedMemCarveout: 50 },
            ..CUlaunchAttribute::default()
        };
        let (mut target, mut value) = (alloc(cuda, 4), 1_u32);
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            attrs: &mut attribute,
            numAttrs: 1,
            ..CUlaunchConfig::default()
        };
        let store = function(cuda, load(cuda, STORE), "store");
        let mut arguments = [argument(&mut target), argument(&mut value)];
        unsafe { cuda.cuLaunchKernelEx(&config, store, arguments.as_mut_ptr(), null_mut()) }
    });
}

/// PTX that came after a driver is too new for it, with a log that says what it reads.
#[test]
fn ptx_came_with_its_versions() {
    let load = |cuda: &Driver, ptx: &str| {
        let (mut module, mut log) = (null_mut(), [0_u8; 256]);
        let text = std::ffi::CString::new(ptx).unwrap();
        let mut options =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), log.len() as *mut std::ffi::c_void];
        let (image, option, value) = (text.as_ptr().cast(), options.as_mut_ptr(), values.as_mut_ptr());
        let plain = unsafe { cuda.cuModuleLoadData(&mut module, image) };
        let code = unsafe { cuda.cuModuleLoadDataEx(&mut module, image, 2, option, value) };
        assert_eq!(plain, code);
        let end = log.iter().position(|byte| *byte == 0).unwrap();
        (code, String::from_utf8_lossy(&log[..end]).into_owned())
    };
    for (driver, newest, newer) in [
        (11_040, "7.4", "7.5"),
        (11_080, "7.8", "8.0"),
        (12_000, "8.0", "8.1"),
        (12_040, "8.4", "8.5"),
        (12_060, "8.5", "8.6"),
        (12_080, "8.7", "8.8"),
        (13_000, "9.0", "9.1"),
    ] {
        let instance = InstanceOptions::new().as_of(driver).start().unwrap();
        let cuda = begin(&instance);
        let module = |version: &str| {
            format!("\n.version {version}\n.target sm_80\n.address_size 64\n.visible .entry k() {{ ret; }}\n")
        };
        for version in [newest, "7.0"] {
            assert_eq!(
                load(&cuda, &module(version)),
                (CUresult::SUCCESS, String::new()),
                "{driver} {version}"
            );
        }
        let said = format!(
            "ptxas application ptx input, line 2; fatal   : Unsupported .version {newer}; current version is '{newest}'"
        );
        assert_eq!(
            load(&cuda, &module(newer)),
            (CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, said),
            "{driver}"
        );
        // There never was such a version.
        let (code, log) = load(&cuda, &module("6.6"));
        assert_eq!(code, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "{driver}: {log}");
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let error = |options: InstanceOptions| options.start().unwrap_err().to_string();
    assert_eq!(
        error(InstanceOptions::new().devices(9)),
        "an emulator of 9 devices; the limit is 8\n  help: ask for fewer devices"
    );
    let text = "the emulator cannot be a driver of version 13010\n  help: it can be one from 11030 (CUDA 11.3) to 13000 (CUDA 13.0)";
    assert_eq!(error(InstanceOptions::new().as_of(13_010)), text);
    let hurried = InstanceOptions::new().patience(Duration::ZERO);
    // Others are dropped by other tests: the one that is refused is found on the way.
    let mut all = Vec::new();
    let refused = loop {
        match hurried.start() {
            Ok(instance) => all.push(instance),
            Err(error) => break error,
        }
    };
    assert!(all.len() <= 16);
    assert_eq!(refused, InstanceError::NoSlot { slots: 16, waited: Duration::ZERO });
}

/// In a process of its own: the report is written when it ends.
#[test]
fn coverage_is_that_of_all_instances_and_of_kernels_that_are_never_launched() {
    let name = "coverage_is_that_of_all_instances_and_of_kernels_that_are_never_launched";
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("instances-coverage");
    if std::env::var_os("CUDA_LAUNCH_EMULATOR_COVERAGE").is_some() {
        let (first, second) = (Instance::new().unwrap(), Instance::new().unwrap());
        ok(stores(&begin(&first), 1));
        drop(first);
        ok(stores(&begin(&second), 2));
        let text = ".version 8.0 .target sm_90 .address_size 64
            .func unused() { ret; } .func reached() { ret; } .visible .entry idle() { call reached; ret; }";
        load(&second.driver(), text);
        return;
    }
    let _ = std::fs::remove_dir_all(&folder);
    let done = child(name, &[("CUDA_LAUNCH_EMULATOR_COVERAGE", folder.to_str().unwrap())]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let report = files.into_iter().find(|file| file.extension().is_some_and(|e| e == "info")).unwrap();
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("FNDA:2,store\n"), "{report}");
    for name in ["idle", "reached", "unused"] {
        assert_eq!(report.matches(&format!("FNDA:0,{name}\n")).count(), 1, "{name}: {report}");
    }
}
