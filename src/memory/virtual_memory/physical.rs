//! Physical memory without addresses, and reserved addresses without memory.

#![allow(unsafe_code)] // Calls of the driver with live handles, each owned by one value.

use cuda_driver_sys::{
    CUmemAllocationGranularity_flags as G, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_allocFlags, CUmemAllocationType, CUmemGenericAllocationHandle, Driver,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::{CudaContext, host_call};
use crate::error::{AliasedMemory, Error, ErrorKind, MappingError, failed};
use crate::memory::location::MemoryLocation;
use crate::memory::os_handle::{OsHandle, OsHandleKinds};
use crate::memory::share::{HandleBytes, with_handle};
use crate::options::options;

options! {
    /// The properties of memory to be allocated (`CUmemAllocationProp`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[doc(alias = "CUmemAllocationProp")]
    pub struct PhysicalOptions {
        /// Where it is; on the context's device by default.
        pub location: Option<MemoryLocation>,
        /// Kinds of handles with which other processes can open it.
        pub handles: OsHandleKinds,
        /// Whether the hardware may compress it.
        pub compressible: bool,
        /// Whether other devices on the bus can access it by DMA.
        pub gpu_direct_rdma: bool,
    }
}

impl PhysicalOptions {
    fn to_raw(self, context: &CudaContext) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType(self.handles.bits()),
            location: self.location.unwrap_or_else(|| context.into()).to_raw(),
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_allocFlags {
                compressionType: u8::from(self.compressible),
                gpuDirectRDMACapable: u8::from(self.gpu_direct_rdma),
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// The granularity of sizes, in bytes: the minimum, or the one recommended for speed.
    ///
    /// Driver call: `cuMemGetAllocationGranularity`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemGetAllocationGranularity")]
    pub fn granularity(self, context: &CudaContext, recommended: bool) -> Result<usize, Error> {
        let option = if recommended {
            G::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
        } else {
            G::CU_MEM_ALLOC_GRANULARITY_MINIMUM
        };
        let (properties, mut bytes) = (self.to_raw(context), 0);
        context.call(
            "cuMemGetAllocationGranularity",
            || format!("{self:?}"),
            // SAFETY: all members of the properties are set; they and `bytes` are locals, which outlive the call.
            |driver| unsafe { driver.cuMemGetAllocationGranularity(&mut bytes, &properties, option) },
        )?;
        Ok(bytes)
    }
}

/// Memory of a device that has no address until it is [mapped](crate::virtual_memory::Mapping).
///
/// Handles are cheap to clone. The memory is freed with the last handle and the last mapping. It may be mapped several
/// times, and one of these mappings at a time may become a buffer:
/// [`DeviceBuffer::from_mapping`](crate::DeviceBuffer::from_mapping).
#[derive(Clone, Debug)]
#[doc(alias = "cuMemCreate")]
pub struct PhysicalAllocation {
    inner: Arc<PhysicalInner>,
}

#[derive(Debug)]
struct PhysicalInner {
    handle: CUmemGenericAllocationHandle,
    bytes: usize,
    granularity: usize,
    context: CudaContext,
    /// Whether it is a multicast object, whose bytes are those of other memory.
    multicast: bool,
    /// Whether a buffer has the bytes for itself.
    claimed: AtomicBool,
}

/// The bytes of an allocation, for one buffer, whose mapping may be one of several. Given back when dropped.
#[derive(Debug)]
pub(in crate::memory) struct Claim(PhysicalAllocation);

impl Drop for Claim {
    fn drop(&mut self) {
        // What the buffer's work did is done: the next buffer's work comes after it.
        self.0.inner.claimed.store(false, Ordering::Release);
    }
}

impl PhysicalAllocation {
    /// Allocates `bytes` bytes, a multiple of the [granularity](PhysicalOptions::granularity).
    ///
    /// Driver calls: `cuMemGetAllocationGranularity`, `cuMemCreate`.
    ///
    /// # Errors
    /// [`ErrorKind::Mapping`] for any other number of bytes, [`Error::is_out_of_memory`], or any error returned by the
    /// driver.
    pub fn new(context: &CudaContext, bytes: usize, options: PhysicalOptions) -> Result<Self, Error> {
        let granularity = options.granularity(context, false)?;
        multiples("memory", 0, bytes, usize::MAX, granularity)?;
        let properties = options.to_raw(context);
        context.make(
            "cuMemCreate",
            || format!("{bytes} bytes, {options:?}"),
            // SAFETY: all members of the properties are set; they and the place outlive the call.
            |driver, handle| unsafe { driver.cuMemCreate(handle, bytes, &properties, 0) },
            // SAFETY: 1: it was just made, and is nobody else's.
            |handle| unsafe { Self::owned(context, handle, (bytes, granularity), false) },
        )
    }

    /// Takes over memory, or a multicast object, of that handle, bytes and granularity.
    ///
    /// # Safety
    /// 1. The handle is live, and nothing else releases it.
    pub(in crate::memory) unsafe fn owned(
        context: &CudaContext,
        handle: CUmemGenericAllocationHandle,
        (bytes, granularity): (usize, usize),
        multicast: bool,
    ) -> Self {
        let (context, claimed) = (context.clone(), AtomicBool::new(false));
        Self { inner: Arc::new(PhysicalInner { handle, bytes, granularity, context, multicast, claimed }) }
    }

    /// The bytes for one buffer, mapped at `address`.
    pub(in crate::memory) fn claim(&self, address: u64) -> Result<Claim, AliasedMemory> {
        if self.inner.multicast {
            return Err(AliasedMemory::Multicast { address });
        }
        if self.inner.claimed.swap(true, Ordering::Acquire) {
            return Err(AliasedMemory::Mapped { address, bytes: self.inner.bytes });
        }
        Ok(Claim(self.clone()))
    }

    /// A handle with which another process can open the memory, of a kind that it was allocated for.
    ///
    /// Driver call: `cuMemExportToShareableHandle`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemExportToShareableHandle")]
    pub fn export(&self, kind: OsHandleKinds) -> Result<OsHandle, Error> {
        const CALL: &str = "cuMemExportToShareableHandle";
        let raw = CUmemAllocationHandleType(kind.bits());
        let handle = self.context().make(
            CALL,
            || format!("{kind:?}"),
            // SAFETY: the memory lives as long as this handle, whose inner part releases it at its end; the output outlives the call, and
            // has room for the largest kind of handle, 64 bytes at a multiple of 8.
            |driver, bytes: &mut HandleBytes| unsafe {
                driver.cuMemExportToShareableHandle((&raw mut *bytes).cast(), self.raw(), raw, 0)
            },
            // SAFETY: 1: the driver wrote a handle of this kind just now, and gave it to nobody else; it refuses several kinds at once,
            // and `take` knows single ones only.
            |bytes| unsafe { bytes.take(kind) },
        )?;
        let unknown =
            || failed(cuda_driver_sys::CUresult::CUDA_ERROR_NOT_SUPPORTED, CALL, format!("{kind:?}"));
        handle.ok_or_else(unknown)
    }

    /// Opens `bytes` bytes of memory that another process, or this one, exported.
    ///
    /// This is unsafe, because safe code could make a second buffer of memory that already has one:
    ///
    /// ```compile_fail,E0133
    /// use cuda_launch::interop::OsHandle;
    /// use cuda_launch::virtual_memory::PhysicalAllocation;
    /// use cuda_launch::CudaContext;
    /// fn open(ctx: &CudaContext, handle: &OsHandle) -> Result<PhysicalAllocation, cuda_launch::Error> {
    ///     PhysicalAllocation::import(ctx, handle, 2 << 20)
    /// }
    /// ```
    ///
    /// Driver calls: `cuMemImportFromShareableHandle`, `cuMemGetAllocationGranularity`.
    ///
    /// # Safety
    /// 1. The handle is live and of the kind that it claims, and its memory has `bytes` bytes.
    /// 2. Nothing else, neither another process nor another handle in this one, uses its buffers in a way that a `Vec`
    ///    would not allow: all holders of the memory agree on which of them uses it at any time.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemImportFromShareableHandle")]
    pub unsafe fn import(context: &CudaContext, handle: &OsHandle, bytes: usize) -> Result<Self, Error> {
        let granularity = PhysicalOptions::default().granularity(context, false)?;
        context.make(
            "cuMemImportFromShareableHandle",
            || format!("{handle:?}"),
            |driver, raw| {
                // SAFETY: the handle is of the kind it says, by the caller's duty 1; it and the place outlive the call.
                with_handle(handle, |pointer, kind| unsafe {
                    driver.cuMemImportFromShareableHandle(raw, pointer, kind)
                })
            },
            // SAFETY: 1: it was just opened, and is nobody else's.
            |raw| unsafe { Self::owned(context, raw, (bytes, granularity), false) },
        )
    }

    /// Where it is. Driver call: `cuMemGetAllocationPropertiesFromHandle`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemGetAllocationPropertiesFromHandle")]
    pub fn location(&self) -> Result<MemoryLocation, Error> {
        let mut properties = PhysicalOptions::default().to_raw(self.context());
        // SAFETY: the memory lives as long as this handle, whose inner part releases it at its end; the properties are a local, which
        // outlives the call.
        self.context().call("cuMemGetAllocationPropertiesFromHandle", String::new, |driver| unsafe {
            driver.cuMemGetAllocationPropertiesFromHandle(&mut properties, self.raw())
        })?;
        // SAFETY: 1: `to_raw` wrote the member, and the driver wrote over it.
        Ok(unsafe { MemoryLocation::from_raw(properties.location) })
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.inner.bytes
    }

    /// What addresses and sizes of its mappings must be multiples of, in bytes.
    pub(in crate::memory) fn granularity(&self) -> usize {
        self.inner.granularity
    }

    /// The raw handle, valid as long as this one lives.
    pub fn raw(&self) -> CUmemGenericAllocationHandle {
        self.inner.handle
    }

    /// The context that it was allocated with.
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }
}

impl Drop for PhysicalInner {
    fn drop(&mut self) {
        let (context, handle) = (self.context.clone(), self.handle);
        // Nobody can be told here. Mappings keep the memory.
        host_call::outside(Box::new(move || {
            // SAFETY: this value owned the handle, and this alone releases it, once; no claim, mapping or binding is left, as each holds
            // a handle of this crate.
            let release = |driver: &Driver| unsafe { driver.cuMemRelease(handle) };
            let _ = context.give_back("cuMemRelease", String::new, release);
        }));
    }
}

/// A range of addresses that are reserved, and unmapped until memory is
/// [mapped](crate::virtual_memory::Mapping) there.
///
/// Handles are cheap to clone. The addresses are freed with the last handle and the last mapping.
#[derive(Clone, Debug)]
#[doc(alias = "cuMemAddressReserve")]
pub struct VirtualReservation {
    inner: Arc<ReservationInner>,
}

#[derive(Debug)]
struct ReservationInner {
    address: u64,
    bytes: usize,
    context: CudaContext,
}

impl VirtualReservation {
    /// Reserves `bytes` bytes of addresses, aligned to `alignment`, or as the driver chooses for 0.
    ///
    /// Driver call: `cuMemAddressReserve`.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver: `bytes` must be a multiple of the page size.
    pub fn new(context: &CudaContext, bytes: usize, alignment: usize) -> Result<Self, Error> {
        let inner = context.make(
            "cuMemAddressReserve",
            || format!("{bytes} bytes, alignment {alignment}"),
            // SAFETY: the place for the address outlives the call; with 0 for an address the driver chooses one that is free.
            |driver, address| unsafe { driver.cuMemAddressReserve(address, bytes, alignment, 0, 0) },
            |address| ReservationInner { address, bytes, context: context.clone() },
        )?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The first address.
    pub fn address(&self) -> u64 {
        self.inner.address
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.inner.bytes
    }

    /// The context that it was reserved with.
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }
}

impl Drop for ReservationInner {
    fn drop(&mut self) {
        let (context, address, bytes) = (self.context.clone(), self.address, self.bytes);
        // Nobody can be told here. No mapping is left: each holds a handle.
        host_call::outside(Box::new(move || {
            // SAFETY: this value owned the whole reservation, and this alone gives it back, once; nothing is mapped there, as each mapping
            // holds a handle.
            let free = |driver: &Driver| unsafe { driver.cuMemAddressFree(address, bytes) };
            let _ = context.give_back("cuMemAddressFree", String::new, free);
        }));
    }
}

/// An error unless offset and size are multiples of the granularity and fit.
pub(in crate::memory) fn multiples(
    what: &'static str,
    offset: usize,
    bytes: usize,
    limit: usize,
    granularity: usize,
) -> Result<(), Error> {
    let granularity = granularity.max(1);
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= limit);
    if bytes != 0 && fits && offset.is_multiple_of(granularity) && bytes.is_multiple_of(granularity) {
        return Ok(());
    }
    let help =
        "round sizes up with `next_multiple_of(granularity)`, and map inside what is reserved and allocated";
    Err(ErrorKind::Mapping(MappingError { what, offset, bytes, limit, granularity, help }).into())
}
