//! Device memory that another process on the machine opens.

#![allow(unsafe_code)] // Calls of the driver with live memory; an opened range is closed by its one owner.

use cuda_driver_sys::{CUipcMem_flags, CUipcMemHandle};

use super::aligned::{OF_DEVICE, aligned};
use super::allocation::{Allocation, Origin};
use super::buffer::{DeviceBuffer, byte_len};
use super::device_copy::DeviceCopy;
use crate::driver::CudaContext;
use crate::error::Error;

/// What another process needs to open an allocation: 64 bytes, sent by any means.
///
/// Only whole allocations that do not come from a pool have one: [`DeviceBuffer::uninit_plain`]. Linux only.
///
/// ```no_run
/// use cuda_launch::interop::IpcMemoryHandle;
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let buffer = DeviceBuffer::<f32>::uninit_plain(&ctx, 1000)?;
/// let handle = IpcMemoryHandle::of(&buffer)?;
/// let bytes = handle.to_bytes();
/// // In the other process:
/// // SAFETY: 1: a buffer of 1000 floats; 2: it stays until this process says so, and nobody else uses it meanwhile.
/// let opened = unsafe { IpcMemoryHandle::from_bytes(bytes).open::<f32>(&ctx, 1000)? };
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[doc(alias = "CUipcMemHandle")]
pub struct IpcMemoryHandle {
    raw: CUipcMemHandle,
}

impl IpcMemoryHandle {
    /// The handle of a buffer's allocation.
    ///
    /// Driver call: `cuIpcGetMemHandle`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if the system does not support it (the emulator: only on Linux), `CUDA_ERROR_INVALID_VALUE` for
    /// memory of a pool.
    #[doc(alias = "cuIpcGetMemHandle")]
    pub fn of<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> Result<Self, Error> {
        let mut raw = CUipcMemHandle { reserved: [0; 64] };
        // Another process uses it, for a time that is unknown here.
        let address = buffer.cu_deviceptr();
        buffer.context().call(
            "cuIpcGetMemHandle",
            || format!("{address:#x}"),
            // SAFETY: the buffer is borrowed, and its allocation keeps the memory at `address`; `raw`, a local, outlives the call.
            |driver| unsafe { driver.cuIpcGetMemHandle(&mut raw, address) },
        )?;
        Ok(Self { raw })
    }

    /// Opens the first `len` elements of the allocation. It is closed with the buffer, after the work that uses it.
    ///
    /// Driver calls: `cuIpcOpenMemHandle_v2`, `cuIpcCloseMemHandle` at the end.
    ///
    /// # Safety
    /// 1. The allocation has at least `len` elements of this type.
    /// 2. The process that exported it keeps it until it is closed here, and both agree on which of them uses it at any time. Another buffer
    ///    that is opened of the same allocation is the same memory, and is not ordered against this one: they agree, too.
    ///
    /// # Errors
    /// Any error returned by the driver; a process cannot open its own memory.
    #[doc(alias = "cuIpcOpenMemHandle", alias = "cuIpcCloseMemHandle")]
    pub unsafe fn open<T: DeviceCopy>(
        self,
        context: &CudaContext,
        len: usize,
    ) -> Result<DeviceBuffer<T>, Error> {
        byte_len::<T>(len)?;
        let flags = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
        let owner = context.make(
            "cuIpcOpenMemHandle",
            || format!("{len} elements"),
            // SAFETY: `make` made the context current; the output outlives the call; the handle is 64 bytes by value, and what is no handle
            // is an error of the driver.
            |driver, address| unsafe { driver.cuIpcOpenMemHandle(address, self.raw, flags) },
            |address| Opened { address, context: context.clone() },
        )?;
        let address = owner.address;
        aligned::<T>(address, "cuIpcOpenMemHandle", OF_DEVICE)?;
        // SAFETY: 1: `owner` has opened it in this context, and closes it when it is dropped.
        let allocation = unsafe { Allocation::new(address, context, Origin::Foreign(Box::new(owner))) };
        Ok(DeviceBuffer::from_allocation(len, address, allocation))
    }

    /// The bytes to send.
    pub fn to_bytes(self) -> [u8; 64] {
        self.raw.reserved.map(|byte| byte as u8)
    }

    /// The handle that was sent.
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self { raw: CUipcMemHandle { reserved: bytes.map(|byte| byte as std::ffi::c_char) } }
    }
}

/// An allocation of another process, until this is dropped.
struct Opened {
    address: u64,
    context: CudaContext,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: `open` opened it for this value alone, which is dropped by the `Allocation` that it belongs to, after all work that uses
        // it, or by `open`, before any.
        let _ = self.context.give_back("cuIpcCloseMemHandle", String::new, |driver| unsafe {
            driver.cuIpcCloseMemHandle(self.address)
        });
    }
}
