//! Device memory that comes from other code, or is handed to it.

#![allow(unsafe_code)] // Takes the caller's word for memory that this crate did not allocate.

use std::any::Any;

use super::aligned::{OF_DEVICE, aligned};
use super::allocation::{Allocation, Origin};
use super::buffer::{DeviceBuffer, byte_len};
use super::device_copy::DeviceCopy;
use crate::driver::{CudaContext, CudaStream};
use crate::error::Error;

/// How memory that other code allocated is freed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RawOwnership {
    /// With `cuMemFree`.
    Plain,
    /// With `cuMemFreeAsync`, on this stream or the last one that accessed it.
    Pool(CudaStream),
    /// Not by this crate.
    Borrowed,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates `len` uninitialised elements outside of any memory pool: for memory that is shared with other
    /// processes.
    ///
    /// Driver call: `cuMemAlloc`; none for an empty buffer.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`]; [`Error::is_misaligned`] as for [`DeviceBuffer::uninit`].
    #[doc(alias = "cuMemAlloc")]
    pub fn uninit_plain(context: &CudaContext, len: usize) -> Result<Self, Error> {
        let bytes = byte_len::<T>(len)?;
        let allocation = match bytes {
            0 => Allocation::empty(context),
            _ => Allocation::plain(context, bytes, len)?,
        };
        let address = allocation.address();
        let buffer = Self::from_allocation(len, address, allocation);
        aligned::<T>(address, "cuMemAlloc", OF_DEVICE)?;
        Ok(buffer)
    }

    /// Takes ownership of, or borrows, `len` elements of device memory that other code allocated.
    ///
    /// No driver call.
    ///
    /// ```
    /// use cuda_launch::interop::RawOwnership;
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let mut address = 0;
    /// ctx.bind()?;
    /// // SAFETY: `bind` made the context current; `address`, a local, outlives the call.
    /// unsafe { ctx.driver().cuMemAlloc(&mut address, 12) };
    /// // SAFETY: 1: three u32 that were just allocated in this context; 2: they are not borrowed; 3: `cuMemAlloc` gave
    /// // them, and nobody else frees them; 4: nobody else has their address.
    /// let mut buffer = unsafe { DeviceBuffer::<u32>::from_raw_parts(&ctx, address, 3, RawOwnership::Plain) };
    /// buffer.view_mut().set_zero(&stream)?;
    /// assert_eq!(buffer.to_host_vec(&stream)?, [0; 3]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. `address` points to `len` elements of device memory that `context` can access, aligned for them; or `len` is
    ///    0.
    /// 2. If they are borrowed, they outlive the buffer and all work that uses it.
    /// 3. They can be freed as `ownership` says, on a stream of `context` if it names one, and nothing else frees
    ///    them.
    /// 4. Nothing else uses them in the meantime in a way that a `Vec` would not allow, and work that uses them now is
    ///    ordered before what the buffer is used for.
    pub unsafe fn from_raw_parts(
        context: &CudaContext,
        address: u64,
        len: usize,
        ownership: RawOwnership,
    ) -> Self {
        let origin = match ownership {
            _ if address == 0 => Origin::Empty,
            RawOwnership::Plain => Origin::Plain,
            RawOwnership::Pool(stream) => {
                // SAFETY: 1: the caller's duty 3.
                let allocation = unsafe { Allocation::of_pool(address, &stream, None) };
                return Self::from_allocation(len, address, allocation);
            }
            RawOwnership::Borrowed => Origin::Borrowed,
        };
        // SAFETY: 1: the caller's duties 2 and 3; there is no memory at 0.
        let allocation = unsafe { Allocation::new(address, context, origin) };
        Self::from_allocation(len, address, allocation)
    }

    /// `len` elements of device memory that `owner` keeps alive: it is dropped after the last work that uses them.
    ///
    /// No driver call.
    ///
    /// # Safety
    /// 1. `address` points to `len` elements of device memory that `context` can access, aligned for them; or `len` is
    ///    0.
    /// 2. They stay valid until `owner` is dropped.
    /// 3. Nothing else uses them until then in a way that a `Vec` would not allow.
    pub unsafe fn from_foreign(
        context: &CudaContext,
        address: u64,
        len: usize,
        owner: impl Any + Send + Sync,
    ) -> Self {
        // SAFETY: 1: `owner` keeps it, by the caller's duty 2.
        let allocation = unsafe { Allocation::new(address, context, Origin::Foreign(Box::new(owner))) };
        Self::from_allocation(len, address, allocation)
    }

    /// Releases ownership of the memory: returns its address and its length in elements, after waiting for the streams
    /// that use it.
    ///
    /// The caller frees it: with `cuMemFreeAsync`, or `cuMemFree` on devices without memory pools and for buffers of
    /// [`DeviceBuffer::uninit_plain`]. The owner of memory from other code is leaked: it is never dropped. A buffer
    /// that a graph uses is returned instead.
    ///
    /// Driver calls: `cuStreamSynchronize` for each stream that used it.
    ///
    /// # Errors
    /// The buffer, if a graph uses it or a wait fails.
    pub fn into_raw_parts(mut self) -> Result<(u64, usize), Self> {
        let parts = (self.view().base(), self.len());
        let waited = self.allocation().accesses().wait().is_ok();
        match self.sole_allocation() {
            Some(allocation) if waited => allocation.disown(),
            _ => return Err(self),
        }
        Ok(parts)
    }
}
