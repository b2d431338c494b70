//! What a graph uses lives as long as it can run: also after a panic or a refused call while it is made, where another thread
//! changes it meanwhile, and where it is let go by another thread than the one that launched it.

#![allow(unsafe_code)] // Kernel nodes of fill: an address and its length; drivers with a function of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
mod graph_support;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::skipped;
use cuda_launch::error::GraphError;
use cuda_launch::graph::{Branches, InstantiateFlags, MemsetNode};
use cuda_launch::sys::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode, CUresult, Driver, pfn,
};
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, SurfaceObject};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error, default_driver};
use graph_support::{Gpu, N, exec, graph_error};
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const LOCAL: CaptureMode = CaptureMode::ThreadLocal;

/// Free bytes of a device that nobody else uses now.
fn free(ctx: &CudaContext) -> usize {
    ctx.synchronize().unwrap();
    ctx.memory_info().unwrap().0
}

fn is_emulator(ctx: &CudaContext) -> bool {
    ctx.device_name().unwrap().contains("emulator")
}

/// What was recorded goes with the panic; what is recorded is not run.
#[test]
fn a_panic_in_a_capture_into_a_graph_leaves_no_node() {
    let _alone = alone();
    let gpu = Gpu::new();
    let mut kept = gpu.zeros();
    let mut graph = gpu.graph();
    let first = graph.add_memset(&[], MemsetNode::new(&mut kept, 3).unwrap()).unwrap();
    let before = free(&gpu.ctx);
    let mut lost = DeviceBuffer::<u32>::zeroed(&gpu.stream, 1 << 20).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        graph.capture_into(&[first], LOCAL, |stream| {
            lost.view_mut().set_zero(stream)?;
            let fork = stream.fork()?;
            lost.view_mut().fill(&fork, 7)?;
            panic!("inside")
        })
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "inside");
    drop(lost);
    if is_emulator(&gpu.ctx) {
        assert_eq!(free(&gpu.ctx), before, "the graph keeps nothing of what is gone");
    }
    assert_eq!(graph.nodes(), [first]);
    let borrowed = unsafe { CudaGraph::from_raw(&gpu.ctx, graph.raw()) }.unwrap();
    assert_eq!(borrowed.nodes().len(), 1, "the driver has no more nodes than the graph");
    drop(borrowed);
    gpu.run(&graph);
    assert_eq!(kept.to_host_vec(&gpu.stream).unwrap(), [3; N]);
    // And it can be recorded into again.
    graph.capture_into(&[first], LOCAL, |stream| kept.view_mut().fill(stream, 4)).unwrap();
    gpu.run(&graph);
    assert_eq!(kept.to_host_vec(&gpu.stream).unwrap(), [4; N]);
}

/// Its end waits for all of the context, which would break the capture, and with it the graph.
#[test]
fn what_was_put_off_in_a_capture_into_a_graph_waits_for_its_end() {
    let _alone = alone();
    let gpu = Gpu::new();
    let mut kept = gpu.zeros();
    let mut graph = gpu.graph();
    let first = graph.add_memset(&[], MemsetNode::new(&mut kept, 3).unwrap()).unwrap();
    let shape = ArrayShape::D2 { width: 8, height: 4 };
    let array = CudaArray::<f32>::new(&gpu.ctx, shape, ArrayFlags::SURFACE).unwrap();
    let surface = || SurfaceObject::new(&array).unwrap();
    let surfaces = [surface(), surface(), surface()];
    for (round, surface) in surfaces.into_iter().enumerate() {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            graph.capture_into(&[first], LOCAL, |stream| {
                kept.view_mut().fill(stream, 7)?;
                drop(surface);
                match round {
                    0 => stream.synchronize(),
                    1 => panic!("inside"),
                    _ => Ok(()),
                }
            })
        }));
        match round {
            0 => assert!(ended.unwrap().unwrap_err().is_capture_error()),
            1 => assert_eq!(*ended.unwrap_err().downcast::<&str>().unwrap(), "inside"),
            _ => drop(ended.unwrap().unwrap()),
        }
        gpu.run(&graph);
        let value = if round == 2 { 7 } else { 3 };
        assert_eq!(kept.to_host_vec(&gpu.stream).unwrap(), [value; N], "round {round}");
    }
}

/// What may be blamed for a fault is listed as so many parts of the launch, which end with it: who has waited for it waits no more.
#[test]
fn a_launch_is_over_with_all_its_kernels() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (gpu, other) = (Gpu::on(ctx.clone()), ctx.new_stream().unwrap());
    let (mut x, mut graph) = (gpu.zeros(), gpu.graph());
    let [one, two] = [1, 2].map(|value| gpu.fill(&mut x, value));
    // SAFETY: 1, 2: fill takes an address, a number and a value, and stays inside so many numbers.
    let first = unsafe { graph.add_kernel(&[], one) }.unwrap();
    unsafe { graph.add_kernel(&[first], two) }.unwrap();
    let mut exec = exec(&graph);
    exec.launch(&gpu.stream).unwrap();
    for waits in [1, 0] {
        spy.clear();
        assert_eq!(x.to_host_vec(&other).unwrap(), [2; N]);
        assert_eq!(spy.count("cuStreamWaitEvent"), waits);
    }
}

/// Other code breaks the capture, or takes part in it and does not join. Drivers destroy the graph, and may give its address to
/// another one.
#[test]
fn a_graph_that_the_driver_destroyed_is_used_no_more() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let mut memory = DeviceBuffer::<u32>::zeroed(&ctx.new_stream().unwrap(), N).unwrap();
    let event = ctx.new_event().unwrap();
    let other = ctx.new_stream().unwrap();
    let (driver, success) = (ctx.driver(), CUresult::SUCCESS);
    for (unjoined, in_host) in [(false, false), (true, false), (true, true)] {
        let mut graph = CudaGraph::new(&ctx).unwrap();
        let first = graph.add_memset(&[], MemsetNode::new(&mut memory, 3).unwrap()).unwrap();
        let mut exec = exec(&graph);
        let broken = graph.capture_into(&[first], LOCAL, |stream| {
            memory.view_mut().fill(stream, 7)?;
            if unjoined {
                event.record(stream)?;
                assert_eq!(unsafe { driver.cuStreamWaitEvent(other.raw(), event.raw(), 0) }, success);
                assert_eq!(
                    unsafe { driver.cuMemsetD32Async(memory.cu_deviceptr(), 1, 1, other.raw()) },
                    success
                );
            } else {
                let refused = unsafe { driver.cuCtxSynchronize() };
                assert_eq!(refused, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            }
            Ok(())
        });
        assert!(broken.unwrap_err().is_capture_error());
        // Perhaps at the same address.
        let others: Vec<_> = (0..20).map(|_| CudaGraph::new(&ctx).unwrap()).collect();
        let lost = |result: Result<(), Error>| {
            assert!(matches!(graph_error(result), GraphError::Lost));
        };
        lost(graph.instantiate(InstantiateFlags::empty()).map(drop));
        lost(graph.try_clone().map(drop));
        lost(graph.remove(first));
        lost(graph.add_empty(&[]).map(drop));
        lost(graph.capture_into(&[], LOCAL, |_| Ok(())).map(drop));
        // What was made of it before lives on.
        exec.launch(&ctx.new_stream().unwrap()).unwrap();
        ctx.synchronize().unwrap();
        let destroyed = spy.count("cuGraphDestroy");
        if in_host {
            drop(exec);
            let stream = ctx.new_stream().unwrap();
            stream.call_host(move || drop(graph)).unwrap();
            stream.synchronize().unwrap();
            // Another thread would destroy it now.
            std::thread::sleep(std::time::Duration::from_millis(50));
        } else {
            graph.close().unwrap();
        }
        assert_eq!(spy.count("cuGraphDestroy"), destroyed);
        others.into_iter().for_each(|other| other.close().unwrap());
    }
    let ledger = spy.ledger();
    assert_eq!(ledger.problems(), [], "nothing was destroyed twice");
}

/// Whatever call fails, once or for good: nodes that are in the driver's graph find their memory.
#[test]
fn nodes_that_are_not_removed_keep_what_they_use() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let record = |graph: &mut CudaGraph, buffer: &mut DeviceBuffer<u32>, panics: bool| {
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            graph.capture_into(&[], LOCAL, |stream| {
                buffer.view_mut().fill(stream, 7)?;
                assert!(!panics, "inside");
                Ok(())
            })
        }));
        recorded.map(|nodes| nodes.map(|nodes| nodes.len()))
    };
    for panics in [false, true] {
        for lasting in [false, true] {
            for number in 1.. {
                let mut graph = CudaGraph::new(&ctx).unwrap();
                let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
                stream.synchronize().unwrap();
                let fail = if lasting { spies::fail_from } else { spies::fail_nth };
                fail(&spy, number, CUresult::CUDA_ERROR_UNKNOWN);
                let recorded = record(&mut graph, &mut buffer, panics);
                let failed = spies::failed(&spy);
                spies::watch(&spy);
                drop(buffer);
                // Memory that was freed would be given out again.
                let other = DeviceBuffer::from_host(&stream, &[1u32; N]).unwrap();
                let site = format!("{failed:?} failed, lasting: {lasting}, panics: {panics}");
                // A driver that was not told to end refuses to make it executable.
                if let Ok(mut exec) = graph.instantiate(cuda_launch::graph::InstantiateFlags::empty()) {
                    exec.launch(&stream).unwrap();
                    stream.synchronize().unwrap_or_else(|error| panic!("{site}: {error}"));
                }
                assert_eq!(other.to_host_vec(&stream).unwrap(), [1; N], "{site}");
                if failed.is_none() {
                    assert!(recorded.is_err() == panics || matches!(recorded, Ok(Ok(1))), "{site}");
                    break;
                }
            }
        }
    }
}

/// Nobody else changes, or makes executable, what the driver is recording into.
#[test]
fn a_graph_around_one_that_is_recorded_into_is_refused() {
    let _alone = alone();
    let gpu = Gpu::new();
    let mut x = gpu.zeros();
    let mut graph = gpu.graph();
    let value = graph.add_condition(Some(1)).unwrap();
    let (node, mut bodies) = graph.add_conditional(&[], value, Branches::If).unwrap();
    let recording = |result: Result<(), Error>| {
        let error = graph_error(result);
        assert_eq!(error, GraphError::Recording);
        assert!(error.to_string().contains("capture_into"), "{error}");
    };
    let nodes = bodies[0].capture_into(&[], LOCAL, |stream| {
        x.view_mut().fill(stream, 5)?;
        recording(graph.instantiate(cuda_launch::graph::InstantiateFlags::empty()).map(drop));
        recording(graph.dependencies().map(drop));
        recording(graph.add_empty(&[node]).map(drop));
        recording(graph.remove(node));
        thread::scope(|scope| {
            scope.spawn(|| recording(graph.try_clone().map(drop)));
        });
        Ok(())
    });
    assert_eq!(nodes.unwrap().len(), 1);
    drop(bodies);
    let mut exec = exec(&graph);
    drop(graph);
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

/// One capture inside another, each into a graph of its own; the inner one panics.
#[test]
fn a_panic_in_a_capture_inside_a_capture_ends_the_inner_one() {
    let _alone = alone();
    let gpu = Gpu::new();
    let (mut x, mut y) = (gpu.zeros(), gpu.zeros());
    let (mut outer, mut inner) = (gpu.graph(), gpu.graph());
    outer
        .capture_into(&[], LOCAL, |stream| {
            x.view_mut().fill(stream, 1)?;
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                inner.capture_into(&[], LOCAL, |stream| {
                    y.view_mut().fill(stream, 2).unwrap();
                    panic!("inside")
                })
            }));
            assert!(panicked.is_err());
            y.view_mut().fill(stream, 3)
        })
        .unwrap();
    let in_the_driver = unsafe { CudaGraph::from_raw(&gpu.ctx, inner.raw()) }.unwrap().nodes();
    assert_eq!((outer.nodes().len(), in_the_driver.len()), (2, 0));
    drop(inner);
    gpu.run(&outer);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [1; N]);
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap(), [3; N]);
}

/// A function that counts its calls, and tells when it is dropped.
struct Counts(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn what_a_changed_node_used_stays_while_launches_run() {
    let _alone = alone();
    let gpu = Gpu::new();
    let numbers: [Arc<AtomicUsize>; 6] = std::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
    let [first, first_end, second, second_end, third, third_end] = &numbers;
    let counts = |calls: &Arc<AtomicUsize>, ends: &Arc<AtomicUsize>| {
        let counts = Counts(calls.clone(), ends.clone());
        move || {
            counts.0.fetch_add(1, Ordering::SeqCst);
        }
    };
    let mut graph = gpu.graph();
    let node = graph.add_host(&[], counts(first, first_end)).unwrap();
    let mut exec = exec(&graph);
    // Loads what a driver loads at a first launch.
    exec.launch(&gpu.stream).unwrap();
    exec.synchronize().unwrap();
    exec.set_host(node, counts(second, second_end)).unwrap();
    let held = hold(&gpu.stream);
    exec.launch(&gpu.stream).unwrap();
    exec.set_host(node, counts(third, third_end)).unwrap();
    let ends = |of: &[&Arc<AtomicUsize>]| of.iter().map(|n| n.load(Ordering::SeqCst)).collect::<Vec<_>>();
    assert_eq!(ends(&[first_end, second_end, third_end]), [0, 0, 0], "the launch has yet to call the second");
    exec.launch(&gpu.stream).unwrap();
    drop((graph, exec));
    assert_eq!(ends(&[first_end, second_end, third_end]), [0, 0, 0], "the launches have yet to run");
    drop(held);
    gpu.stream.synchronize().unwrap();
    gpu.ctx.synchronize().unwrap();
    assert_eq!(ends(&[first, second, third]), [1, 1, 1]);
    assert_eq!(ends(&[first_end, second_end, third_end]), [1, 1, 1]);
}

#[test]
fn what_an_updated_graph_used_stays_while_launches_run() {
    let _alone = alone();
    let gpu = Gpu::new();
    let (calls, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let build = |add: usize| {
        let (counts, mut graph) = (Counts(calls.clone(), ends.clone()), gpu.graph());
        let function = move || {
            counts.0.fetch_add(add, Ordering::SeqCst);
        };
        graph.add_host(&[], function).unwrap();
        graph
    };
    let mut exec = exec(&build(1));
    exec.launch(&gpu.stream).unwrap();
    exec.synchronize().unwrap();
    exec.update(&build(10)).unwrap();
    let held = hold(&gpu.stream);
    exec.launch(&gpu.stream).unwrap();
    exec.update(&build(100)).unwrap();
    assert_eq!(ends.load(Ordering::SeqCst), 0);
    exec.launch(&gpu.stream).unwrap();
    drop(held);
    exec.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 111);
    drop(exec);
    gpu.ctx.synchronize().unwrap();
    assert_eq!(ends.load(Ordering::SeqCst), 3);
}

/// A per-thread stream is another one on each thread; the launch is on this one.
#[test]
fn a_launch_on_a_per_thread_stream_is_waited_for_on_another_thread() {
    let _alone = alone();
    let gpu = Gpu::new();
    let (calls, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for dropped in [true, false] {
        calls.store(0, Ordering::SeqCst);
        ends.store(0, Ordering::SeqCst);
        let counts = Counts(calls.clone(), ends.clone());
        let mut graph = gpu.graph();
        graph
            .add_host(&[], move || {
                assert_eq!(counts.1.load(Ordering::SeqCst), 0, "called after its end");
                counts.0.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
        let mut exec = exec(&graph);
        drop(graph);
        let stream = gpu.ctx.per_thread_stream();
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        let held = hold(&stream);
        exec.launch(&stream).unwrap();
        thread::scope(|scope| {
            let release = scope.spawn(move || {
                thread::sleep(Duration::from_millis(30));
                drop(held);
            });
            scope.spawn(|| {
                if dropped {
                    return drop(exec);
                }
                exec.synchronize().unwrap();
                assert_eq!(calls.load(Ordering::SeqCst), 2, "the launch was waited for");
            });
            release.join().unwrap();
        });
        stream.synchronize().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }
}

/// What the shims below wait for, the first time.
static GATE: Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>> = Mutex::new(None);

/// Says that it is there, and waits, where the test asked for it.
fn stop_once() {
    let gate = GATE.lock().unwrap().take();
    if let Some((here, go)) = gate {
        here.send(()).unwrap();
        go.recv().unwrap_err();
    }
}

/// A driver that takes a child with conditional nodes, also for an executable graph, and does nothing with it.
fn takes_all_children() -> Arc<Driver> {
    unsafe extern "C" fn add(
        node: *mut CUgraphNode,
        _: CUgraph,
        _: *const CUgraphNode,
        _: usize,
        _: CUgraph,
    ) -> CUresult {
        stop_once();
        unsafe { node.write(std::ptr::dangling_mut::<u64>().cast()) };
        CUresult::SUCCESS
    }
    unsafe extern "C" fn set(_: CUgraphExec, _: CUgraphNode, _: CUgraph) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn update(_: CUgraphExec, _: CUgraph, _: *mut CUgraphExecUpdateResultInfo) -> CUresult {
        CUresult::SUCCESS
    }
    let base = default_driver().unwrap();
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuGraphExecUpdate_v2" => update as pfn::cuGraphExecUpdate_v2 as *const c_void,
        "cuGraphAddChildGraphNode" => add as pfn::cuGraphAddChildGraphNode as *const c_void,
        "cuGraphExecChildGraphNodeSetParams" => {
            set as pfn::cuGraphExecChildGraphNodeSetParams as *const c_void
        }
        name => base.address(name),
    };
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// Another thread adds a node to a graph inside the child while this one waits for its turn: what the driver copies is kept.
#[test]
fn a_child_that_another_thread_changes_meanwhile_is_kept_as_it_was_copied() {
    let _alone = alone();
    let ctx = CudaContext::with_driver(&takes_all_children(), 0).unwrap();
    if !is_emulator(&ctx) {
        return skipped("counts free memory");
    }
    let stream = ctx.new_stream().unwrap();
    for way in ["add_child", "set_child", "update"] {
        let mut outer = CudaGraph::new(&ctx).unwrap();
        let empty = CudaGraph::new(&ctx).unwrap();
        let node = outer.add_child(&[], &empty).unwrap();
        let mut exec = exec(&outer);
        let mut child = CudaGraph::new(&ctx).unwrap();
        let value = child.add_condition(Some(1)).unwrap();
        let (_, mut bodies) = child.add_conditional(&[], value, Branches::If).unwrap();
        let before = free(&ctx);
        let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 1 << 20).unwrap();
        let ((here, there), (go, wait)) = (mpsc::channel(), mpsc::channel());
        *GATE.lock().unwrap() = Some((here, wait));
        thread::scope(|scope| {
            // Whoever copies a graph into another one waits for this thread.
            scope.spawn(|| {
                let mut other = CudaGraph::new(&ctx).unwrap();
                other.add_child(&[], &empty).unwrap();
            });
            there.recv().unwrap();
            let copies = scope.spawn(|| match way {
                "add_child" => outer.add_child(&[], &child).map(drop),
                "set_child" => exec.set_child(node, &child),
                _ => exec.update(&child),
            });
            thread::sleep(Duration::from_millis(50));
            bodies[0].add_memset(&[], MemsetNode::new(&mut buffer, 1).unwrap()).unwrap();
            drop(go);
            copies.join().unwrap().unwrap();
        });
        drop((buffer, bodies, child));
        assert!(free(&ctx) <= before - (4 << 20), "{way}: the memory of the new node is kept");
        drop((exec, outer));
        assert_eq!(free(&ctx), before);
    }
}
