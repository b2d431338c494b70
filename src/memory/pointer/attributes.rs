//! What the driver knows about an address.

#![allow(unsafe_code)] // Asks the driver about numbers; nothing is dereferenced.

use cuda_driver_sys::{CUcontext, CUmemoryPool, CUmemorytype, CUpointer_attribute as A};
use std::ffi::c_void;

use crate::driver::CudaContext;
use crate::error::Error;

/// The kind of memory that an address points to (`CUmemorytype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUmemorytype")]
pub enum MemoryType {
    /// Memory of the host that the driver pinned.
    Host,
    /// Memory of a device, or managed.
    Device,
    /// An array, which kernels reach through textures and surfaces.
    Array,
    /// Managed memory, shared by host and devices.
    Unified,
    /// A value that only newer drivers know.
    Other(u32),
}

/// What the driver knows about an address in an allocation, a mapping, or pinned memory.
///
/// ```
/// use cuda_launch::memory::{MemoryType, PointerAttributes};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// let known = PointerAttributes::of(&ctx, buffer.slice(10..).cu_deviceptr())?.expect("device memory");
/// assert_eq!((known.memory_type, known.device, known.is_managed), (MemoryType::Device, 0, false));
/// assert_eq!(known.range_start, buffer.cu_deviceptr());
/// assert!(PointerAttributes::of(&ctx, 4096)?.is_none());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cuPointerGetAttributes")]
pub struct PointerAttributes {
    /// The kind of memory.
    pub memory_type: MemoryType,
    /// The device that owns it, or whose context pinned it.
    pub device: i32,
    /// The context it was allocated in; null for memory that belongs to no context, such as that of pools.
    pub context: CUcontext,
    /// Whether it is managed memory.
    pub is_managed: bool,
    /// Its address for kernels; 0 if they cannot access it.
    pub device_address: u64,
    /// Its address for the host; 0 if the host cannot access it.
    pub host_address: u64,
    /// The start of the range that contains it.
    pub range_start: u64,
    /// The size of that range, in bytes.
    pub range_bytes: usize,
    /// A number that is unique among all allocations of the process.
    pub buffer_id: u64,
    /// Whether the address is mapped to memory.
    pub is_mapped: bool,
    /// The pool that it was allocated from; null if none.
    pub pool: CUmemoryPool,
}

// SAFETY: numbers and two handles, of a context and a pool, which may be used from every thread: of what a driver
// makes, its documents except graphs alone ("Graph object thread safety").
unsafe impl Send for PointerAttributes {}
// SAFETY: as above; they are only read.
unsafe impl Sync for PointerAttributes {}

impl PointerAttributes {
    /// Queries an address. `None` if it is unknown: never allocated, freed, or ordinary host memory.
    ///
    /// Driver call: `cuPointerGetAttributes`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn of(context: &CudaContext, address: u64) -> Result<Option<Self>, Error> {
        let mut kind = 0u32;
        let (mut device, mut managed, mut mapped) = (0i32, 0u32, 0u32);
        let (mut owner, mut pool): (CUcontext, CUmemoryPool) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut device_address, mut host_address, mut range_start, mut id) = (0u64, 0u64, 0u64, 0u64);
        let mut range_bytes = 0usize;
        let mut asked: [(A, *mut c_void); 11] = [
            (A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast()),
            (A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut device).cast()),
            (A::CU_POINTER_ATTRIBUTE_CONTEXT, (&raw mut owner).cast()),
            (A::CU_POINTER_ATTRIBUTE_IS_MANAGED, (&raw mut managed).cast()),
            (A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (&raw mut device_address).cast()),
            (A::CU_POINTER_ATTRIBUTE_HOST_POINTER, (&raw mut host_address).cast()),
            (A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (&raw mut range_start).cast()),
            (A::CU_POINTER_ATTRIBUTE_RANGE_SIZE, (&raw mut range_bytes).cast()),
            (A::CU_POINTER_ATTRIBUTE_BUFFER_ID, (&raw mut id).cast()),
            (A::CU_POINTER_ATTRIBUTE_MAPPED, (&raw mut mapped).cast()),
            (A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (&raw mut pool).cast()),
        ];
        let mut attributes = asked.map(|(attribute, _)| attribute);
        let mut places = asked.each_mut().map(|(_, place)| *place);
        let count = places.len() as u32;
        context.call(
            "cuPointerGetAttributes",
            || format!("{address:#x}"),
            // SAFETY: each place is a local of its attribute's size and alignment, and both arrays have `count`
            // elements; all outlive the call. Booleans are written as one byte or four, into zeroed numbers. The
            // address may be any: it is not followed.
            |driver| unsafe {
                driver.cuPointerGetAttributes(count, attributes.as_mut_ptr(), places.as_mut_ptr(), address)
            },
        )?;
        let memory_type = match CUmemorytype(kind) {
            // Nothing is known about the address.
            CUmemorytype(0) => return Ok(None),
            CUmemorytype::CU_MEMORYTYPE_HOST => MemoryType::Host,
            CUmemorytype::CU_MEMORYTYPE_DEVICE => MemoryType::Device,
            CUmemorytype::CU_MEMORYTYPE_ARRAY => MemoryType::Array,
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => MemoryType::Unified,
            CUmemorytype(other) => MemoryType::Other(other),
        };
        Ok(Some(Self {
            memory_type,
            device,
            context: owner,
            is_managed: managed != 0,
            device_address,
            host_address,
            range_start,
            range_bytes,
            buffer_id: id,
            is_mapped: mapped != 0,
            pool,
        }))
    }

    /// Makes synchronous copies and fills of the allocation around `address` always wait until they are complete, even
    /// where the driver would return earlier; or no longer.
    ///
    /// Driver call: `cuPointerSetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown address, and for memory of pools.
    #[doc(alias = "cuPointerSetAttribute", alias = "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS")]
    pub fn set_sync_memops(context: &CudaContext, address: u64, wait: bool) -> Result<(), Error> {
        let value = u32::from(wait);
        let attribute = A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
        // SAFETY: the attribute is an `unsigned int`, as `value` is, which outlives the call; an address that is none is an error.
        context.call(
            "cuPointerSetAttribute",
            || format!("{address:#x}, {wait}"),
            |driver| unsafe { driver.cuPointerSetAttribute((&raw const value).cast(), attribute, address) },
        )
    }
}
