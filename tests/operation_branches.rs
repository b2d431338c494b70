//! Branches of a chain, and operations of a scope: what waits for what, also where a `Branches` is forgotten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::{Fault, Hold};
use cuda_launch::context::ContextOptions;
use cuda_launch::operation::{
    DeviceOperation, ExecutionContext, RoundRobin, SchedulingPolicy, SingleStream, block_on, scope,
    set_inline_wait, value, with_context,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaGraph, CudaStream, DeviceBuffer, Error};
use spies::spied;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::{context, poll_once};

/// Kept until work is done; when it is dropped, that must be so.
struct UntilDone {
    done: Arc<AtomicBool>,
    too_early: Arc<AtomicBool>,
}

impl Drop for UntilDone {
    fn drop(&mut self) {
        if !self.done.load(Ordering::SeqCst) {
            self.too_early.store(true, Ordering::SeqCst);
        }
    }
}

/// Work that is held up, and what must not end before it.
#[derive(Clone, Default)]
struct Work {
    done: Arc<AtomicBool>,
    too_early: Arc<AtomicBool>,
    held: Arc<Mutex<Option<Hold>>>,
}

impl Work {
    /// Gives the chain work that lasts until it is released, and something to keep until then.
    fn give(&self, cx: &ExecutionContext) -> Result<(), Error> {
        let (stream, done) = (cx.stream()?, self.done.clone());
        *self.held.lock().unwrap() = Some(hold(stream));
        stream.call_host(move || done.store(true, Ordering::SeqCst))?;
        cx.keep(UntilDone { done: self.done.clone(), too_early: self.too_early.clone() });
        Ok(())
    }

    /// The same in a branch of a chain, which is forgotten.
    fn give_forgotten(&self, cx: &ExecutionContext) {
        let mut branches = cx.branches();
        branches.branch(|cx| self.give(cx)).unwrap();
        std::mem::forget(branches);
    }

    /// Lets the work go on after a while.
    fn release(&self) -> thread::JoinHandle<()> {
        let held = self.held.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            // It may not have been given yet.
            while held.lock().unwrap().take().map(drop).is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        })
    }

    fn assert_done(&self, what: &str) {
        assert!(self.done.load(Ordering::SeqCst), "{what}: the work of the branch was waited for");
        assert!(!self.too_early.load(Ordering::SeqCst), "{what}: what was kept was dropped before it");
    }
}

fn streams(count: usize) -> Arc<dyn SchedulingPolicy> {
    let streams: Vec<CudaStream> = (0..count).map(|_| context().new_stream().unwrap()).collect();
    Arc::new(RoundRobin::of(streams).unwrap())
}

/// An operation that forgets a branch, as the program `way` asks for it.
fn forgets(work: &Work, way: &'static str) -> impl DeviceOperation<Output = ()> + use<> {
    let work = work.clone();
    with_context(move |cx| {
        if way.contains("used") {
            // Else the chain has no stream of its own.
            cx.stream().unwrap();
        }
        if way.contains("nested") {
            cx.branches().branch(|cx| work.give_forgotten(cx));
        } else {
            work.give_forgotten(cx);
        }
        assert!(!way.contains("panics"), "on purpose");
        value(())
    })
}

#[test]
fn what_a_forgotten_branch_was_given_is_waited_for() {
    let _alone = alone();
    for way in ["plain", "used", "nested", "nested used", "panics", "nested used panics"] {
        let work = Work::default();
        let release = work.release();
        let result = catch_unwind(AssertUnwindSafe(|| forgets(&work, way).sync()));
        assert_eq!(result.is_err(), way.contains("panics"));
        work.assert_done(way);
        release.join().unwrap();
        // In a scope, whose operations may borrow.
        let work = Work::default();
        let release = work.release();
        let result = catch_unwind(AssertUnwindSafe(|| scope(|s| s.submit(forgets(&work, way)))));
        assert_eq!(result.is_err(), way.contains("panics"));
        work.assert_done(way);
        release.join().unwrap();
    }
}

#[test]
fn what_a_forgotten_branch_keeps_stays_until_its_work_is_done() {
    let _alone = alone();
    set_inline_wait(Duration::ZERO);
    for way in ["plain", "used", "nested", "nested used"] {
        let work = Work::default();
        let mut future = forgets(&work, way).future();
        assert!(poll_once(&mut future).is_pending());
        let release = work.release();
        block_on(future).unwrap();
        work.assert_done(way);
        release.join().unwrap();
        // Submitted, and not waited for.
        let (work, stream) = (Work::default(), context().new_stream().unwrap());
        forgets(&work, way).submit_on(&stream).unwrap();
        assert!(!work.too_early.load(Ordering::SeqCst), "{way}: it was dropped at once");
        let release = work.release();
        stream.synchronize().unwrap();
        work.assert_done(way);
        release.join().unwrap();
    }
    set_inline_wait(Duration::from_micros(20));
}

/// A branch that was joined is not waited for again, nor one of another `Branches` with it.
#[test]
fn branches_that_are_joined_leave_the_others_alone() {
    let _alone = alone();
    let policy = streams(3);
    let op = with_context(|cx| {
        let stream = cx.stream().unwrap().clone();
        let mut first = cx.branches();
        let (held, held_stream) =
            first.branch(|cx| cx.stream().map(|stream| (hold(stream), stream.clone()))).unwrap();
        let mut second = cx.branches();
        second.branch(|cx| cx.stream().map(drop)).unwrap();
        second.join().unwrap();
        // The chain goes on beside the branch that is held.
        stream.synchronize().unwrap();
        assert!(!held_stream.query().unwrap());
        drop(held);
        first.join().unwrap();
        value(held_stream)
    });
    let held_stream = op.schedule(policy).sync().unwrap();
    assert!(held_stream.query().unwrap());
}

#[test]
fn branches_run_on_the_streams_that_the_policy_gives() {
    let _alone = alone();
    let ctx = context();
    let own: [CudaStream; 3] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let op = with_context(|cx| {
        let mut raw = vec![cx.stream().unwrap().raw() as usize];
        let mut branches = cx.branches();
        for _ in 0..2 {
            raw.push(branches.branch(|cx| cx.stream().unwrap().raw() as usize));
        }
        branches.join().unwrap();
        value(raw)
    });
    let raw = op.schedule(Arc::new(RoundRobin::of(own.clone()).unwrap())).sync().unwrap();
    assert_eq!(raw, own.map(|stream| stream.raw() as usize));
}

#[test]
fn a_branch_comes_after_what_the_chain_did_before() {
    let _alone = alone();
    let work = Work::default();
    let after = Arc::new(AtomicBool::new(false));
    let (before, seen) = (work.clone(), after.clone());
    let op = with_context(move |cx| {
        before.give(cx).unwrap();
        let stream = cx.stream().unwrap().raw();
        cx.branches().branch(|cx| {
            assert_ne!(cx.stream().unwrap().raw(), stream);
            let (done, seen) = (before.done.clone(), seen.clone());
            let look = move || seen.store(done.load(Ordering::SeqCst), Ordering::SeqCst);
            cx.stream().unwrap().call_host(look).unwrap();
        });
        value(())
    });
    let release = work.release();
    op.schedule(streams(2)).sync().unwrap();
    release.join().unwrap();
    assert!(after.load(Ordering::SeqCst), "the branch ran before the chain");
    work.assert_done("the chain");
}

/// The default streams are those of the context that is current.
#[test]
fn what_a_chain_keeps_stays_where_it_unwinds_in_another_context() {
    let _alone = alone();
    let ctx = context();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    for stream in [ctx.default_stream(), ctx.per_thread_stream()] {
        let work = Work::default();
        let (given, other) = (work.clone(), other.clone());
        let op = with_context(move |cx| {
            given.give(cx).unwrap();
            other.bind().unwrap();
            assert!(given.done.load(Ordering::SeqCst), "on purpose: it goes on");
            value(())
        });
        let release = work.release();
        assert!(catch_unwind(AssertUnwindSafe(|| op.sync_on(&stream))).is_err());
        work.assert_done("the chain");
        release.join().unwrap();
    }
}

/// Not only for the first, nor only for the last.
#[test]
fn a_scope_waits_for_each_of_its_streams() {
    let _alone = alone();
    for busy in 0..3 {
        let works: Vec<Work> = (0..3).map(|_| Work::default()).collect();
        let release = works[busy].release();
        scope(|s| {
            for (index, work) in works.iter().enumerate() {
                let stream: Arc<dyn SchedulingPolicy> =
                    Arc::new(SingleStream::new(&context().new_stream().unwrap()));
                let op = with_context(move |cx| {
                    cx.stream().unwrap();
                    if index == busy {
                        work.give(cx).unwrap();
                    }
                    value(())
                });
                s.submit(op.schedule(stream)).unwrap();
            }
        })
        .unwrap();
        works[busy].assert_done("the scope");
        release.join().unwrap();
    }
}

/// The work goes on, whatever the call that should have waited for it answers: it may use what was borrowed.
#[test]
fn a_wait_that_the_driver_refuses_is_made_again() {
    let _alone = alone();
    let (spy, ctx) = spied();
    let stream = ctx.new_stream().unwrap();
    let code = CUresult::CUDA_ERROR_INVALID_VALUE;
    let single: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    for way in ["sync", "scope"] {
        let work = Work::default();
        let release = work.release();
        let refused = spy.inject(Fault::on("cuStreamSynchronize").nth(1).answer(code)).unwrap();
        let given = work.clone();
        let op = with_context(move |cx| {
            given.give(cx).unwrap();
            value(())
        });
        let result = match way {
            "sync" => op.sync_on(&stream),
            _ => scope(|s| s.submit(op.schedule(single.clone())).unwrap()),
        };
        let error = result.unwrap_err();
        assert_eq!((error.code(), refused.hits()), (Some(code), 1), "{way}");
        work.assert_done(way);
        release.join().unwrap();
        spy.heal();
    }
}

/// Each is a fork of the capture, and not one after the other on its stream.
#[test]
fn branches_of_a_chain_that_is_captured_do_not_come_after_each_other() {
    let _alone = alone();
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let [mut x, mut y] = std::array::from_fn(|_| DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap());
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |capture| {
        let operation = with_context(move |cx| {
            let mut branches = cx.branches();
            for buffer in [&mut x, &mut y] {
                branches.branch(|cx| buffer.view_mut().fill(cx.stream().unwrap(), 1)).unwrap();
            }
            branches.join().unwrap();
            value((x, y))
        });
        operation.submit_on(capture).map(drop)
    });
    let graph = graph.unwrap();
    assert_eq!((graph.nodes().len(), graph.dependencies().unwrap()), (2, vec![]));
}
