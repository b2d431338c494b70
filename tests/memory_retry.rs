//! Where memory runs out, what could not be freed earlier is freed, and the call is made again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::DeviceBuffer;
use cuda_launch::sys::CUresult;

/// To look for it costs driver calls: that is done where there is a need, not at each allocation.
/// A program of its own: what one test has dropped the next one would free.
#[test]
fn memory_that_could_not_be_freed_is_freed_where_there_is_no_more() {
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let allocate = || {
        spies::fail_nth(&spy, 1, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let buffer = DeviceBuffer::<u32>::uninit(&stream, 100);
        assert_eq!(spies::failed(&spy), Some("cuMemAllocAsync"));
        let calls = spy.calls().names();
        spies::watch(&spy);
        buffer.map(|_| calls)
    };
    assert!(allocate().unwrap_err().is_out_of_memory(), "nothing is left to free");

    // Often: the thread that frees it may be faster than the call that waits for it.
    for _ in 0..400 {
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
        // Whoever has the address may use it on any stream.
        let _ = buffer.cu_deviceptr();
        spies::fail_calls_of(&spy, "cuCtxSynchronize", CUresult::CUDA_ERROR_UNKNOWN);
        drop(buffer);
        assert_eq!(spies::failed(&spy), Some("cuCtxSynchronize"));
        let calls = allocate().unwrap();
        let order: Vec<_> = calls.iter().filter(|call| call.starts_with("cuMem")).collect();
        assert_eq!(order, [&"cuMemAllocAsync", &"cuMemFreeAsync", &"cuMemAllocAsync"]);
    }
    assert!(allocate().is_err(), "once");
}
