//! Memory of other processes, graphics APIs and several devices: what can be had of it without them.

#![allow(unsafe_code)] // Handles that are none, which the driver refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, IpcMemoryHandle, MulticastObject};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn on_emulator(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator")
}

#[test]
fn ipc_handles() {
    let stream = stream();
    let context = stream.context();
    let plain = DeviceBuffer::<u32>::uninit_plain(context, 1000).unwrap();
    match IpcMemoryHandle::of(&plain) {
        Ok(handle) => {
            let bytes = handle.to_bytes();
            assert_eq!(IpcMemoryHandle::from_bytes(bytes).to_bytes(), bytes);
            // A process cannot open its own memory.
            unsafe { handle.open::<u32>(context, 1000) }.unwrap_err();
            // Memory of a pool has no such handle.
            let pooled = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
            IpcMemoryHandle::of(&pooled).unwrap_err();
        }
        Err(error) => {
            assert!(error.is_unsupported() && error.call() == Some("cuIpcGetMemHandle"), "{error}");
            let error = unsafe { IpcMemoryHandle::from_bytes([0; 64]).open::<u32>(context, 1) }.unwrap_err();
            assert!(error.is_unsupported(), "{error}");
        }
    }
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

#[test]
fn multicast_objects() {
    let stream = stream();
    let context = stream.context();
    if MulticastObject::is_supported(context).unwrap() {
        let bytes = MulticastObject::granularity(context, 2, true).unwrap();
        let object = MulticastObject::new(context, 2, bytes, Default::default()).unwrap();
        object.add_device(context).unwrap();
        assert_eq!(object.as_physical().byte_len(), bytes);
    } else {
        assert!(MulticastObject::granularity(context, 2, false).is_err());
        assert!(MulticastObject::new(context, 2, 2 << 20, Default::default()).is_err());
    }
}
