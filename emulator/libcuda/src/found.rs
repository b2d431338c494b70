//! `cuGetProcAddress`: hands out this library's own exports, so that a program that asks for its functions by name is watched too.
#![allow(unsafe_code)]

use cuda_driver_sys::{CUdriverProcAddressQueryResult, CUresult, cuuint64_t};
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::{DRIVER, own_address};

/// `cuGetProcAddress_v2`
///
/// # Safety
///
/// 1. The caller keeps to the contract of the driver's function.
pub(crate) unsafe fn get_proc_address(
    name: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    // SAFETY: the contract of the driver's function is the caller's, by duty 1: the arguments are its own.
    let code = unsafe { DRIVER.cuGetProcAddress_v2(name, function, version, flags, status) };
    // SAFETY: 1: so the driver has just answered, to these arguments, which keep its contract by duty 1.
    unsafe { hand_out_own(code, name, function, version, flags) }
}

/// `cuGetProcAddress`, as it was first: without a status.
///
/// # Safety
///
/// 1. The caller keeps to the contract of the driver's function.
pub(crate) unsafe fn get_proc_address_v1(
    name: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
) -> CUresult {
    // SAFETY: the contract of the driver's function is the caller's, by duty 1: the arguments are its own.
    let code = unsafe { DRIVER.cuGetProcAddress_v1(name, function, version, flags) };
    // SAFETY: 1: so the driver has just answered, to these arguments, which keep its contract by duty 1.
    unsafe { hand_out_own(code, name, function, version, flags) }
}

/// Puts the export in the place of the driver's function, if there is one.
///
/// # Safety
///
/// 1. The driver answered so to a call with these arguments, which keeps to the contract.
unsafe fn hand_out_own(
    code: CUresult,
    name: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
) -> CUresult {
    // SAFETY: it succeeded, by duty 1, and the emulator refuses a null place, so that this is the program's, aligned,
    // which the driver has filled and nobody else uses during the call.
    if code == CUresult::SUCCESS && !unsafe { *function }.is_null() {
        // SAFETY: likewise a name, as the emulator refuses a null one: it ends with a NUL, and nobody writes it during
        // the call.
        let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
        let symbol = cuda_emulator::found_symbol(name, version, flags);
        let own = symbol.map_or(std::ptr::null(), own_address);
        if !own.is_null() {
            // SAFETY: the pointer that was just read through is also valid for a write, by duty 1. The export is the
            // function for this symbol, as was the value that the driver had written.
            unsafe { *function = own.cast_mut() };
        }
    }
    code
}
