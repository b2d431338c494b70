//! Operations on executors: tokio's two, smol, pollster, and one of twenty lines. On each: many tasks that are joined, a task that
//! is cancelled, a wait that is limited, a race.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/executor.rs"]
mod executor;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::Hold;
use cuda_launch::operation::{
    DeviceOperation, Either, SchedulingPolicy, SingleStream, allocate, block_on, in_flight, select, value,
    zeroed, zip,
};
use cuda_launch::{CudaFunction, CudaStream, DeviceBuffer, Error};
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use support::{Fill, context, fill_kernel, read};

const TASKS: u32 = 40;
const SOON: Duration = Duration::from_millis(20);

/// A task as programs have them: awaits twice, and reads.
async fn task(function: CudaFunction, number: u32) -> Result<Vec<u32>, Error> {
    let again = function.clone();
    let (first, words) = zip!(
        allocate::<u32>(100).and_then(move |buffer| Fill { function, buffer, value: number }),
        value(number)
    )
    .await?;
    let filled = value(first).and_then(move |buffer| Fill { function: again, buffer, value: words + 1 });
    let filled: DeviceBuffer<u32> = filled.await?;
    Ok(read(&filled))
}

/// Until then its thread sleeps.
#[test]
fn a_future_that_is_blocked_on_is_polled_when_it_is_woken() {
    let mut polls = 0;
    let waiting = poll_fn(|cx| {
        polls += 1;
        if polls > 1 {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        thread::spawn(move || {
            thread::sleep(SOON);
            IS_WOKEN.store(true, Ordering::SeqCst);
            waker.wake();
        });
        Poll::Pending
    });
    block_on(waiting);
    assert!(IS_WOKEN.load(Ordering::SeqCst), "it was polled before");
}

static IS_WOKEN: AtomicBool = AtomicBool::new(false);

fn expected(number: u32) -> Vec<u32> {
    vec![number + 1; 100]
}

/// A stream that does not go on, with an operation on it that counts its end.
struct Stuck {
    held: Option<Hold>,
    stream: CudaStream,
    ended: Arc<AtomicUsize>,
}

/// Counts its end.
#[derive(Debug)]
struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Slow = cuda_launch::operation::BoxedOperation<'static, (DeviceBuffer<u32>, Noted)>;

impl Stuck {
    fn new() -> Self {
        // What was before has ended, so that `begun` counts what is of this one.
        while in_flight() > 0 {
            thread::yield_now();
        }
        let stream = context().new_stream().unwrap();
        // Warm: a driver may wait for everything when it allocates for the first time.
        drop(zeroed::<u32>(10).sync_on(&stream).unwrap());
        Self { held: Some(hold(&stream)), stream, ended: Arc::default() }
    }

    fn op(&self) -> Slow {
        let noted = Noted(self.ended.clone());
        let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&self.stream));
        zeroed::<u32>(10).map(|buffer| (buffer, noted)).schedule(policy).boxed()
    }

    fn ended(&self) -> usize {
        self.ended.load(Ordering::SeqCst)
    }

    /// What was cancelled has not ended; it does when the stream goes on.
    fn goes_on(mut self) {
        assert_eq!(self.ended(), 0, "ended before the work");
        assert!(in_flight() >= 1);
        drop(self.held.take());
        let start = Instant::now();
        while self.ended() == 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "never ended");
            thread::yield_now();
        }
    }
}

/// Waits, with an executor that goes on meanwhile, until so many operations were submitted.
async fn begun(count: usize) {
    while in_flight() < count {
        give_way().await;
    }
}

/// Gives way to others once.
async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut given, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Whichever is ready first; none of them is lost that the other was quicker than.
async fn race<A: Future, B: Future>(a: A, b: B) -> Result<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    std::future::poll_fn(|cx| match (a.as_mut().poll(cx), b.as_mut().poll(cx)) {
        (Poll::Ready(a), _) => Poll::Ready(Ok(a)),
        (_, Poll::Ready(b)) => Poll::Ready(Err(b)),
        _ => Poll::Pending,
    })
    .await
}

mod on_tokio {
    use super::*;
    use tokio::runtime::{Builder, Runtime};
    use tokio::time::timeout;

    fn current_thread() -> Runtime {
        Builder::new_current_thread().enable_time().build().unwrap()
    }

    fn multi_thread() -> Runtime {
        Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap()
    }

    fn tasks(runtime: &Runtime) {
        let function = fill_kernel();
        let tasks: Vec<_> = (0..TASKS).map(|n| runtime.spawn(task(function.clone(), n))).collect();
        for (number, task) in (0..).zip(tasks) {
            assert_eq!(runtime.block_on(task).unwrap().unwrap(), expected(number));
        }
    }

    fn cancel(runtime: &Runtime) {
        let stuck = Stuck::new();
        let task = runtime.spawn(stuck.op().into_future());
        runtime.block_on(begun(1));
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        stuck.goes_on();
    }

    fn limit(runtime: &Runtime) {
        let stuck = Stuck::new();
        let late = runtime.block_on(async { timeout(SOON, stuck.op().into_future()).await });
        assert!(late.is_err());
        stuck.goes_on();
        let stuck = Stuck::new();
        let late = runtime.block_on(stuck.op().timeout(SOON).into_future()).map(drop);
        assert!(late.unwrap_err().is_timed_out());
        stuck.goes_on();
    }

    fn races(runtime: &Runtime) {
        let stuck = Stuck::new();
        let quick = runtime.block_on(race(stuck.op().into_future(), value(7).into_future()));
        assert!(matches!(quick, Err(Ok(7))));
        stuck.goes_on();
        let stuck = Stuck::new();
        let Either::Right(slow, seven) = runtime.block_on(select(stuck.op(), value(7))).unwrap() else {
            panic!("the stream is held")
        };
        assert_eq!(seven, 7);
        // It was not lost.
        let Stuck { held, ended, .. } = stuck;
        drop(held);
        let (buffer, noted) = runtime.block_on(slow).unwrap();
        assert_eq!((read(&buffer), ended.load(Ordering::SeqCst)), (vec![0; 10], 0));
        drop(noted);
    }

    /// With all its tasks, while they wait.
    fn lost(runtime: Runtime) {
        let stuck = Stuck::new();
        for _ in 0..3 {
            drop(runtime.spawn(stuck.op().into_future()));
        }
        runtime.block_on(begun(3));
        drop(runtime);
        stuck.goes_on();
    }

    #[test]
    fn tokio_on_one_thread() {
        let _alone = alone();
        let runtime = current_thread();
        tasks(&runtime);
        cancel(&runtime);
        limit(&runtime);
        races(&runtime);
        lost(runtime);
    }

    #[test]
    fn tokio_on_many_threads() {
        let _alone = alone();
        let runtime = multi_thread();
        tasks(&runtime);
        cancel(&runtime);
        limit(&runtime);
        races(&runtime);
        lost(runtime);
    }

    /// Blocking in a task holds up its thread only.
    #[test]
    fn sync_inside_of_tokio() {
        let _alone = alone();
        let function = fill_kernel();
        let runtime = multi_thread();
        let blocking = runtime.spawn(async move {
            let op = allocate::<u32>(100).and_then(|buffer| Fill { function, buffer, value: 3 });
            op.sync().map(|buffer| read(&buffer))
        });
        assert_eq!(runtime.block_on(blocking).unwrap().unwrap(), [3; 100]);
    }
}

mod on_smol {
    use super::*;
    use smol::future::FutureExt;

    #[test]
    fn smol_on_a_pool_and_on_one_thread() {
        let _alone = alone();
        let function = fill_kernel();
        let tasks: Vec<_> = (0..TASKS).map(|n| smol::spawn(task(function.clone(), n))).collect();
        for (number, task) in (0..).zip(tasks) {
            assert_eq!(smol::block_on(task).unwrap(), expected(number));
        }
        let local = smol::LocalExecutor::new();
        let tasks: Vec<_> = (0..TASKS).map(|n| local.spawn(task(function.clone(), n))).collect();
        smol::block_on(local.run(async {
            for (number, task) in (0..).zip(tasks) {
                assert_eq!(task.await.unwrap(), expected(number));
            }
        }));
    }

    #[test]
    fn smol_cancels_and_limits() {
        let _alone = alone();
        let stuck = Stuck::new();
        let task = smol::spawn(stuck.op().into_future());
        smol::block_on(begun(1));
        assert!(smol::block_on(task.cancel()).is_none());
        stuck.goes_on();
        let stuck = Stuck::new();
        let late = async {
            smol::Timer::after(SOON).await;
            None
        };
        assert!(smol::block_on(async { Some(stuck.op().await) }.or(late)).is_none());
        stuck.goes_on();
        let stuck = Stuck::new();
        let late = smol::block_on(stuck.op().timeout(SOON).into_future()).map(drop);
        assert!(late.unwrap_err().is_timed_out());
        stuck.goes_on();
        let stuck = Stuck::new();
        assert!(matches!(smol::block_on(select(stuck.op(), value(7))).unwrap(), Either::Right(_, 7)));
        stuck.goes_on();
    }
}

#[test]
fn pollster_polls() {
    let _alone = alone();
    let function = fill_kernel();
    for number in 0..TASKS {
        assert_eq!(pollster::block_on(task(function.clone(), number)).unwrap(), expected(number));
    }
    let stuck = Stuck::new();
    let late = pollster::block_on(stuck.op().timeout(SOON).into_future()).map(drop);
    assert!(late.unwrap_err().is_timed_out());
    stuck.goes_on();
    let stuck = Stuck::new();
    assert!(matches!(pollster::block_on(race(stuck.op().into_future(), value(7).into_future())), Err(Ok(7))));
    stuck.goes_on();
}

#[test]
fn twenty_lines_are_an_executor() {
    let _alone = alone();
    let (function, ended) = (fill_kernel(), AtomicUsize::new(0));
    let tasks = (0..TASKS).map(|number| {
        let (function, ended) = (function.clone(), &ended);
        async move {
            assert_eq!(task(function, number).await.unwrap(), expected(number));
            ended.fetch_add(1, Ordering::SeqCst);
        }
    });
    executor::run_all(tasks);
    assert_eq!(ended.load(Ordering::SeqCst), TASKS as usize);
    let stuck = Stuck::new();
    executor::run_all([async {
        let late = stuck.op().timeout(SOON).await.map(drop);
        assert!(late.unwrap_err().is_timed_out());
        give_way().await;
        assert!(matches!(race(stuck.op().into_future(), value(7).into_future()).await, Err(Ok(7))));
    }]);
    stuck.goes_on();
}
