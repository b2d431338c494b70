//! A kernel traps while a thousand futures wait: each ends with an error that names the launch, soon, on whatever executor; what
//! comes after fails at once; the process ends with its own code. In a child process, for which CUDA ends with the fault.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels, one of which traps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "references/child.rs"]
mod child;
#[path = "operation_support/executor.rs"]
mod executor;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{Held, hold};
use cuda_launch::operation::{
    DeviceOperation, RoundRobin, SchedulingPolicy, SingleStream, block_on, in_flight, set_inline_wait, value,
    zeroed, zip,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaFunction, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::cell::Cell;
use std::process::exit;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use support::{context, poll_once};

const FUTURES: usize = 1000;
const STREAMS: usize = 4;
/// What a child ends with when all went as it should.
const AS_EXPECTED: i32 = 43;
/// A child's main thread, which hangs, is given up.
const HANGS: i32 = 44;

/// Streams behind a kernel that traps when it is let go.
struct Site {
    ctx: CudaContext,
    policy: Arc<RoundRobin>,
    held: Cell<Option<Held>>,
    /// What the kernel uses: to unload a module that is at work is to wait for it.
    _used: (CudaFunction, DeviceBuffer<u32>),
}

/// When the kernel was let go.
struct Released {
    start: Instant,
    told: thread::JoinHandle<Duration>,
}

/// A way to run an operation.
type Run = fn(&Site) -> Result<usize, Error>;

impl Site {
    fn new() -> Self {
        let ctx = context();
        let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
        let trap = module.load_function("trap_at").unwrap();
        let policy = Arc::new(RoundRobin::new(&ctx, STREAMS).unwrap());
        let stream = ctx.new_stream().unwrap();
        let mut words = DeviceBuffer::<u32>::zeroed(&stream, 256).unwrap();
        let config = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
        let mut launch = |block: u32| unsafe {
            cuda_launch! { function: trap, stream: stream, config: config, args: [block, 5u32, ptr_mut(words)] }
        };
        // No such block: loads the kernel, and ends well.
        launch(99).unwrap();
        stream.synchronize().unwrap();
        policy.streams().iter().for_each(|stream| drop(zeroed::<u32>(10).sync_on(stream).unwrap()));
        let held = Cell::new(Some(hold(&stream)));
        launch(2).unwrap();
        policy.streams().iter().for_each(|other| other.join(&stream).unwrap());
        Self { ctx, policy, held, _used: (trap, words) }
    }

    /// Lets the kernel go, and measures when the driver tells of its fault: bare, as nobody can know sooner.
    fn release(&self) -> Released {
        let start = Instant::now();
        let (ctx, stream) = (self.ctx.clone(), self.policy.streams()[0].clone());
        drop(self.held.take());
        let told = thread::spawn(move || {
            let (bound, code) = unsafe {
                (ctx.driver().cuCtxSetCurrent(ctx.raw()), ctx.driver().cuStreamSynchronize(stream.raw()))
            };
            assert!(bound != CUresult::SUCCESS || code != CUresult::SUCCESS);
            start.elapsed()
        });
        Released { start, told }
    }

    fn is_emulated(&self) -> bool {
        self.ctx.device_name().unwrap().contains("emulator")
    }

    /// An operation on one of the streams, with something that is kept.
    fn op(&self, number: usize) -> cuda_launch::operation::BoxedOperation<'static, usize> {
        let policy: Arc<dyn SchedulingPolicy> = self.policy.clone();
        let op = zip!(zeroed::<u32>(10), value(number)).and_then_with_context(|cx, (buffer, number)| {
            cx.keep(vec![number]);
            value((buffer, number))
        });
        op.map(|(buffer, number)| buffer.len() + number).schedule(policy).boxed()
    }

    /// Each call on the device answers with the fault at once.
    fn is_dead(&self) {
        let stream = self.policy.streams()[0].clone();
        let single: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
        let ops: [Run; 4] = [
            |site| block_on(site.op(1)),
            |site| site.op(1).sync(),
            |site| site.op(1).sync_on(&site.policy.streams()[0]),
            |site| block_on(site.op(1).timeout(Duration::from_secs(5))),
        ];
        for op in ops {
            names_the_launch(&op(self).unwrap_err());
        }
        names_the_launch(&block_on(zeroed::<u8>(3).schedule(single)).map(drop).unwrap_err());
        assert_eq!(block_on(value(7)).unwrap(), 7, "what needs no device goes on");
        let start = Instant::now();
        while in_flight() > 0 {
            assert!(start.elapsed() < Duration::from_secs(1), "{} in flight", in_flight());
            thread::yield_now();
        }
    }
}

fn names_the_launch(error: &Error) {
    assert!(error.is_sticky(), "{error}");
    assert!(error.to_string().contains("trap_at"), "{error}");
}

/// In the parent: the child for this test ends well.
fn drill(test: &str, child: impl FnOnce()) {
    if child::is_child(test) {
        let (ended, hangs) = mpsc::channel::<()>();
        thread::spawn(move || {
            if hangs.recv_timeout(Duration::from_secs(50)) == Err(RecvTimeoutError::Timeout) {
                exit(HANGS);
            }
        });
        child();
        let _ = ended.send(());
        exit(AS_EXPECTED);
    }
    let child = child::run(test);
    assert_eq!(child.code, Some(AS_EXPECTED), "{test}\n{}\n{}", child.stdout, child.stderr);
    child.stdout.lines().filter(|line| line.contains(" ms")).for_each(|line| println!("{line}"));
}

/// The longest that any of them may take. A GPU's driver takes most of a second to end what runs before it tells anybody: what is
/// ours is the time after that.
fn within_limit(site_is_emulated: bool, told: Duration, latest: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{FUTURES} futures ended within {:.1} ms; the driver told of the fault after {:.1} ms",
        ms(latest),
        ms(told)
    );
    // A sanitizer takes its time.
    let slower: u32 = std::env::var("CUDA_LAUNCH_TEST_SLOWER").map_or(1, |times| times.parse().unwrap());
    let limit = slower * Duration::from_millis(100) + if site_is_emulated { Duration::ZERO } else { told };
    assert!(latest < limit, "{latest:?}, more than {limit:?}");
    assert!(latest < slower * Duration::from_secs(1), "{latest:?}");
}

#[test]
fn a_thousand_futures_end_with_the_name_of_the_launch() {
    drill("a_thousand_futures_end_with_the_name_of_the_launch", || {
        set_inline_wait(Duration::ZERO);
        let site = Site::new();
        let mut futures: Vec<_> = (0..FUTURES).map(|number| Some(site.op(number).future())).collect();
        assert!(futures.iter_mut().flatten().all(|future| poll_once(future).is_pending()));
        assert_eq!(in_flight(), FUTURES);
        // The last task to begin lets the kernel go.
        futures.push(None);
        let (released, latest, ended) = (Cell::new(None), Cell::new(Instant::now()), Cell::new(0));
        executor::run_all(futures.into_iter().map(|future| {
            let (site, released, latest, ended) = (&site, &released, &latest, &ended);
            async move {
                let Some(future) = future else { return released.set(Some(site.release())) };
                names_the_launch(&future.await.unwrap_err());
                ended.set(ended.get() + 1);
                latest.set(Instant::now());
            }
        }));
        assert_eq!(ended.get(), FUTURES);
        let Released { start, told } = released.into_inner().unwrap();
        within_limit(site.is_emulated(), told.join().unwrap(), latest.get() - start);
        site.is_dead();
    });
}

/// Some are awaited on other threads, some block theirs, some were dropped, some forgotten.
#[test]
fn a_fault_ends_waits_of_all_kinds() {
    drill("a_fault_ends_waits_of_all_kinds", || {
        set_inline_wait(Duration::ZERO);
        let site = Site::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let mut tasks = Vec::new();
        for number in 0..FUTURES {
            let mut future = site.op(number).future();
            assert!(poll_once(&mut future).is_pending());
            match number % 4 {
                0 => drop(future),
                1 => std::mem::forget(future),
                _ => tasks.push(runtime.spawn(future)),
            }
        }
        let blocked: Vec<_> = (0..8)
            .map(|number| {
                let op = site.op(number);
                thread::spawn(move || if number % 2 == 0 { op.sync() } else { block_on(op) })
            })
            .collect();
        let released = site.release();
        for task in tasks {
            names_the_launch(&runtime.block_on(task).unwrap().unwrap_err());
        }
        for thread in blocked {
            names_the_launch(&thread.join().unwrap().unwrap_err());
        }
        let latest = released.start.elapsed();
        within_limit(site.is_emulated(), released.told.join().unwrap(), latest);
        site.is_dead();
    });
}

/// The end of a process waits for nobody.
#[test]
fn a_process_ends_while_futures_wait() {
    drill("a_process_ends_while_futures_wait", || {
        set_inline_wait(Duration::ZERO);
        let site = Site::new();
        let futures: Vec<_> = (0..FUTURES).map(|number| site.op(number).future()).collect();
        let pending = |mut future| poll_once(&mut future).is_pending().then_some(future);
        let waiting: Vec<_> = futures.into_iter().filter_map(pending).collect();
        assert_eq!(waiting.len(), FUTURES);
        site.release();
        exit(AS_EXPECTED);
    });
}
