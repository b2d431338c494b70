//! Futures with wakers that panic, that call this crate, or that nobody listens to, on as many streams as there are futures, and in
//! runtimes that end: each future comes to its end, and nothing is left.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Wakers with tables of their own; a kernel that traps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/executor.rs"]
mod executor;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_emulator::live_handles;
use cuda_harness::{Hold, child, wait_until, wait_until_within};
use cuda_launch::operation::{
    DeviceFuture, DeviceOperation, Either, Scheduled, SchedulingPolicy, SingleStream, block_on, in_flight,
    select, set_inline_wait, value, zeroed,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::{context, poll_once};

/// What a waker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Quiet,
    PanicsInClone,
    PanicsInWake,
    PanicsInDrop,
    /// Submits work, polls and drops a future, and waits, in each of its functions.
    Calls,
}

/// What all clones of a waker share: their number is that of its owners.
struct Shared {
    kind: Mutex<Kind>,
    woken: AtomicUsize,
    called: AtomicUsize,
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, end);

unsafe fn clone(data: *const ()) -> RawWaker {
    let shared = data.cast::<Shared>();
    unsafe { &*shared }.comes_to(Kind::PanicsInClone);
    unsafe { Arc::increment_strong_count(shared) };
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // Ends also where the wake panics.
    let shared = unsafe { Arc::from_raw(data.cast::<Shared>()) };
    shared.woken.fetch_add(1, Ordering::SeqCst);
    shared.comes_to(Kind::PanicsInWake);
}

unsafe fn wake_by_ref(data: *const ()) {
    let shared = unsafe { &*data.cast::<Shared>() };
    shared.woken.fetch_add(1, Ordering::SeqCst);
    shared.comes_to(Kind::PanicsInWake);
}

unsafe fn end(data: *const ()) {
    let shared = unsafe { Arc::from_raw(data.cast::<Shared>()) };
    shared.comes_to(Kind::PanicsInDrop);
}

impl Shared {
    fn new(kind: Kind) -> Arc<Self> {
        Arc::new(Self { kind: Mutex::new(kind), woken: AtomicUsize::new(0), called: AtomicUsize::new(0) })
    }

    /// One of the functions of the waker.
    fn comes_to(&self, panics: Kind) {
        let kind = *self.kind.lock().unwrap();
        assert_ne!(kind, panics, "as the waker was told");
        if kind == Kind::Calls {
            let mut future = zeroed::<u32>(3).future();
            let _ = poll_once(&mut future);
            drop(future);
            self.called.fetch_add(length(zeroed::<u32>(3).sync()), Ordering::SeqCst);
        }
    }

    fn set(&self, kind: Kind) {
        *self.kind.lock().unwrap() = kind;
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }

    /// Polls with a waker of this kind, which is only lent.
    fn poll<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
        let raw = RawWaker::new(Arc::as_ptr(self).cast(), &TABLE);
        let waker = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    /// The same, where the poll panics.
    fn poll_panics<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) {
        let poll = catch_unwind(AssertUnwindSafe(|| self.poll(future).is_ready()));
        assert!(poll.is_err(), "the panic has not come to who polls");
    }
}

/// Counts its end.
struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Op = Scheduled<cuda_launch::operation::Allocate<u32>>;

fn on(stream: &CudaStream) -> Arc<dyn SchedulingPolicy> {
    Arc::new(SingleStream::new(stream))
}

fn op(stream: &CudaStream) -> Op {
    zeroed::<u32>(3).schedule(on(stream))
}

/// A stream that has allocated: a driver may wait for everything when it does so for the first time.
fn stream() -> CudaStream {
    let stream = context().new_stream().unwrap();
    drop(op(&stream).sync().unwrap());
    stream
}

/// A future that waits for `stream`, and has been polled with `waker`.
fn pending(stream: &CudaStream, waker: &Arc<Shared>) -> DeviceFuture<Op> {
    let mut future = op(stream).future();
    assert!(waker.poll(&mut future).is_pending());
    future
}

fn length(output: Result<DeviceBuffer<u32>, Error>) -> usize {
    output.unwrap().len()
}

/// What there is, but for events, which wait for their next use.
fn live() -> [usize; 3] {
    let live = live_handles();
    [live.allocations, live.streams, live.modules]
}

/// All that was dropped so far has ended, in the order in which it was: this is the last.
fn settle() {
    let (stream, ended) = (stream(), Arc::new(AtomicUsize::new(0)));
    let (held, noted) = (hold(&stream), Noted(ended.clone()));
    let mut last = op(&stream).map(move |_| noted).future();
    assert!(poll_once(&mut last).is_pending());
    wait_until("nothing else is in flight", || in_flight() == 1).unwrap();
    drop((last, held));
    wait_until("what was dropped ends", || ended.load(Ordering::SeqCst) == 1).unwrap();
    context().synchronize().unwrap();
}

/// Runs a program twice: what the first run leaves to the crate and the driver, the second has. It leaves nothing else.
fn leaves_nothing(program: impl Fn()) {
    let _alone = alone();
    set_inline_wait(Duration::ZERO);
    program();
    settle();
    let before = live();
    program();
    settle();
    let ends = wait_until_within(Duration::from_secs(20), "all has ended", || live() == before);
    assert!(ends.is_ok(), "{:?} instead of {before:?}", live());
}

#[test]
fn a_future_whose_waker_panics_is_polled_again_and_ends() {
    leaves_nothing(|| {
        let stream = stream();
        for first in [true, false] {
            let waker = Shared::new(Kind::PanicsInClone);
            let held = hold(&stream);
            let mut future = op(&stream).future();
            if !first {
                assert!(poll_once(&mut future).is_pending());
            }
            // In the first poll, and in later ones.
            waker.poll_panics(&mut future);
            waker.poll_panics(&mut future);
            waker.set(Kind::Quiet);
            assert!(waker.poll(&mut future).is_pending());
            drop(held);
            wait_until("it is woken", || waker.woken() == 1).unwrap();
            // What is done needs no waker.
            waker.set(Kind::PanicsInClone);
            let Poll::Ready(output) = waker.poll(&mut future) else { panic!("it was woken too early") };
            assert_eq!((length(output), Arc::strong_count(&waker)), (3, 1));
        }
    });
}

#[test]
fn a_waker_that_panics_when_it_is_replaced_is_replaced() {
    leaves_nothing(|| {
        let stream = stream();
        let (old, new) = (Shared::new(Kind::Quiet), Shared::new(Kind::Quiet));
        let held = hold(&stream);
        let mut future = pending(&stream, &old);
        old.set(Kind::PanicsInDrop);
        new.poll_panics(&mut future);
        assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 2));
        drop(held);
        wait_until("the other is woken", || new.woken() == 1).unwrap();
        let Poll::Ready(output) = new.poll(&mut future) else { panic!("it was woken too early") };
        assert_eq!((length(output), old.woken(), Arc::strong_count(&new)), (3, 0, 1));
    });
}

/// Two panics at once would be the end of the process.
#[test]
fn dropped_futures_contain_the_panics_of_their_wakers() {
    leaves_nothing(|| {
        let stream = stream();
        let waker = Shared::new(Kind::Quiet);
        let held = hold(&stream);
        let futures = [pending(&stream, &waker), pending(&stream, &waker), pending(&stream, &waker)];
        waker.set(Kind::PanicsInDrop);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _futures = futures;
            panic!("beside them");
        }));
        assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"beside them"));
        assert_eq!((Arc::strong_count(&waker), waker.woken()), (1, 0));
        drop(held);
    });
}

#[test]
fn wakers_that_panic_in_the_wake_hold_up_no_other_future() {
    leaves_nothing(|| {
        let stream = stream();
        let (bad, good) = (Shared::new(Kind::PanicsInWake), Shared::new(Kind::Quiet));
        let held = hold(&stream);
        let mut futures: Vec<_> =
            (0..20).map(|n| pending(&stream, if n % 2 == 0 { &bad } else { &good })).collect();
        drop(held);
        wait_until("all are woken", || bad.woken() == 10 && good.woken() == 10).unwrap();
        for future in &mut futures {
            let Poll::Ready(output) = bad.poll(future) else { panic!("it was woken too early") };
            assert_eq!(length(output), 3);
        }
        wait_until("the wakers end", || Arc::strong_count(&bad) + Arc::strong_count(&good) == 2).unwrap();
    });
}

/// Also where the time is up.
#[test]
fn wakers_that_panic_where_a_limit_is_over_hold_up_no_other_limit() {
    leaves_nothing(|| {
        let stream = stream();
        let (bad, good) = (Shared::new(Kind::PanicsInWake), Shared::new(Kind::Quiet));
        let held = hold(&stream);
        let limited = |waker: &Arc<Shared>| {
            let mut future = op(&stream).timeout(Duration::from_millis(1)).into_future();
            // Unless this thread was held up meanwhile.
            waker.poll(&mut future).is_pending().then_some(future)
        };
        let mut futures: Vec<_> =
            (0..20).filter_map(|n| limited(if n % 2 == 0 { &bad } else { &good })).collect();
        let count = futures.len();
        wait_until("all are woken", || bad.woken() + good.woken() == count).unwrap();
        for future in &mut futures {
            let Poll::Ready(output) = bad.poll(future) else { panic!("it was woken too early") };
            assert!(output.unwrap_err().is_timed_out());
        }
        assert_eq!(in_flight(), 20, "the work goes on");
        drop(held);
    });
}

#[test]
fn a_race_loses_neither_operation_where_a_waker_panics() {
    leaves_nothing(|| {
        let (one, two) = (stream(), stream());
        // A driver may have one thread for all host functions: what is released first is held first.
        let (held_too, held) = (hold(&two), hold(&one));
        let waker = Shared::new(Kind::PanicsInClone);
        let mut race = select(op(&one), op(&two));
        waker.poll_panics(&mut race);
        waker.poll_panics(&mut race);
        drop(held_too);
        let Either::Right(mut first, output) = block_on(&mut race).unwrap() else { panic!("it is held") };
        assert_eq!(output.len(), 3);
        assert!(poll_once(&mut first).is_pending());
        drop(held);
        assert_eq!(length(block_on(first)), 3);
        assert!(block_on(race).is_err(), "it was over");
    });
}

/// The future of a waker that polls or drops it itself.
type Mine = Arc<Mutex<Option<DeviceFuture<Op>>>>;

/// Does this when it is woken, and tells that it is done.
struct Does<F>(F, Mutex<mpsc::Sender<usize>>);

impl<F: Fn() -> usize + Send + Sync + 'static> Wake for Does<F> {
    fn wake(self: Arc<Self>) {
        let number = (self.0)();
        let _ = self.1.lock().unwrap().send(number);
    }
}

/// A future whose waker does this with it, and what it gave.
fn woken(stream: &CudaStream, wake: impl Fn(&Mine) -> usize + Send + Sync + 'static) -> usize {
    let mine = Mine::default();
    let (sender, done) = mpsc::channel();
    let its = mine.clone();
    let waker = Waker::from(Arc::new(Does(move || wake(&its), Mutex::new(sender))));
    let held = hold(stream);
    {
        let mut future = mine.lock().unwrap();
        let future = future.insert(op(stream).future());
        assert!(Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop((held, waker));
    let number = done.recv_timeout(Duration::from_secs(60)).expect("the waker comes to its end");
    drop(mine.lock().unwrap().take());
    number
}

#[test]
fn a_waker_may_poll_drop_submit_and_wait_for_work() {
    leaves_nothing(|| {
        let (stream, other) = (stream(), stream());
        let with = |wake: fn(&CudaStream, &Mine) -> usize| {
            let other = other.clone();
            woken(&stream, move |mine| wake(&other, mine))
        };
        let polls = with(|_, mine| match poll_once(mine.lock().unwrap().as_mut().unwrap()) {
            Poll::Ready(output) => length(output),
            Poll::Pending => 0,
        });
        let drops = with(|_, mine| mine.lock().unwrap().take().map_or(0, |_| 3));
        let submits = with(|other, mine| {
            // Replaced by one that is under way.
            let mut next = op(other).future();
            let _ = poll_once(&mut next);
            mine.lock().unwrap().replace(next).map_or(0, |_| 3)
        });
        let waits = with(|other, _| length(op(other).sync()));
        let synchronises =
            with(|other, _| other.synchronize().and(context().synchronize()).map_or(0, |()| 3));
        let blocks = with(|_, _| block_on(value(3)).unwrap());
        let allocates = with(|other, _| DeviceBuffer::<u32>::zeroed(other, 3).unwrap().len());
        let all = [polls, drops, submits, waits, synchronises, blocks, allocates];
        assert_eq!(all, [3; 7]);
    });
}

#[test]
fn a_waker_may_call_this_crate_in_each_of_its_functions() {
    leaves_nothing(|| {
        let stream = stream();
        let (waker, other) = (Shared::new(Kind::Calls), Shared::new(Kind::Quiet));
        let held = hold(&stream);
        let mut future = pending(&stream, &waker);
        // Replaced, and dropped.
        assert!(other.poll(&mut future).is_pending());
        assert!(waker.poll(&mut future).is_pending());
        drop(pending(&stream, &waker));
        drop(held);
        // Cloned three times, dropped twice, woken once.
        wait_until("it has called", || waker.called.load(Ordering::SeqCst) == 6 * 3).unwrap();
        assert_eq!((length(block_on(future)), waker.woken()), (3, 1));
    });
}

/// A task as books have it: its waker sends it to an executor.
struct Task {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    ready: Mutex<mpsc::Sender<Arc<Task>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let ready = self.ready.lock().unwrap().clone();
        ready.send(self).expect("an executor");
    }
}

/// The executor is gone: the last owner of each task is its waker, which panics.
#[test]
fn tasks_that_only_their_wakers_own_end_with_them() {
    leaves_nothing(|| {
        let stream = stream();
        let ended = Arc::new(AtomicUsize::new(0));
        let (ready, executor) = mpsc::channel();
        let held = hold(&stream);
        for _ in 0..9 {
            let (noted, op) = (Noted(ended.clone()), op(&stream));
            let future = async move { drop((op.map(move |buffer| (buffer, noted)).await, "not reached")) };
            let task = Arc::new(Task {
                future: Mutex::new(Some(Box::pin(future))),
                ready: Mutex::new(ready.clone()),
            });
            let waker = Waker::from(task.clone());
            let mut future = task.future.lock().unwrap();
            let poll = future.as_mut().map(|future| future.as_mut().poll(&mut Context::from_waker(&waker)));
            assert_eq!(poll, Some(Poll::Pending));
        }
        drop(executor);
        drop(held);
        wait_until("all have ended", || ended.load(Ordering::SeqCst) == 9).unwrap();
        assert_eq!(length(block_on(op(&stream))), 3, "another executor goes on");
    });
}

#[test]
fn of_the_threads_that_polled_a_future_only_the_last_is_woken() {
    leaves_nothing(|| {
        let stream = stream();
        let held = hold(&stream);
        let wakers: Vec<_> = (0..9).map(|_| Shared::new(Kind::Quiet)).collect();
        let mut future = op(&stream).future();
        for waker in &wakers {
            let waker = waker.clone();
            future = thread::spawn(move || {
                assert!(waker.poll(&mut future).is_pending() && waker.poll(&mut future).is_pending());
                future
            })
            .join()
            .unwrap();
        }
        drop(held);
        wait_until("the last is woken", || wakers[8].woken() == 1).unwrap();
        assert_eq!(length(block_on(future)), 3);
        let woken: usize = wakers.iter().map(|waker| waker.woken()).sum();
        assert_eq!(woken, 1);
        assert!(wakers.iter().all(|waker| Arc::strong_count(waker) == 1), "a waker is left");
    });
}

/// At each of its states: before it was polled, while it waits, when it is done, when its output was taken.
#[test]
fn forgotten_futures_keep_what_they_have_and_nothing_else() {
    let _alone = alone();
    set_inline_wait(Duration::ZERO);
    let stream = stream();
    let (ended, waker) = (Arc::new(AtomicUsize::new(0)), Shared::new(Kind::Quiet));
    let make = || {
        let noted = Noted(ended.clone());
        zeroed::<u32>(3).map(move |_| noted).schedule(on(&stream)).future()
    };
    std::mem::forget(make());
    let held = hold(&stream);
    let (mut waits, mut done, mut taken) = (make(), make(), make());
    for future in [&mut waits, &mut done, &mut taken] {
        assert!(waker.poll(future).is_pending());
    }
    std::mem::forget(waits);
    drop(held);
    wait_until("all are woken", || waker.woken() == 3).unwrap();
    std::mem::forget(done);
    drop(block_on(&mut taken).unwrap());
    assert!(block_on(&mut taken).is_err(), "it was over");
    std::mem::forget(taken);
    assert_eq!(length(block_on(op(&stream))), 3);
    wait_until("the wakers end", || Arc::strong_count(&waker) == 1).unwrap();
    wait_until("nothing is in flight", || in_flight() == 0).unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[test]
fn futures_that_are_never_polled_again_end_when_they_are_dropped() {
    leaves_nothing(|| {
        let stream = stream();
        let waker = Shared::new(Kind::Quiet);
        let held = hold(&stream);
        let futures: Vec<_> = (0..9).map(|_| pending(&stream, &waker)).collect();
        let never = op(&stream).future();
        drop(held);
        wait_until("all are woken", || waker.woken() == 9).unwrap();
        drop((futures, never));
        wait_until("the wakers end", || Arc::strong_count(&waker) == 1).unwrap();
    });
}

/// So many streams, all behind the first, which is held.
fn behind_one(count: usize) -> (Vec<CudaStream>, Hold) {
    let streams: Vec<_> = (0..count).map(|_| stream()).collect();
    let held = hold(&streams[0]);
    streams[1..].iter().for_each(|stream| stream.join(&streams[0]).unwrap());
    (streams, held)
}

/// All at once, each polled until it is ready, in one task.
async fn joined(ops: Vec<Op>, begun: impl FnOnce()) -> usize {
    let mut futures: Vec<_> = ops.into_iter().map(|op| Some(op.future())).collect();
    let (mut total, mut begun) = (0, Some(begun));
    poll_fn(|cx| {
        for slot in &mut futures {
            if let Some(Poll::Ready(output)) = slot.as_mut().map(|future| Pin::new(future).poll(cx)) {
                total += length(output);
                *slot = None;
            }
        }
        begun.take().into_iter().for_each(|begun| begun());
        if futures.iter().any(Option::is_some) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    total
}

#[test]
fn futures_on_as_many_streams_are_joined() {
    for count in [9, 40, 100] {
        leaves_nothing(|| {
            let (streams, held) = behind_one(count);
            let ops = |streams: &[CudaStream]| streams.iter().map(op).collect::<Vec<_>>();
            let begun = || {
                assert_eq!(in_flight(), count);
                drop(held);
            };
            assert_eq!(block_on(joined(ops(&streams), begun)), 3 * count);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
            let tasks: Vec<_> = ops(&streams).into_iter().map(|op| runtime.spawn(op.into_future())).collect();
            for task in tasks {
                assert_eq!(length(runtime.block_on(task).unwrap()), 3);
            }
            let total = AtomicUsize::new(0);
            executor::run_all(ops(&streams).into_iter().map(|op| async {
                total.fetch_add(length(op.await), Ordering::Relaxed);
            }));
            assert_eq!(total.into_inner(), 3 * count);
        });
    }
}

/// Tasks are dropped on the threads of the runtime, or with what wakes them.
#[test]
fn a_runtime_that_is_shut_down_leaves_operations_to_end_by_themselves() {
    leaves_nothing(|| {
        let (streams, held) = behind_one(9);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        for stream in &streams {
            let noted = Noted(ended.clone());
            drop(runtime.spawn(op(stream).map(move |buffer| (buffer, noted)).future()));
        }
        wait_until("all have begun", || in_flight() == 9).unwrap();
        runtime.shutdown_background();
        assert_eq!(ended.load(Ordering::SeqCst), 0, "ended before the work");
        drop(held);
        wait_until("all have ended", || ended.load(Ordering::SeqCst) == 9).unwrap();
        assert_eq!(length(block_on(op(&streams[0]))), 3, "another executor goes on");
    });
}

/// A kernel traps while futures wait whose wakers panic, call the device, or poll and drop their futures.
#[test]
fn a_fault_meets_wakers_of_all_kinds() {
    const AS_EXPECTED: i32 = 43;
    const HANGS: i32 = 44;
    let name = "a_fault_meets_wakers_of_all_kinds";
    if !child::is_child(name) {
        let ended = child::run(name).unwrap();
        assert_eq!(ended.code, Some(AS_EXPECTED), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(50));
        exit(HANGS);
    });
    set_inline_wait(Duration::ZERO);
    let (ctx, stream) = (context(), stream());
    let _used = trap_behind(&ctx, &stream, |held| {
        let [in_clone, in_wake, in_drop] =
            [Kind::PanicsInClone, Kind::PanicsInWake, Kind::PanicsInDrop].map(Shared::new);
        let mut again = op(&stream).future();
        in_clone.poll_panics(&mut again);
        let mut wakes = pending(&stream, &in_wake);
        let mut replaced = pending(&stream, &in_drop);
        in_wake.poll_panics(&mut replaced);
        let mine = Mine::default();
        let (sender, done) = mpsc::channel();
        let (its, other) = (mine.clone(), stream.clone());
        let calls = move || {
            let polled = its.lock().unwrap().take().map(|mut future| poll_once(&mut future));
            let polled = matches!(polled, Some(Poll::Ready(Err(error))) if error.is_sticky());
            let calls = [op(&other).sync().map(drop), other.synchronize(), block_on(op(&other)).map(drop)];
            usize::from(polled)
                + calls.iter().filter(|call| call.as_ref().is_err_and(Error::is_sticky)).count()
        };
        let waker = Waker::from(Arc::new(Does(calls, Mutex::new(sender))));
        {
            let mut future = mine.lock().unwrap();
            let future = future.insert(op(&stream).future());
            assert!(Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(held);
        assert_eq!(
            done.recv_timeout(Duration::from_secs(40)),
            Ok(4),
            "each call in the waker names the fault"
        );
        wait_until("the others are woken", || in_wake.woken() == 2).unwrap();
        for future in [&mut again, &mut wakes, &mut replaced] {
            let error = block_on(future).unwrap_err();
            assert!(error.is_sticky() && error.to_string().contains("trap_at"), "{error}");
        }
        wait_until("nothing is in flight", || in_flight() == 0).unwrap();
        for waker in [in_clone, in_wake, in_drop] {
            wait_until("the wakers end", || Arc::strong_count(&waker) == 1).unwrap();
        }
    });
    exit(AS_EXPECTED);
}

/// Calls `program` while a kernel that traps is behind a hold on the stream; gives what the kernel uses, which must stay.
fn trap_behind(ctx: &CudaContext, stream: &CudaStream, program: impl FnOnce(Hold)) -> impl Sized {
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let mut words = DeviceBuffer::<u32>::zeroed(stream, 256).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (64, 1, 1));
    let mut launch = |block: u32| unsafe {
        cuda_launch! { kernel: trap_at, module: module, stream: stream, config: config,
        args: [block, 5u32, ptr_mut(words)] }
    };
    // No such block: loads the kernel, and ends well.
    launch(99).unwrap();
    stream.synchronize().unwrap();
    let held = hold(stream);
    launch(0).unwrap();
    program(held);
    (module, words)
}
