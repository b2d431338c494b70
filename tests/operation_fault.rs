//! A kernel that traps while futures wait: all end with an error that names it, none hangs, and the process ends as it likes.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // A launch that faults on purpose, in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "references/child.rs"]
mod child;

#[path = "operation_support/mod.rs"]
mod support;

use cuda_launch::operation::{DeviceOperation, RoundRobin, in_flight, zeroed};
use cuda_launch::{LaunchConfig, cuda_launch_async};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{block_on, context, hold, poll_once};

const PENDING: usize = 1000;

fn poisoned() {
    let ctx = context();
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let policy = Arc::new(RoundRobin::new(&ctx, 4).unwrap());
    // Nothing on these streams will be done.
    let held: Vec<_> = policy.streams().iter().map(hold).collect();
    let mut futures: Vec<_> =
        (0..PENDING).map(|_| zeroed::<u8>(8).schedule(policy.clone()).future()).collect();
    assert!(futures.iter_mut().all(|future| poll_once(future).is_pending()));
    assert_eq!(in_flight(), PENDING);
    // Some are dropped and forgotten meanwhile.
    futures.drain(..10).for_each(drop);
    futures.drain(..10).for_each(std::mem::forget);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    let trap = unsafe {
        cuda_launch_async! { kernel: trap_at, module: module, config: config, args: [0u32, 0u32, 0u64] }
    };
    let start = Instant::now();
    let error = block_on(trap).unwrap_err();
    assert!(error.is_sticky() && error.to_string().contains("trap_at"), "{error}");
    for future in futures {
        let error = block_on(future).unwrap_err();
        assert!(error.is_sticky() && error.to_string().contains("trap_at"), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    // Later operations say the same.
    assert!(block_on(zeroed::<u8>(1)).unwrap_err().is_sticky());
    drop(held);
}

#[test]
fn a_fault_ends_every_pending_future() {
    const NAME: &str = "a_fault_ends_every_pending_future";
    if child::is_child(NAME) {
        poisoned();
        std::process::exit(7);
    }
    let ended = child::run(NAME);
    assert_eq!(ended.code, Some(7), "{}\n{}", ended.stdout, ended.stderr);
}
