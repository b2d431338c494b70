//! A driver in which other functions replace some.
#![allow(unsafe_code)] // Makes a driver of functions.

use cuda_driver_sys::Driver;
use std::ffi::c_void;
use std::sync::Arc;

/// A driver with other functions for some names: for what no [`Fault`](crate::Fault) can do, such as a function that the emulator lacks, or
/// one that returns something odd.
///
/// `replace` is called once for each symbol of the API, and returns null where the function of `base` stays. To watch the result, put a
/// [`Spy`](crate::Spy) over it. `cuGetProcAddress` still returns the functions of `base`.
///
/// ```
/// use cuda_driver_sys::{CUresult, pfn};
/// use std::ffi::{c_int, c_void};
/// use std::ptr::null;
///
/// unsafe extern "C" fn version_of_the_future(version: *mut c_int) -> CUresult {
///     unsafe { version.write(99_000) };
///     CUresult::SUCCESS
/// }
///
/// let replace = |name: &str| match name {
///     "cuDriverGetVersion" => version_of_the_future as pfn::cuDriverGetVersion as *const c_void,
///     _ => null(),
/// };
/// let cuda = unsafe { cuda_harness::replaced(&cuda_emulator::driver(), replace) };
/// assert_eq!(cuda.version(), Ok(99_000));
/// ```
///
/// # Safety
///
/// 1. What `replace` returns is null or a function of the type that the name has in the API (`cuda_driver_sys::pfn`), and does nothing that
///    a program which keeps the contract of that function cannot expect: it writes only to its outputs.
/// 2. It can be called for as long as the process runs.
/// 3. `base` is no driver of a spy, or the spy lives as long as the result.
pub unsafe fn replaced(base: &Arc<Driver>, replace: impl Fn(&str) -> *const c_void) -> Arc<Driver> {
    let lookup = |name: &std::ffi::CStr| {
        // Names of the API are ASCII.
        let name = name.to_str().unwrap_or_default();
        let replaced = replace(name);
        if replaced.is_null() { base.address(name) } else { replaced }
    };
    // SAFETY: 1: they are the base's functions under their own names, or those of `replace`: the caller's duty 1; 2: the caller's
    // duties 2 and 3, and a driver that is no spy's is code of this program, or of a library that is never unloaded.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}
