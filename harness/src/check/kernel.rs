//! What is known of a kernel that is launched: name, parameters, limits, and what its PTX does.
//!
//! Relies on: a function is asked for only where the driver gave its handle to the program, and it has not ended.
#![allow(unsafe_code)]

use crate::kernel;
use cuda_driver_sys::{
    CUdevice_attribute as Device, CUfunction, CUfunction_attribute as Of, CUresult, Driver,
};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// A kernel.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// Offset and size of each parameter, where somebody can say.
    pub(super) parameters: Option<Vec<(usize, usize)>>,
    pub(super) limits: Option<Limits>,
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
    /// Asks the driver.
    pub(super) fn ask(driver: &Driver, handle: u64, of_library: bool) -> Kernel {
        let asked = kernel::Kernel::ask(driver, handle, of_library);
        let function = if of_library { function_of(driver, handle) } else { Some(handle) };
        let device = device(driver);
        let attribute = |which: Device| device.and_then(|device| of_device(driver, device, which));
        Kernel {
            name: asked.name.unwrap_or_else(|| format!("kernel {handle:#x}")),
            parameters: asked.parameters,
            limits: function.and_then(|function| limits(driver, function, &attribute)),
        }
    }

    /// Bytes of all parameters, without padding behind the last.
    pub(super) fn bytes(&self) -> Option<usize> {
        let parameters = self.parameters.as_ref()?;
        Some(parameters.iter().map(|(offset, size)| offset.saturating_add(*size)).max().unwrap_or(0))
    }
}

/// What the kernel's limits are now: a program may raise that of shared memory.
pub(super) fn limits_now(driver: &Driver, handle: u64, of_library: bool) -> Option<(u32, u32)> {
    let function = if of_library { function_of(driver, handle)? } else { handle };
    Some((
        of_function(driver, function, Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        of_function(driver, function, Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
    ))
}

fn limits(driver: &Driver, function: u64, attribute: &dyn Fn(Device) -> Option<u32>) -> Option<Limits> {
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
        threads: of_function(driver, function, Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        shared: of_function(driver, function, Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
    })
}

/// The function of a library's kernel in the current context.
fn function_of(driver: &Driver, kernel: u64) -> Option<u64> {
    let mut function = null_mut();
    // SAFETY: the place is good for a handle; the kernel is one that the driver gave to the program.
    let answer =
        unsafe { driver.cuKernelGetFunction(&mut function, with_exposed_provenance_mut(kernel as usize)) };
    (answer == CUresult::SUCCESS).then(|| function.expose_provenance() as u64)
}

fn device(driver: &Driver) -> Option<i32> {
    let mut device = 0;
    // SAFETY: the place is good for a device.
    let answer = unsafe { driver.cuCtxGetDevice(&mut device) };
    (answer == CUresult::SUCCESS).then_some(device)
}

fn of_device(driver: &Driver, device: i32, which: Device) -> Option<u32> {
    let mut value = 0;
    // SAFETY: the place is good for a number; the device is the driver's.
    let answer = unsafe { driver.cuDeviceGetAttribute(&mut value, which, device) };
    if answer == CUresult::SUCCESS { u32::try_from(value).ok() } else { None }
}

fn of_function(driver: &Driver, function: u64, which: Of) -> Option<u32> {
    let function: CUfunction = with_exposed_provenance_mut(function as usize);
    let mut value = 0;
    // SAFETY: the place is good for a number; the function is one that the driver gave to the program.
    let answer = unsafe { driver.cuFuncGetAttribute(&mut value, which, function) };
    if answer == CUresult::SUCCESS { u32::try_from(value).ok() } else { None }
}
