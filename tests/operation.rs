//! Operations: chains, branches, outputs, errors, futures that are awaited, dropped and forgotten.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::wait_until;
use cuda_launch::operation::{
    BoxedOperation, DeviceOperation, ExecutionContext, RoundRobin, SchedulingPolicy, Shared, SingleStream,
    all, allocate, block_on, from_result, in_flight, lazy, value, with_context, zeroed, zip,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::{Fill, context, fill_kernel, poll_once, read};

/// A policy with the streams it gave.
struct Counting(RoundRobin, AtomicUsize);

impl Counting {
    fn new(streams: usize) -> Arc<Self> {
        Arc::new(Self(RoundRobin::new(&context(), streams).unwrap(), AtomicUsize::new(0)))
    }

    fn given(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl SchedulingPolicy for Counting {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.next_stream()
    }
}

/// Counts its end.
struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn values_use_no_stream() {
    let _alone = alone();
    let policy = Counting::new(2);
    let op = value(1).map(|x| x + 1).and_then(|x| lazy(move || 2 * x)).inspect(|x| assert_eq!(*x, 4));
    assert_eq!(op.schedule(policy.clone()).sync().unwrap(), 4);
    assert_eq!(
        zip!(value(1), value("two"), lazy(|| 3.0)).schedule(policy.clone()).sync().unwrap(),
        (1, "two", 3.0)
    );
    assert_eq!(block_on(all((0..5).map(value))).unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(policy.given(), 0);
}

#[test]
fn a_chain_runs_on_one_stream() {
    let _alone = alone();
    let policy = Counting::new(4);
    let fill = fill_kernel();
    let op = allocate::<u32>(1000)
        .and_then(move |buffer| Fill { function: fill.clone(), buffer, value: 7 }.map(move |b| (fill, b)))
        .and_then(|(function, buffer)| Fill { function, buffer, value: 8 });
    assert_eq!(read(&op.schedule(policy.clone()).sync().unwrap()), [8; 1000]);
    assert_eq!(policy.given(), 1);
}

#[test]
fn awaiting_gives_what_a_kernel_wrote() {
    let _alone = alone();
    let fill = fill_kernel();
    for value in 0..50 {
        let function = fill.clone();
        let op = allocate::<u32>(100).and_then(move |buffer| Fill { function, buffer, value });
        assert_eq!(read(&block_on(op).unwrap()), [value; 100]);
    }
}

#[test]
fn branches_run_on_streams_of_their_own_and_meet() {
    let _alone = alone();
    let policy = Counting::new(4);
    let stream = || with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    let ((a, b, c), after) = zip!(stream(), stream(), stream())
        .and_then(move |abc| stream().map(move |after| (abc, after)))
        .schedule(policy.clone())
        .sync()
        .unwrap();
    assert!(a != b && b != c && a != c);
    assert_eq!((after, policy.given()), (c, 3), "the chain goes on with the stream of its last branch");
}

#[test]
fn branches_come_after_the_chain_before_them_and_before_the_chain_after_them() {
    let _alone = alone();
    let policy: Arc<dyn SchedulingPolicy> = Counting::new(4);
    let fill = fill_kernel();
    let filled = |value: u32| {
        let function = fill.clone();
        move |buffer| Fill { function, buffer, value }
    };
    for round in 0..20 {
        let (one, two) = (filled(round), filled(round + 1));
        let (three, four) = (filled(round + 2), filled(round + 3));
        // Raw handles: nothing but the chain orders these.
        let op = zeroed::<u32>(5000).and_then(one).and_then(move |a| {
            zip!(value(a).and_then(two), zeroed::<u32>(5000).and_then(three), zeroed(10).and_then(four))
        });
        let (a, b, c) = op.schedule(policy.clone()).sync().unwrap();
        assert_eq!((read(&a), read(&b)), (vec![round + 1; 5000], vec![round + 2; 5000]));
        assert_eq!(read(&c), [round + 3; 10]);
    }
}

#[test]
fn a_branch_without_work_costs_nothing() {
    let _alone = alone();
    let policy = Counting::new(4);
    let op = zip!(value(1), zeroed::<u8>(3), value(2)).and_then(|(_, buffer, _)| {
        with_context(move |cx| value((buffer, cx.stream().unwrap().raw().addr())))
    });
    let (_, stream) = op.schedule(policy.clone()).sync().unwrap();
    assert_eq!(policy.given(), 1);
    assert_eq!(stream, policy.0.streams()[0].raw().addr(), "the chain goes on with the only stream used");
}

#[test]
fn an_operation_on_a_stream_stays_there() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let addr = || with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    let (a, (b, c)) = zip!(addr(), zip!(addr(), addr())).sync_on(&stream).unwrap();
    assert_eq!([a, b, c], [stream.raw().addr(); 3]);
}

/// Whoever waits for the stream relies on it; bare addresses are ordered by nothing else.
#[test]
fn an_operation_on_a_stream_ends_there_also_if_it_begins_elsewhere() {
    let _alone = alone();
    let (stream, other) = (context().new_stream().unwrap(), context().new_stream().unwrap());
    let begins_elsewhere = || {
        let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&other));
        zeroed::<u32>(10).schedule(policy)
    };
    let addr = || with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    let op = begins_elsewhere().and_then(move |_| addr());
    assert_eq!(op.sync_on(&stream).unwrap(), stream.raw().addr());
    let held = hold(&other);
    let (_, event) = begins_elsewhere().submit_on(&stream).unwrap();
    assert!(!event.query().unwrap(), "the event comes after all of the work");
    drop(held);
}

#[test]
fn what_runs_elsewhere_is_part_of_what_runs_on_a_stream() {
    let _alone = alone();
    let (stream, other) = (context().new_stream().unwrap(), context().new_stream().unwrap());
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&other));
    let held = hold(&other);
    let addr = || with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    let op = zeroed::<u8>(3).schedule(policy).and_then(move |_| addr());
    let (then, event) = op.submit_on(&stream).unwrap();
    assert_eq!(then, stream.raw().addr());
    assert!(!event.query().unwrap(), "the event is behind the other stream");
    drop(held);
    event.synchronize().unwrap();
}

#[test]
fn a_shared_operation_runs_once() {
    let _alone = alone();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let shared = zeroed::<u32>(10)
        .inspect(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .shared();
    let threads: Vec<_> = (0..8).map(|_| shared.clone()).map(|op| thread::spawn(|| block_on(op))).collect();
    let buffers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    assert!(buffers.iter().all(|buffer| Arc::ptr_eq(buffer, &buffers[0])));
    assert_eq!((runs.load(Ordering::SeqCst), read(&buffers[0])), (1, vec![0; 10]));
}

#[test]
fn shared_operations_that_need_each_other_on_two_threads_end() {
    type Needs = Shared<BoxedOperation<'static, u32>>;
    let cells: Arc<[Mutex<Option<Needs>>; 2]> = Arc::default();
    let both_run = Arc::new(Barrier::new(2));
    let [a, b] = [0, 1].map(|own| {
        let (cells, both_run) = (cells.clone(), both_run.clone());
        let needs = move |_: &ExecutionContext| {
            both_run.wait();
            cells[1 - own].lock().unwrap().clone().unwrap().map(|value| *value)
        };
        with_context(needs).boxed().shared()
    });
    *cells[0].lock().unwrap() = Some(a.clone());
    *cells[1].lock().unwrap() = Some(b.clone());
    let (sender, results) = mpsc::channel();
    for op in [a, b] {
        let sender = sender.clone();
        thread::spawn(move || sender.send(op.sync().map_err(|error| error.to_string())));
    }
    for _ in 0..2 {
        let error = results.recv_timeout(Duration::from_secs(20)).unwrap().unwrap_err();
        assert!(error.contains("it needs what waits for its own output"), "{error}");
    }
    // They hold each other.
    cells.iter().for_each(|cell| drop(cell.lock().unwrap().take()));
}

#[test]
fn a_policy_makes_at_least_one_and_at_most_1024_streams() {
    // A GPU's driver may wait for all work before it makes a stream.
    let _alone = alone();
    let ctx = context();
    for (count, limit) in
        [(0, "at least one stream"), (1025, "the limit is 1024"), (usize::MAX, "the limit is 1024")]
    {
        let error = RoundRobin::new(&ctx, count).unwrap_err().to_string();
        assert!(error.contains(limit), "{error}");
    }
    for count in [1, 1024] {
        assert_eq!(RoundRobin::new(&ctx, count).unwrap().streams().len(), count);
    }
}

#[test]
fn twelve_are_zipped_and_parted() {
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(RoundRobin::new(&context(), 4).unwrap());
    let buffers = || {
        let one = |n: usize| zeroed::<u8>(n);
        let (a, b, c) = (zip!(one(1), one(2)), zip!(one(3), one(4)), zip!(one(5), one(6)));
        zip!(
            a.first(),
            b.last(),
            c.first(),
            one(7),
            one(8),
            one(9),
            one(10),
            one(11),
            one(12),
            one(13),
            one(14),
            one(15)
        )
    };
    let lengths = [1, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let (a, b, c, d, e, f, g, h, i, j, k, l) = buffers().schedule(policy.clone()).sync().unwrap();
    assert_eq!([a, b, c, d, e, f, g, h, i, j, k, l].map(|buffer| buffer.len()), lengths);
    let (a, b, c, d, e, f, g, h, i, j, k, l) = buffers().schedule(policy.clone()).unzip();
    // The last first: each is there whoever asks.
    let parts = zip!(l, k, j, i, h, g, f, e, d, c, b, a).sync().unwrap();
    let (l, k, j, i, h, g, f, e, d, c, b, a) = parts;
    assert_eq!([a, b, c, d, e, f, g, h, i, j, k, l].map(|buffer| buffer.len()), lengths);
    assert_eq!(buffers().first().schedule(policy.clone()).sync().unwrap().len(), 1);
    assert_eq!(buffers().last().schedule(policy).sync().unwrap().len(), 15);
}

#[test]
fn parts_of_an_output_are_operations() {
    let _alone = alone();
    let (a, b, c) = value((1, "two", vec![3])).unzip();
    assert_eq!(zip!(c, a, b).sync().unwrap(), (vec![3], 1, "two"));
    assert_eq!(value((1, 2.0, "three")).first().sync().unwrap(), 1);
    assert_eq!(value((1, 2.0, "three")).last().sync().unwrap(), "three");
    let (bad, other) = from_result(context().new_stream().and(Err::<(u8, u8), _>(wrong()))).unzip();
    assert_eq!(bad.sync().unwrap_err().to_string(), wrong().to_string());
    assert!(other.sync().unwrap_err().to_string().contains(&wrong().to_string()));
}

fn wrong() -> Error {
    CudaContext::new(99).unwrap_err()
}

#[test]
fn an_error_ends_the_chain_and_is_told() {
    let _alone = alone();
    let after = Arc::new(AtomicUsize::new(0));
    let seen = after.clone();
    let op = zeroed::<u8>(3).and_then(|_| from_result(Err::<u8, _>(wrong()))).inspect(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(block_on(op.boxed()).unwrap_err().to_string(), wrong().to_string());
    assert_eq!(after.load(Ordering::SeqCst), 0);
    let never = after.clone();
    let branches =
        zip!(from_result(Err::<u8, _>(wrong())), lazy(move || never.fetch_add(1, Ordering::SeqCst)));
    assert!(branches.sync().is_err());
    assert_eq!(after.load(Ordering::SeqCst), 0, "what follows a failed branch is not begun");
}

/// Borrows nothing that is used: forgets nothing.
#[test]
fn a_dropped_future_leaves_its_output_until_the_work_is_done() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let ended = Arc::new(AtomicUsize::new(0));
    let held = hold(&stream);
    let noted = Noted(ended.clone());
    let op = zeroed::<u32>(100).map(|buffer| (buffer, noted)).schedule(Arc::new(SingleStream::new(&stream)));
    let mut future = op.future();
    assert!(poll_once(&mut future).is_pending());
    drop(future);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    assert!(in_flight() >= 1);
    drop(held);
    wait_until("dropped when done", || ended.load(Ordering::SeqCst) == 1).unwrap();
}

#[test]
fn a_future_that_was_not_polled_runs_nothing() {
    let _alone = alone();
    let policy = Counting::new(1);
    let ended = Arc::new(AtomicUsize::new(0));
    let noted = Noted(ended.clone());
    drop(zeroed::<u8>(1).map(move |buffer| (buffer, noted)).schedule(policy.clone()).future());
    assert_eq!((policy.given(), ended.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_forgotten_future_leaves_others_alone() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let held = hold(&stream);
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    let mut forgotten = zeroed::<u32>(100).schedule(policy.clone()).future();
    assert!(poll_once(&mut forgotten).is_pending());
    std::mem::forget(forgotten);
    let mut other = zeroed::<u32>(100).schedule(policy).future();
    assert!(poll_once(&mut other).is_pending());
    drop(held);
    assert_eq!(read(&block_on(other).unwrap()), [0; 100]);
}

#[test]
fn what_is_kept_is_kept_until_the_work_is_done() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    let ended = Arc::new(AtomicUsize::new(0));
    let keeping = |ended: &Arc<AtomicUsize>| {
        let noted = Noted(ended.clone());
        zeroed::<u32>(10).and_then_with_context(move |cx, buffer| {
            cx.keep(noted);
            value(buffer)
        })
    };
    let held = hold(&stream);
    let mut future = zip!(keeping(&ended), value(1)).schedule(policy.clone()).future();
    assert!(poll_once(&mut future).is_pending());
    // Also what a chain keeps that panics or fails after it has submitted work.
    let panicking = keeping(&ended).map(|_| panic!("in a closure")).schedule(policy.clone());
    let panicked = catch_unwind(AssertUnwindSafe(|| poll_once(&mut panicking.map(|(): ()| ()).future())));
    assert!(panicked.is_err());
    let failing = keeping(&ended).and_then(|_| from_result(Err::<(), _>(wrong()))).schedule(policy.clone());
    assert!(matches!(poll_once(&mut failing.future()), Poll::Ready(Err(_))));
    thread::sleep(Duration::from_millis(20));
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    drop(held);
    block_on(future).unwrap();
    wait_until("dropped when done", || ended.load(Ordering::SeqCst) == 3).unwrap();
    keeping(&ended).schedule(policy).sync().unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 4);
}

#[test]
fn a_panic_in_a_closure_wedges_nothing() {
    let _alone = alone();
    for _ in 0..3 {
        let op = zip!(zeroed::<u8>(10), zeroed::<u8>(20).map(|_| panic!("in a branch"))).map(|(a, ())| a);
        assert!(catch_unwind(AssertUnwindSafe(|| op.sync())).is_err());
        let shared = zeroed::<u8>(1).map(|_| -> u8 { panic!("in a shared operation") }).shared();
        let other = shared.clone();
        assert!(catch_unwind(AssertUnwindSafe(|| block_on(shared))).is_err());
        assert!(other.sync().unwrap_err().to_string().contains("panicked"));
    }
    assert_eq!(block_on(zeroed::<u32>(10)).unwrap().len(), 10);
}

#[test]
fn a_panic_in_the_end_of_an_output_stays_with_the_watcher() {
    let _alone = alone();
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if thread::current().name() == Some("cuda-launch drops") {
                panic!("in a drop");
            }
        }
    }
    let stream = context().new_stream().unwrap();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    for _ in 0..3 {
        let held = hold(&stream);
        let mut future = zeroed::<u8>(1).map(|buffer| (buffer, Bomb)).schedule(policy.clone()).future();
        assert!(poll_once(&mut future).is_pending());
        drop(future);
        let mut next = zeroed::<u8>(2).schedule(policy.clone()).future();
        assert!(poll_once(&mut next).is_pending());
        drop(held);
        assert_eq!(block_on(next).unwrap().len(), 2);
    }
}

#[test]
fn operations_nest_in_closures_and_in_futures() {
    let _alone = alone();
    let op = zeroed::<u32>(4).map(|outer| {
        let inner = block_on(zeroed::<u32>(5)).unwrap();
        let third = zip!(zeroed::<u32>(6), value(1)).sync().unwrap().0;
        outer.len() + inner.len() + third.len()
    });
    assert_eq!(block_on(op).unwrap(), 15);
    let task = async {
        let buffer = zeroed::<u32>(4).await?;
        let nested = zeroed::<u32>(5).sync()?;
        Ok::<_, Error>(buffer.len() + nested.len())
    };
    assert_eq!(block_on(task).unwrap(), 9);
}

#[test]
fn a_thousand_futures_on_few_streams() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let held = hold(&stream);
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    let mut futures: Vec<_> = (1..=1000).map(|n| zeroed::<u8>(n).schedule(policy.clone()).future()).collect();
    assert!(futures.iter_mut().all(|future| poll_once(future).is_pending()));
    assert!(in_flight() >= 1000);
    drop(held);
    let total: usize = futures.into_iter().map(|future| block_on(future).unwrap().len()).sum();
    assert_eq!(total, 500_500);
}

#[test]
fn a_future_that_is_over_says_so() {
    let _alone = alone();
    let mut future = value(1).future();
    assert!(matches!(poll_once(&mut future), Poll::Ready(Ok(1))));
    let Poll::Ready(Err(error)) = poll_once(&mut future) else { panic!("ready again") };
    assert!(error.to_string().contains("after it had completed"), "{error}");
}

#[test]
fn borrowed_operations_are_synchronised() {
    let _alone = alone();
    /// Copies from host memory that it borrows.
    struct Upload<'a>(&'a [u32]);
    impl DeviceOperation for Upload<'_> {
        type Output = DeviceBuffer<u32>;
        unsafe fn execute(
            self,
            cx: &cuda_launch::operation::ExecutionContext,
        ) -> Result<Self::Output, Error> {
            DeviceBuffer::from_host(cx.stream()?, self.0)
        }
    }
    let numbers: Vec<u32> = (0..100).collect();
    let buffer = Upload(&numbers).and_then(value).sync().unwrap();
    assert_eq!(read(&buffer), numbers);
    let stream = context().new_stream().unwrap();
    assert_eq!(read(&unsafe { Upload(&numbers).async_on(&stream) }.unwrap()), numbers);
}
