//! Memory at an address: a mapping of physical memory to reserved addresses.

#![allow(unsafe_code)] // Maps live memory at live addresses, both held until they are unmapped.

use super::physical::{Claim, PhysicalAllocation, VirtualReservation, multiples};
use crate::driver::{CudaContext, end_or_try_again};
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::memory::aligned::{OF_DEVICE, aligned};
use crate::memory::allocation::{Allocation, Origin};
use crate::memory::buffer::{DeviceBuffer, byte_len};
use crate::memory::device_copy::DeviceCopy;
use crate::memory::location::{MemoryAccess, MemoryLocation};

const GRANT: &str = "grant it access with `Mapping::set_access` first";

/// Memory that is mapped at reserved addresses.
///
/// It keeps both alive, so that they can be dropped in any order. Dropping the mapping waits for all work in the
/// context, which may use it, and unmaps the memory.
///
/// ```
/// use cuda_launch::memory::MemoryAccess;
/// use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let bytes = PhysicalOptions::default().granularity(&ctx, false)?;
/// let memory = PhysicalAllocation::new(&ctx, bytes, PhysicalOptions::default())?;
/// let addresses = VirtualReservation::new(&ctx, 4 * bytes, 0)?;
/// let mapping = Mapping::new(&addresses, bytes, &memory)?; // at the second quarter
/// mapping.set_access((&ctx).into(), MemoryAccess::ReadWrite)?;
/// let mut buffer = DeviceBuffer::<u32>::from_mapping(mapping, 100)?;
/// buffer.view_mut().copy_from_host(&stream, &[7; 100])?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [7; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuMemMap", alias = "cuMemUnmap")]
pub struct Mapping {
    address: u64,
    /// Bytes; 0 once it is unmapped.
    bytes: usize,
    memory: PhysicalAllocation,
    addresses: VirtualReservation,
    /// The bytes, where they are a buffer's alone. Dropped after they are unmapped.
    claim: Option<Claim>,
}

impl Mapping {
    /// Maps all of `memory` at `offset` bytes into `addresses`. It is inaccessible until [`Mapping::set_access`].
    ///
    /// Driver call: `cuMemMap`.
    ///
    /// # Errors
    /// [`ErrorKind::Mapping`] if it does not fit there; memory and addresses belong to two different drivers; or any
    /// error returned by the driver: something may already be mapped there.
    pub fn new(
        addresses: &VirtualReservation,
        offset: usize,
        memory: &PhysicalAllocation,
    ) -> Result<Self, Error> {
        addresses.context().same_driver(memory.context(), "the memory", "the addresses")?;
        let bytes = memory.byte_len();
        multiples("mapping", offset, bytes, addresses.byte_len(), memory.granularity())?;
        let address = addresses.address() + offset as u64;
        memory.context().make(
            "cuMemMap",
            || format!("{bytes} bytes at {address:#x}"),
            // SAFETY: memory and addresses live as long as their handles, whose `Drop` alone releases them, and are of one driver, as
            // `same_driver` compared; `multiples` found the range inside the reservation, and it is all of the memory.
            |driver, ()| unsafe { driver.cuMemMap(address, bytes, 0, memory.raw(), 0) },
            |()| Self { address, bytes, memory: memory.clone(), addresses: addresses.clone(), claim: None },
        )
    }

    /// Grants a device access to the memory at this address, or revokes it. Driver call: `cuMemSetAccess`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemSetAccess")]
    pub fn set_access(&self, location: MemoryLocation, access: MemoryAccess) -> Result<(), Error> {
        let description = access.of(location);
        // SAFETY: all `bytes` bytes at `address` are mapped until this value unmaps them, at its end; there is one description, as is
        // said, a local that outlives the call.
        self.context().call(
            "cuMemSetAccess",
            || format!("{access:?} for {location:?}"),
            |driver| unsafe { driver.cuMemSetAccess(self.address, self.bytes, &description, 1) },
        )
    }

    /// What a device may do with the memory at this address. Driver call: `cuMemGetAccess`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemGetAccess")]
    pub fn access(&self, location: MemoryLocation) -> Result<MemoryAccess, Error> {
        let (mut flags, raw) = (0, location.to_raw());
        self.context().call(
            "cuMemGetAccess",
            || format!("{location:?}"),
            // SAFETY: `address` is mapped until this value unmaps it, at its end; both values are locals, which outlive the call.
            |driver| unsafe { driver.cuMemGetAccess(&mut flags, &raw, self.address) },
        )?;
        Ok(MemoryAccess::from_raw(cuda_driver_sys::CUmemAccess_flags(flags as u32)))
    }

    /// The first address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.bytes
    }

    /// The context of its addresses.
    pub fn context(&self) -> &CudaContext {
        self.addresses.context()
    }
}

impl Mapping {
    /// Unmaps it after all work in the context, once. Where that must not be now, it stays.
    fn unmap(&mut self) -> Result<(), Error> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.context().may_give_back("cuMemUnmap")?;
        self.context().end_of_work()?;
        let bytes = std::mem::take(&mut self.bytes);
        // SAFETY: this value owned the mapping, and unmaps it once; the work of the context that could use it is done,
        // and that of others was when the buffer that had the mapping let go of it (`Allocation::release`).
        self.context()
            .give_back("cuMemUnmap", String::new, |driver| unsafe { driver.cuMemUnmap(self.address, bytes) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        end_or_try_again(self, Self::unmap, |mapping| {
            let (address, bytes) = (mapping.address, std::mem::take(&mut mapping.bytes));
            let (memory, addresses) = (mapping.memory.clone(), mapping.addresses.clone());
            (bytes != 0).then(|| Self { address, bytes, memory, addresses, claim: mapping.claim.take() })
        });
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// The first `len` elements of mapped memory, as a buffer that keeps the mapping alive.
    ///
    /// Only one buffer at a time owns the memory, even if it is mapped at several addresses;
    /// [`DeviceBuffer::from_shared_mapping`] makes others. Driver call: `cuMemGetAccess`.
    ///
    /// # Errors
    /// The mapping is too short, or misaligned for the elements; [`ErrorKind::Aliased`] if a buffer already owns the
    /// memory, or it is a multicast object; [`ErrorKind::Inaccessible`] if the device of the mapping's context has not been granted
    /// access for reading and writing.
    pub fn from_mapping(mut mapping: Mapping, len: usize) -> Result<Self, Error> {
        mapping.claim = Some(mapping.memory.claim(mapping.address).map_err(ErrorKind::from)?);
        Self::of_mapping(mapping, len, true)
    }

    /// The same for memory that is shared: at another address, behind a multicast object, or with another process.
    ///
    /// # Safety
    /// 1. While the buffer or work on it uses the elements, nothing else does so in a way that a `Vec` would not allow:
    ///    accesses to the same bytes through other buffers are not tracked, and not ordered.
    /// 2. Memory that is bound to a multicast object stays bound as long as work uses it through that object.
    /// 3. The device of the mapping's context has been granted access for what work does with the elements.
    ///
    /// # Errors
    /// The mapping is too short, or misaligned for the elements.
    pub unsafe fn from_shared_mapping(mapping: Mapping, len: usize) -> Result<Self, Error> {
        Self::of_mapping(mapping, len, false)
    }

    fn of_mapping(mapping: Mapping, len: usize, asks_for_access: bool) -> Result<Self, Error> {
        aligned::<T>(mapping.address, "cuMemMap", OF_DEVICE)?;
        let bytes = byte_len::<T>(len)?;
        if bytes > mapping.bytes {
            let destination_len = mapping.bytes / size_of::<T>().max(1);
            let mismatch = LengthMismatch { call: "from_mapping", source_len: len, destination_len };
            return Err(ErrorKind::Length(mismatch).into());
        }
        let (address, context) = (mapping.address, mapping.context().clone());
        if asks_for_access {
            let access = mapping.access((&context).into())?;
            access.allows_kernels(&context, ("cuMemGetAccess", "the mapping", GRANT))?;
        }
        // SAFETY: 1: the mapping has it, and unmaps it when it is dropped.
        let allocation = unsafe { Allocation::new(address, &context, Origin::Foreign(Box::new(mapping))) };
        Ok(Self::from_allocation(len, address, allocation))
    }
}
