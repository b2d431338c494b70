//! Operations, futures and the thread that watches them over a table of Rust functions, which say that work goes on, is done, or
//! has faulted. Runs under Miri (`cargo miri test --test operation_packet`).

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::operation::{
    BoxedOperation, DeviceOperation, Either, ExecutionContext, OwnedKernelLaunch, RoundRobin,
    SchedulingPolicy, SingleStream, all, allocate, block_on, copy_to_device, from_result, in_flight, lazy,
    scope, select, value, with_context, zeroed, zip,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaFunction, CudaStream, DeviceBuffer, LaunchConfig, cuda_launch_async,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use support::{counted, expect_parameters, marks, progress, reset};

const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const PTX: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";
const DONE: CUresult = CUresult::SUCCESS;
const GOES_ON: CUresult = CUresult::CUDA_ERROR_NOT_READY;

/// A context over the table; one at a time, because the table has one answer for all who ask.
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
        progress(DONE);
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let policy = Arc::new(RoundRobin::new(&ctx, 3).unwrap());
        Self { ctx, stream, policy, _alone: alone }
    }

    fn kernel(&self, sizes: &[usize]) -> CudaFunction {
        expect_parameters(sizes);
        self.ctx.load_module(PTX).unwrap().load_function("k").unwrap()
    }

    /// An operation whose work goes on, with something that counts its end.
    fn op(&self, ended: &Arc<AtomicUsize>) -> BoxedOperation<'static, (DeviceBuffer<u32>, Noted)> {
        let noted = Noted(ended.clone());
        zeroed::<u32>(7).map(|buffer| (buffer, noted)).schedule(self.policy.clone()).boxed()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        progress(DONE);
        while in_flight() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // Miri does not let a program end before its threads; it has a clock of its own, which this costs nothing.
        if cfg!(miri) {
            thread::sleep(Duration::from_secs(60));
        }
    }
}

/// Counts its end.
struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn count(ended: &Arc<AtomicUsize>, to: usize) {
    for _ in 0..20_000 {
        if ended.load(Ordering::SeqCst) == to {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{} ended, not {to}", ended.load(Ordering::SeqCst));
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The work is done a little later.
fn done_soon() -> thread::JoinHandle<()> {
    thread::spawn(|| {
        thread::sleep(Duration::from_millis(5));
        progress(DONE);
    })
}

/// What the chain is given after the end of `Branches` comes after all of its branches, also on streams that other branches, which
/// were forgotten, have used.
#[test]
fn the_end_of_branches_joins_them_whoever_was_forgotten() {
    let rig = Rig::new();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(RoundRobin::new(&rig.ctx, 2).unwrap());
    let address = |cx: &ExecutionContext| cx.stream().unwrap().raw().addr();
    let op = with_context(|cx| {
        let own = address(cx);
        let mut forgotten = cx.branches();
        let other = forgotten.branch(address);
        std::mem::forget(forgotten);
        let mut branches = cx.branches();
        assert_eq!([branches.branch(address), branches.branch(address)], [own, other]);
        reset();
        drop(branches);
        assert_eq!(marks(), [("record", other), ("wait", own)]);
        value(())
    });
    op.schedule(policy).sync().unwrap();
}

#[test]
fn branches_that_cannot_be_joined_are_an_error() {
    let rig = Rig::new();
    let ctx = CudaContext::with_driver(&support::driver(&["cuStreamWaitEvent"]), 0).unwrap();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(RoundRobin::new(&ctx, 2).unwrap());
    let op = with_context(|cx| {
        let mut branches = cx.branches();
        branches.branch(|cx| cx.stream().map(drop)).unwrap();
        cx.stream().unwrap();
        value(branches.join().is_err())
    });
    assert!(op.schedule(policy).sync().unwrap());
    drop(rig);
}

/// Where a chain on a certain stream has a part elsewhere, that stream waits for the part.
#[test]
fn a_chain_on_one_stream_waits_for_its_parts_on_others() {
    let rig = Rig::new();
    let part = zeroed::<u32>(7).schedule(rig.policy.clone());
    let op = zeroed::<u32>(7).and_then(|buffer| part.map(|part| (buffer, part)));
    reset();
    let _both = op.sync_on(&rig.stream).unwrap();
    assert!(marks().contains(&("wait", rig.stream.raw().addr())), "{:?}", marks());
}

/// Where the driver cannot tell whether work goes on, what it may use stays.
#[test]
#[cfg_attr(miri, ignore = "what stays is a leak to Miri")]
fn what_a_chain_keeps_stays_where_nobody_knows_the_end() {
    let rig = Rig::new();
    let keeping = |ended: &Arc<AtomicUsize>| {
        let noted = Noted(ended.clone());
        let op = with_context(move |cx| {
            cx.keep(noted);
            zeroed::<u32>(7)
        });
        op.schedule(rig.policy.clone())
    };
    let (lost, done) = (Arc::default(), Arc::default());
    progress(GOES_ON);
    let mut future = Box::pin(keeping(&lost).into_future());
    assert!(poll_once(&mut future).is_pending());
    progress(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    assert!(!block_on(future).map(drop).unwrap_err().is_sticky());
    // Through the same hands, and later.
    progress(GOES_ON);
    let mut future = Box::pin(keeping(&done).into_future());
    assert!(poll_once(&mut future).is_pending());
    progress(DONE);
    block_on(future).unwrap();
    count(&done, 1);
    assert_eq!(lost.load(Ordering::SeqCst), 0);
}

/// A fault has ended all work.
#[test]
fn what_a_chain_keeps_goes_after_a_fault() {
    let (rig, ended) = (Rig::new(), Arc::default());
    let noted = Noted(Arc::clone(&ended));
    let op = with_context(move |cx| {
        cx.keep(noted);
        zeroed::<u32>(7)
    });
    progress(GOES_ON);
    let mut future = Box::pin(op.schedule(rig.policy.clone()).into_future());
    assert!(poll_once(&mut future).is_pending());
    progress(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert!(block_on(future).map(drop).unwrap_err().is_sticky());
    count(&ended, 1);
}

#[test]
#[cfg_attr(miri, ignore = "what stays is a leak to Miri")]
fn what_a_chain_keeps_stays_where_the_host_cannot_wait() {
    let rig = Rig::new();
    let ctx = CudaContext::with_driver(&support::driver(&["cuStreamSynchronize"]), 0).unwrap();
    let ended = Arc::default();
    let noted = Noted(Arc::clone(&ended));
    let op = with_context(move |cx| {
        cx.keep(noted);
        zeroed::<u32>(7)
    });
    assert!(op.sync_on(&ctx.new_stream().unwrap()).is_err());
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    drop(rig);
}

#[test]
#[cfg_attr(miri, ignore = "what stays is a leak to Miri")]
fn what_a_chain_keeps_stays_where_it_unwinds_and_nobody_can_wait() {
    let hidden = &["cuStreamSynchronize", "cuCtxSynchronize", "cuStreamQuery"];
    let ctx = CudaContext::with_driver(&support::driver(hidden), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let ended = Arc::default();
    let noted = Noted(Arc::clone(&ended));
    let op = with_context(move |cx| {
        cx.keep(noted);
        assert!(cx.stream().is_err(), "on purpose");
        value(())
    });
    assert!(catch_unwind(AssertUnwindSafe(|| op.sync_on(&stream))).is_err());
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

#[test]
fn memory_is_set_to_zero_where_that_was_asked_for() {
    let rig = Rig::new();
    let calls = |op: &dyn Fn() -> DeviceBuffer<u32>| {
        reset();
        let _buffer = op();
        counted().0
    };
    let dirty = calls(&|| allocate::<u32>(7).sync_on(&rig.stream).unwrap());
    let clean = calls(&|| zeroed::<u32>(7).sync_on(&rig.stream).unwrap());
    assert_eq!(clean, dirty + 1, "`cuMemsetD8Async`");
}

#[test]
fn host_memory_that_was_copied_is_given_back() {
    let rig = Rig::new();
    let data: Arc<[u32]> = Arc::from([1, 2, 3]);
    drop(copy_to_device(data.clone()));
    assert_eq!(Arc::strong_count(&data), 1);
    drop(copy_to_device(data.clone()).schedule(rig.policy.clone()).sync().unwrap());
    let is_given_back = (0..20_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        Arc::strong_count(&data) == 1
    });
    assert!(is_given_back, "it is still there");
}

#[test]
fn a_chain_knows_its_device() {
    let rig = Rig::new();
    for ordinal in [0, 1] {
        let ctx = CudaContext::with_driver(rig.ctx.driver(), ordinal).unwrap();
        let policy: Arc<dyn SchedulingPolicy> = Arc::new(RoundRobin::new(&ctx, 1).unwrap());
        assert_eq!(with_context(|cx| value(cx.device())).schedule(policy).sync().unwrap().unwrap(), ordinal);
    }
}

/// Nine slices fill the places of the packet, so that it is on the heap, and the one value is not.
#[test]
fn a_value_arrives_beside_as_many_slices_as_there_may_be() {
    let rig = Rig::new();
    let f = rig.kernel(&[&[8; 18][..], &[4]].concat());
    let x = DeviceBuffer::<u32>::zeroed(&rig.stream, 7).unwrap();
    let launch = unsafe {
        cuda_launch_async! { function: f, config: CONFIG,
        args: [slice(x), slice(x), slice(x), slice(x), slice(x), slice(x), slice(x), slice(x), slice(x), 5u32] }
    };
    launch.sync_on(&rig.stream).unwrap();
    assert_eq!(support::packet()[18], 5u32.to_ne_bytes());
}

#[test]
fn every_combinator_gives_what_it_should() {
    let rig = Rig::new();
    let (policy, text) = (rig.policy.clone(), String::from("text"));
    let op = zip!(
        value(1).map(|x| x + 1).and_then(|x| lazy(move || x * 2)),
        allocate::<u32>(5).schedule(policy.clone()).map(|buffer| buffer.len()),
        all((0..3).map(value).collect::<Vec<_>>()),
        copy_to_device(vec![1u8, 2, 3]).map(|buffer| buffer.len()).boxed()
    )
    .schedule(policy.clone());
    assert_eq!(op.sync().unwrap(), (4, 5, vec![0, 1, 2], 3));
    let shared = zeroed::<u8>(4).shared();
    let clone = |_| shared.clone().schedule(policy.clone());
    let threads: Vec<_> = (0..3).map(clone).map(|op| thread::spawn(|| block_on(op))).collect();
    let buffers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    assert!(Arc::ptr_eq(&buffers[0], &buffers[2]));
    let (a, b) = value((text, vec![1])).unzip();
    assert_eq!((b.sync().unwrap(), a.first_char().sync().unwrap()), (vec![1], 't'));
    let nested = with_context(|cx| {
        let mut branches = cx.branches();
        let streams = [0, 1].map(|_| branches.branch(|cx| cx.stream().map(|stream| stream.raw().addr())));
        value(streams.map(Result::unwrap))
    });
    let [left, right] = nested.schedule(policy.clone()).sync().unwrap();
    assert_ne!(left, right);
    let error = from_result(Err::<u8, _>(CudaContext::with_driver(rig.ctx.driver(), 9).unwrap_err()));
    assert!(zip!(zeroed::<u8>(1), error).schedule(policy).sync().is_err());
}

/// An adaptor of a user.
trait FirstChar: DeviceOperation<Output = String> {
    fn first_char(self) -> BoxedOperation<'static, char>
    where
        Self: 'static,
    {
        self.map(|text| text.chars().next().unwrap()).boxed()
    }
}

impl<Op: DeviceOperation<Output = String>> FirstChar for Op {}

#[test]
fn launches_bring_their_arguments() {
    let rig = Rig::new();
    let f = rig.kernel(&[8, 8, 4, 24]);
    let single: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&rig.stream));
    let buffer = DeviceBuffer::<f32>::uninit(&rig.stream, 5).unwrap();
    let packet = || support::packet();
    let sent = |buffer: &DeviceBuffer<f32>| {
        assert_eq!(packet()[0], buffer.cu_deviceptr().to_ne_bytes());
        assert_eq!((&packet()[1][..], &packet()[2][..]), (&5u64.to_ne_bytes()[..], &7u32.to_ne_bytes()[..]));
        assert_eq!(packet()[3], [1u64, 2, 3].map(u64::to_ne_bytes).concat());
        reset();
    };
    unsafe {
        cuda_launch_async! { function: f, config: CONFIG, args: [slice(buffer), 7u32, [1u64, 2, 3]] }
    }
    .sync_on(&rig.stream)
    .unwrap();
    sent(&buffer);
    let mut launch = AsyncKernelLaunch::new(&f);
    launch.slice(&buffer).value(&7u32).byval(&[1u64, 2, 3]).set_launch_config(CONFIG);
    // The arguments move with it.
    let moved = Box::new(unsafe { launch.into_operation() });
    unsafe { moved.async_on(&rig.stream) }.unwrap();
    sent(&buffer);
    let large = rig.kernel(&[8, 2000]);
    let mut launch = AsyncKernelLaunch::new(&large);
    launch.ptr(&buffer).byval(&[3u8; 2000]).set_launch_config(CONFIG);
    block_on(unsafe { launch.into_operation() }.into_future().schedule(single.clone())).unwrap();
    assert_eq!(packet()[1], [3; 2000]);
    expect_parameters(&[8, 8, 4, 24]);
    let owned = unsafe {
        OwnedKernelLaunch::new((buffer, 7u32), move |(buffer, n): &mut (DeviceBuffer<f32>, u32)| {
            let mut launch = AsyncKernelLaunch::new(f);
            launch.slice_mut(buffer).value(n).value(&[1u64, 2, 3]).set_launch_config(CONFIG);
            Ok(launch)
        })
    };
    let (buffer, _) = block_on(owned.schedule(single)).unwrap();
    sent(&buffer);
}

#[test]
fn a_future_is_woken_when_the_work_is_done() {
    let rig = Rig::new();
    let ended = Arc::default();
    for round in 1..=3 {
        progress(GOES_ON);
        let later = done_soon();
        let (buffer, noted) = block_on(rig.op(&ended)).unwrap();
        assert_eq!((buffer.len(), ended.load(Ordering::SeqCst)), (7, round - 1));
        drop(noted);
        later.join().unwrap();
    }
    progress(GOES_ON);
    let Either::Right(slow, 7) = block_on(select(rig.op(&ended), value(7))).unwrap() else { panic!("done") };
    let moved = thread::spawn(move || block_on(slow).map(drop));
    done_soon().join().unwrap();
    moved.join().unwrap().unwrap();
}

#[test]
fn what_is_dropped_or_forgotten_stays_until_the_work_is_done() {
    static FORGOTTEN: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    let (rig, ended) = (Rig::new(), Arc::default());
    progress(GOES_ON);
    for number in 0..6 {
        let kept = Noted(Arc::clone(&ended));
        let op = rig.op(&ended).and_then_with_context(|cx, output| {
            cx.keep(kept);
            value(output)
        });
        let mut future = op.future();
        assert!(poll_once(&mut future).is_pending());
        match number {
            0..4 => drop(future),
            4 => drop(thread::spawn(move || poll_once(&mut future).map(drop)).join()),
            _ => FORGOTTEN.lock().unwrap().push(Box::new(future)),
        }
    }
    let panics = rig.op(&ended).map(|_| panic!("in a closure"));
    assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut panics.map(|(): ()| ()).future()))).is_err());
    let late = block_on(rig.op(&ended).timeout(Duration::from_millis(3))).map(drop).unwrap_err();
    assert!(late.is_timed_out(), "{late}");
    thread::sleep(Duration::from_millis(3));
    // That of the closure that panicked orders itself.
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    done_soon().join().unwrap();
    // Six kept, the outputs of the five that were not forgotten, of the panic and of the one that was late.
    count(&ended, 13);
}

#[test]
fn a_scope_lends_what_is_around_it() {
    let rig = Rig::new();
    let (numbers, sum) = (vec![1, 2, 3], AtomicUsize::new(0));
    scope(|scope| {
        for number in &numbers {
            let op = zeroed::<u8>(*number).schedule(rig.policy.clone());
            scope.submit(op.map(|buffer| sum.fetch_add(buffer.len(), Ordering::SeqCst))).unwrap();
        }
    })
    .unwrap();
    assert_eq!(sum.load(Ordering::SeqCst), 6);
}

#[test]
fn a_fault_wakes_all() {
    let (rig, ended) = (Rig::new(), Arc::default());
    progress(GOES_ON);
    let threads: Vec<_> = (0..3).map(|_| rig.op(&ended)).map(|op| thread::spawn(|| block_on(op))).collect();
    while in_flight() < 3 {
        thread::sleep(Duration::from_millis(1));
    }
    progress(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    for thread in threads {
        assert!(thread.join().unwrap().map(drop).unwrap_err().is_sticky());
    }
    assert!(block_on(rig.op(&ended)).is_err());
    count(&ended, 4);
}
