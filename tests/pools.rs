//! Memory pools: allocation, statistics, attributes, trimming, access.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::InstanceOptions;
use cuda_launch::interop::OsHandleKinds;
use cuda_launch::memory::{MemoryAccess, MemoryLocation, MemoryPool, PoolOptions, PoolReuse};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, ErrorKind};

const MIB: usize = 1 << 20;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn pool(stream: &CudaStream) -> MemoryPool {
    MemoryPool::new(stream.context(), PoolOptions::default()).unwrap()
}

#[test]
fn a_pool_counts_what_it_hands_out() {
    let stream = stream();
    let pool = pool(&stream);
    assert_eq!(pool.memory_use().unwrap().used, 0);
    let a = DeviceBuffer::<u8>::uninit_in(&pool, &stream, 4 * MIB).unwrap();
    let b = DeviceBuffer::<u32>::uninit_in(&pool, &stream, MIB).unwrap();
    let now = pool.memory_use().unwrap();
    assert_eq!((now.used, now.used_high), (8 * MIB as u64, 8 * MIB as u64));
    assert!(now.reserved >= now.used && now.reserved_high >= now.reserved);
    a.close().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(pool.memory_use().unwrap().used, 4 * MIB as u64);
    assert_eq!(pool.memory_use().unwrap().used_high, 8 * MIB as u64);
    pool.reset_high_watermark().unwrap();
    assert_eq!(pool.memory_use().unwrap().used_high, 4 * MIB as u64);
    drop(b);
    stream.synchronize().unwrap();
    pool.trim_to(0).unwrap();
    let end = pool.memory_use().unwrap();
    assert_eq!((end.used, end.reserved), (0, 0));
    pool.close().unwrap();
}

#[test]
fn buffers_of_a_pool_are_buffers() {
    let stream = stream();
    let pool = pool(&stream);
    let data: Vec<u32> = (0..1000).collect();
    let mut buffer = DeviceBuffer::<u32>::uninit_in(&pool, &stream, 1000).unwrap();
    buffer.copy_from_host(&stream, &data).unwrap();
    // The pool's last handle goes first; the allocation lives on.
    drop(pool);
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), data);
}

/// `reliability.md` 31 and 32.
#[test]
fn too_much_and_nothing() {
    let stream = stream();
    let pool = pool(&stream);
    let error = DeviceBuffer::<u64>::uninit_in(&pool, &stream, usize::MAX / 2).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capacity { .. }));
    let error = DeviceBuffer::<u8>::uninit_in(&pool, &stream, 1 << 50).unwrap_err();
    assert!(error.is_out_of_memory() && error.call() == Some("cuMemAllocFromPoolAsync"), "{error}");
    let empty = DeviceBuffer::<u8>::uninit_in(&pool, &stream, 0).unwrap();
    assert!(empty.is_empty() && empty.to_host_vec(&stream).unwrap().is_empty());
    // A pool may be limited.
    let options = PoolOptions::new().max_bytes(32 * MIB);
    let small = MemoryPool::new(stream.context(), options).unwrap();
    DeviceBuffer::<u8>::uninit_in(&small, &stream, 16 * MIB).unwrap();
    let error = DeviceBuffer::<u8>::uninit_in(&small, &stream, 256 * MIB).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
}

#[test]
fn attributes_are_kept() {
    let stream = stream();
    let pool = pool(&stream);
    assert_eq!(pool.release_threshold().unwrap(), 0);
    pool.set_release_threshold(123 << 20).unwrap();
    assert_eq!(pool.release_threshold().unwrap(), 123 << 20);
    for way in [PoolReuse::FollowEventDependencies, PoolReuse::Opportunistic, PoolReuse::InternalDependencies]
    {
        assert!(pool.reuse(way).unwrap(), "{way:?}");
        pool.set_reuse(way, false).unwrap();
        assert!(!pool.reuse(way).unwrap(), "{way:?}");
    }
    let device = MemoryLocation::from(stream.context());
    assert_eq!(pool.access(device).unwrap(), MemoryAccess::ReadWrite);
    pool.set_access(device, MemoryAccess::ReadWrite).unwrap();
    assert!(pool.set_access(MemoryLocation::Device(99), MemoryAccess::Read).is_err());
}

/// A safe kernel would fault, and CUDA be unusable in the process.
#[test]
fn a_pool_of_another_device_gives_memory_to_who_may_use_it() {
    let instance = InstanceOptions::new().devices(2).start().unwrap();
    let [near, far] = [0, 1].map(|device| CudaContext::with_driver(&instance.driver(), device).unwrap());
    let stream = near.new_stream().unwrap();
    let located = PoolOptions::new().location(Some((&far).into()));
    let pools = [
        MemoryPool::new(&far, PoolOptions::new()).unwrap(),
        MemoryPool::new(&near, located).unwrap(),
        MemoryPool::default_of(&far).unwrap(),
    ];
    for pool in &pools {
        let error = DeviceBuffer::<u32>::uninit_in(pool, &stream, 8).unwrap_err();
        assert_eq!(error.call(), Some("cuMemPoolGetAccess"), "{error}");
        pool.set_access((&near).into(), MemoryAccess::Read).unwrap();
        assert!(DeviceBuffer::<u32>::uninit_in(pool, &stream, 8).is_err());
        pool.set_access((&near).into(), MemoryAccess::ReadWrite).unwrap();
        let mut buffer = DeviceBuffer::<u32>::uninit_in(pool, &stream, 8).unwrap();
        for less in [MemoryAccess::None, MemoryAccess::Read] {
            let error = pool.set_access((&near).into(), less).unwrap_err();
            assert!(error.to_string().contains("revoke_access"), "{error}");
        }
        buffer.fill(&stream, 7).unwrap();
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), [7; 8]);
    }
}

#[test]
fn the_devices_pool_is_changed_and_back() {
    let stream = stream();
    let default = MemoryPool::default_of(stream.context()).unwrap();
    let own = pool(&stream);
    assert_ne!(default.raw(), own.raw());
    own.make_current().unwrap();
    #[allow(unsafe_code)]
    // SAFETY: 1: the current pool is `own`, which was declared before `current` and `buffer`, and so is dropped after them.
    let current = unsafe { MemoryPool::current_of(stream.context()) }.unwrap();
    assert_eq!(current.raw(), own.raw());
    let before = own.memory_use().unwrap().used_high;
    let buffer = DeviceBuffer::<u8>::zeroed(&stream, MIB).unwrap();
    assert!(own.memory_use().unwrap().used_high >= before + MIB as u64);
    drop(buffer);
    default.make_current().unwrap();
    // The default pool is nobody's to destroy: closing a handle does nothing.
    default.close().unwrap();
    DeviceBuffer::<u8>::zeroed(&stream, MIB).unwrap();
}

#[test]
fn handles_are_exported_where_that_is_possible() {
    let stream = stream();
    // Not for a pool that was not made for it.
    assert!(pool(&stream).export(OsHandleKinds::FILE_DESCRIPTOR).is_err());
    let options = PoolOptions::new().handles(OsHandleKinds::FILE_DESCRIPTOR);
    match MemoryPool::new(stream.context(), options) {
        Ok(pool) => {
            let handle = pool.export(OsHandleKinds::FILE_DESCRIPTOR).unwrap();
            assert_eq!(handle.kind(), OsHandleKinds::FILE_DESCRIPTOR);
            let buffer = DeviceBuffer::<u32>::uninit_in(&pool, &stream, MIB).unwrap();
            stream.synchronize().unwrap();
            pool.export_buffer(&buffer).unwrap();
        }
        // The emulator shares memory only on Linux.
        Err(error) => assert!(error.is_unsupported() && !cfg!(target_os = "linux"), "{error}"),
    }
}
