//! Memory of several devices behind one address.

#![allow(unsafe_code)] // Calls of the driver with live handles.

use cuda_driver_sys::{
    CUdevice_attribute, CUmulticastGranularity_flags as G, CUmulticastObjectProp, CUresult,
};

use super::physical::{PhysicalAllocation, multiples};
use crate::driver::{CudaContext, end_or_try_again};
use crate::error::{Error, failed};
use crate::memory::location::MemoryLocation;
use crate::memory::os_handle::OsHandleKinds;

/// One address for memory of several devices: writes go to all of them, reads are reduced.
///
/// It is mapped like physical memory, [`MulticastObject::as_physical`], and turned into a buffer with
/// [`DeviceBuffer::from_shared_mapping`](crate::DeviceBuffer::from_shared_mapping). Devices are added first, then
/// memory of each device is bound.
///
/// ```
/// use cuda_launch::virtual_memory::MulticastObject;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// if MulticastObject::is_supported(&ctx)? {
///     let bytes = MulticastObject::granularity(&ctx, 2, true)?;
///     let object = MulticastObject::new(&ctx, 2, bytes, Default::default())?;
///     object.add_device(&ctx)?;
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "cuMulticastCreate")]
pub struct MulticastObject {
    memory: PhysicalAllocation,
}

fn properties(devices: u32, bytes: usize, handles: OsHandleKinds) -> CUmulticastObjectProp {
    CUmulticastObjectProp { numDevices: devices, size: bytes, handleTypes: handles.bits().into(), flags: 0 }
}

impl MulticastObject {
    /// Whether the context's device supports multicast. Driver call: `cuDeviceGetAttribute`.
    ///
    /// # Errors
    /// Any error returned by the driver; for a driver without multicast objects the result is `false`.
    pub fn is_supported(context: &CudaContext) -> Result<bool, Error> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
        Ok(context.device_attribute(attribute).is_ok_and(|value| value != 0))
    }

    /// The granularity of sizes, in bytes: the minimum, or the one recommended for speed. Driver call:
    /// `cuMulticastGetGranularity`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMulticastGetGranularity")]
    pub fn granularity(context: &CudaContext, devices: u32, recommended: bool) -> Result<usize, Error> {
        let option = if recommended {
            G::CU_MULTICAST_GRANULARITY_RECOMMENDED
        } else {
            G::CU_MULTICAST_GRANULARITY_MINIMUM
        };
        let (properties, mut bytes) = (properties(devices, 0, OsHandleKinds::empty()), 0);
        context.call(
            "cuMulticastGetGranularity",
            || format!("{devices} devices"),
            // SAFETY: all members of the properties are set; they and `bytes` are locals, which outlive the call.
            |driver| unsafe { driver.cuMulticastGetGranularity(&mut bytes, &properties, option) },
        )?;
        Ok(bytes)
    }

    /// An object for `bytes` bytes on each of the given number of devices.
    ///
    /// Driver calls: `cuMulticastGetGranularity`, `cuMulticastCreate`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if no device supports it, or any error returned by the driver.
    pub fn new(
        context: &CudaContext,
        devices: u32,
        bytes: usize,
        handles: OsHandleKinds,
    ) -> Result<Self, Error> {
        let granularity = Self::granularity(context, devices, false)?;
        multiples("multicast object", 0, bytes, usize::MAX, granularity)?;
        let properties = properties(devices, bytes, handles);
        let memory = context.make(
            "cuMulticastCreate",
            || format!("{bytes} bytes, {devices} devices"),
            // SAFETY: all members of the properties are set; they and the place outlive the call.
            |driver, handle| unsafe { driver.cuMulticastCreate(handle, &properties) },
            // SAFETY: 1: the driver has just made it, and gave it to nobody else.
            |handle| unsafe { PhysicalAllocation::owned(context, handle, (bytes, granularity), true) },
        )?;
        Ok(Self { memory })
    }

    /// Adds the context's device. Driver call: `cuMulticastAddDevice`.
    ///
    /// # Errors
    /// The context belongs to another driver, or any error returned by the driver.
    #[doc(alias = "cuMulticastAddDevice")]
    pub fn add_device(&self, context: &CudaContext) -> Result<(), Error> {
        self.memory.context().same_driver(context, "the context", "the multicast object")?;
        let device = context.raw_device();
        // SAFETY: the object lives as long as its handle (`PhysicalAllocation`), and is of the context's driver, as `same_driver` compared;
        // the driver named the device.
        context.call(
            "cuMulticastAddDevice",
            || format!("device {device}"),
            |driver| unsafe { driver.cuMulticastAddDevice(self.memory.raw(), device) },
        )
    }

    /// Binds memory of the context's device at `offset` bytes, until the result is dropped.
    ///
    /// Driver calls: `cuMemGetAllocationPropertiesFromHandle`, `cuMulticastBindMem`, and `cuMulticastUnbind` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) if it does not fit there; context or memory belongs to another
    /// driver; `CUDA_ERROR_INVALID_DEVICE` for memory that is not on the context's device; or any error returned by the
    /// driver: all devices must have been added.
    #[doc(alias = "cuMulticastBindMem", alias = "cuMulticastUnbind")]
    pub fn bind(
        &self,
        context: &CudaContext,
        offset: usize,
        memory: &PhysicalAllocation,
    ) -> Result<MulticastBinding, Error> {
        self.memory.context().same_driver(context, "the context", "the multicast object")?;
        self.memory.context().same_driver(memory.context(), "the memory", "the multicast object")?;
        let bytes = memory.byte_len();
        multiples("binding", offset, bytes, self.memory.byte_len(), self.memory.granularity())?;
        let location = memory.location()?;
        // It is bound on its own device, and taken out on the context's, for whose work the end waits.
        if location != MemoryLocation::from(context) {
            let asked = format!("memory of {location:?} on device {}", context.ordinal());
            return Err(failed(CUresult::CUDA_ERROR_INVALID_DEVICE, "cuMulticastBindMem", asked));
        }
        context.make(
            "cuMulticastBindMem",
            || format!("{bytes} bytes at {offset}"),
            // SAFETY: object and memory live as long as their handles (`PhysicalAllocation`), and are of one driver, as `same_driver`
            // compared; `multiples` found the range inside the object, and it is all of the memory.
            |driver, ()| unsafe {
                driver.cuMulticastBindMem(self.memory.raw(), offset, memory.raw(), 0, bytes, 0)
            },
            |()| MulticastBinding {
                object: self.clone(),
                _memory: memory.clone(),
                offset,
                context: context.clone(),
                bound: true,
            },
        )
    }

    /// What is mapped, exported and imported.
    pub fn as_physical(&self) -> &PhysicalAllocation {
        &self.memory
    }
}

/// Memory of a device that is bound to a [`MulticastObject`]. Dropping it waits for all work in its context, and
/// unbinds it.
#[derive(Debug)]
pub struct MulticastBinding {
    object: MulticastObject,
    _memory: PhysicalAllocation,
    offset: usize,
    context: CudaContext,
    bound: bool,
}

impl MulticastBinding {
    /// Takes it out after all work in the context, once. Where that must not be now, it stays.
    fn unbind(&mut self) -> Result<(), Error> {
        if !self.bound {
            return Ok(());
        }
        self.context.may_give_back("cuMulticastUnbind")?;
        self.context.end_of_work()?;
        self.bound = false;
        let (device, bytes) = (self.context.raw_device(), self._memory.byte_len());
        // SAFETY: this value bound the range on this device, as `bind` checked, and unbinds it once; no work of the context is left that
        // could use it. Buffers of the object are those of `from_shared_mapping`, of whose duty 2 it is that none uses it any more, on
        // whatever device.
        self.context.give_back("cuMulticastUnbind", String::new, |driver| unsafe {
            driver.cuMulticastUnbind(self.object.memory.raw(), device, self.offset, bytes)
        })
    }
}

impl Drop for MulticastBinding {
    fn drop(&mut self) {
        end_or_try_again(self, Self::unbind, |binding| {
            let (object, _memory) = (binding.object.clone(), binding._memory.clone());
            let (offset, context) = (binding.offset, binding.context.clone());
            let rest = || Self { object, _memory, offset, context, bound: true };
            std::mem::take(&mut binding.bound).then(rest)
        });
    }
}
