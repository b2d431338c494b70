//! Nothing lives on after it is dropped. One test, alone in its process: the device's free memory is counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, GrowableBuffer, ManagedAttach, ManagedBuffer, MemoryPool,
    PinnedBuffer, PinnedFlags, PoolOptions, RegisterFlags,
};

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

#[test]
fn nothing_is_left_behind() {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let context = stream.context();
    for round in [pinned, managed, pools, mappings, plain] {
        // What a driver keeps for itself, it has after the first rounds.
        (0..3).for_each(|_| round(&stream));
        context.synchronize().unwrap();
        let before = context.memory_info().unwrap();
        (0..20).for_each(|_| round(&stream));
        context.synchronize().unwrap();
        assert_eq!(context.memory_info().unwrap(), before);
    }
}
