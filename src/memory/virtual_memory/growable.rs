//! A buffer that grows in place.

#![allow(unsafe_code)] // Implements `DeviceSlice` for memory that it has mapped.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use super::mapping::Mapping;
use super::physical::{PhysicalAllocation, PhysicalOptions, VirtualReservation};
use crate::driver::CudaContext;
use crate::error::{Error, ErrorKind, MappingError};
use crate::memory::aligned::{OF_DEVICE, aligned};
use crate::memory::allocation::{Allocation, Origin};
use crate::memory::buffer::byte_len;
use crate::memory::buffer::view::{DeviceView, DeviceViewMut};
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::{DeviceSlice, DeviceSliceMut, SliceParts};
use crate::memory::location::{MemoryAccess, MemoryLocation};

/// Device memory that grows without moving: addresses for its maximum size are reserved, and memory is mapped as
/// needed.
///
/// ```
/// use cuda_launch::memory::GrowableBuffer;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut buffer = GrowableBuffer::<u32>::new(&ctx, 1 << 24)?;
/// buffer.grow_to(3)?;
/// buffer.view_mut().copy_from_host(&stream, &[1, 2, 3])?;
/// let address = buffer.view().cu_deviceptr();
/// buffer.grow_to(1 << 20)?;
/// assert_eq!(buffer.view().cu_deviceptr(), address);
/// assert_eq!(buffer.view().slice(..3).to_host_vec(&stream)?, [1, 2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuMemAddressReserve")]
pub struct GrowableBuffer<T: DeviceCopy> {
    address: u64,
    len: usize,
    mapped: usize,
    granularity: usize,
    addresses: VirtualReservation,
    mappings: Arc<Mutex<Vec<Mapping>>>,
    allocation: Arc<Allocation>,
    of: PhantomData<T>,
}

impl<T: DeviceCopy> GrowableBuffer<T> {
    /// Reserves addresses for at most `most` elements. No memory is allocated yet.
    ///
    /// Driver calls: `cuMemGetAllocationGranularity`, `cuMemAddressReserve`.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn new(context: &CudaContext, most: usize) -> Result<Self, Error> {
        let granularity = PhysicalOptions::default().granularity(context, true)?;
        let bytes = byte_len::<T>(most)?.max(1).checked_next_multiple_of(granularity);
        let bytes =
            bytes.ok_or_else(|| Error::from(ErrorKind::Capacity { len: most, size: size_of::<T>() }))?;
        let alignment = if align_of::<T>() > granularity { align_of::<T>() } else { 0 };
        let addresses = VirtualReservation::new(context, bytes, alignment)?;
        let mappings = Arc::new(Mutex::new(Vec::new()));
        let owner = Origin::Foreign(Box::new((mappings.clone(), addresses.clone())));
        let address = addresses.address();
        aligned::<T>(address, "cuMemAddressReserve", OF_DEVICE)?;
        // SAFETY: 1: `owner` has the addresses, and all that `grow_to` maps there, which end when it is dropped.
        let allocation = unsafe { Allocation::new(address, context, owner) };
        Ok(Self { address, len: 0, mapped: 0, granularity, addresses, mappings, allocation, of: PhantomData })
    }

    /// Grows it to at least `len` elements; new elements are uninitialised.
    ///
    /// The existing elements stay where they are, and work that uses them continues. Driver calls, if memory has to be
    /// mapped: `cuMemCreate`, `cuMemMap`, `cuMemSetAccess`.
    ///
    /// # Errors
    /// More than was reserved, [`Error::is_out_of_memory`], or any error returned by the driver; the buffer is then
    /// unchanged.
    pub fn grow_to(&mut self, len: usize) -> Result<(), Error> {
        let (wanted, limit) = (byte_len::<T>(len)?, self.addresses.byte_len());
        if wanted > limit {
            let (offset, granularity) = (self.mapped, self.granularity);
            let help = "reserve addresses for the maximum number of elements: they cost nothing";
            let error =
                MappingError { what: "growth", offset, bytes: wanted - offset, limit, granularity, help };
            return Err(ErrorKind::Mapping(error).into());
        }
        if wanted > self.mapped {
            let bytes = (wanted - self.mapped).next_multiple_of(self.granularity);
            let context = self.allocation.context();
            let memory = PhysicalAllocation::new(context, bytes, PhysicalOptions::default())?;
            let mapping = Mapping::new(&self.addresses, self.mapped, &memory)?;
            mapping.set_access(MemoryLocation::from(context), MemoryAccess::ReadWrite)?;
            self.mappings.lock().unwrap_or_else(PoisonError::into_inner).push(mapping);
            self.mapped += bytes;
        }
        self.len = self.len.max(len);
        Ok(())
    }

    /// The number of elements that fit into the memory mapped so far.
    pub fn capacity(&self) -> usize {
        self.mapped / size_of::<T>().max(1)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All elements, for reading.
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.address, self.len, &self.allocation)
    }

    /// All elements, for writing.
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, &self.allocation)
    }
}

// SAFETY: 1: `grow_to` maps memory for `len` elements, from the address on, before it counts them; 2: `allocation`
// keeps the mappings; 3: the address never changes, and the length under `&mut` alone.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSlice for GrowableBuffer<T> {
    type Element = T;

    #[inline(always)]
    fn parts(&self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.allocation)
    }
}

// SAFETY: 1: it made its memory itself and mapped it here alone; views, which have its address too, borrow it, so that
// there is none while it is borrowed mutably.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSliceMut for GrowableBuffer<T> {
    #[inline(always)]
    fn parts_mut(&mut self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.allocation)
    }
}
