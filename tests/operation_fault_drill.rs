//! A kernel traps while a thousand futures wait: each ends with an error that names the launch, woken once, on whatever executor;
//! what comes after fails; the process ends with its own code. In a child process, for which CUDA ends with the fault.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels, one of which traps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/executor.rs"]
mod executor;
#[path = "operation_support/mod.rs"]
mod support;

use alone::hold;
use cuda_harness::{Hold, child};
use cuda_launch::operation::{
    DeviceOperation, RoundRobin, SchedulingPolicy, SingleStream, block_on, in_flight, scope, set_inline_wait,
    value, zeroed, zip,
};
use cuda_launch::{CudaFunction, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::process::exit;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use support::{context, poll_once};

const FUTURES: usize = 1000;
const STREAMS: usize = 4;
/// What a child ends with when all went as it should.
const AS_EXPECTED: i32 = 43;
/// A child's main thread, which hangs, is given up.
const HANGS: i32 = 44;

/// Streams behind a kernel that traps when it is let go.
struct Site {
    policy: Arc<RoundRobin>,
    held: Cell<Option<Hold>>,
    /// What the kernel uses: to unload a module that is at work is to wait for it.
    _used: (CudaFunction, DeviceBuffer<u32>),
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
        let config = LaunchConfig::new((4, 1, 1), (64, 1, 1));
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
        Self { policy, held, _used: (trap, words) }
    }

    /// Lets the kernel go.
    fn release(&self) {
        drop(self.held.take());
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

    /// Each call on the device answers with the fault, and nothing is left in flight.
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
        while in_flight() > 0 {
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
    let child = child::run(test).unwrap();
    assert_eq!(child.code, Some(AS_EXPECTED), "{test}\n{}\n{}", child.stdout, child.stderr);
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
        let ended = Cell::new(0);
        executor::run_all(futures.into_iter().map(|future| {
            let (site, ended) = (&site, &ended);
            async move {
                let Some(mut future) = future else { return site.release() };
                let mut polls = 0;
                let output = poll_fn(|cx| {
                    polls += 1;
                    Pin::new(&mut future).poll(cx)
                });
                names_the_launch(&output.await.unwrap_err());
                // Before the fault, and when it was woken.
                assert_eq!(polls, 2);
                ended.set(ended.get() + 1);
            }
        }));
        assert_eq!(ended.get(), FUTURES);
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
        let (submitted, scopes) = mpsc::channel();
        let blocked: Vec<_> = (0..9)
            .map(|number| {
                let (op, submitted) = (site.op(number), submitted.clone());
                thread::spawn(move || match number % 3 {
                    0 => op.sync(),
                    1 => block_on(op),
                    // Submitted well; the end of the scope finds the fault.
                    _ => scope(|s| {
                        let output = s.submit(op).unwrap();
                        submitted.send(()).unwrap();
                        output
                    }),
                })
            })
            .collect();
        // The kernel goes on when the three scopes have submitted.
        assert_eq!(scopes.iter().take(3).count(), 3);
        site.release();
        for task in tasks {
            names_the_launch(&runtime.block_on(task).unwrap().unwrap_err());
        }
        for thread in blocked {
            names_the_launch(&thread.join().unwrap().unwrap_err());
        }
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
