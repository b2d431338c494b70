//! Memory of graphics APIs and of several devices: what can be had of it without them.

#![cfg(unix)]
#![allow(unsafe_code)] // Handles that are none, which the driver refuses, and memory that nobody else uses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/skip.rs"]
mod skip;

use cuda_launch::interop::{
    ExternalMemory, ExternalMemoryHandle, ExternalSemaphore, ExternalSemaphoreHandle, OsHandle, OsHandleKinds,
};
use cuda_launch::memory::MemoryAccess;
use cuda_launch::sys::CUresult;
use cuda_launch::virtual_memory::{
    Mapping, MulticastObject, PhysicalAllocation, PhysicalOptions, VirtualReservation,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use skip::skipped;
use std::fs::File;
use std::os::fd::OwnedFd;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn on_emulator(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator")
}

/// A file of so many bytes that has no name any more.
fn plain_file(bytes: u64) -> OwnedFd {
    let path = std::env::temp_dir().join(format!("cuda-launch-external-{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.set_len(bytes).unwrap();
    file.into()
}

#[test]
fn files_are_no_external_memory_and_no_semaphores() {
    let stream = stream();
    let context = stream.context();
    // Files that are neither: the driver says so, and may close them, so that nobody else may.
    let descriptor = || OwnedFd::from(File::open("/dev/null").unwrap());
    for file in [descriptor(), plain_file(4096)] {
        let memory = ExternalMemoryHandle::FileDescriptor(file);
        let error = unsafe { ExternalMemory::import(context, memory, 4096, true) }.unwrap_err();
        assert_eq!(error.call(), Some("cuImportExternalMemory"));
        if on_emulator(context) {
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
        }
    }
    for semaphore in [
        ExternalSemaphoreHandle::FileDescriptor(descriptor()),
        ExternalSemaphoreHandle::TimelineFileDescriptor(descriptor()),
    ] {
        let error = unsafe { ExternalSemaphore::import(context, semaphore) }.unwrap_err();
        assert_eq!(error.call(), Some("cuImportExternalSemaphore"));
    }
}

/// Memory that the driver itself exported stands for that of a graphics API: not every driver takes it so.
#[test]
fn external_memory_is_used() {
    const LEN: usize = 1000;
    let stream = stream();
    let context = stream.context();
    if on_emulator(context) {
        return skipped("the emulator exports no memory");
    }
    let options = PhysicalOptions { handles: OsHandleKinds::FILE_DESCRIPTOR, ..PhysicalOptions::default() };
    let bytes = options.granularity(context, false).unwrap();
    let memory = PhysicalAllocation::new(context, bytes, options).unwrap();
    let OsHandle::FileDescriptor(descriptor) = memory.export(OsHandleKinds::FILE_DESCRIPTOR).unwrap() else {
        panic!("another handle")
    };
    let handle = ExternalMemoryHandle::FileDescriptor(descriptor);
    let external = match unsafe { ExternalMemory::import(context, handle, bytes, false) } {
        Err(error) => return skipped(format!("the driver takes no memory of its own: {error}")),
        Ok(external) => external,
    };
    assert_eq!(external.byte_len(), bytes);
    assert!(unsafe { external.map::<u8>(1, bytes) }.is_err(), "past the end");
    let numbers: Vec<u32> = (0..LEN as u32).collect();
    let mut buffer = unsafe { external.map::<u32>(0, LEN) }.unwrap();
    buffer.copy_from_host(&stream, &numbers).unwrap();
    stream.synchronize().unwrap();
    // The same memory where its owner maps it.
    let addresses = VirtualReservation::new(context, bytes, 0).unwrap();
    let mapping = Mapping::new(&addresses, 0, &memory).unwrap();
    mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
    let own = DeviceBuffer::<u32>::from_mapping(mapping, LEN).unwrap();
    assert_eq!(own.to_host_vec(&stream).unwrap(), numbers);
}

/// On the emulator only: where a driver has them, a creation that goes wrong can put a whole host out of service.
#[test]
fn multicast_objects_are_refused() {
    let stream = stream();
    let context = stream.context();
    if !on_emulator(context) {
        return skipped("cuMulticastCreate can put the host out of service");
    }
    assert!(!MulticastObject::is_supported(context).unwrap());
    let error = MulticastObject::granularity(context, 2, false).unwrap_err();
    assert!(error.is_unsupported() && error.call() == Some("cuMulticastGetGranularity"), "{error}");
    let error = MulticastObject::new(context, 2, 2 << 20, OsHandleKinds::empty()).unwrap_err();
    assert!(error.is_unsupported() && error.call() == Some("cuMulticastGetGranularity"), "{error}");
}
