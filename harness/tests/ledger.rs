//! What was made and not given back, and what was used after its end.

#![allow(unsafe_code)] // Calls of C functions with what they ask for, and with handles that are gone, which the emulator takes.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_harness::{Kind, Ledger, Mistake, Problem, Spy, SpyOptions};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::thread;
use support::{Cuda, FILL, ok, spy};

/// The kinds of what is live.
fn kinds(ledger: &Ledger) -> Vec<Kind> {
    ledger.live().iter().map(|entry| entry.kind()).collect()
}

/// Mistakes and objects.
fn mistakes(ledger: &Ledger) -> Vec<(Mistake, String)> {
    ledger
        .problems()
        .iter()
        .map(|problem: &Problem| (problem.mistake(), problem.object().to_string()))
        .collect()
}

/// Makes one of each kind that the emulator has, and gives all back if it is told to.
fn one_of_each(cuda: &Cuda, gives_back: bool) {
    let driver = &cuda.driver;
    let (stream, event, module) = (cuda.stream(), cuda.event(), cuda.load(FILL));
    let memory = cuda.alloc(4096).unwrap();
    let (mut managed, mut pooled, mut pinned) = (0, 0, null_mut());
    let mut registered = vec![0u8; 4096];
    let (mut pool, mut array, mut surface) = (null_mut(), null_mut(), 0);
    let (mut graph, mut captured, mut exec, mut node) = (null_mut(), null_mut(), null_mut(), null_mut());
    let (mut link, mut library, mut kernel) = (null_mut(), null_mut(), null_mut());
    let (mut reserved, mut physical) = (0, 0);
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        ..CUmemPoolProps::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let allocation = CUmemAllocationProp {
        type_: properties.allocType,
        location: properties.location,
        ..CUmemAllocationProp::default()
    };
    let shape = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 16,
        Format: CUarray_format::CU_AD_FORMAT_FLOAT,
        NumChannels: 1,
        Flags: CUDA_ARRAY3D_SURFACE_LDST,
        ..CUDA_ARRAY3D_DESCRIPTOR::default()
    };
    let image = std::ffi::CString::new(FILL).unwrap();
    let page = 2 << 20;
    unsafe {
        ok(driver.cuMemAllocManaged(&mut managed, 64, 1)).unwrap();
        ok(driver.cuMemHostAlloc(&mut pinned, 64, 0)).unwrap();
        ok(driver.cuMemHostRegister(registered.as_mut_ptr().cast(), 4096, 0)).unwrap();
        ok(driver.cuMemPoolCreate(&mut pool, &properties)).unwrap();
        ok(driver.cuMemAllocFromPoolAsync(&mut pooled, 64, pool, stream)).unwrap();
        ok(driver.cuArray3DCreate(&mut array, &shape)).unwrap();
        let mut resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
            ..CUDA_RESOURCE_DESC::default()
        };
        resource.res.array.hArray = array;
        ok(driver.cuSurfObjectCreate(&mut surface, &resource)).unwrap();
        ok(driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0)).unwrap();
        ok(driver.cuGraphInstantiate(&mut exec, graph, 0)).unwrap();
        ok(driver.cuStreamBeginCapture(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)).unwrap();
        ok(driver.cuStreamEndCapture(stream, &mut captured)).unwrap();
        ok(driver.cuLinkCreate(0, null_mut(), null_mut(), &mut link)).unwrap();
        let (none, nothing) = (null_mut(), null_mut());
        let data = image.as_ptr().cast();
        ok(driver.cuLibraryLoadData(&mut library, data, none, nothing, 0, null_mut(), null_mut(), 0))
            .unwrap();
        ok(driver.cuLibraryGetKernel(&mut kernel, library, c"fill".as_ptr())).unwrap();
        ok(driver.cuMemAddressReserve(&mut reserved, page, 0, 0, 0)).unwrap();
        ok(driver.cuMemCreate(&mut physical, page, &allocation, 0)).unwrap();
        ok(driver.cuMemMap(reserved, page, 0, physical, 0)).unwrap();
    }
    if !gives_back {
        // The borrow of the driver's ends; what is live stays so in the ledger.
        ok(unsafe { driver.cuMemHostUnregister(registered.as_mut_ptr().cast()) }).unwrap();
        return;
    }
    unsafe {
        ok(driver.cuMemUnmap(reserved, page)).unwrap();
        ok(driver.cuMemRelease(physical)).unwrap();
        ok(driver.cuMemAddressFree(reserved, page)).unwrap();
        ok(driver.cuLibraryUnload(library)).unwrap();
        ok(driver.cuLinkDestroy(link)).unwrap();
        ok(driver.cuGraphDestroy(captured)).unwrap();
        ok(driver.cuGraphExecDestroy(exec)).unwrap();
        ok(driver.cuGraphDestroy(graph)).unwrap();
        ok(driver.cuSurfObjectDestroy(surface)).unwrap();
        ok(driver.cuArrayDestroy(array)).unwrap();
        ok(driver.cuMemFreeAsync(pooled, stream)).unwrap();
        ok(driver.cuStreamSynchronize(stream)).unwrap();
        ok(driver.cuMemPoolDestroy(pool)).unwrap();
        ok(driver.cuMemHostUnregister(registered.as_mut_ptr().cast())).unwrap();
        ok(driver.cuMemFreeHost(pinned)).unwrap();
        ok(driver.cuMemFree(managed)).unwrap();
        ok(driver.cuMemFree(memory)).unwrap();
        ok(driver.cuModuleUnload(module)).unwrap();
        ok(driver.cuEventDestroy(event)).unwrap();
        ok(driver.cuStreamDestroy(stream)).unwrap();
    }
}

#[test]
fn what_is_given_back_is_not_in_the_ledger() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    one_of_each(&cuda, true);
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
    drop(cuda);
    spy.ledger().assert_clean();
    assert_eq!(spy.ledger().to_string(), "nothing is live\n");
}

#[test]
fn what_is_not_given_back_is_in_the_ledger() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let before = spy.ledger();
    one_of_each(&cuda, false);
    let left = spy.ledger().since(&before);
    let expected = [
        Kind::Stream,
        Kind::Event,
        Kind::Module,
        Kind::Memory,
        Kind::ManagedMemory,
        Kind::HostMemory,
        Kind::Pool,
        Kind::Memory,
        Kind::Array,
        Kind::Surface,
        Kind::Graph,
        Kind::ExecutableGraph,
        Kind::Graph,
        Kind::Linker,
        Kind::Library,
        Kind::Reservation,
        Kind::PhysicalMemory,
        Kind::Mapping,
    ];
    assert_eq!(kinds(&left), expected);
    assert_eq!((left.count(Kind::Memory), left.count(Kind::Stream)), (2, 1));
    let memory = &left.live()[3];
    assert_eq!(
        memory.to_string(),
        format!("memory#1 (4096 bytes), created by call {}, cuMemAlloc_v2", memory.made_by())
    );
    let maker = spy.calls()[memory.made_by() - 1].clone();
    assert_eq!((maker.name(), memory.function(), memory.bytes()), ("cuMemAlloc_v2", "cuMemAlloc_v2", 4096));
    assert!(memory.backtrace().is_none());
}

#[test]
fn a_capture_that_is_left_open_is_live() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let stream = cuda.stream();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.driver.cuStreamBeginCapture(stream, mode) }).unwrap();
    assert_eq!(spy.ledger().count(Kind::Capture), 1);
    let mut graph = null_mut();
    ok(unsafe { cuda.driver.cuStreamEndCapture(stream, &mut graph) }).unwrap();
    assert_eq!((spy.ledger().count(Kind::Capture), spy.ledger().count(Kind::Graph)), (0, 1));
    ok(unsafe { cuda.driver.cuGraphDestroy(graph) }).unwrap();
    // Into a graph that is there: no second one.
    ok(unsafe { cuda.driver.cuGraphCreate(&mut graph, 0) }).unwrap();
    let mut same = null_mut();
    ok(unsafe { cuda.driver.cuStreamBeginCaptureToGraph(stream, graph, null(), null(), 0, mode) }).unwrap();
    ok(unsafe { cuda.driver.cuStreamEndCapture(stream, &mut same) }).unwrap();
    assert_eq!((same, spy.ledger().count(Kind::Graph)), (graph, 1));
    ok(unsafe { cuda.driver.cuGraphDestroy(graph) }).unwrap();
    ok(unsafe { cuda.driver.cuStreamDestroy(stream) }).unwrap();
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
}

#[test]
fn shares_are_counted() {
    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    let spy = spy();
    let (first, second) = (Cuda::new(spy.driver()), Cuda::new(spy.driver()));
    assert_eq!((spy.ledger().live().len(), spy.ledger().live()[0].shares()), (1, 2));
    let (driver, mut object, mut graph) = (&first.driver, null_mut(), null_mut());
    unsafe {
        ok(driver.cuUserObjectCreate(&mut object, null_mut(), Some(nothing), 3, 1)).unwrap();
        ok(driver.cuGraphCreate(&mut graph, 0)).unwrap();
        // One of the three moves to the graph.
        ok(driver.cuGraphRetainUserObject(graph, object, 1, 1)).unwrap();
        let ledger = spy.ledger();
        let shares =
            ledger.live().iter().find(|entry| entry.kind() == Kind::UserObject).map(|entry| entry.shares());
        assert_eq!(shares, Some(2));
        ok(driver.cuUserObjectRelease(object, 2)).unwrap();
        ok(driver.cuGraphDestroy(graph)).unwrap();
    }
    drop(first);
    assert_eq!(spy.ledger().live()[0].shares(), 1);
    drop(second);
    spy.ledger().assert_clean();
}

#[test]
fn what_is_given_back_twice_is_a_mistake() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (memory, event) = (cuda.alloc(64).unwrap(), cuda.event());
    let driver = &cuda.driver;
    unsafe {
        ok(driver.cuMemFree(memory)).unwrap();
        assert!(ok(driver.cuMemFree(memory)).is_err());
        ok(driver.cuEventDestroy(event)).unwrap();
        assert!(ok(driver.cuEventDestroy(event)).is_err());
        // Nothing at all may be freed.
        ok(driver.cuMemFree(0)).unwrap();
    }
    let expected = [(Mistake::DoubleFree, "memory#1".into()), (Mistake::DoubleFree, "event#1".into())];
    assert_eq!(mistakes(&spy.ledger()), expected);
    let text = spy.ledger().problems()[0].to_string();
    assert_eq!(text, "call 7, cuMemFree_v2, releases memory#1 again; call 6 already released it");
}

/// A graph outlives the context that was current when it was made: to destroy it then is right, and only twice is a mistake.
#[test]
fn a_graph_may_be_destroyed_after_the_context() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (mut context, mut graph) = (null_mut(), null_mut());
    unsafe {
        ok(cuda.driver.cuCtxCreate(&mut context, null_mut(), 0, 0)).unwrap();
        ok(cuda.driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(cuda.driver.cuCtxDestroy(context)).unwrap();
        ok(cuda.driver.cuGraphDestroy(graph)).unwrap();
    }
    assert_eq!(mistakes(&spy.ledger()), vec![]);
    cuda.make_current();
    unsafe {
        ok(cuda.driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(cuda.driver.cuGraphDestroy(graph)).unwrap();
        let _ = cuda.driver.cuGraphDestroy(graph);
    }
    assert_eq!(mistakes(&spy.ledger()), [(Mistake::DoubleFree, "graph#2".to_owned())]);
}

#[test]
fn what_is_used_after_its_end_is_a_mistake() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (memory, stream, module) = (cuda.alloc(64).unwrap(), cuda.stream(), cuda.load(FILL));
    let fill = cuda.function(module, "fill");
    let driver = &cuda.driver;
    unsafe {
        ok(driver.cuMemFree(memory)).unwrap();
        assert!(ok(driver.cuMemsetD8(memory + 8, 0, 8)).is_err());
        ok(driver.cuStreamDestroy(stream)).unwrap();
        assert!(ok(driver.cuStreamSynchronize(stream)).is_err());
        ok(driver.cuModuleUnload(module)).unwrap();
        // It went with its module.
        let mut registers = 0;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        assert!(ok(driver.cuFuncGetAttribute(&mut registers, attribute, fill)).is_err());
    }
    assert!(cuda.fill(fill, null_mut(), 0, 0, 0).is_err());
    let expected = [
        (Mistake::DeadMemory, "memory#1".into()),
        (Mistake::DeadHandle, "stream#1".into()),
        (Mistake::DeadHandle, "function#1".into()),
        (Mistake::DeadHandle, "function#1".into()),
    ];
    assert_eq!(mistakes(&spy.ledger()), expected);
}

/// What is known of it would be read for another kernel that has its handle now.
#[test]
fn arguments_are_not_read_by_the_sizes_of_a_kernel_that_has_ended() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (memory, module) = (cuda.alloc(256).unwrap(), cuda.load(FILL));
    let fill = cuda.function(module, "fill");
    cuda.fill(fill, null_mut(), memory, 64, 1).unwrap();
    ok(unsafe { cuda.driver.cuModuleUnload(module) }).unwrap();
    assert!(cuda.fill(fill, null_mut(), memory, 64, 1).is_err());
    ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    let calls = spy.calls();
    let read: Vec<_> =
        calls.launches().map(|launch| (launch.kernel(), launch.parameters().map(<[_]>::len))).collect();
    assert_eq!(read, [(Some("fill"), Some(3)), (Some("fill"), None)]);
}

#[test]
fn an_event_of_another_context_is_a_mistake() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (event, mut other) = (cuda.event(), null_mut());
    unsafe {
        ok(cuda.driver.cuCtxCreate(&mut other, null_mut(), 0, 0)).unwrap();
        // Made current by its creation.
        assert!(ok(cuda.driver.cuEventRecord(event, null_mut())).is_err());
        let stream = cuda.stream();
        assert!(ok(cuda.driver.cuEventRecord(event, stream)).is_err());
        // This one goes with its context.
        ok(cuda.driver.cuCtxDestroy(other)).unwrap();
        cuda.make_current();
        ok(cuda.driver.cuEventRecord(event, null_mut())).unwrap();
        ok(cuda.driver.cuEventDestroy(event)).unwrap();
    }
    let expected = vec![(Mistake::WrongContext, "event#1".to_owned()); 2];
    assert_eq!(mistakes(&spy.ledger()), expected);
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
}

#[test]
fn what_the_driver_refuses_to_end_is_still_there() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (page, mut reserved) = (2 << 20, 0);
    unsafe {
        ok(cuda.driver.cuMemAddressReserve(&mut reserved, 2 * page, 0, 0, 0)).unwrap();
        // Half of it.
        assert!(ok(cuda.driver.cuMemAddressFree(reserved, page)).is_err());
        assert_eq!(spy.ledger().count(Kind::Reservation), 1);
        ok(cuda.driver.cuMemAddressFree(reserved, 2 * page)).unwrap();
    }
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
    assert!(spy.ledger().problems().is_empty(), "{}", spy.ledger());
}

/// As a driver has it: an end that fails ends it too, and so does the end of the stream.
#[test]
fn a_capture_ends_with_an_end_that_fails_and_with_its_stream() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let stream = cuda.stream();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let begin = || {
        ok(unsafe { cuda.driver.cuStreamBeginCapture(stream, mode) }).unwrap();
        assert_eq!(spy.ledger().count(Kind::Capture), 1);
    };
    begin();
    let address = stream.expose_provenance();
    let code = thread::scope(|threads| {
        let end = || {
            cuda.make_current();
            unsafe { cuda.driver.cuStreamEndCapture(with_exposed_provenance_mut(address), &mut null_mut()) }
        };
        threads.spawn(end).join().unwrap()
    });
    assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_eq!(spy.ledger().count(Kind::Capture), 0);
    begin();
    ok(unsafe { cuda.driver.cuStreamDestroy(stream) }).unwrap();
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
    assert!(spy.ledger().problems().is_empty(), "{}", spy.ledger());
}

/// A handle that is given out again at once by another thread is not taken for the one that ended.
#[test]
fn handles_that_are_used_again_are_other_objects() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                cuda.make_current();
                for _ in 0..200 {
                    let event = cuda.event();
                    ok(unsafe { cuda.driver.cuEventRecord(event, null_mut()) }).unwrap();
                    ok(unsafe { cuda.driver.cuEventDestroy(event) }).unwrap();
                }
            });
        }
    });
    let ledger = spy.ledger();
    assert_eq!((kinds(&ledger), ledger.problems()), (vec![Kind::PrimaryContext], &[][..]), "{ledger}");
}

#[test]
fn a_backtrace_says_where_it_was_made() {
    let spy = SpyOptions::new().backtraces().over(&cuda_emulator::driver()).unwrap();
    let cuda = Cuda::new(spy.driver());
    let event = cuda.event();
    let text = spy.ledger().live()[1].backtrace().unwrap().to_string();
    assert!(text.contains("a_backtrace_says_where_it_was_made"), "{text}");
    ok(unsafe { cuda.driver.cuEventDestroy(event) }).unwrap();
}

/// A driver gives the address of a node that is gone to one that a capture makes: what it lists is there.
#[test]
fn what_a_driver_lists_is_there_again() {
    /// Destroys nothing, so that the driver lists a node which the spy takes for gone.
    unsafe extern "C" fn keep(_: CUgraphNode) -> CUresult {
        CUresult::SUCCESS
    }
    let emulator = cuda_emulator::driver();
    let lookup = |name: &std::ffi::CStr| match name.to_str() {
        Ok("cuGraphDestroyNode") => keep as pfn::cuGraphDestroyNode as *const std::ffi::c_void,
        Ok(name) => emulator.address(name),
        Err(_) => null(),
    };
    let base = std::sync::Arc::new(unsafe { Driver::from_lookup(lookup) });
    let spy = cuda_harness::Spy::over(&base).unwrap();
    let driver = spy.driver();
    let (mut graph, mut node, mut listed, mut count) = (null_mut(), null_mut(), null_mut(), 1);
    let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
    unsafe {
        ok(driver.cuInit(0)).unwrap();
        ok(driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0)).unwrap();
        ok(driver.cuGraphDestroyNode(node)).unwrap();
        ok(driver.cuGraphNodeGetType(node, &mut kind)).unwrap();
        assert_eq!(mistakes(&spy.ledger()), [(Mistake::DeadHandle, "node#1".to_owned())]);
        ok(driver.cuGraphGetNodes(graph, &mut listed, &mut count)).unwrap();
        assert_eq!((listed, count), (node, 1));
        ok(driver.cuGraphNodeGetType(node, &mut kind)).unwrap();
        assert_eq!(spy.ledger().problems().len(), 1, "it is another one");
        ok(driver.cuGraphDestroy(graph)).unwrap();
    }
    assert!(spy.ledger().live().is_empty());
}

/// Memory that a stream was asked for while another context was current.
#[test]
fn memory_is_of_the_context_of_its_stream() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (stream, mut other, mut memory) = (cuda.stream(), null_mut(), 0);
    unsafe {
        ok(cuda.driver.cuCtxCreate(&mut other, null_mut(), 0, 0)).unwrap();
        // Made current by its creation.
        ok(cuda.driver.cuMemAllocAsync(&mut memory, 64, stream)).unwrap();
        ok(cuda.driver.cuCtxDestroy(other)).unwrap();
        cuda.make_current();
        assert!(kinds(&spy.ledger()).contains(&Kind::Memory));
        ok(cuda.driver.cuMemFreeAsync(memory, stream)).unwrap();
        ok(cuda.driver.cuStreamDestroy(stream)).unwrap();
    }
    assert_eq!(mistakes(&spy.ledger()), []);
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
}

/// On a stream of another context a launch is a mistake. A default stream is that of what is current: the driver refuses the kernel, and
/// the program may try.
#[test]
fn a_kernel_of_another_context_is_a_mistake_but_on_a_default_stream() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (module, memory, mut other) = (cuda.load(FILL), cuda.alloc(64).unwrap(), null_mut());
    let fill = cuda.function(module, "fill");
    unsafe { ok(cuda.driver.cuCtxCreate(&mut other, null_mut(), 0, 0)) }.unwrap();
    for stream in [null_mut(), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD] {
        assert!(cuda.fill(fill, stream, memory, 16, 1).is_err());
    }
    assert_eq!(mistakes(&spy.ledger()), []);
    let stream = cuda.stream();
    assert!(cuda.fill(fill, stream, memory, 16, 1).is_err());
    assert_eq!(mistakes(&spy.ledger()), [(Mistake::WrongContext, "function#1".to_owned())]);
}

/// The share was taken while the context was current, and is of the device.
#[test]
fn a_context_takes_only_its_own_with_it() {
    let spy = spy();
    let (driver, mut own, mut primary) = (spy.driver(), null_mut(), null_mut());
    unsafe {
        ok(driver.cuInit(0)).unwrap();
        ok(driver.cuCtxCreate(&mut own, null_mut(), 0, 0)).unwrap();
        ok(driver.cuDevicePrimaryCtxRetain(&mut primary, 0)).unwrap();
        ok(driver.cuCtxDestroy(own)).unwrap();
        assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext]);
        ok(driver.cuDevicePrimaryCtxRelease(0)).unwrap();
    }
    spy.ledger().assert_clean();
}

#[test]
fn functions_outlive_an_unload_that_is_refused() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (stream, module, memory) = (cuda.stream(), cuda.load(FILL), cuda.alloc(256).unwrap());
    let (fill, mut graph) = (cuda.function(module, "fill"), null_mut());
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    unsafe {
        ok(cuda.driver.cuStreamBeginCapture(stream, mode)).unwrap();
        assert!(ok(cuda.driver.cuModuleUnload(module)).is_err());
        if ok(cuda.driver.cuStreamEndCapture(stream, &mut graph)).is_ok() {
            ok(cuda.driver.cuGraphDestroy(graph)).unwrap();
        }
    }
    cuda.fill(fill, null_mut(), memory, 64, 1).unwrap();
    assert_eq!(mistakes(&spy.ledger()), []);
    unsafe {
        ok(cuda.driver.cuMemFree(memory)).unwrap();
        ok(cuda.driver.cuModuleUnload(module)).unwrap();
        ok(cuda.driver.cuStreamDestroy(stream)).unwrap();
    }
}

/// Everything in a primary context goes when that is reset; the references to it stay.
#[test]
fn a_reset_takes_everything_in_the_primary_context_with_it() {
    let instance = cuda_emulator::Instance::new().unwrap();
    let spy = Spy::over(&instance.driver()).unwrap();
    let cuda = Cuda::new(spy.driver());
    let driver = &cuda.driver;
    let mut other = null_mut();
    ok(unsafe { driver.cuCtxCreate_v4(&mut other, null_mut(), 0, 0) }).unwrap();
    let kept = cuda.stream();
    cuda.make_current();
    let (stream, event, module) = (cuda.stream(), cuda.event(), cuda.load(FILL));
    let (function, memory) = (cuda.function(module, "fill"), cuda.alloc(64).unwrap());
    ok(unsafe { driver.cuDevicePrimaryCtxReset(0) }).unwrap();
    assert_eq!(kinds(&spy.ledger()), [Kind::PrimaryContext, Kind::Context, Kind::Stream]);
    assert_eq!(mistakes(&spy.ledger()), []);
    cuda.make_current();
    unsafe {
        let _ = driver.cuStreamQuery(stream);
        let _ = driver.cuEventQuery(event);
        let _ = driver.cuMemsetD8(memory, 0, 64);
        let _ = cuda.fill(function, null_mut(), memory, 1, 0);
        let _ = driver.cuModuleUnload(module);
        ok(driver.cuCtxSetCurrent(other)).unwrap();
        ok(driver.cuStreamDestroy(kept)).unwrap();
        ok(driver.cuCtxDestroy(other)).unwrap();
    }
    assert_eq!(
        mistakes(&spy.ledger()),
        [
            (Mistake::DeadHandle, "stream#2".to_owned()),
            (Mistake::DeadHandle, "event#1".to_owned()),
            (Mistake::DeadMemory, "memory#1".to_owned()),
            (Mistake::DeadHandle, "function#1".to_owned()),
            (Mistake::DoubleFree, "module#1".to_owned()),
        ]
    );
    drop(cuda);
    assert_eq!(kinds(&spy.ledger()), []);
}
