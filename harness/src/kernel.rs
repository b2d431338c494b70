//! What a driver knows about a kernel: its name and its parameters. `Kernel::describe` of `cuda-launch` queries them in the same
//! way.
//!
//! Relies on: callers pass live handles of the kind that they state, as duty 1 of `Kernel::ask` and `parameters` requires.
#![allow(unsafe_code)]

#[cfg(any(feature = "check", feature = "record"))]
use cuda_driver_sys::CUstreamCaptureMode;
use cuda_driver_sys::{CUfunction, CUkernel, CUresult, Driver};
use std::ffi::CStr;
use std::ptr::{null, with_exposed_provenance_mut};

/// No kernel has more: parameters have 32,764 bytes at most.
const MOST: usize = 32_764;

/// Offset and size of each parameter.
pub type List = Vec<(usize, usize)>;

/// The function that failed, and its result.
pub type Failed = (&'static str, CUresult);

/// What is known of a kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: Option<String>,
    /// Offset and size of each parameter; `None` if the driver cannot list them (before CUDA 12.4), or the call failed.
    pub(crate) parameters: Option<Vec<(usize, usize)>>,
}

impl Kernel {
    /// Queries a function or a kernel of a library.
    ///
    /// # Safety
    ///
    /// 1. The handle is a function of the driver, or a kernel if `of_library`, and is live until this returns.
    pub(crate) unsafe fn ask(driver: &Driver, handle: u64, of_library: bool) -> Kernel {
        // SAFETY: 1: the caller's duty 1.
        unsafe {
            Kernel {
                name: name(driver, handle, of_library),
                parameters: parameters(driver, handle, of_library).ok().flatten(),
            }
        }
    }
}

/// # Safety
///
/// 1. As duty 1 of [`Kernel::ask`].
unsafe fn name(driver: &Driver, handle: u64, of_library: bool) -> Option<String> {
    let mut name = null();
    // SAFETY: the handle is of this kind and live, by the caller's duty 1; the output is a pointer and outlives the call.
    let answer = unsafe {
        match of_library {
            true => driver.cuKernelGetName(&mut name, kernel(handle)),
            false => driver.cuFuncGetName(&mut name, function(handle)),
        }
    };
    if answer != CUresult::SUCCESS || name.is_null() {
        return None;
    }
    // SAFETY: checked to be not null, so after success it is a C string of the driver that lives as long as the kernel, which is
    // live until this returns, by the caller's duty 1.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// Offset and size of each parameter of a function, or of a library's kernel; `None` if the driver cannot list them (before CUDA 12.4).
///
/// If the driver can count them (CUDA 13.2), only that many are queried. With older drivers the list ends where the driver
/// returns `CUDA_ERROR_INVALID_VALUE`; a real failure with that code cannot be told apart. Any other code is an error.
///
/// # Errors
///
/// The function that failed, and its result.
///
/// # Safety
///
/// 1. The handle is a function of the driver, or a kernel if `of_library`, and is live until this returns.
pub unsafe fn parameters(driver: &Driver, handle: u64, of_library: bool) -> Result<Option<List>, Failed> {
    let [one, all] = match of_library {
        true => ["cuKernelGetParamInfo", "cuKernelGetParamCount"],
        false => ["cuFuncGetParamInfo", "cuFuncGetParamCount"],
    };
    if !driver.has(one) {
        return Ok(None);
    }
    // SAFETY: 1: the caller's duty 1.
    let count = if driver.has(all) { Some(unsafe { count(driver, handle, of_library) }?) } else { None };
    let mut parameters = Vec::new();
    while Some(parameters.len()) != count {
        if parameters.len() == MOST {
            return Ok(None);
        }
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the handle is of this kind and live, by the caller's duty 1; the driver checks the index; both outputs outlive the calls.
        let answer = unsafe {
            match of_library {
                true => driver.cuKernelGetParamInfo(kernel(handle), parameters.len(), &mut offset, &mut size),
                false => {
                    driver.cuFuncGetParamInfo(function(handle), parameters.len(), &mut offset, &mut size)
                }
            }
        };
        match answer {
            CUresult::SUCCESS => parameters.push((offset, size)),
            // There is no parameter with that index.
            CUresult::CUDA_ERROR_INVALID_VALUE if count.is_none() => break,
            // A driver may have the symbol without an implementation.
            CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER | CUresult::CUDA_ERROR_NOT_SUPPORTED => {
                return Ok(None);
            }
            answer => return Err((one, answer)),
        }
    }
    Ok(Some(parameters))
}

/// # Safety
///
/// 1. As duty 1 of [`parameters`].
unsafe fn count(driver: &Driver, handle: u64, of_library: bool) -> Result<usize, Failed> {
    let mut count = 0;
    // SAFETY: the handle is of this kind and live, by the caller's duty 1; the output outlives the calls.
    let (call, answer) = unsafe {
        match of_library {
            true => ("cuKernelGetParamCount", driver.cuKernelGetParamCount(kernel(handle), &mut count)),
            false => ("cuFuncGetParamCount", driver.cuFuncGetParamCount(function(handle), &mut count)),
        }
    };
    if answer == CUresult::SUCCESS { Ok(count) } else { Err((call, answer)) }
}

/// Makes driver calls that are harmless during a capture, which the driver would refuse otherwise.
#[cfg(any(feature = "check", feature = "record"))]
pub(crate) fn relaxed<R>(driver: &Driver, ask: impl FnOnce() -> R) -> R {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the argument is initialised with a mode and outlives the call; the thread's own mode is restored below.
    let answer = unsafe { driver.cuThreadExchangeStreamCaptureMode(&mut mode) };
    let result = ask();
    if answer == CUresult::SUCCESS {
        // SAFETY: the argument outlives the call, and holds the mode that the thread had, because the call above
        // succeeded.
        let _ = unsafe { driver.cuThreadExchangeStreamCaptureMode(&mut mode) };
    }
    result
}

fn function(handle: u64) -> CUfunction {
    with_exposed_provenance_mut(handle as usize)
}

fn kernel(handle: u64) -> CUkernel {
    with_exposed_provenance_mut(handle as usize)
}
