//! Pools that are a device's current one: memory that is allocated from no pool by name comes from them.

#![allow(unsafe_code)] // The current pool; raw calls.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::Spy;
use cuda_launch::context::ContextOptions;
use cuda_launch::memory::{MemoryPool, PoolOptions};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, DeviceBuffer};
use std::thread;

const N: usize = 1000;

/// A pool of device 0 that is current.
fn current(ctx: &CudaContext) -> MemoryPool {
    let pool = MemoryPool::new(ctx, PoolOptions::default()).unwrap();
    pool.make_current().unwrap();
    pool
}

fn destroyed(spy: &Spy) -> usize {
    spy.count("cuMemPoolDestroy")
}

#[test]
fn a_pool_that_was_current_outlives_its_handles_and_serves_on() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    let pool = current(&ctx);
    let raw = pool.raw();
    let before = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    assert!(pool.memory_use().unwrap().used > 0, "it came from there");
    drop(pool.clone());
    pool.close().unwrap();
    // Compared and dropped.
    assert_eq!(unsafe { MemoryPool::current_of(&ctx) }.unwrap().raw(), raw);
    let after = DeviceBuffer::filled(&stream, N, 8u32).unwrap();
    default.make_current().unwrap();
    assert_eq!(before.to_host_vec(&stream).unwrap(), [7; N]);
    assert_eq!(after.to_host_vec(&stream).unwrap(), [8; N]);
    drop((before, after));
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 0);
}

/// Frees of other contexts and of other tables, which destroying the pool would not wait for.
#[test]
fn its_memory_may_be_freed_in_another_context_and_by_another_driver() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let beside = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let (_table, same_device) = spies::spied();
    let default = MemoryPool::default_of(&ctx).unwrap();
    for of in [beside, same_device] {
        let stream = of.new_stream().unwrap();
        let pool = current(&ctx);
        let buffer = DeviceBuffer::filled(&stream, N, 3u32).unwrap();
        stream.synchronize().unwrap();
        let held = hold(&stream);
        drop(buffer);
        drop(pool);
        drop(held);
        stream.synchronize().unwrap();
        default.make_current().unwrap();
    }
    assert_eq!(destroyed(&spy), 0);
}

#[test]
fn threads_allocate_while_pools_come_and_go() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let default = MemoryPool::default_of(&ctx).unwrap();
    thread::scope(|scope| {
        for value in 0..4u32 {
            let stream = ctx.new_stream().unwrap();
            scope.spawn(move || {
                for _ in 0..50 {
                    let buffer = DeviceBuffer::filled(&stream, N, value).unwrap();
                    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [value; N]);
                }
            });
        }
        for _ in 0..20 {
            drop(current(&ctx));
            default.make_current().unwrap();
        }
    });
    assert_eq!(destroyed(&spy), 0);
}

/// Memory that raw calls allocated, and will free.
#[test]
fn memory_of_raw_calls_is_as_safe() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    let pool = current(&ctx);
    let mut raw = 0;
    let code = unsafe { ctx.driver().cuMemAllocAsync(&mut raw, 4 * N, stream.raw()) };
    assert_eq!(code, CUresult::CUDA_SUCCESS);
    drop(pool);
    default.make_current().unwrap();
    assert_eq!(unsafe { ctx.driver().cuMemFreeAsync(raw, stream.raw()) }, CUresult::CUDA_SUCCESS);
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 0);
}

#[test]
fn a_pool_that_never_was_current_is_destroyed() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    MemoryPool::new(&ctx, PoolOptions::default()).unwrap().close().unwrap();
    assert_eq!(destroyed(&spy), 1);
}
