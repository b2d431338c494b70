//! What the driver knows about addresses, and memory that comes from elsewhere or goes there.

#![allow(unsafe_code)] // Memory that goes to the raw driver and comes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::interop::RawOwnership;
use cuda_launch::memory::{
    ManagedAttach, MemoryPool, MemoryType, PinnedFlags, PointerAttributes, PoolOptions,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, ManagedBuffer, PinnedBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn known(context: &CudaContext, address: u64) -> PointerAttributes {
    PointerAttributes::of(context, address).unwrap().unwrap()
}

#[test]
fn addresses_are_known() {
    let stream = stream();
    let context = stream.context();
    let plain = DeviceBuffer::<u32>::uninit_plain(context, 1000).unwrap();
    let about = known(context, plain.cu_deviceptr() + 40);
    assert_eq!((about.memory_type, about.is_managed, about.device), (MemoryType::Device, false, 0));
    assert_eq!((about.range_start, about.range_bytes), (plain.cu_deviceptr(), 4000));
    assert_eq!((about.context, about.device_address), (context.raw(), plain.cu_deviceptr() + 40));
    assert!(about.pool.is_null() && about.host_address == 0);
    let managed = ManagedBuffer::<u32>::uninit(context, 1000, ManagedAttach::Global).unwrap();
    let about = known(context, managed.view().cu_deviceptr());
    assert!(about.is_managed && about.range_start == managed.as_host_ptr().addr() as u64);
    let pinned = PinnedBuffer::<u32>::zeroed(context, 1000, PinnedFlags::empty()).unwrap();
    let about = known(context, pinned.as_host_ptr().addr() as u64);
    assert_eq!((about.memory_type, about.is_managed), (MemoryType::Host, false));
    assert_eq!(about.host_address, pinned.as_host_ptr().addr() as u64);
    assert_eq!(about.device_address, pinned.device_view().cu_deviceptr());
    let pool = MemoryPool::new(context, PoolOptions::default()).unwrap();
    let pooled = DeviceBuffer::<u32>::uninit_in(&pool, &stream, 1000).unwrap();
    let about = known(context, pooled.cu_deviceptr());
    assert_eq!((about.memory_type, about.pool), (MemoryType::Device, pool.raw()));
    let ids = [plain.cu_deviceptr(), pooled.cu_deviceptr()].map(|address| known(context, address).buffer_id);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn others_are_not() {
    let stream = stream();
    let context = stream.context();
    let host = [0u32; 4];
    for address in [0, 4096, host.as_ptr().addr() as u64] {
        assert_eq!(PointerAttributes::of(context, address).unwrap(), None, "{address:#x}");
    }
    let plain = DeviceBuffer::<u32>::uninit_plain(context, 4).unwrap();
    PointerAttributes::set_sync_memops(context, plain.cu_deviceptr(), true).unwrap();
    let address = plain.cu_deviceptr();
    plain.close().unwrap();
    assert_eq!(PointerAttributes::of(context, address).unwrap(), None);
    assert!(PointerAttributes::set_sync_memops(context, address, true).is_err());
}

#[test]
fn memory_goes_out_of_hand_and_comes_back() {
    let stream = stream();
    let context = stream.context();
    let buffer = DeviceBuffer::from_host(&stream, &[1u32, 2, 3]).unwrap();
    let (address, len) = buffer.into_raw_parts().unwrap();
    let buffer = unsafe {
        DeviceBuffer::<u32>::from_raw_parts(context, address, len, RawOwnership::Pool(stream.clone()))
    };
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [1, 2, 3]);
    // Borrowed: the first owner frees it.
    let borrowed =
        unsafe { DeviceBuffer::<u32>::from_raw_parts(context, address, 2, RawOwnership::Borrowed) };
    assert_eq!(borrowed.to_host_vec(&stream).unwrap(), [1, 2]);
    drop(borrowed);
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [1, 2, 3]);
    drop(buffer);
    stream.synchronize().unwrap();
    let plain = DeviceBuffer::<u32>::uninit_plain(context, 100).unwrap();
    let (address, len) = plain.into_raw_parts().unwrap();
    unsafe { DeviceBuffer::<u32>::from_raw_parts(context, address, len, RawOwnership::Plain) }
        .close()
        .unwrap();
    assert_eq!(PointerAttributes::of(context, address).unwrap(), None);
}

#[test]
fn a_foreign_owner_is_dropped_after_the_last_use() {
    struct Owner(DeviceBuffer<u32>, Arc<AtomicBool>);
    impl Drop for Owner {
        fn drop(&mut self) {
            assert_eq!(self.0.len(), 4 << 20);
            self.1.store(true, Ordering::SeqCst);
        }
    }
    let stream = stream();
    let gone = Arc::new(AtomicBool::new(false));
    let inner = DeviceBuffer::<u32>::uninit(&stream, 4 << 20).unwrap();
    let address = inner.cu_deviceptr();
    let owner = Owner(inner, gone.clone());
    let mut buffer = unsafe { DeviceBuffer::<u32>::from_foreign(stream.context(), address, 4 << 20, owner) };
    let other = stream.context().new_stream().unwrap();
    buffer.view_mut().set_zero(&other).unwrap();
    buffer.view_mut().copy_from_host(&stream, &vec![3; 4 << 20]).unwrap();
    assert_eq!(buffer.slice(..3).to_host_vec(&other).unwrap(), [3; 3]);
    assert!(!gone.load(Ordering::SeqCst));
    buffer.close().unwrap();
    assert!(gone.load(Ordering::SeqCst));
}

/// `reliability.md` 34 and 35: operands are dropped, and streams too, while work on another stream uses them.
#[test]
fn operands_may_be_dropped_while_they_are_in_use() {
    let stream = stream();
    let (a, b) = (stream.context().new_stream().unwrap(), stream.context().new_stream().unwrap());
    for round in 0..20u32 {
        let source =
            PinnedBuffer::from_slice(stream.context(), &vec![round; 1 << 18], PinnedFlags::empty()).unwrap();
        let mut first = DeviceBuffer::<u32>::uninit(&a, 1 << 18).unwrap();
        let mut second = DeviceBuffer::<u32>::uninit(&b, 1 << 18).unwrap();
        first.view_mut().copy_from_pinned(&a, &source).unwrap();
        second.view_mut().copy_from_device(&b, &first).unwrap();
        // The source and the buffer that is read on the other stream go first.
        drop((source, first));
        assert!(second.to_host_vec(&stream).unwrap().iter().all(|x| *x == round));
    }
}
