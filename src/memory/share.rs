//! Sharing pools and their allocations with other processes.

#![allow(unsafe_code)] // Calls of the driver with live handles; handles of the system are taken over from its answers.

use cuda_driver_sys::{CUmemAllocationHandleType, CUmemPoolPtrExportData, CUresult};
use std::ffi::c_void;

use super::aligned::{OF_DEVICE, aligned};
use super::allocation::Allocation;
use super::buffer::{DeviceBuffer, byte_len};
use super::device_copy::DeviceCopy;
use super::os_handle::{OsHandle, OsHandleKinds};
use super::pool::MemoryPool;
use crate::driver::{CudaContext, CudaStream};
use crate::error::{Error, failed};

/// The buffer into which the driver writes a handle: large enough for every kind.
#[repr(C, align(8))]
pub(super) struct HandleBytes(pub(super) [u8; 64]);

impl Default for HandleBytes {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl HandleBytes {
    pub(super) const EMPTY: Self = Self([0; 64]);

    /// The handle of that kind which the driver wrote.
    ///
    /// # Safety
    /// 1. The driver wrote a handle of this one kind, which has no other owner.
    pub(super) unsafe fn take(self, kind: OsHandleKinds) -> Option<OsHandle> {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        let pointer = usize::from_ne_bytes([a, b, c, d, e, f, g, h]);
        let pointer = std::ptr::with_exposed_provenance_mut::<c_void>(pointer);
        Some(match kind {
            #[cfg(unix)]
            OsHandleKinds::FILE_DESCRIPTOR => {
                use std::os::fd::{FromRawFd, OwnedFd};
                // SAFETY: the descriptor is open and has no other owner, by the caller's duty 1.
                OsHandle::FileDescriptor(unsafe { OwnedFd::from_raw_fd(i32::from_ne_bytes([a, b, c, d])) })
            }
            OsHandleKinds::WIN32 => OsHandle::Win32(pointer),
            OsHandleKinds::WIN32_KMT => OsHandle::Win32Kmt(pointer),
            OsHandleKinds::FABRIC => OsHandle::Fabric(self.0),
            _ => return None,
        })
    }
}

/// Calls with a handle as the driver takes it: a number in place of a pointer, or a pointer to the bytes.
pub(super) fn with_handle<R>(
    handle: &OsHandle,
    call: impl FnOnce(*mut c_void, CUmemAllocationHandleType) -> R,
) -> R {
    let kind = CUmemAllocationHandleType(handle.kind().bits());
    match handle {
        #[cfg(unix)]
        OsHandle::FileDescriptor(descriptor) => {
            use std::os::fd::AsRawFd;
            call(std::ptr::without_provenance_mut(descriptor.as_raw_fd() as usize), kind)
        }
        OsHandle::Win32(handle) | OsHandle::Win32Kmt(handle) => call(*handle, kind),
        OsHandle::Fabric(bytes) => {
            let mut bytes = *bytes;
            call(bytes.as_mut_ptr().cast(), kind)
        }
    }
}

impl MemoryPool {
    /// A handle with which another process can open the pool, of one of the kinds that it was created for.
    ///
    /// Driver call: `cuMemPoolExportToShareableHandle`.
    ///
    /// # Errors
    /// Any error returned by the driver: more than one kind, or one that the pool was not created for, is
    /// `CUDA_ERROR_INVALID_VALUE`.
    #[doc(alias = "cuMemPoolExportToShareableHandle")]
    pub fn export(&self, kind: OsHandleKinds) -> Result<OsHandle, Error> {
        let raw = CUmemAllocationHandleType(kind.bits());
        let handle = self.context().make(
            "cuMemPoolExportToShareableHandle",
            || format!("{kind:?}"),
            // SAFETY: the pool lives as long as this handle (`PoolInner::raw`); the output outlives the call, and has room for the largest
            // kind of handle, 64 bytes at a multiple of 8.
            |driver, bytes: &mut HandleBytes| unsafe {
                driver.cuMemPoolExportToShareableHandle((&raw mut *bytes).cast(), self.raw(), raw, 0)
            },
            // SAFETY: 1: the driver wrote a handle of this kind just now, and gave it to nobody else; it refuses several kinds at once,
            // and `take` knows single ones only.
            |bytes| unsafe { bytes.take(kind) },
        )?;
        let unknown = || {
            failed(
                CUresult::CUDA_ERROR_NOT_SUPPORTED,
                "cuMemPoolExportToShareableHandle",
                format!("{kind:?}"),
            )
        };
        handle.ok_or_else(unknown)
    }

    /// Opens a pool that another process exported.
    ///
    /// Driver call: `cuMemPoolImportFromShareableHandle`. Nothing can be allocated from it here; see [`MemoryPool::import_buffer`].
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolImportFromShareableHandle")]
    pub fn import(context: &CudaContext, handle: &OsHandle) -> Result<Self, Error> {
        context.make(
            "cuMemPoolImportFromShareableHandle",
            || format!("{handle:?}"),
            |driver, raw| {
                // SAFETY: a handle is an open descriptor, a number of the system, or 64 bytes, of which the driver refuses what names no
                // pool; it and the place outlive the call.
                with_handle(handle, |pointer, kind| unsafe {
                    driver.cuMemPoolImportFromShareableHandle(raw, pointer, kind, 0)
                })
            },
            // SAFETY: 1: the pool was just opened, by this context's driver; its number is in this function alone.
            |raw| unsafe { Self::made(context, raw, false) },
        )
    }

    /// What another process needs to open this buffer, in addition to its pool; the buffer must come from an exported
    /// pool.
    ///
    /// Driver call: `cuMemPoolExportPointer`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolExportPointer")]
    pub fn export_buffer<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Result<[u8; 64], Error> {
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        self.context().same_driver(buffer.context(), "the buffer", "the pool")?;
        // Another process uses it, for a time that is unknown here.
        let address = buffer.cu_deviceptr();
        self.context().call(
            "cuMemPoolExportPointer",
            || format!("{address:#x}"),
            // SAFETY: the buffer is borrowed, and its allocation keeps the memory at `address`; `data`, a local, outlives the call.
            |driver| unsafe { driver.cuMemPoolExportPointer(&mut data, address) },
        )?;
        Ok(data.reserved)
    }

    /// Opens a buffer of `len` elements that another process exported, from the pool that was imported from it.
    ///
    /// It is freed in stream order on `stream`, before the exporter frees it. Driver call: `cuMemPoolImportPointer`.
    ///
    /// # Safety
    /// 1. `data` is that of a buffer of this pool, which has at least `len` elements of this type, and whose allocation is done.
    /// 2. The processes agree on which of them uses it at any time, and the exporter frees it last.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolImportPointer")]
    pub unsafe fn import_buffer<T: DeviceCopy>(
        &self,
        stream: &CudaStream,
        data: [u8; 64],
        len: usize,
    ) -> Result<DeviceBuffer<T>, Error> {
        stream.context().same_driver(self.context(), "the pool", "the stream")?;
        byte_len::<T>(len)?;
        let mut data = CUmemPoolPtrExportData { reserved: data };
        let allocation = self.context().make(
            "cuMemPoolImportPointer",
            || format!("{len} elements"),
            // SAFETY: the pool lives as long as this handle (`PoolInner::raw`), and `data`, a local, is of a buffer of it, by the caller's
            // duty 1; both places outlive the call.
            |driver, address| unsafe { driver.cuMemPoolImportPointer(address, self.raw(), &mut data) },
            // SAFETY: 1: the memory was just opened, is freed in stream order, and its address is in this function alone, with the pool that
            // it comes from, on a stream of the same driver, as was checked.
            |address| unsafe { Allocation::of_pool(address, stream, self.keep()) },
        )?;
        let address = allocation.address();
        let buffer = DeviceBuffer::from_allocation(len, address, allocation);
        aligned::<T>(address, "cuMemPoolImportPointer", OF_DEVICE)?;
        Ok(buffer)
    }
}
