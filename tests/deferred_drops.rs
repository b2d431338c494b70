//! A value that work still uses, or that the driver refuses to free now, is dropped later than by its owner, when an unrelated call
//! finds that it may be. Neither what its `Drop` does nor what that waits for affects the call.

#![allow(unsafe_code)] // A launch that the crate knows nothing of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::{Hold, child, skipped, wait_until};
use cuda_launch::diagnostics::LogListener;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::operation::{DeviceOperation, value, with_context};
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, GraphExec};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The name of the thread on which values end that nobody's own call ends.
const DROPS: &str = "cuda-launch drops";
const SOON: Duration = Duration::from_secs(20);
const LOCAL: CaptureMode = CaptureMode::ThreadLocal;

/// Tells where it ends, and then panics.
struct Bomb(Sender<String>);

impl Drop for Bomb {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().name().unwrap_or_default().to_owned());
        panic!("on purpose: a value of the program panics when it is dropped");
    }
}

/// A bomb, and where it tells that it ended.
fn bomb() -> (Bomb, Receiver<String>) {
    let (sender, receiver) = mpsc::channel();
    (Bomb(sender), receiver)
}

/// It ends once, and on the thread for that.
fn ends_elsewhere(ended: &Receiver<String>) {
    assert_eq!(ended.recv_timeout(SOON).as_deref(), Ok(DROPS));
    assert_eq!(ended.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected), "once");
}

fn exec_of(graph: &CudaGraph) -> GraphExec {
    graph.instantiate(InstantiateFlags::empty()).unwrap()
}

/// A recorded operation keeps `kept`. It is let go while it runs, until the result is dropped.
fn park(ctx: &CudaContext, stream: &CudaStream, kept: impl Send + 'static) -> Hold {
    let recorded = with_context(move |cx| {
        let _ = cx.stream();
        cx.keep(kept);
        value(())
    });
    let mut graph = recorded.graph_in(ctx).unwrap();
    let held = hold(stream);
    graph.launch_on(stream).unwrap();
    drop(graph);
    held
}

/// The same, and the work is over.
fn park_until_now(ctx: &CudaContext, stream: &CudaStream, kept: impl Send + 'static) {
    drop(park(ctx, stream, kept));
    stream.synchronize().unwrap();
}

/// Goes back into a pool when it is dropped, under the pool's lock.
struct Pooled(Arc<Mutex<usize>>);

impl Drop for Pooled {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_value_that_panics_ends_in_nobodys_call() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let graph = CudaGraph::new(&ctx).unwrap();
    let exec = exec_of(&graph);
    let calls: [&dyn Fn(); 5] = [
        &|| ctx.synchronize().unwrap(),
        &|| drop(exec_of(&graph)),
        &|| exec.synchronize().unwrap(),
        &|| drop(CudaGraph::capture(&ctx, LOCAL, |_| Ok(())).unwrap()),
        &|| exec_of(&graph).close().unwrap(),
    ];
    for call in calls {
        let (bomb, ended) = bomb();
        park_until_now(&ctx, &stream, bomb);
        call();
        ends_elsewhere(&ended);
    }
}

/// Two panics at once would end the process.
#[test]
fn a_value_that_panics_does_not_meet_another_panic() {
    const NAME: &str = "a_value_that_panics_does_not_meet_another_panic";
    if !child::is_child(NAME) {
        let ended = child::run(NAME).unwrap();
        return assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let exec = exec_of(&CudaGraph::new(&ctx).unwrap());
    let (first, first_ended) = bomb();
    let held = park(&ctx, &stream, first);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        CudaGraph::capture(&ctx, LOCAL, |_| {
            drop(held);
            while !stream.query().unwrap() {
                thread::yield_now();
            }
            panic!("on purpose: in a capture")
        })
        .map(drop)
    }));
    assert!(panicked.is_err());
    ends_elsewhere(&first_ended);

    let (second, second_ended) = bomb();
    park_until_now(&ctx, &stream, second);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ends_with_the_panic = exec;
        panic!("on purpose: with a graph")
    }));
    assert!(panicked.is_err());
    ends_elsewhere(&second_ended);
}

#[test]
fn a_value_that_locks_does_not_end_where_the_lock_is_held() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let pool = Arc::new(Mutex::new(0));
    park_until_now(&ctx, &stream, Pooled(pool.clone()));
    let guard = pool.lock().unwrap();
    ctx.synchronize().unwrap();
    assert_eq!(*guard, 0);
    drop(guard);
    wait_until("what was kept goes back", || *pool.lock().unwrap() == 1).unwrap();
    wait_until("its share goes with it", || Arc::strong_count(&pool) == 1).unwrap();
}

#[test]
fn what_a_function_of_a_graph_owns_does_not_end_where_its_lock_is_held() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let pool = Arc::new(Mutex::new(0));
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let owned = Pooled(pool.clone());
    let function = move || {
        let _owned = &owned;
    };
    graph.add_host(&[], function).unwrap();
    let mut exec = exec_of(&graph);
    drop(graph);
    let held = hold(&stream);
    exec.launch(&stream).unwrap();
    drop(exec);
    drop(held);
    stream.synchronize().unwrap();
    let guard = pool.lock().unwrap();
    drop(exec_of(&CudaGraph::new(&ctx).unwrap()));
    assert_eq!(*guard, 0);
    drop(guard);
    wait_until("what it owns goes back", || *pool.lock().unwrap() == 1).unwrap();
    wait_until("its share goes with it", || Arc::strong_count(&pool) == 1).unwrap();
}

/// The driver runs the function when the graphs let go: whoever holds a lock that it takes may be waiting for that thread.
#[test]
fn what_a_function_owns_that_is_running_does_not_end_on_the_drivers_thread() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let (bomb, ended) = bomb();
    let (begin, begun) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = Mutex::new(goes);
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let function = move || {
        let _owned = &bomb;
        begin.send(()).unwrap();
        let _ = goes.lock().unwrap().recv_timeout(SOON);
    };
    graph.add_host(&[], function).unwrap();
    let exec = exec_of(&graph);
    drop(graph);
    // Not by this crate, which would keep it until then.
    let code = unsafe { ctx.driver().cuGraphLaunch(exec.raw(), stream.raw()) };
    assert_eq!(code, CUresult::SUCCESS);
    begun.recv_timeout(SOON).unwrap();
    drop(exec);
    drop(go);
    ends_elsewhere(&ended);
    stream.synchronize().unwrap();
}

/// Taken off while another thread's call makes it hear something: it has nothing to do with that call.
#[test]
fn a_listener_that_is_running_does_not_end_in_the_call_that_it_hears_of() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    if !ctx.device_name().unwrap().contains("emulator") {
        return skipped("a driver may take a listener off after the calls that it hears of");
    }
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let (bomb, ended) = bomb();
    let (begin, begun) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let listener = LogListener::new(ctx.driver(), move |_, _| {
        let _owned = &bomb;
        let _ = begin.send(());
        let _ = goes.recv_timeout(SOON);
    });
    let listener = listener.unwrap();
    let call = thread::spawn(move || module.load_function("missing").map(drop));
    begun.recv_timeout(SOON).unwrap();
    drop(listener);
    drop(go);
    assert!(call.join().unwrap().unwrap_err().is_not_found());
    ends_elsewhere(&ended);
}

/// Memory that a thread's own stream has used is released after a wait for the whole context, and this thread is what that waits for.
#[test]
fn a_release_that_waits_for_the_context_holds_up_nobody() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let other = ctx.clone();
    let of_another =
        thread::spawn(move || DeviceBuffer::<u32>::zeroed(&other.per_thread_stream(), 100).unwrap());
    let buffer = of_another.join().unwrap();
    let freed = || spy.calls().names().contains(&"cuMemFreeAsync");
    let held = hold(&stream);
    // Not allowed inside, and so put off to the end of the capture.
    let graph = CudaGraph::capture(&ctx, LOCAL, |_| {
        drop(buffer);
        Ok(())
    });
    drop(graph.unwrap());
    drop(held);
    wait_until("the memory is released", freed).unwrap();
}

/// The driver has no event for the end of work on a thread's own stream: whoever comes by cannot ask whether it is over.
#[test]
fn a_wait_for_the_stream_of_another_thread_holds_up_nobody() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (bomb, ended) = bomb();
    thread::scope(|scope| {
        scope.spawn(|| {
            let own = ctx.per_thread_stream();
            let mut graph = CudaGraph::new(&ctx).unwrap();
            let function = move || {
                let _owned = &bomb;
            };
            graph.add_host(&[], function).unwrap();
            let mut exec = exec_of(&graph);
            drop(graph);
            let held = hold(&own);
            exec.launch(&own).unwrap();
            spies::fail_calls_of(&spy, "cuEventCreate", CUresult::CUDA_ERROR_UNKNOWN);
            drop(exec);
            assert_eq!(spies::failed(&spy), Some("cuEventCreate"));
            spies::watch(&spy);
            drop(held);
            own.synchronize().unwrap();
        });
    });
    let held = hold(&stream);
    drop(exec_of(&CudaGraph::new(&ctx).unwrap()));
    drop(held);
    ends_elsewhere(&ended);
}

/// Nobody can ask for that stream from here. Only a wait tells whether the work is over, and it is not the caller's.
#[test]
fn what_work_on_the_stream_of_another_thread_uses_stays_until_it_is_over() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (bomb, ended) = bomb();
    let ((busy, is_busy), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
    thread::scope(|scope| {
        let (ctx, spy) = (&ctx, &spy);
        scope.spawn(move || {
            let own = ctx.per_thread_stream();
            let mut graph = CudaGraph::new(ctx).unwrap();
            let function = move || {
                let _owned = &bomb;
            };
            graph.add_host(&[], function).unwrap();
            let mut exec = exec_of(&graph);
            drop(graph);
            let held = hold(&own);
            exec.launch(&own).unwrap();
            spies::fail_calls_of(spy, "cuEventCreate", CUresult::CUDA_ERROR_UNKNOWN);
            drop(exec);
            spies::watch(spy);
            busy.send(()).unwrap();
            gate.recv_timeout(SOON).unwrap_err();
            drop(held);
        });
        is_busy.recv_timeout(SOON).unwrap();
        drop(exec_of(&CudaGraph::new(ctx).unwrap()));
        assert_eq!(ended.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
        drop(go);
    });
    ends_elsewhere(&ended);
}

/// What it gives back might break a capture, or wait in vain for its end.
#[test]
fn nothing_ends_while_this_thread_captures() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let (bomb, ended) = bomb();
    let held = park(&ctx, &stream, bomb);
    let other = exec_of(&CudaGraph::new(&ctx).unwrap());
    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |_| {
        drop(held);
        stream.synchronize()?;
        // It looks for what may end.
        drop(other);
        assert_eq!(ended.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
        Ok(())
    });
    captured.unwrap();
    ends_elsewhere(&ended);
}

/// Not memory either that only its stream has used, which goes without a further look elsewhere.
#[test]
fn memory_of_one_stream_stays_while_this_thread_captures() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let x = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |_| {
        spy.clear();
        drop(x);
        assert_eq!(spy.count("cuMemFreeAsync"), 0);
        Ok(())
    });
    captured.unwrap();
    wait_until("it is freed", || spy.count("cuMemFreeAsync") == 1).unwrap();
    let x = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    drop(x);
    assert_eq!(spy.count("cuMemFreeAsync"), 2, "at once, where nobody captures");
}

/// Work on the captured stream may use the address, and runs nobody knows when.
#[test]
fn memory_whose_address_was_taken_stays_while_another_thread_captures() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let x = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let _ = x.as_device_ptr();
    stream.synchronize().unwrap();
    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |_| {
        spy.clear();
        thread::scope(|scope| scope.spawn(move || drop(x)).join().unwrap());
        assert_eq!(spy.count("cuMemFreeAsync"), 0);
        Ok(())
    });
    captured.unwrap();
    wait_until("it is freed", || spy.count("cuMemFreeAsync") == 1).unwrap();
}

#[test]
fn what_a_graph_uses_stays_until_its_last_launch_is_over() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let [first, last] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let (bomb, ended) = bomb();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let function = move || {
        let _owned = &bomb;
    };
    graph.add_host(&[], function).unwrap();
    let mut exec = exec_of(&graph);
    drop(graph);
    exec.launch(&first).unwrap();
    first.synchronize().unwrap();
    let held = hold(&last);
    exec.launch(&last).unwrap();
    drop(exec);
    assert_eq!(ended.try_recv(), Err(TryRecvError::Empty));
    drop(held);
    last.synchronize().unwrap();
    drop(exec_of(&CudaGraph::new(&ctx).unwrap()));
    ends_elsewhere(&ended);
}

#[test]
fn the_end_of_a_graph_whose_work_is_over_marks_nothing() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    graph.add_host(&[], || ()).unwrap();
    let mut exec = exec_of(&graph);
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    let ((), calls) = spy.during(|| drop(exec));
    assert!(calls.names().iter().all(|call| !call.starts_with("cuEvent")), "{:?}", calls.names());
}

/// Takes its time.
struct Slow(Sender<()>);

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(20));
        let _ = self.0.send(());
    }
}

/// Memory that it gives back may be what is missing.
#[test]
fn an_allocation_that_finds_no_memory_waits_for_what_may_be_dropped() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (sender, ended) = mpsc::channel();
    park_until_now(&ctx, &stream, Slow(sender));
    spies::fail_nth(&spy, 1, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let buffer = DeviceBuffer::<u32>::uninit(&stream, 100);
    assert_eq!((spies::failed(&spy), ended.try_recv()), (Some("cuMemAllocAsync"), Ok(())));
    buffer.unwrap();
}

/// Who looks for what was left behind finds nothing then, whichever call has had it dropped.
#[test]
fn a_wait_for_the_context_waits_for_what_earlier_calls_had_dropped() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let graph = CudaGraph::new(&ctx).unwrap();
    let (sender, ended) = mpsc::channel();
    park_until_now(&ctx, &stream, Slow(sender));
    drop(exec_of(&graph));
    ctx.synchronize().unwrap();
    assert_eq!(ended.try_recv(), Ok(()));
}
