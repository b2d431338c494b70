//! Every driver call of programs that use all kinds of memory fails once, or from then on: always a typed error, never a panic,
//! and nothing is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/failures.rs"]
mod failures;
#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{Fault, Kind};
use cuda_launch::memory::{
    CopyBatch, GrowableBuffer, ManagedAttach, MemoryAccess, MemoryAdvice, MemoryLocation, MemoryPool,
    PinnedFlags, PitchedBuffer, PoolOptions, RegionBatch, RegisterFlags,
};
use cuda_launch::sys::CUresult;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error, ManagedBuffer, PinnedBuffer};
use failures::each_call_fails;

const N: usize = 1000;

fn numbers() -> Vec<u32> {
    (0..N as u32).collect()
}

fn pinned(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let host = PinnedBuffer::from_slice(ctx, &numbers(), PinnedFlags::empty())?;
    let mut back = PinnedBuffer::<u32>::zeroed(ctx, N, PinnedFlags::DEVICE_MAP)?;
    host.flags()?;
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, N)?;
    buffer.view_mut().copy_from_pinned(&stream, &host)?;
    // Across streams, so that there are events in between.
    buffer.view().copy_to_pinned(&other, &mut back)?;
    assert_eq!(back.as_slice()?, numbers());
    let mut registered = PinnedBuffer::register(ctx, vec![7u32; N], RegisterFlags::empty())?;
    buffer.view_mut().copy_from_pinned(&other, &registered)?;
    registered.as_mut_slice()?.fill(8);
    let mut borrowed = numbers();
    ctx.with_registered(&mut borrowed, RegisterFlags::empty(), |mut pinned| {
        buffer.view().copy_to_pinned(&stream, pinned.view_mut())
    })?;
    assert_eq!(borrowed, [7; N]);
    host.close()?;
    // The others are dropped, the last while a copy may run.
    buffer.view().copy_to_pinned(&stream, &mut back)
}

fn pools(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let default = MemoryPool::default_of(ctx)?;
    default.release_threshold()?;
    let pool = MemoryPool::new(ctx, PoolOptions::default())?;
    pool.set_release_threshold(1 << 20)?;
    pool.grant_access(MemoryLocation::from(ctx))?;
    pool.access(MemoryLocation::from(ctx))?;
    let mut a = DeviceBuffer::<u32>::uninit_in(&pool, &stream, N)?;
    let mut b = DeviceBuffer::<u32>::uninit_in(&pool, &stream, N)?;
    a.copy_from_host(&stream, &numbers())?;
    b.view_mut().copy_from_device(&other, &a)?;
    assert_eq!(b.to_host_vec(&stream)?, numbers());
    pool.memory_use()?;
    pool.reset_high_watermark()?;
    a.close()?;
    pool.trim_to(0)?;
    let small = MemoryPool::new(ctx, PoolOptions::new().max_bytes(32 << 20))?;
    let plain = DeviceBuffer::<u32>::uninit_plain(ctx, N)?;
    plain.close()?;
    small.close()
}

fn managed(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let device = MemoryLocation::from(ctx);
    let mut memory = ManagedBuffer::<u32>::zeroed(&stream, N, ManagedAttach::Global)?;
    memory.advise(.., MemoryAdvice::ReadMostly(true))?;
    memory.advise(.., MemoryAdvice::AccessedBy(device))?;
    memory.prefetch(&stream, .., device)?;
    memory.range_state(..)?;
    memory.as_mut_slice()?.copy_from_slice(&numbers());
    memory.attach(&stream, ManagedAttach::Single)?;
    assert_eq!(memory.view().to_host_vec(&stream)?, numbers());
    let other = ManagedBuffer::from_slice(&stream, &numbers(), ManagedAttach::Global)?;
    assert_eq!(other.as_slice()?, numbers());
    other.close()?;
    memory.view_mut().set_zero(&stream)
}

fn mappings(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let part = PhysicalOptions::default().granularity(ctx, false)?;
    let addresses = VirtualReservation::new(ctx, 2 * part, 0)?;
    let memory = PhysicalAllocation::new(ctx, part, PhysicalOptions::default())?;
    memory.location()?;
    let mapping = Mapping::new(&addresses, 0, &memory)?;
    mapping.set_access(ctx.into(), MemoryAccess::ReadWrite)?;
    mapping.access(ctx.into())?;
    let mut buffer = DeviceBuffer::<u32>::from_mapping(mapping, N)?;
    buffer.copy_from_host(&stream, &numbers())?;
    assert_eq!(buffer.to_host_vec(&stream)?, numbers());
    let mut growing = GrowableBuffer::<u8>::new(ctx, 2 * part)?;
    growing.grow_to(1)?;
    growing.view_mut().set_zero(&stream)?;
    growing.grow_to(part + 1)?;
    growing.view_mut().set_zero(&stream)
}

fn arrays(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let shape = ArrayShape::D2 { width: 32, height: 4 };
    let first = CudaArray::<f32>::new(ctx, shape, ArrayFlags::SURFACE)?;
    let second = CudaArray::<f32>::new(ctx, shape, ArrayFlags::empty())?;
    first.descriptor()?;
    first.copy_from_host(&stream, &[1.0; 128])?;
    stream.copy_region(&first.as_source(), &mut second.as_target(), first.extent())?;
    assert_eq!(second.to_host_vec(&other)?, [1.0; 128]);
    let surface = SurfaceObject::new(&first)?;
    surface.write_on(&stream)?;
    let texture = TextureObject::from_array(&second, &TextureDescriptor::default())?;
    texture.read_on(&other)?;
    let linear = DeviceBuffer::<f32>::zeroed(&stream, N)?;
    let lines = TextureObject::from_linear(&linear, &TextureDescriptor::default())?;
    let mut rows = PitchedBuffer::<f32>::uninit(&stream, 32, 4)?;
    rows.fill(&stream, 2.0)?;
    let pitched = TextureObject::from_pitched(&rows, &TextureDescriptor::default())?;
    let mipmap = MipmappedArray::<f32>::new(ctx, shape, ArrayFlags::empty(), 3)?;
    mipmap.level(1)?.copy_from_host(&stream, &[3.0; 32])?;
    let levels = TextureObject::from_mipmap(&mipmap, &TextureDescriptor::default())?;
    // Half are closed, half dropped.
    pitched.close()?;
    levels.close()?;
    mipmap.close()?;
    surface.close()?;
    first.close()?;
    drop(lines);
    rows.close()
}

fn batches(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let a = DeviceBuffer::from_host(&stream, &numbers())?;
    let (mut b, mut c) = (DeviceBuffer::<u32>::zeroed(&stream, N)?, DeviceBuffer::<u32>::zeroed(&other, N)?);
    let mut batch = CopyBatch::new();
    batch.push(&mut b, &a)?;
    batch.push(&mut c, &a)?;
    batch.submit(&stream)?;
    assert_eq!(c.to_host_vec(&other)?, numbers());
    let (from, mut to) = (PitchedBuffer::<u32>::uninit(&stream, 8, 4)?, PitchedBuffer::uninit(&other, 8, 4)?);
    let mut regions = RegionBatch::new();
    regions.push(from.as_source(), to.as_target(), from.extent())?;
    regions.submit(&stream)?;
    let filled = DeviceBuffer::filled(&other, N, 5u16)?;
    assert_eq!(filled.to_host_vec(&stream)?, [5; N]);
    Ok(())
}

#[test]
fn pinned_memory() {
    assert!(each_call_fails("pinned memory", pinned).functions().len() >= 15);
}

#[test]
fn memory_pools() {
    assert!(each_call_fails("pools", pools).functions().len() >= 15);
}

#[test]
fn managed_memory() {
    assert!(each_call_fails("managed memory", managed).functions().len() >= 10);
}

#[test]
fn virtual_memory() {
    assert!(each_call_fails("virtual memory", mappings).functions().len() >= 10);
}

#[test]
fn arrays_textures_and_surfaces() {
    assert!(each_call_fails("arrays and textures", arrays).functions().len() >= 15);
}

#[test]
fn batches_and_fills() {
    assert!(each_call_fails("batches", batches).functions().len() >= 8);
}

/// A stream that the driver refuses to wait for, in a context that must not be waited for until a capture of another thread is over.
#[test]
fn borrowed_memory_is_waited_for_also_where_the_driver_refuses_beside_a_capture() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    let _alone = failures::alone();
    let (spy, context) = spies::spied();
    let stream = context.new_stream().unwrap();
    let ones = DeviceBuffer::from_host(&stream, &[1u32; 4096]).unwrap();
    for panics in [false, true] {
        let mut data = vec![0u32; 4096];
        let done = AtomicBool::new(false);
        let (capturing, is_capturing) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let result = std::thread::scope(|threads| {
            let (context, done) = (&context, &done);
            let capture = threads.spawn(move || {
                CudaGraph::capture(context, CaptureMode::Relaxed, |_| {
                    capturing.send(()).unwrap();
                    // Until the work is let go.
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    done.store(true, Ordering::SeqCst);
                    drop(release);
                    Ok(())
                })
            });
            is_capturing.recv().unwrap();
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                context.with_registered(&mut data, RegisterFlags::empty(), |mut pinned| {
                    stream.call_host(move || released.recv().unwrap_or_default())?;
                    ones.view().copy_to_pinned(&stream, pinned.view_mut())?;
                    // The wait for the stream fails, and nothing else.
                    spies::fail_calls_of(&spy, "cuStreamSynchronize", CUresult::CUDA_ERROR_UNKNOWN);
                    assert!(!panics, "on purpose");
                    Ok(())
                })
            }));
            assert!(done.load(Ordering::SeqCst), "the borrow ended before the copy");
            spies::watch(&spy);
            capture.join().unwrap().unwrap();
            result
        });
        assert_eq!(result.is_err(), panics);
        assert!(result.is_err() || result.unwrap().unwrap_err().code() == Some(CUresult::CUDA_ERROR_UNKNOWN));
        assert_eq!(data, [1; 4096]);
        assert_eq!(spy.ledger().count(Kind::Registration), 0);
    }
}

/// Where the driver refuses to wait, the end of the work is asked for, and where it refuses that, all of the context is waited for:
/// borrowed host memory does not change after the borrow.
#[test]
fn a_copy_to_borrowed_memory_is_over_also_where_the_driver_refuses_to_wait() {
    for refused in [["cuStreamSynchronize", "cuCtxSynchronize"], ["cuStreamSynchronize", "cuStreamQuery"]] {
        copy_to_borrowed_memory(refused);
    }
}

fn copy_to_borrowed_memory(refused: [&str; 2]) {
    let _alone = failures::alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let device = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, N, PinnedFlags::empty()).unwrap();
    let host = pinned.as_mut_slice().unwrap();
    stream.call_host(|| std::thread::sleep(std::time::Duration::from_millis(200))).unwrap();
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let faults = refused.map(|name| spy.inject(Fault::on(name).answer(invalid)).unwrap());
    let copied = device.copy_to_host(&stream, host);
    let seen = host.to_vec();
    assert!(faults[0].hits() > 0);
    spy.heal();
    stream.synchronize().unwrap();
    assert_eq!(copied.unwrap_err().code(), Some(invalid));
    assert!(seen == *host && seen == [7; N], "it changed after the borrow");
}
