//! Which streams the policy `ThreadAffine` gives, and what that saves.

#![allow(clippy::unwrap_used)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::Spy;
use cuda_launch::CudaContext;
use cuda_launch::operation::{
    DeviceOperation, SchedulingPolicy, ThreadAffine, block_on, memset, set_inline_wait, value, with_context,
    zeroed,
};
use spies::spied;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Events that order memory between streams, and waits for them.
fn crossings(spy: &Spy) -> usize {
    ["cuEventRecord", "cuStreamWaitEvent"].map(|name| spy.count(name)).into_iter().sum()
}

fn policy(context: &CudaContext) -> Arc<ThreadAffine> {
    Arc::new(ThreadAffine::new(context, 4).unwrap())
}

/// The stream for work that begins now.
fn next(policy: &ThreadAffine) -> usize {
    policy.next_stream().unwrap().raw().addr()
}

/// The stream on which an operation ran whose end this thread has seen.
fn used(policy: &Arc<ThreadAffine>) -> usize {
    let stream = with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    stream.schedule(policy.clone()).sync().unwrap()
}

#[test]
fn work_that_a_thread_waits_for_one_after_the_other_crosses_no_streams() {
    let (spy, ctx) = spied();
    let policy = policy(&ctx);
    let mut buffer = zeroed::<u32>(8).schedule(policy.clone()).sync().unwrap();
    let before = crossings(&spy);
    for value in 0..5 {
        buffer = memset(buffer, value).schedule(policy.clone()).sync().unwrap();
    }
    assert_eq!(crossings(&spy), before);
    assert_eq!(used(&policy), used(&policy));
    assert_eq!(buffer.to_host_vec(&ctx.new_stream().unwrap()).unwrap(), [4; 8]);
}

/// Whose first poll has seen the end.
#[test]
fn a_future_that_was_ready_at_once_leaves_its_stream_to_the_next() {
    set_inline_wait(Duration::from_secs(20));
    let (spy, ctx) = spied();
    let policy = policy(&ctx);
    let mut buffer = block_on(zeroed::<u32>(8).schedule(policy.clone()).future()).unwrap();
    let before = crossings(&spy);
    for value in 0..5 {
        buffer = block_on(memset(buffer, value).schedule(policy.clone()).future()).unwrap();
    }
    assert_eq!(crossings(&spy), before);
}

#[test]
fn work_under_way_leaves_its_stream_to_nothing_else() {
    let (_spy, ctx) = spied();
    let policy = policy(&ctx);
    let streams: Vec<_> = (0..4).map(|_| next(&policy)).collect();
    assert_eq!(streams.iter().collect::<BTreeSet<_>>().len(), 4, "{streams:?}");
    // The end of work on another stream says nothing of this one.
    let last = next(&policy);
    zeroed::<u8>(1).sync_on(&ctx.new_stream().unwrap()).unwrap();
    assert_ne!(next(&policy), last);
}

#[test]
fn a_thread_keeps_its_stream_and_no_other_threads() {
    let (_spy, ctx) = spied();
    let policy = policy(&ctx);
    let own = used(&policy);
    let other = policy.clone();
    assert_ne!(std::thread::spawn(move || next(&other)).join().unwrap(), own);
    assert_eq!(used(&policy), own);
    // Another policy has other streams.
    let foreign = Arc::new(ThreadAffine::new(&ctx, 1).unwrap());
    assert_eq!(used(&foreign), foreign.streams()[0].raw().addr());
    assert!(ThreadAffine::of([]).is_err());
}
