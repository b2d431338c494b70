//! Information about a launched kernel: name, parameters, limits, and what its PTX does.
//!
//! Relies on: callers pass live handles of the kind that they state, as duty 1 of `Kernel::ask` requires.
#![allow(unsafe_code)]

use super::image::Image;
use super::walk::Program;
use crate::kernel;
use cuda_driver_sys::{
    CUdevice_attribute as Device, CUfunction, CUfunction_attribute as Of, CUresult, Driver,
};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

/// A kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: Arc<str>,
    /// Offset and size of each parameter, if known.
    pub(super) parameters: Option<Vec<(usize, usize)>>,
    pub(super) limits: Option<Limits>,
    /// What its threads do, if the image has PTX.
    pub(super) program: Option<Program>,
    /// Whether threads of the device may use any memory of the host.
    pub(super) sees_host: bool,
}

/// How large a launch may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Threads in a block, for any kernel of the device.
    pub(super) device_threads: u32,
    /// Threads in a block of this kernel.
    pub(super) threads: u32,
    /// Dynamic shared memory of this kernel, in bytes.
    pub(super) shared: u32,
}

impl Kernel {
    /// A kernel of which only the handle is known.
    pub(super) fn unknown(handle: u64) -> Kernel {
        let name = format!("kernel {handle:#x}").into();
        Kernel { name, parameters: None, limits: None, program: None, sees_host: true }
    }

    /// Queries the driver and the image.
    ///
    /// # Safety
    ///
    /// 1. The handle is a function of the driver, or a kernel if `of_library`, and is live until this returns.
    pub(super) unsafe fn ask(
        driver: &Driver,
        handle: u64,
        of_library: bool,
        image: Option<&Image>,
    ) -> Kernel {
        // SAFETY: 1: the caller's duty 1.
        let asked = unsafe { kernel::Kernel::ask(driver, handle, of_library) };
        // SAFETY: 1: the caller's duty 1.
        let function = if of_library { unsafe { function_of(driver, handle) } } else { Some(handle) };
        let device = device(driver);
        let attribute = |which: Device| device.and_then(|device| of_device(driver, device, which));
        let unknown = Kernel::unknown(handle);
        let program = image.zip(asked.name.as_deref()).and_then(|(image, name)| image.program(name));
        // If driver and PTX differ (some architectures place parameters with an alignment over 16 bytes in another way), the walk would
        // read the arguments at wrong offsets.
        let is_same =
            |program: &Program| asked.parameters.as_ref().is_none_or(|own| *own == program.parameters);
        let program = program.filter(is_same);
        let declared = program.as_ref().map(|program| program.parameters.clone());
        Kernel {
            name: asked.name.map_or(unknown.name, Into::into),
            parameters: asked.parameters.or(declared),
            // SAFETY: 1: the handle itself, which is live by the caller's duty 1, or the function that the driver has just returned
            // for it, which lives as long.
            limits: function.and_then(|function| unsafe { limits(driver, function, &attribute) }),
            program,
            sees_host: attribute(Device::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != Some(0),
        }
    }

    /// Bytes of all parameters, without padding after the last.
    pub(super) fn bytes(&self) -> Option<usize> {
        let parameters = self.parameters.as_ref()?;
        Some(parameters.iter().map(|(offset, size)| offset.saturating_add(*size)).max().unwrap_or(0))
    }
}

/// The kernel's current limits: a program may raise the limit of shared memory.
///
/// # Safety
///
/// 1. As duty 1 of [`Kernel::ask`].
pub(super) unsafe fn limits_now(driver: &Driver, handle: u64, of_library: bool) -> Option<(u32, u32)> {
    // SAFETY: 1: the caller's duty 1.
    let function = if of_library { unsafe { function_of(driver, handle) }? } else { handle };
    // SAFETY: 1: the handle itself, which is live by the caller's duty 1, or the function that the driver has just returned for it, which
    // lives as long.
    let attribute = |which| unsafe { of_function(driver, function, which) };
    Some((
        attribute(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        attribute(Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
    ))
}

/// # Safety
///
/// 1. It is a function of the driver, and is live until this returns.
unsafe fn limits(
    driver: &Driver,
    function: u64,
    attribute: &dyn Fn(Device) -> Option<u32>,
) -> Option<Limits> {
    // SAFETY: 1: the caller's duty 1.
    let of_function = |which| unsafe { of_function(driver, function, which) };
    Some(Limits {
        grid: [
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        block: [
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        device_threads: attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        threads: of_function(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        shared: of_function(Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
    })
}

/// The function of a library's kernel in the current context.
///
/// # Safety
///
/// 1. It is a kernel of the driver, and is live until this returns.
pub(super) unsafe fn function_of(driver: &Driver, kernel: u64) -> Option<u64> {
    let mut function = null_mut();
    // SAFETY: the output outlives the call; the kernel belongs to the driver and is live, by the caller's duty 1.
    let answer =
        unsafe { driver.cuKernelGetFunction(&mut function, with_exposed_provenance_mut(kernel as usize)) };
    (answer == CUresult::SUCCESS).then(|| function.expose_provenance() as u64)
}

/// The newest architecture that the current device can run, as the number in its name; none without a context.
pub(super) fn newest(driver: &Driver) -> Option<u32> {
    let device = device(driver)?;
    let attribute = |which| of_device(driver, device, which);
    let major = attribute(Device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Some(major * 10 + attribute(Device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?)
}

/// The device of the current context.
pub(super) fn device(driver: &Driver) -> Option<i32> {
    let mut device = 0;
    // SAFETY: the output is a device number and outlives the call, which has no other requirement.
    let answer = unsafe { driver.cuCtxGetDevice(&mut device) };
    (answer == CUresult::SUCCESS).then_some(device)
}

pub(super) fn of_device(driver: &Driver, device: i32, which: Device) -> Option<u32> {
    let mut value = 0;
    // SAFETY: the output is a number and outlives the call; for an invalid device the call returns an error.
    let answer = unsafe { driver.cuDeviceGetAttribute(&mut value, which, device) };
    if answer == CUresult::SUCCESS { u32::try_from(value).ok() } else { None }
}

/// # Safety
///
/// 1. It is a function of the driver, and is live until this returns.
pub(super) unsafe fn of_function(driver: &Driver, function: u64, which: Of) -> Option<u32> {
    let function: CUfunction = with_exposed_provenance_mut(function as usize);
    let mut value = 0;
    // SAFETY: the output outlives the call; the function belongs to the driver and is live, by the caller's duty 1.
    let answer = unsafe { driver.cuFuncGetAttribute(&mut value, which, function) };
    if answer == CUresult::SUCCESS { u32::try_from(value).ok() } else { None }
}
