//! Memory of every kind that the host shares with the device, and what keeps it: in safe code, on the emulator, so that Miri sees what
//! both sides do with the bytes (`cargo miri test --test miri_memory`). Without Miri it runs on any driver.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::graph::{CopyNode, HostMemory, InstantiateFlags};
use cuda_launch::memory::{GrowableBuffer, ManagedAttach, PinnedFlags, PitchedBuffer, RegisterFlags};
use cuda_launch::operation::{DeviceOperation, SingleStream, block_on, copy_to_host, scope, zeroed};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ManagedBuffer, PinnedBuffer,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

fn stream() -> CudaStream {
    // Miri has no other driver.
    let ctx = if cfg!(miri) {
        CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap()
    } else {
        CudaContext::new(0).unwrap()
    };
    ctx.new_stream().unwrap()
}

#[test]
fn managed_memory() -> Result<(), Error> {
    let stream = stream();
    let mut memory = ManagedBuffer::from_slice(&stream, &[1u32, 2, 3], ManagedAttach::Global)?;
    memory.view_mut().slice(..1).set_zero(&stream)?;
    assert_eq!(memory.as_slice()?, [0, 2, 3]);
    memory.as_mut_slice()?[1] = 9;
    assert_eq!(memory.view().to_host_vec(&stream)?, [0, 9, 3]);
    Ok(())
}

#[test]
fn pinned_memory() -> Result<(), Error> {
    let stream = stream();
    let mut pinned = PinnedBuffer::from_slice(stream.context(), &[1u32, 2, 3, 4], PinnedFlags::empty())?;
    let (left, right) = pinned.as_mut_slice()?.split_at_mut(2);
    (left[0], right[0]) = (5, 6);
    let mut device = DeviceBuffer::<u32>::uninit(&stream, 4)?;
    device.view_mut().copy_from_pinned(&stream, &pinned)?;
    device.slice_mut(1..2).fill(&stream, 7)?;
    device.view().copy_to_pinned(&stream, pinned.view_mut())?;
    assert_eq!(pinned.as_slice()?, [5, 7, 6, 4]);
    pinned.device_view_mut().fill(&stream, 3)?;
    assert_eq!(pinned.as_slice()?, [3; 4]);
    Ok(())
}

#[test]
fn registered_memory() -> Result<(), Error> {
    let stream = stream();
    let pinned = PinnedBuffer::register(stream.context(), vec![1.5f32; 1500], RegisterFlags::empty())?;
    assert_eq!(pinned.as_slice()?[1499], 1.5);
    drop(pinned);
    let mut lent = vec![1u32; 1500];
    let mut device = DeviceBuffer::<u32>::uninit(&stream, 1500)?;
    stream.context().with_registered(&mut lent, RegisterFlags::empty(), |mut pinned| {
        device.view_mut().copy_from_pinned(&stream, pinned.as_view())?;
        device.slice_mut(..1499).fill(&stream, 7)?;
        device.view().copy_to_pinned(&stream, pinned.view_mut())
    })?;
    assert!(lent[..1499].iter().all(|x| *x == 7));
    assert_eq!(lent[1499], 1);
    Ok(())
}

/// The graph keeps host memory that the program has let go of.
#[test]
fn host_memory_of_graphs() -> Result<(), Error> {
    let stream = stream();
    let (source, target) = (HostMemory::new(vec![1u32, 2, 3]), HostMemory::new(vec![0u32; 3]));
    let mut buffer = DeviceBuffer::zeroed(&stream, 3)?;
    let mut graph = CudaGraph::new(stream.context())?;
    let there = graph.add_copy(&[], CopyNode::host_to_device(&source, &mut buffer)?)?;
    graph.add_copy(&[there], CopyNode::device_to_host(&buffer, &target)?)?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.launch(&stream)?;
    exec.synchronize()?;
    drop((source, target));
    buffer.view_mut().set_zero(&stream)?;
    exec.launch(&stream)?;
    assert_eq!(buffer.to_host_vec(&stream)?, [1, 2, 3]);
    Ok(())
}

#[test]
fn memory_that_grows() -> Result<(), Error> {
    let stream = stream();
    let mut memory = GrowableBuffer::<u32>::new(stream.context(), 3_000_000)?;
    memory.grow_to(1000)?;
    memory.view_mut().slice(..10).fill(&stream, 5)?;
    memory.grow_to(600_000)?;
    assert_eq!(memory.view().slice(..10).to_host_vec(&stream)?, [5; 10]);
    Ok(())
}

#[test]
fn pitched_memory() -> Result<(), Error> {
    let stream = stream();
    let mut memory = PitchedBuffer::<f32>::uninit(&stream, 5, 4)?;
    memory.fill(&stream, 2.0)?;
    assert_eq!(memory.to_host_vec(&stream)?, [2.0; 20]);
    Ok(())
}

#[test]
fn tensors() -> Result<(), Error> {
    let stream = stream();
    let memory = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let tensor = memory.into_dlpack(&stream, &[2, 3])?;
    assert_eq!(tensor.shape(), [2, 3]);
    let memory: DeviceBuffer<f32> = tensor.into_buffer(stream.context())?;
    assert_eq!(memory.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    Ok(())
}

#[test]
fn chunks_and_casts() -> Result<(), Error> {
    let stream = stream();
    let mut memory = DeviceBuffer::<u16>::zeroed(&stream, 10)?;
    for (number, mut chunk) in memory.chunks_mut(3).enumerate() {
        chunk.fill(&stream, number as u16)?;
    }
    memory.cast_mut::<u8>()?.slice(..1).fill(&stream, 9)?;
    let first = u16::from_ne_bytes([9, 0]);
    assert_eq!(memory.to_host_vec(&stream)?, [first, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
    Ok(())
}

#[test]
fn host_functions() -> Result<(), Error> {
    let stream = stream();
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    stream.call_host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
    stream.synchronize()?;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    // What it owned is gone with it.
    assert_eq!(Arc::strong_count(&count), 1);
    Ok(())
}

#[test]
fn operations() -> Result<(), Error> {
    let stream = stream();
    let policy = Arc::new(SingleStream::new(&stream));
    let memory = block_on(zeroed::<u32>(64).schedule(policy.clone()))?;
    let host = scope(|scope| scope.submit(copy_to_host(&memory).schedule(policy)))??;
    assert_eq!(host.as_slice()?, [0; 64]);
    Ok(())
}

#[test]
fn parts_of_buffers() -> Result<(), Error> {
    let stream = stream();
    let source = DeviceBuffer::from_host(&stream, &[1u32, 2, 3])?;
    let mut target = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    target.slice_mut(2..5).copy_from_device(&stream, &source)?;
    drop(source);
    assert_eq!(target.to_host_vec(&stream)?, [0, 0, 1, 2, 3, 0, 0, 0]);
    Ok(())
}

#[test]
fn captures() -> Result<(), Error> {
    let stream = stream();
    let mut memory = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    let graph = CudaGraph::capture(stream.context(), CaptureMode::ThreadLocal, |stream| {
        memory.view_mut().fill(stream, 4)
    })?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    drop(graph);
    exec.launch(&stream)?;
    assert_eq!(memory.to_host_vec(&stream)?, [4; 8]);
    Ok(())
}

#[test]
fn halves_on_two_threads() -> Result<(), Error> {
    let stream = stream();
    let ctx = stream.context();
    let mut memory = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    let (mut left, mut right) = memory.split_at_mut(4);
    thread::scope(|scope| {
        let one = scope.spawn(move || left.fill(&ctx.new_stream()?, 1));
        right.fill(&ctx.per_thread_stream(), 2)?;
        one.join().unwrap()
    })?;
    assert_eq!(memory.to_host_vec(&stream)?, [1, 1, 1, 1, 2, 2, 2, 2]);
    Ok(())
}
