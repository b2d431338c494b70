//! Memory of graphics APIs and of several devices: what can be had of it without them.

#![allow(unsafe_code)] // Handles that are none, which the driver refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/skip.rs"]
mod skip;

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaStream, MulticastObject, OsHandleKinds};
use skip::skipped;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn on_emulator(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator")
}

#[test]
#[cfg(unix)]
fn external_memory_and_semaphores() {
    use cuda_launch::{ExternalMemory, ExternalMemoryHandle, ExternalSemaphore, ExternalSemaphoreHandle};
    let stream = stream();
    let context = stream.context();
    // A file that is neither: the driver says so, and may close it, so that nobody else may.
    let descriptor = || std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let memory = ExternalMemoryHandle::FileDescriptor(descriptor());
    let error = unsafe { ExternalMemory::import(context, memory, 4096, true) }.unwrap_err();
    assert_eq!(error.call(), Some("cuImportExternalMemory"));
    if on_emulator(context) {
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    }
    for semaphore in [
        ExternalSemaphoreHandle::FileDescriptor(descriptor()),
        ExternalSemaphoreHandle::TimelineFileDescriptor(descriptor()),
    ] {
        let error = unsafe { ExternalSemaphore::import(context, semaphore) }.unwrap_err();
        assert_eq!(error.call(), Some("cuImportExternalSemaphore"));
    }
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
