//! Pools that are a device's current one: memory that is allocated from no pool by name keeps the pool that it came from.

#![allow(unsafe_code)] // Functions in the driver's place; the current pool.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::Spy;
use cuda_launch::context::ContextOptions;
use cuda_launch::memory::{MemoryPool, PoolOptions};
use cuda_launch::sys::{CUdeviceptr, CUmemPool_attribute, CUmemoryPool, CUresult, CUstream, pfn};
use cuda_launch::{CaptureMode, CudaContext, DeviceBuffer};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::forget;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const N: usize = 1000;

/// A pool of device 0 that is current.
fn current(ctx: &CudaContext) -> MemoryPool {
    let pool = MemoryPool::new(ctx, PoolOptions::default()).unwrap();
    pool.make_current().unwrap();
    pool
}

fn is_current(ctx: &CudaContext, pool: &MemoryPool) -> bool {
    // Compared and dropped.
    unsafe { MemoryPool::current_of(ctx) }.unwrap().raw() == pool.raw()
}

fn destroyed(spy: &Spy) -> usize {
    spy.count("cuMemPoolDestroy")
}

/// What was put off is done by a later call, on another thread.
fn is_destroyed_soon(spy: &Spy, ctx: &CudaContext) -> bool {
    let start = Instant::now();
    while destroyed(spy) == 0 && start.elapsed() < Duration::from_secs(30) {
        ctx.synchronize().unwrap();
        thread::yield_now();
    }
    destroyed(spy) == 1
}

#[test]
fn a_pool_lives_as_long_as_memory_that_came_from_it_while_it_was_current() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    let pool = current(&ctx);
    let buffer = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    assert!(pool.memory_use().unwrap().used > 0, "it came from there");
    default.make_current().unwrap();
    let other = DeviceBuffer::filled(&stream, N, 8u32).unwrap();
    drop(pool);
    assert_eq!(destroyed(&spy), 0, "memory of it is there");
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [7; N]);
    drop(buffer);
    assert!(is_destroyed_soon(&spy, &ctx));
    assert_eq!(other.to_host_vec(&stream).unwrap(), [8; N]);
}

#[test]
fn it_ends_after_its_memory_was_freed_in_another_context_and_by_another_driver() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let beside = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let (_table, same_device) = spies::spied();
    for of in [beside, same_device] {
        spy.clear();
        let stream = of.new_stream().unwrap();
        let pool = current(&ctx);
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        stream.synchronize().unwrap();
        let held = hold(&stream);
        drop(buffer);
        drop(pool);
        assert_eq!(destroyed(&spy), 0, "its memory is being freed");
        drop(held);
        stream.synchronize().unwrap();
        assert!(is_destroyed_soon(&spy, &ctx));
    }
}

#[test]
fn the_last_handle_makes_the_default_pool_current_whatever_is_left() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    let pool = current(&ctx);
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    let handle = pool.clone();
    drop(pool);
    assert!(is_current(&ctx, &handle));
    handle.close().unwrap();
    assert!(is_current(&ctx, &default));
    // Another one that is current stays so.
    let (first, second) = (current(&ctx), current(&ctx));
    drop(first);
    assert!(is_current(&ctx, &second));
    let of_second = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    drop(second);
    assert!(is_current(&ctx, &default));
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 1, "of which nothing was left");
    drop(of_second);
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 2, "not the first one");
    forget(buffer);
    drop(stream);
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 2, "its memory is never freed");
}

#[test]
fn a_handle_may_end_in_a_host_function() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    let pool = current(&ctx);
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    stream.call_host(move || drop(pool)).unwrap();
    stream.synchronize().unwrap();
    let start = Instant::now();
    while !is_current(&ctx, &default) {
        assert!(start.elapsed() < Duration::from_secs(30), "it stays current");
        thread::yield_now();
    }
    assert_eq!(destroyed(&spy), 0);
    drop(buffer);
    assert!(is_destroyed_soon(&spy, &ctx));
}

/// Memory that raw calls allocated, and will free.
#[test]
fn a_pool_with_memory_that_is_not_this_crates_stays() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let pool = current(&ctx);
    let mut raw = 0;
    assert_eq!(
        unsafe { ctx.driver().cuMemAllocAsync(&mut raw, 4 * N, stream.raw()) },
        CUresult::CUDA_SUCCESS
    );
    let (address, len) = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap().into_raw_parts().unwrap();
    drop(pool);
    for address in [raw, address] {
        assert_eq!(unsafe { ctx.driver().cuMemFreeAsync(address, stream.raw()) }, CUresult::CUDA_SUCCESS);
    }
    ctx.synchronize().unwrap();
    assert_eq!((destroyed(&spy), len), (0, N));
}

thread_local! {
    /// What happens before and after the driver allocates, once.
    static BEFORE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    static AFTER: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

unsafe extern "C" fn allocate(address: *mut CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult {
    let act = |armed: &RefCell<Option<Box<dyn FnOnce()>>>| {
        let act = armed.borrow_mut().take();
        act.into_iter().for_each(|act| act());
    };
    BEFORE.with(act);
    let code = unsafe { cuda_launch::default_driver().unwrap().cuMemAllocAsync(address, bytes, stream) };
    AFTER.with(act);
    code
}

/// Whether pools say that none of their memory is in use.
static NOTHING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn get_attribute(
    pool: CUmemoryPool,
    attribute: CUmemPool_attribute,
    value: *mut c_void,
) -> CUresult {
    if NOTHING.load(Ordering::Relaxed) {
        unsafe { value.cast::<u64>().write(0) };
        return CUresult::SUCCESS;
    }
    unsafe { cuda_launch::default_driver().unwrap().cuMemPoolGetAttribute(pool, attribute, value) }
}

fn replaced(name: &str) -> *const c_void {
    let function: pfn::cuMemAllocAsync = allocate;
    let ask: pfn::cuMemPoolGetAttribute = get_attribute;
    match name {
        "cuMemAllocAsync" => function as *const c_void,
        "cuMemPoolGetAttribute" => ask as *const c_void,
        _ => std::ptr::null(),
    }
}

/// What other threads may do at these moments, this one does here.
#[test]
fn pools_come_and_go_in_the_middle_of_an_allocation() {
    let _alone = alone();
    let spy = Spy::over(&spies::driver_with(replaced)).unwrap();
    let ctx = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let (stream, default) = (ctx.new_stream().unwrap(), MemoryPool::default_of(&ctx).unwrap());
    // It becomes current before the memory is allocated, and goes after that.
    let pool = MemoryPool::new(&ctx, PoolOptions::default()).unwrap();
    let handle = pool.clone();
    BEFORE.with(|armed| *armed.borrow_mut() = Some(Box::new(move || handle.make_current().unwrap())));
    let buffer = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    drop(pool);
    assert_eq!(destroyed(&spy), 0);
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [7; N]);
    drop(buffer);
    assert!(is_destroyed_soon(&spy, &ctx));
    spy.clear();
    // It goes before anybody can know of the memory: it is never destroyed.
    let pool = current(&ctx);
    AFTER.with(|armed| *armed.borrow_mut() = Some(Box::new(move || drop(pool))));
    let buffer = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    assert_eq!(destroyed(&spy), 0);
    assert!(is_current(&ctx, &default));
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [7; N]);
    drop(buffer);
    ctx.synchronize().unwrap();
    assert_eq!(destroyed(&spy), 0);
}

/// As a driver may count memory whose free is submitted and not done.
#[test]
fn a_pool_whose_memory_could_not_keep_it_is_never_destroyed() {
    let _alone = alone();
    let spy = Spy::over(&spies::driver_with(replaced)).unwrap();
    let ctx = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let (stream, captured) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let (pool, open) = (current(&ctx), Rc::new(Cell::new(None)));
    let capturing = open.clone();
    NOTHING.store(true, Ordering::Relaxed);
    AFTER.with(|armed| {
        *armed.borrow_mut() = Some(Box::new(move || {
            // A capture puts the end of the pool off.
            capturing.set(Some(unsafe { captured.begin_capture(CaptureMode::Relaxed) }.unwrap()));
            drop(pool);
        }))
    });
    let buffer = DeviceBuffer::<u32>::uninit(&stream, N);
    drop(unsafe { open.take().unwrap().end_capture() }.unwrap());
    let _buffer = buffer.unwrap();
    // Its end is tried again before that of another one, on the same thread.
    let start = Instant::now();
    while spy.count("cuMemPoolGetAttribute") == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "nobody tries to end it");
        ctx.synchronize().unwrap();
        thread::yield_now();
    }
    let (barrier, theirs) = spies::spied();
    let other = current(&theirs);
    theirs.new_stream().unwrap().call_host(move || drop(other)).unwrap();
    assert!(is_destroyed_soon(&barrier, &theirs));
    assert_eq!(destroyed(&spy), 0);
    NOTHING.store(false, Ordering::Relaxed);
}

/// Beside each other, on a driver that checks all memory.
#[test]
fn threads_allocate_while_others_change_the_current_pool() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    thread::scope(|scope| {
        for number in 0..2 {
            let ctx = &ctx;
            scope.spawn(move || {
                let stream = ctx.new_stream().unwrap();
                for _ in 0..100 {
                    let buffer = DeviceBuffer::filled(&stream, N, number).unwrap();
                    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [number; N]);
                }
            });
            scope.spawn(move || {
                for _ in 0..50 {
                    drop(current(ctx));
                }
            });
        }
    });
    let default = MemoryPool::default_of(&ctx).unwrap();
    assert!(is_current(&ctx, &default));
}
