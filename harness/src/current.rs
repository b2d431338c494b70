//! The context that is current.
#![allow(unsafe_code)] // Asks a driver.

use cuda_driver_sys::{CUresult, Driver};
use std::ptr::null_mut;

/// The calling thread's context; 0 if there is none.
pub(crate) fn context(driver: &Driver) -> u64 {
    let mut context = null_mut();
    // SAFETY: the place is a handle's and outlives the call; the function asks for nothing else.
    match unsafe { driver.cuCtxGetCurrent(&mut context) } {
        CUresult::SUCCESS => context.expose_provenance() as u64,
        _ => 0,
    }
}
