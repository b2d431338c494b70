//! Code of users that panics, waits or ends where it harms most: on the threads that watch and clear up. What is awaited later
//! goes on, whatever it does.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels, one of which traps; a context of other code; a fork.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::{child, wait_until};
use cuda_launch::graph::InstantiateFlags;
#[cfg(unix)]
use cuda_launch::operation::DeviceFuture;
use cuda_launch::operation::{
    DeviceOperation, SchedulingPolicy, SingleStream, block_on, copy_to_device, in_flight, value, zeroed,
};
use cuda_launch::sys::{CUcontext, CUresult, Driver};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaModule, CudaStream, DeviceBuffer, Error, GraphExec,
    LaunchConfig, cuda_launch,
};
use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;
use support::{context, poll_once};

const WATCHER: &str = "cuda-launch reactor";

fn on(stream: &CudaStream) -> Arc<dyn SchedulingPolicy> {
    Arc::new(SingleStream::new(stream))
}

/// A panic with a value whose end panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in the end of what a panic gave");
    }
}

/// A future that has to wait for `stream` comes to its end.
fn futures_still_end(stream: &CudaStream) {
    let held = hold(stream);
    let mut future = zeroed::<u8>(3).schedule(on(stream)).future();
    assert!(poll_once(&mut future).is_pending());
    drop(held);
    let mut ended = None;
    wait_until("the thread that watches is there", || match poll_once(&mut future) {
        Poll::Ready(buffer) => ended.insert(buffer).is_ok(),
        Poll::Pending => false,
    })
    .unwrap();
}

#[test]
fn a_waker_that_panics_ends_nothing() {
    struct Panics(AtomicUsize);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic_any(Bomb);
        }
    }
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let panics = Arc::new(Panics(AtomicUsize::new(0)));
    let waker = Waker::from(panics.clone());
    for times in 1..=3 {
        let held = hold(&stream);
        let mut future = zeroed::<u8>(1).schedule(on(&stream)).future();
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(held);
        wait_until("it was woken", || panics.0.load(Ordering::SeqCst) == times).unwrap();
        assert_eq!(block_on(future).unwrap().len(), 1);
        futures_still_end(&stream);
    }
}

/// Tells of its end.
struct Noted(Arc<AtomicBool>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_end_that_panics_twice_keeps_no_other_end() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    for _ in 0..3 {
        let ended = Arc::new(AtomicBool::new(false));
        let noted = Noted(ended.clone());
        let held = hold(&stream);
        let op = zeroed::<u8>(1).and_then_with_context(move |cx, buffer| {
            cx.keep(Panics);
            cx.keep(noted);
            value((buffer, Panics))
        });
        let mut future = op.schedule(on(&stream)).future();
        assert!(poll_once(&mut future).is_pending());
        drop(future);
        drop(held);
        wait_until("what is kept with it ends too", || ended.load(Ordering::SeqCst)).unwrap();
        futures_still_end(&stream);
    }
}

/// The work is done, the future is woken and dropped, and something kept is given away, all at the same time.
#[test]
fn no_output_ends_on_the_thread_that_watches() {
    struct Output(Arc<AtomicUsize>);
    impl Drop for Output {
        fn drop(&mut self) {
            if thread::current().name() == Some(WATCHER) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    struct Signal(AtomicBool);
    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let wrong = Arc::new(AtomicUsize::new(0));
    for round in 0..500 {
        let held = hold(&stream);
        let output = Output(wrong.clone());
        let op = zeroed::<u8>(1).and_then_with_context(move |cx, buffer| {
            cx.keep(());
            value((buffer, output))
        });
        let mut future = op.schedule(on(&stream)).future();
        let signal = Arc::new(Signal(AtomicBool::new(false)));
        let waker = Waker::from(signal.clone());
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(held);
        while !signal.0.load(Ordering::Acquire) {
            thread::yield_now();
        }
        (0..round % 50 * 20).for_each(|_| std::hint::spin_loop());
        drop(future);
    }
    assert_eq!(wrong.load(Ordering::SeqCst), 0);
}

/// A context of other code, whose owner needs operations to end.
#[test]
fn a_context_does_not_end_on_the_thread_that_watches() {
    struct Owner {
        driver: Arc<Driver>,
        raw: usize,
        ended: mpsc::Sender<Option<String>>,
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            let _ = self.ended.send(thread::current().name().map(str::to_owned));
            let stream = context().new_stream().unwrap();
            futures_still_end(&stream);
            assert_eq!(unsafe { self.driver.cuCtxDestroy(self.raw as CUcontext) }, CUresult::SUCCESS);
        }
    }
    let _alone = alone();
    let driver = context().driver().clone();
    let mut raw: CUcontext = std::ptr::null_mut();
    let code = unsafe { driver.cuCtxCreate(&mut raw, std::ptr::null_mut(), 0, context().raw_device()) };
    assert_eq!(code, CUresult::SUCCESS);
    let (sender, ended) = mpsc::channel();
    let owner = Owner { driver: driver.clone(), raw: raw.addr(), ended: sender };
    let foreign = unsafe { CudaContext::from_raw(&driver, raw, Some(Arc::new(owner))) }.unwrap();
    let stream = foreign.new_stream().unwrap();
    let held = hold(&stream);
    let mut future = zeroed::<u8>(1).map(drop).schedule(on(&stream)).future();
    assert!(poll_once(&mut future).is_pending());
    drop((future, stream, foreign));
    drop(held);
    let name = ended.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_ne!(name.as_deref(), Some(WATCHER));
    futures_still_end(&context().new_stream().unwrap());
    wait_until("all is over", || in_flight() == 0).unwrap();
}

#[test]
fn the_longest_timeout_is_none() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let held = hold(&stream);
    let op = zeroed::<u8>(3).schedule(on(&stream)).timeout(Duration::MAX);
    let mut future = op.into_future();
    assert!(poll_once(&mut future).is_pending());
    drop(held);
    assert_eq!(block_on(future).unwrap().len(), 3);
}

/// A thread for each would cost more than the copy.
#[test]
fn what_is_kept_for_copies_ends_on_one_thread() {
    struct Source(Vec<u32>, Arc<Mutex<Vec<ThreadId>>>);
    impl AsRef<[u32]> for Source {
        fn as_ref(&self) -> &[u32] {
            &self.0
        }
    }
    impl Drop for Source {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(thread::current().id());
        }
    }
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let ends = Arc::new(Mutex::new(Vec::new()));
    for times in 1..=10 {
        let held = hold(&stream);
        let op = copy_to_device::<_, u32>(Source(vec![7; 100], ends.clone()));
        let mut future = op.schedule(on(&stream)).future();
        assert!(poll_once(&mut future).is_pending());
        drop(held);
        assert_eq!(block_on(future).unwrap().len(), 100);
        wait_until("the source ends", || ends.lock().unwrap().len() == times).unwrap();
    }
    let mut threads = ends.lock().unwrap().clone();
    threads.dedup();
    assert_eq!(threads.len(), 1);
}

/// In a process of its own, which ends with `AS_EXPECTED` if `test` returns.
fn in_a_child(name: &str, test: impl FnOnce()) {
    const AS_EXPECTED: i32 = 43;
    const HANGS: i32 = 44;
    if child::is_child(name) {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(30));
            exit(HANGS);
        });
        test();
        exit(AS_EXPECTED);
    }
    let ended = child::run(name).unwrap();
    assert_eq!(ended.code, Some(AS_EXPECTED), "{name}\n{}\n{}", ended.stdout, ended.stderr);
}

/// A stream that is behind a kernel that traps, when `held` is let go.
struct Trap {
    ctx: CudaContext,
    stream: CudaStream,
    held: cuda_harness::Hold,
    graph: CudaGraph,
    /// What the kernel uses: to unload a module that is at work is to wait for it.
    _used: (CudaModule, DeviceBuffer<u32>),
}

impl Trap {
    fn new() -> Self {
        let ctx = context();
        let stream = ctx.new_stream().unwrap();
        let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
        let mut words = DeviceBuffer::<u32>::zeroed(&stream, 256).unwrap();
        let config = LaunchConfig::new((1, 1, 1), (64, 1, 1));
        let mut launch = |stream: &CudaStream, block: u32| unsafe {
            cuda_launch! { kernel: trap_at, module: module, stream: stream, config: config,
            args: [block, 5u32, ptr_mut(words)] }
        };
        // No such block: loads the kernel, and ends well.
        launch(&stream, 99).unwrap();
        let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| launch(stream, 99)).unwrap();
        stream.synchronize().unwrap();
        let held = hold(&stream);
        launch(&stream, 0).unwrap();
        Self { ctx, stream, held, graph, _used: (module, words) }
    }

    fn executable(&self) -> Result<GraphExec, Error> {
        self.graph.instantiate(InstantiateFlags::empty())
    }
}

/// Whoever looks what may be dropped finds the fault, and drops a graph that is told to look, too.
#[test]
fn a_fault_found_by_looking_at_what_is_parked_holds_up_nobody() {
    in_a_child("a_fault_found_by_looking_at_what_is_parked_holds_up_nobody", || {
        let trap = Trap::new();
        let (mut parked, given_away) = (trap.executable().unwrap(), trap.executable().unwrap());
        parked.launch(&trap.stream).unwrap();
        drop(parked);
        trap.stream.call_host(move || drop(given_away)).unwrap();
        drop(trap.held);
        let fault = || match trap.graph.instantiate(InstantiateFlags::empty()) {
            Ok(_) => false,
            Err(error) => error.is_sticky(),
        };
        wait_until("the fault is found", fault).unwrap();
    });
}

/// The thread that watches finds the fault; what waits behind it ends elsewhere.
#[test]
fn what_a_fault_leaves_behind_does_not_end_on_the_thread_that_watches() {
    struct Closure(mpsc::Sender<Option<String>>);
    impl Drop for Closure {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().name().map(str::to_owned));
        }
    }
    in_a_child("what_a_fault_leaves_behind_does_not_end_on_the_thread_that_watches", || {
        let trap = Trap::new();
        let mut future = zeroed::<u8>(1).map(drop).schedule(on(&trap.stream)).future();
        assert!(poll_once(&mut future).is_pending());
        let (sender, ended) = mpsc::channel();
        let closure = Closure(sender);
        trap.stream.call_host(move || drop(closure)).unwrap();
        drop(trap.held);
        assert_ne!(ended.recv_timeout(Duration::from_secs(20)).unwrap().as_deref(), Some(WATCHER));
        assert!(block_on(future).unwrap_err().is_sticky());
        assert!(trap.ctx.synchronize().unwrap_err().is_sticky());
    });
}

/// The child has no thread that watches: it is told, instead of waiting forever.
#[cfg(unix)]
#[test]
fn a_future_that_is_pending_at_a_fork_ends_in_the_child() {
    unsafe extern "C" {
        safe fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        safe fn _exit(code: i32) -> !;
    }
    fn ends_there<Op>(future: &mut DeviceFuture<Op>) -> bool
    where
        Op: DeviceOperation<Output: 'static>,
    {
        matches!(poll_once(future), Poll::Ready(Err(error)) if error.is_forked())
    }
    in_a_child("a_future_that_is_pending_at_a_fork_ends_in_the_child", || {
        let stream = context().new_stream().unwrap();
        let held = hold(&stream);
        let mut future = zeroed::<u8>(3).schedule(on(&stream)).future();
        let mut dropped = zeroed::<u8>(3).schedule(on(&stream)).future();
        assert!(poll_once(&mut future).is_pending() && poll_once(&mut dropped).is_pending());
        let process = fork();
        if process == 0 {
            drop(dropped);
            _exit(i32::from(!ends_there(&mut future)));
        }
        let mut status = 0;
        assert_eq!(unsafe { waitpid(process, &mut status, 0) }, process);
        assert_eq!(status, 0, "it ended in the child with an error that says so");
        drop(held);
        assert_eq!(block_on(future).unwrap().len(), 3, "the parent's goes on");
        assert_eq!(block_on(dropped).unwrap().len(), 3, "what is dropped in the child, too");
        // Work that was done before: the output is the parent's all the same.
        let held = hold(&stream);
        let ended = Arc::new(AtomicBool::new(false));
        let output = Noted(ended.clone());
        let mut done = zeroed::<u8>(3).map(move |_| output).schedule(on(&stream)).future();
        assert!(poll_once(&mut done).is_pending());
        drop(held);
        wait_until("it is done", || in_flight() == 0).unwrap();
        let process = fork();
        if process == 0 {
            drop(done);
            _exit(i32::from(ended.load(Ordering::SeqCst)));
        }
        assert_eq!(unsafe { waitpid(process, &mut status, 0) }, process);
        assert_eq!(status, 0, "the child has ended what is not its own");
        drop(block_on(done).unwrap());
        assert!(ended.load(Ordering::SeqCst));
    });
}
