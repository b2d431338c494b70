//! Devices, without a context.

#![allow(unsafe_code)] // Calls of the driver with a device that it named itself and outputs that outlive the call.

pub(in crate::driver) mod attribute;

use cuda_driver_sys::{CUdevice, CUdevice_attribute, CUexecAffinityType, CUresult, CUuuid, Driver};
use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::sync::Arc;

use super::choice::{default_driver, device_count, initialise};
use super::context::CudaContext;
use crate::error::{DriverError, Error, check};
use attribute::DeviceAttribute as A;
use attribute::DeviceAttribute;

/// A device of one driver. Queries need no context, so they are cheap: nothing is set up on the device.
///
/// ```
/// use cuda_launch::device::DeviceAttribute;
/// use cuda_launch::CudaDevice;
/// for device in CudaDevice::all()? {
///     println!("{}: {} at {}", device.ordinal(), device.name()?, device.pci_bus_id()?);
///     assert_eq!(device.attribute(DeviceAttribute::WARP_SIZE)?, 32);
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUdevice")]
pub struct CudaDevice {
    driver: Arc<Driver>,
    /// As `driver` named it, in every constructor. A device never ends.
    raw: CUdevice,
    ordinal: u32,
}

impl CudaDevice {
    /// The number of devices that the [default driver](crate::default_driver) has.
    ///
    /// Driver calls: `cuInit`, `cuDeviceGetCount`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// for ordinal in 0..CudaDevice::count()? {
    ///     println!("{}", CudaDevice::new(ordinal)?.name()?);
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// No usable driver.
    #[doc(alias = "cuDeviceGetCount")]
    pub fn count() -> Result<u32, Error> {
        let driver = default_driver()?;
        Self::count_of(&driver)
    }

    fn count_of(driver: &Driver) -> Result<u32, Error> {
        device_count(driver).map(|count| u32::try_from(count).unwrap_or(0))
    }

    /// All devices of the [default driver](crate::default_driver), by ordinal.
    ///
    /// Driver calls: `cuInit`, `cuDeviceGetCount`, `cuDeviceGet`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// for device in CudaDevice::all()? {
    ///     println!("{}: {} bytes", device.name()?, device.total_memory()?);
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// No usable driver.
    pub fn all() -> Result<Vec<Self>, Error> {
        Self::all_of(&default_driver()?)
    }

    /// All devices of this driver, by ordinal.
    ///
    /// Driver calls: `cuInit`, `cuDeviceGetCount`, `cuDeviceGet`.
    ///
    /// ```
    /// use cuda_launch::{CudaDevice, default_driver};
    /// let driver = default_driver()?;
    /// assert!(!CudaDevice::all_of(&driver)?.is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver cannot be initialised.
    pub fn all_of(driver: &Arc<Driver>) -> Result<Vec<Self>, Error> {
        (0..Self::count_of(driver)?).map(|ordinal| Self::with_driver(driver, ordinal)).collect()
    }

    /// Device `ordinal` of the [default driver](crate::default_driver).
    ///
    /// Driver calls: `cuInit`, `cuDeviceGet`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// let device = CudaDevice::new(0)?;
    /// assert_eq!(device.ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// No usable driver, or no such device.
    #[doc(alias = "cuDeviceGet")]
    pub fn new(ordinal: u32) -> Result<Self, Error> {
        Self::with_driver(&default_driver()?, ordinal)
    }

    /// Device `ordinal` of this driver.
    ///
    /// Driver calls: `cuInit`, `cuDeviceGet`; if there is no such device, also `cuDeviceGetCount`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// let device = CudaDevice::with_driver(&cuda_emulator::driver(), 0)?;
    /// assert!(device.name()?.contains("emulator"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CudaDevice::new`].
    pub fn with_driver(driver: &Arc<Driver>, ordinal: u32) -> Result<Self, Error> {
        initialise(driver)?;
        let mut raw = 0;
        let index = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: the driver was initialised above and checks the index; `raw` is a local, which outlives the call.
        let code = unsafe { driver.cuDeviceGet(&mut raw, index) };
        if code == CUresult::CUDA_ERROR_INVALID_DEVICE {
            return Err(Self::absent(driver, ordinal));
        }
        check(code, "cuDeviceGet", || format!("device {ordinal}"))?;
        Ok(Self::of(driver, raw, ordinal))
    }

    /// The error for an ordinal that the driver refused, with those that it has.
    #[cold]
    fn absent(driver: &Driver, ordinal: u32) -> Error {
        let hint = Self::count_of(driver).ok().map(|count| match count {
            0 => "this driver has no device".to_owned(),
            1 => "this driver has 1 device: 0".to_owned(),
            _ => format!("this driver has {count} devices: 0 to {}", count - 1),
        });
        let (call, code) = ("cuDeviceGet", CUresult::CUDA_ERROR_INVALID_DEVICE);
        DriverError { call, code, asked: format!("device {ordinal}"), log: None, hint }.told()
    }

    /// The device at this PCI address of this driver: `domain:bus:device.function` in hexadecimal, as printed by
    /// [`CudaDevice::pci_bus_id`] and the system's tools.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// let device = CudaDevice::new(0)?;
    /// assert_eq!(CudaDevice::by_pci_bus_id(device.driver(), &device.pci_bus_id()?)?, device);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver calls: `cuInit`, `cuDeviceGetByPCIBusId`, `cuDeviceGet`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` if this driver has no device there, `CUDA_ERROR_INVALID_VALUE` if it is not an
    /// address.
    #[doc(alias = "cuDeviceGetByPCIBusId")]
    pub fn by_pci_bus_id(driver: &Arc<Driver>, address: &str) -> Result<Self, Error> {
        let asked = || format!("PCI address {address:?}");
        initialise(driver)?;
        let invalid =
            |_| crate::error::failed(CUresult::CUDA_ERROR_INVALID_VALUE, "cuDeviceGetByPCIBusId", asked());
        let text = CString::new(address).map_err(invalid)?;
        let mut raw = 0;
        // SAFETY: the driver was initialised above; the text ends with a NUL; it and `raw` are locals, which outlive the call.
        let code = unsafe { driver.cuDeviceGetByPCIBusId(&mut raw, text.as_ptr()) };
        check(code, "cuDeviceGetByPCIBusId", asked)?;
        // The driver hands out handles, not ordinals, though no driver is known where they differ.
        let known = Self::all_of(driver)?.into_iter().find(|device| device.raw == raw);
        Ok(known.unwrap_or_else(|| Self::of(driver, raw, u32::try_from(raw).unwrap_or(0))))
    }

    /// A device that the driver named.
    pub(super) fn of(driver: &Arc<Driver>, raw: CUdevice, ordinal: u32) -> Self {
        Self { driver: driver.clone(), raw, ordinal }
    }

    /// Its ordinal on its driver. No driver call.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The raw device. No driver call.
    pub fn raw(&self) -> CUdevice {
        self.raw
    }

    /// Its driver. No driver call.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Opens its primary context, like [`CudaContext::with_driver`].
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// let ctx = device.context()?;
    /// assert_eq!(ctx.ordinal(), device.ordinal());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CudaContext::new`].
    pub fn context(&self) -> Result<CudaContext, Error> {
        CudaContext::with_driver(&self.driver, self.ordinal)
    }

    /// Its name.
    ///
    /// Driver call: `cuDeviceGetName`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// println!("{}", device.name()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceGetName")]
    pub fn name(&self) -> Result<String, Error> {
        // SAFETY: `text` passes a buffer and its size, and keeps it for the call; the driver named the device.
        self.text::<256>("cuDeviceGetName", |driver, text, size| unsafe {
            driver.cuDeviceGetName(text, size, self.raw)
        })
    }

    /// Its address on the PCI bus, as `domain:bus:device.function` in hexadecimal.
    ///
    /// Driver call: `cuDeviceGetPCIBusId`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// assert_eq!(device.pci_bus_id()?.len(), "0000:00:00.0".len());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceGetPCIBusId")]
    pub fn pci_bus_id(&self) -> Result<String, Error> {
        // SAFETY: `text` passes a buffer and its size, and keeps it for the call; the driver named the device.
        self.text::<32>("cuDeviceGetPCIBusId", |driver, text, size| unsafe {
            driver.cuDeviceGetPCIBusId(text, size, self.raw)
        })
    }

    /// The UUID: the same in every process and after a restart, so it is suitable as a stored key. A partition of a GPU
    /// (MIG) has its own.
    ///
    /// Driver call: `cuDeviceGetUuid`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// println!("{}", device.uuid()?); // GPU-...
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceGetUuid")]
    pub fn uuid(&self) -> Result<DeviceUuid, Error> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the driver named the device; `uuid` is a local, which outlives the call.
        self.call("cuDeviceGetUuid", |driver| unsafe { driver.cuDeviceGetUuid(&mut uuid, self.raw) })?;
        Ok(DeviceUuid(uuid.bytes.map(|byte| byte as u8)))
    }

    /// The compute capability, for example `(9, 0)`.
    ///
    /// Driver calls: `cuDeviceGetAttribute`, twice.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// if device.compute_capability()? >= (9, 0) {
    ///     println!("has clusters");
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn compute_capability(&self) -> Result<(u32, u32), Error> {
        let [major, minor] = [A::COMPUTE_CAPABILITY_MAJOR, A::COMPUTE_CAPABILITY_MINOR];
        let number = |attribute| self.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
        Ok((number(major)?, number(minor)?))
    }

    /// The size of its memory, in bytes.
    ///
    /// Driver call: `cuDeviceTotalMem`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// println!("{} GiB", device.total_memory()? >> 30);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceTotalMem")]
    pub fn total_memory(&self) -> Result<usize, Error> {
        let mut bytes = 0;
        // SAFETY: the driver named the device; `bytes` is a local, which outlives the call.
        self.call("cuDeviceTotalMem", |driver| unsafe { driver.cuDeviceTotalMem(&mut bytes, self.raw) })?;
        Ok(bytes)
    }

    /// The value of an attribute: by name, or by any raw number.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// use cuda_launch::device::DeviceAttribute;
    /// # let device = CudaDevice::new(0)?;
    /// assert_eq!(device.attribute(DeviceAttribute::WARP_SIZE)?, 32);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know.
    #[doc(alias = "cuDeviceGetAttribute")]
    pub fn attribute(&self, attribute: impl Into<DeviceAttribute>) -> Result<i32, Error> {
        let attribute = attribute.into();
        self.named_attribute(attribute.raw(), &attribute)
    }

    /// The same of an attribute with this name.
    pub(super) fn named_attribute(
        &self,
        attribute: CUdevice_attribute,
        name: &dyn fmt::Display,
    ) -> Result<i32, Error> {
        let mut value = 0;
        // SAFETY: the driver named the device; `value` is a local, which outlives the call; an unknown attribute is an error code.
        let code = unsafe { self.driver.cuDeviceGetAttribute(&mut value, attribute, self.raw) };
        check(code, "cuDeviceGetAttribute", || format!("{name} of device {}", self.ordinal))?;
        Ok(value)
    }

    /// The host's NUMA node nearest to it; `None` if the system has no NUMA nodes.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` from drivers before 12.2.
    pub fn host_numa_node(&self) -> Result<Option<u32>, Error> {
        self.attribute(A::HOST_NUMA_ID).map(|node| u32::try_from(node).ok())
    }

    /// The NUMA node of its own memory; `None` if its memory is not a NUMA node.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// # let device = CudaDevice::new(0)?;
    /// if let Some(node) = device.numa_node()? {
    ///     println!("its memory is node {node}");
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` from drivers before 12.2.
    pub fn numa_node(&self) -> Result<Option<u32>, Error> {
        self.attribute(A::NUMA_ID).map(|node| u32::try_from(node).ok())
    }

    /// Whether a context can be created that uses only some of the multiprocessors
    /// ([`ContextOptions::multiprocessors`](crate::context::ContextOptions)). Drivers allow it under MPS only.
    ///
    /// Driver call: `cuDeviceGetExecAffinitySupport`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDeviceGetExecAffinitySupport")]
    pub fn supports_multiprocessor_affinity(&self) -> Result<bool, Error> {
        let (mut supported, kind) = (0, CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT);
        // SAFETY: the driver named the device; `supported` is a local, which outlives the call.
        self.call("cuDeviceGetExecAffinitySupport", |driver| unsafe {
            driver.cuDeviceGetExecAffinitySupport(&mut supported, kind, self.raw)
        })?;
        Ok(supported != 0)
    }

    /// The locally unique identifier (LUID) by which graphics APIs on Windows know it, and its node mask.
    ///
    /// Driver call: `cuDeviceGetLuid`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` on systems other than Windows.
    #[doc(alias = "cuDeviceGetLuid")]
    pub fn luid(&self) -> Result<([u8; 8], u32), Error> {
        let (mut luid, mut mask) = ([0_u8; 8], 0);
        // SAFETY: the driver named the device; the identifier has eight bytes, as the driver writes; both outputs are locals, which
        // outlive the call.
        self.call("cuDeviceGetLuid", |driver| unsafe {
            driver.cuDeviceGetLuid(luid.as_mut_ptr().cast(), &mut mask, self.raw)
        })?;
        Ok((luid, mask))
    }

    /// Calls the driver about this device.
    pub(super) fn call(
        &self,
        name: &'static str,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        check(call(&self.driver), name, || format!("device {}", self.ordinal))
    }

    /// A text of at most `SIZE` bytes, its NUL included.
    fn text<const SIZE: usize>(
        &self,
        name: &'static str,
        call: impl FnOnce(&Driver, *mut c_char, c_int) -> CUresult,
    ) -> Result<String, Error> {
        let mut text = [0_u8; SIZE];
        self.call(name, |driver| call(driver, text.as_mut_ptr().cast(), SIZE as c_int))?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

impl PartialEq for CudaDevice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver) && self.raw == other.raw
    }
}

impl Eq for CudaDevice {}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.driver.origin();
        f.debug_struct("CudaDevice").field("ordinal", &self.ordinal).field("driver", origin).finish()
    }
}

/// A device's UUID; printed in the format of `nvidia-smi -L` and `CUDA_VISIBLE_DEVICES`.
///
/// ```
/// use cuda_launch::device::DeviceUuid;
/// let uuid = DeviceUuid([0x3f, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
/// assert_eq!(uuid.to_string(), "GPU-3f000102-0304-0506-0708-090a0b0c0d0e");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "CUuuid")]
pub struct DeviceUuid(pub [u8; 16]);

impl fmt::Display for DeviceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU")?;
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 0 | 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}
