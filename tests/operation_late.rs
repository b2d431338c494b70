//! Operations over a device that does its work late, in this process's memory: copies, fills, kernels of typed modules, graphs.
//! Whatever is given back before the work is done is found under Miri (`cargo miri test --test operation_late`), and an order that
//! nobody asked for is not kept.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Launches of the two kernels that the device knows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod late_driver;
mod support;

use cuda_launch::memory::PinnedFlags;
use cuda_launch::operation::{
    self, DeviceFuture, DeviceOperation, Either, OwnedKernelLaunch, RoundRobin, SchedulingPolicy,
    SingleStream, all, allocate, block_on, copy_from_pinned, copy_on_device, copy_to_device, copy_to_host,
    copy_to_pinned, from_event, from_stream, in_flight, memset, select, select_all, value, zeroed, zip,
};
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaStream, DeviceBuffer, LaunchConfig, PinnedBuffer, cuda_module,
};
use late_driver::{allocations, work};
use std::any::Any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));

/// A context over the device, one at a time.
struct Rig {
    ctx: CudaContext,
    stream: CudaStream,
    policy: Arc<dyn SchedulingPolicy>,
    _alone: MutexGuard<'static, ()>,
}

impl Rig {
    fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ctx = CudaContext::with_driver(&late_driver::driver(support::lookup), 0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let policy = Arc::new(RoundRobin::new(&ctx, 3).unwrap());
        Self { ctx, stream, policy, _alone: alone }
    }

    fn floats(&self, values: &[f32]) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, values).unwrap()
    }

    fn read(&self, buffer: &DeviceBuffer<f32>) -> Vec<f32> {
        buffer.to_host_vec(&self.stream).unwrap()
    }

    /// All work is done, and nothing is left of it.
    fn end(self) {
        while in_flight() > 0 {
            work();
            thread::sleep(Duration::from_millis(1));
        }
        forgotten().clear();
        let Self { ctx, stream, policy, _alone } = self;
        drop((stream, policy));
        ctx.synchronize().unwrap();
        drop(ctx);
        work();
        // Outputs that nobody took end on a thread of the crate.
        for _ in 0..10_000 {
            if allocations() == 0 {
                break;
            }
            thread::sleep(Duration::from_millis(1));
            work();
        }
        assert_eq!(allocations(), 0, "memory that was not given back");
        // Miri does not let a program end before its threads; it has a clock of its own, which this costs nothing.
        if cfg!(miri) {
            thread::sleep(Duration::from_secs(60));
        }
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits with a device that does its work now and then.
fn awaited<T: Send>(future: impl IntoFuture<Output = T>) -> T {
    /// Also after a panic.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(2));
                work();
            }
        });
        let _over = Over(&done);
        block_on(future)
    })
}

/// Futures that nobody polls any more.
static FORGOTTEN: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

fn forgotten() -> MutexGuard<'static, Vec<Box<dyn Any + Send>>> {
    FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A future whose work is submitted and not done. The thread that waits for dropped ones makes the device work, too: where that was
/// just now, another one.
fn submitted<Op>(op: impl Fn() -> Op) -> DeviceFuture<Op>
where
    Op: DeviceOperation + 'static,
    Op::Output: 'static,
{
    loop {
        let mut future = op().future();
        if poll_once(&mut future).is_pending() {
            return future;
        }
    }
}

/// Submits each operation, then awaits, drops or forgets it.
fn whatever_happens<Op>(op: impl Fn() -> Op) -> Op::Output
where
    Op: DeviceOperation + 'static,
    Op::Output: 'static,
{
    drop(submitted(&op));
    forgotten().push(Box::new(submitted(&op)));
    let elsewhere = submitted(&op);
    let moved = thread::spawn(move || drop(elsewhere));
    let output = awaited(op().future()).unwrap();
    moved.join().unwrap();
    output
}

#[test]
fn copies_keep_what_they_read_and_write() {
    let rig = Rig::new();
    let there_and_back = || {
        copy_to_device(vec![1u32, 2, 3])
            .and_then(|buffer| zip!(value(allocate::<u32>(3)), value(buffer)))
            .and_then(|(to, from)| to.and_then(move |to| copy_on_device(from, to)))
            .and_then(|(_, to)| copy_to_host(to))
            .schedule(rig.policy.clone())
    };
    assert_eq!(whatever_happens(there_and_back).as_slice().unwrap(), [1, 2, 3]);
    let pinned = |values: &[u32]| PinnedBuffer::from_slice(&rig.ctx, values, PinnedFlags::empty()).unwrap();
    let through_pinned = || {
        let to = pinned(&[0, 0]);
        copy_from_pinned(pinned(&[8, 9]))
            .and_then(|(buffer, _source)| copy_to_pinned(buffer, to))
            .schedule(rig.policy.clone())
    };
    assert_eq!(whatever_happens(through_pinned).1.as_slice().unwrap(), [8, 9]);
    let filled = || {
        zip!(allocate::<u32>(4), zeroed::<u8>(5))
            .and_then(|(words, bytes)| zip!(memset(words, 7), value(bytes)))
            .and_then(|(words, bytes)| zip!(copy_to_host(words), copy_to_host(bytes)))
            .schedule(rig.policy.clone())
    };
    let (words, bytes) = whatever_happens(filled);
    assert_eq!((words.as_slice().unwrap(), bytes.as_slice().unwrap()), (&[7; 4][..], &[0; 5][..]));
    drop((words, bytes));
    rig.end();
}

#[test]
fn typed_methods_keep_their_buffers() {
    let rig = Rig::new();
    let module = kernels::load(&rig.ctx).unwrap();
    let (a, b, mut c) = (rig.floats(&[1.0, 2.0]), rig.floats(&[10.0, 20.0]), rig.floats(&[0.0; 2]));
    let on = |rig: &Rig| Arc::new(SingleStream::new(&rig.stream));
    awaited(module.vecadd_async(CONFIG, &a, &b, &mut c).unwrap().into_future().schedule(on(&rig))).unwrap();
    assert_eq!(rig.read(&c), [11.0, 22.0]);
    module.vecadd_async(CONFIG, &a, &a, &mut c).unwrap().sync_on(&rig.stream).unwrap();
    assert_eq!(rig.read(&c), [2.0, 4.0]);
    operation::scope(|scope| {
        let op = module.vecadd_async(CONFIG, &b, &b, &mut c).unwrap();
        scope.submit(op.schedule(rig.policy.clone())).unwrap();
    })
    .unwrap();
    assert_eq!(rig.read(&c), [20.0, 40.0]);
    // Buffers, views of a shared one, and a chain.
    let shared = Arc::new(a);
    let owned = || {
        let (module, shared) = (module.clone(), shared.clone());
        zip!(copy_to_device(vec![1.0f32, 1.0]), zeroed::<f32>(2))
            .and_then(move |(one, sum)| module.vecadd_async_owned(CONFIG, shared, one, sum))
            .map(|(_, _, sum)| sum)
            .schedule(rig.policy.clone())
    };
    assert_eq!(rig.read(&whatever_happens(owned)), [2.0, 3.0]);
    drop((shared, b, c, module));
    rig.end();
}

#[test]
fn branches_meet_and_shared_work_runs_once() {
    let rig = Rig::new();
    let module = kernels::load(&rig.ctx).unwrap();
    let sum = |a, b| {
        let module = module.clone();
        zip!(a, b, zeroed::<f32>(2))
            .and_then(move |(a, b, c)| module.vecadd_async_owned(CONFIG, a, b, c))
            .last()
            .boxed()
    };
    let op = || {
        let one = copy_to_device(vec![1.0f32, 2.0]).shared();
        let left = sum(one.clone().boxed(), one.clone().boxed()).map(Arc::new).boxed();
        let right = sum(one.clone().boxed(), left).map(Arc::new).boxed();
        let both = sum(right, one.boxed());
        all([both, copy_to_device(vec![0.5f32; 2]).boxed()]).schedule(rig.policy.clone())
    };
    let buffers = whatever_happens(op);
    assert_eq!((rig.read(&buffers[0]), rig.read(&buffers[1])), (vec![4.0, 8.0], vec![0.5; 2]));
    drop((buffers, module));
    rig.end();
}

#[test]
fn the_first_of_several_leaves_the_others() {
    let rig = Rig::new();
    let op = |number: u8| copy_to_device(vec![number; 3]).and_then(copy_to_host).schedule(rig.policy.clone());
    let (index, first, rest) = awaited(select_all((0..3).map(op))).unwrap();
    assert_eq!(first.as_slice().unwrap(), [index as u8; 3]);
    drop(rest);
    let Either::Right(slow, 7) = block_on(select(op(1), value(7))).unwrap() else { panic!("it was done") };
    assert_eq!(awaited(slow).unwrap().as_slice().unwrap(), [1; 3]);
    let late = block_on(op(2).timeout(Duration::from_millis(1))).unwrap_err();
    assert!(late.is_timed_out(), "{late}");
    drop(first);
    rig.end();
}

#[test]
fn work_of_others_comes_first() {
    let rig = Rig::new();
    let (other, event) = (rig.ctx.new_stream().unwrap(), rig.ctx.new_event().unwrap());
    let buffer = DeviceBuffer::from_host(&other, &[5u32; 2]).unwrap();
    event.record(&other).unwrap();
    let host =
        awaited(from_event(event, buffer).and_then(copy_to_host).schedule(rig.policy.clone())).unwrap();
    assert_eq!(host.as_slice().unwrap(), [5; 2]);
    let buffer = DeviceBuffer::from_host(&other, &[6u32; 2]).unwrap();
    let op = from_stream(&other, buffer).and_then(copy_to_host).schedule(rig.policy.clone());
    assert_eq!(awaited(op).unwrap().as_slice().unwrap(), [6; 2]);
    // And the other way: what the stream is given next comes after the operation.
    let (buffer, submitted) = copy_to_device(vec![1.0f32, 2.0]).submit_on(&rig.stream).unwrap();
    assert_eq!(rig.read(&buffer), [1.0, 2.0]);
    drop((host, buffer, other, submitted));
    rig.end();
}

#[test]
fn graphs_keep_what_they_replay() {
    let rig = Rig::new();
    let fill = rig
        .ctx
        .load_module(include_str!("../examples/kernels/fill.ptx"))
        .unwrap()
        .load_function("fill")
        .unwrap();
    let op = || {
        let fill = fill.clone();
        let filled = DeviceBuffer::<u32>::zeroed(&rig.stream, 3).unwrap();
        let copied = DeviceBuffer::<u32>::zeroed(&rig.stream, 3).unwrap();
        let launch = unsafe {
            OwnedKernelLaunch::new(filled, move |filled| {
                let mut launch = AsyncKernelLaunch::new(fill);
                launch.ptr_mut(filled).value(&3u32).named("value", &7u32);
                launch.set_launch_config(CONFIG);
                Ok(launch)
            })
        };
        launch.and_then(|filled| copy_on_device(filled, copied))
    };
    let read = |buffer: &DeviceBuffer<u32>| buffer.to_host_vec(&rig.stream).unwrap();
    let mut graph = op().graph_in(&rig.ctx).unwrap();
    let single: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&rig.stream));
    for round in 0..3 {
        unsafe { graph.set("value", round) }.unwrap();
        awaited(graph.replay().into_future().schedule(single.clone())).unwrap();
        assert_eq!(read(&graph.output().1), [round; 3]);
    }
    // Gone while it runs.
    unsafe { graph.set("value", 9u32) }.unwrap();
    graph.launch_on(&rig.stream).unwrap();
    let (filled, copied) = graph.into_output();
    assert_eq!((read(&filled), read(&copied)), ([9; 3].to_vec(), [9; 3].to_vec()));
    let mut forgotten = op().graph_in(&rig.ctx).unwrap();
    let mut replay = forgotten.replay().into_future().schedule(single);
    assert!(poll_once(&mut replay).is_pending());
    drop(replay);
    drop((forgotten, filled, copied));
    drop(fill);
    rig.end();
}
