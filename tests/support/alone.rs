//! What [`cuda_harness::alone`] and [`Hold`] are with this crate's streams.
//!
//! In a file with a test that holds a stream each test that works with the device holds an [`Alone`].

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used)]

use cuda_harness::{Alone, Hold};
use cuda_launch::operation::in_flight;
use cuda_launch::{CudaContext, CudaStream};

/// Waits for the tests before this one, and for what they left behind: a module that is unloaded after the next call that
/// looks for such things waits for all streams, also for one that this test holds.
pub fn alone() -> Alone {
    let alone = cuda_harness::alone();
    // Where there is no device the test finds out itself.
    let Ok(ctx) = CudaContext::new(0) else { return alone };
    while in_flight() > 0 && ctx.synchronize().is_ok() {
        std::thread::yield_now();
    }
    // Nobody here waits for panics and faults of tests before.
    drop(ctx.synchronize());
    alone
}

/// Makes `stream` wait for the drop of the result.
///
/// Meanwhile a test makes no call that waits for all streams, and launches no kernel for the first time: a driver may load
/// code then, and wait for all streams to do so.
pub fn hold(stream: &CudaStream) -> Hold {
    let (hold, wait) = Hold::new();
    stream.call_host(wait).unwrap();
    hold
}
