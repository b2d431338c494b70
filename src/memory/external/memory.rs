//! Memory of graphics APIs.

#![allow(unsafe_code)] // Calls of the driver with live handles, each owned by one value.

use cuda_driver_sys::{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle, CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle_win32, CUexternalMemory,
    CUexternalMemoryHandleType as K, CUresult,
};
use std::ffi::c_void;
use std::sync::Arc;

use crate::driver::{CudaContext, host_call};
use crate::error::{Error, failed};
use crate::memory::aligned::{OF_DEVICE, aligned};
use crate::memory::allocation::{Allocation, Origin};
use crate::memory::buffer::{DeviceBuffer, byte_len};
use crate::memory::device_copy::DeviceCopy;

/// A handle by which a graphics API shares memory (`CUexternalMemoryHandleType`).
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalMemoryHandle {
    /// A file descriptor, as Vulkan exports it; owned by the driver from the import on, whether it succeeds or not.
    #[cfg(unix)]
    FileDescriptor(std::os::fd::OwnedFd),
    /// A Windows handle: its kind (`CUexternalMemoryHandleType`), and the handle, which its holder closes.
    Windows(u32, *mut c_void),
}

// SAFETY: a handle of Windows belongs to the process, not to a thread, and nothing here follows it; the rest is Send and Sync.
unsafe impl Send for ExternalMemoryHandle {}
// SAFETY: as above; a shared handle is only read.
unsafe impl Sync for ExternalMemoryHandle {}

/// Memory of a graphics API, opened for CUDA.
///
/// Handles are cheap to clone; the memory is released with the last handle and the last buffer.
///
/// ```no_run
/// # #[cfg(unix)] {
/// use cuda_launch::{interop::{ExternalMemory, ExternalMemoryHandle}, CudaContext};
/// # let descriptor: std::os::fd::OwnedFd = unimplemented!();
/// let ctx = CudaContext::new(0)?;
/// // SAFETY: 1, 2: 1 MiB of memory that Vulkan exported as this descriptor, for itself alone.
/// let memory = unsafe {
///     ExternalMemory::import(&ctx, ExternalMemoryHandle::FileDescriptor(descriptor), 1 << 20, true)?
/// };
/// // SAFETY: 1: nobody else, Vulkan included, uses these elements as long as `buffer` is there.
/// let buffer = unsafe { memory.map::<u32>(0, 1000)? };
/// # }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUexternalMemory")]
pub struct ExternalMemory {
    inner: Arc<Imported>,
}

#[derive(Debug)]
struct Imported {
    /// Lives as long as this, which destroys it at its own end; null once another value has it for that.
    raw: CUexternalMemory,
    bytes: usize,
    context: CudaContext,
}

// SAFETY: a CUexternalMemory may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). The rest is Send and Sync.
unsafe impl Send for Imported {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for Imported {}

impl ExternalMemory {
    /// Opens `bytes` bytes of memory; `dedicated` where they were allocated for one resource.
    ///
    /// Driver call: `cuImportExternalMemory`.
    ///
    /// # Safety
    /// 1. The handle is live, and of the kind that it claims.
    /// 2. Its memory has this many bytes, and is dedicated or not as specified.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if such memory is not supported, or any error returned by the driver. A file
    /// descriptor that a driver rejects may stay open: drivers close some of them, and closing it again could close an
    /// unrelated file.
    #[doc(alias = "cuImportExternalMemory")]
    pub unsafe fn import(
        context: &CudaContext,
        handle: ExternalMemoryHandle,
        bytes: usize,
        dedicated: bool,
    ) -> Result<Self, Error> {
        /// `CUDA_EXTERNAL_MEMORY_DEDICATED`
        const DEDICATED: u32 = 1;
        let (type_, raw_handle) = match &handle {
            #[cfg(unix)]
            ExternalMemoryHandle::FileDescriptor(descriptor) => {
                use std::os::fd::AsRawFd;
                let fd = descriptor.as_raw_fd();
                (K::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle { fd })
            }
            ExternalMemoryHandle::Windows(kind, handle) => {
                let win32 =
                    CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle_win32 { handle: *handle, name: std::ptr::null() };
                (K(*kind), CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle { win32 })
            }
        };
        let description = CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
            type_,
            handle: raw_handle,
            size: bytes as u64,
            flags: if dedicated { DEDICATED } else { 0 },
            reserved: [0; 16],
        };
        let asked = format!("{bytes} bytes, {handle:?}");
        let inner = context.make(
            "cuImportExternalMemory",
            || asked,
            |driver, raw| {
                // A driver owns the descriptor if it succeeds, and may have closed it if not. Closed twice, it could be a file that
                // another thread opened meanwhile; never closed, it is one descriptor too many.
                std::mem::forget(handle);
                // SAFETY: the description says what the caller's duties 1 and 2 say of the handle, which stays open; it and the place
                // outlive the call.
                unsafe { driver.cuImportExternalMemory(raw, &description) }
            },
            |raw| Imported { raw, bytes, context: context.clone() },
        )?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// `len` elements at `offset` bytes, as a buffer that keeps the memory alive.
    ///
    /// Driver calls: `cuExternalMemoryGetMappedBuffer`, and `cuMemFree` at the end.
    ///
    /// # Safety
    /// 1. Nothing else, the graphics API included, uses these elements while the buffer or work with it does:
    ///    synchronise with semaphores.
    ///
    /// # Errors
    /// Any error returned by the driver: the range must be in bounds; [`Error::is_misaligned`] for an offset that is
    /// misaligned for the elements.
    #[doc(alias = "cuExternalMemoryGetMappedBuffer")]
    pub unsafe fn map<T: DeviceCopy>(&self, offset: usize, len: usize) -> Result<DeviceBuffer<T>, Error> {
        let (bytes, context) = (byte_len::<T>(len)?, &self.inner.context);
        let description = CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
            offset: offset as u64,
            size: bytes as u64,
            flags: 0,
            reserved: [0; 16],
        };
        let asked = || format!("{bytes} bytes at {offset} of {}", self.inner.bytes);
        if offset.checked_add(bytes).is_none_or(|end| end > self.inner.bytes) {
            let code = CUresult::CUDA_ERROR_INVALID_VALUE;
            return Err(failed(code, "cuExternalMemoryGetMappedBuffer", asked()));
        }
        let owner = context.make(
            "cuExternalMemoryGetMappedBuffer",
            asked,
            // SAFETY: the memory lives as long as this handle (`Imported::raw`), and has so many bytes, by duty 2 of `import`: the range was
            // found inside; the description and the place outlive the call.
            |driver, address| unsafe {
                driver.cuExternalMemoryGetMappedBuffer(address, self.inner.raw, &description)
            },
            |address| Mapped { address, memory: self.clone() },
        )?;
        let address = owner.address;
        aligned::<T>(address, "cuExternalMemoryGetMappedBuffer", OF_DEVICE)?;
        // SAFETY: 1: `owner` has the range, which was mapped in this context, and frees it when it is dropped.
        let allocation = unsafe { Allocation::new(address, context, Origin::Foreign(Box::new(owner))) };
        Ok(DeviceBuffer::from_allocation(len, address, allocation))
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.inner.bytes
    }

    /// The raw handle, valid as long as this one lives.
    pub fn raw(&self) -> CUexternalMemory {
        self.inner.raw
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        if host_call::is_running() {
            let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
            let rest = Self { raw, context: self.context.clone(), bytes: self.bytes };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // SAFETY: this value owned it, and destroys it once, at its end. No mapped range of it is left, as each holds a
        // handle, and is freed after the work that uses it: other work does not.
        let _ = self.context.give_back("cuDestroyExternalMemory", String::new, |driver| unsafe {
            driver.cuDestroyExternalMemory(self.raw)
        });
    }
}

/// A mapped range, freed before the memory that it is of.
struct Mapped {
    address: u64,
    memory: ExternalMemory,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped ranges are freed so; this value owned the range, and is dropped by the `Allocation` that it belongs to, after all
        // work that uses it, or by `map`, before any.
        let _ = self
            .memory
            .inner
            .context
            .give_back("cuMemFree", String::new, |driver| unsafe { driver.cuMemFree(self.address) });
    }
}
