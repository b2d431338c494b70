//! Nothing lives on after it is dropped. One test, alone in its process: the device's free memory is counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::memory::{
    GrowableBuffer, ManagedAttach, MemoryPool, PinnedFlags, PoolOptions, RegisterFlags,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, ManagedBuffer, PinnedBuffer};

fn pinned(stream: &CudaStream) {
    let numbers = || (0..10_000).collect::<Vec<u32>>();
    let mut host = PinnedBuffer::from_slice(stream.context(), &numbers(), PinnedFlags::empty()).unwrap();
    let registered = PinnedBuffer::register(stream.context(), numbers(), RegisterFlags::empty()).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(stream, 10_000).unwrap();
    buffer.view_mut().copy_from_pinned(stream, &registered).unwrap();
    buffer.view().copy_to_pinned(stream, &mut host).unwrap();
    // All three are dropped while the copies may still run.
}

fn managed(stream: &CudaStream) {
    let mut memory = ManagedBuffer::<u32>::zeroed(stream, 1 << 20, ManagedAttach::Global).unwrap();
    memory.view_mut().slice(..100).set_zero(stream).unwrap();
}

fn pools(stream: &CudaStream) {
    let pool = MemoryPool::new(stream.context(), PoolOptions::default()).unwrap();
    let other = stream.context().new_stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit_in(&pool, stream, 1 << 20).unwrap();
    // Used on another stream that is gone before the buffer is.
    buffer.view_mut().set_zero(&other).unwrap();
    drop(other);
}

fn mappings(stream: &CudaStream) {
    let mut buffer = GrowableBuffer::<u8>::new(stream.context(), 64 << 20).unwrap();
    for len in [1, 1 << 20, 9 << 20] {
        buffer.grow_to(len).unwrap();
        buffer.view_mut().set_zero(stream).unwrap();
    }
}

fn plain(stream: &CudaStream) {
    let mut buffer = DeviceBuffer::<u64>::uninit_plain(stream.context(), 1 << 18).unwrap();
    buffer.view_mut().set_zero(stream).unwrap();
}

/// Free bytes when nothing runs and the default pool keeps nothing.
fn free(context: &CudaContext) -> usize {
    context.synchronize().unwrap();
    let pool = MemoryPool::default_of(context).unwrap();
    assert_eq!(pool.memory_use().unwrap().used, 0, "a buffer was left behind");
    pool.trim_to(0).unwrap();
    context.synchronize().unwrap();
    context.memory_info().unwrap().0
}

/// Each round allocates at least 40 kB, so 100 of them would show in the 2 MiB by which a GPU's memory is given out.
#[test]
fn nothing_is_left_behind() {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let context = stream.context();
    let rounds = [pinned, managed, pools, mappings, plain];
    // Code that is loaded when it is first used, and what a driver keeps for itself.
    for (number, round) in rounds.iter().enumerate() {
        println!("first rounds of {number}");
        (0..3).for_each(|_| round(&stream));
    }
    for (number, round) in rounds.into_iter().enumerate() {
        println!("round {number}");
        // A driver takes and gives back memory of its own now and then; what leaks does so every time.
        let is_even = (0..4).any(|_| {
            let before = free(context);
            (0..100).for_each(|_| round(&stream));
            free(context) >= before
        });
        assert!(is_even, "free memory falls with every 100 rounds");
    }
}
