//! Short results: calls that succeed but return less than requested, each as a driver may.
//!
//! Relies on: the caller keeps the contract of the function, and the call succeeded.
#![allow(unsafe_code)]

use cuda_driver_sys::CUdriverProcAddressQueryResult as Found;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};

/// The functions that have a short answer, by symbol.
pub(crate) const FUNCTIONS: &[&str] = &[
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress_v2",
    "cuLinkComplete",
    "cuMemGetInfo_v2",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
];

/// Where an argument points to.
fn place<T>(word: u64) -> *mut T {
    with_exposed_provenance_mut(word as usize)
}

/// Makes the answer short.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function, whose contract holds, and which succeeded.
pub(crate) unsafe fn shorten(function: &str, words: &[u64]) {
    // SAFETY: each function wrote where this writes, by duty 1; what it takes null for is looked at first.
    unsafe {
        match (function, words) {
            // One device less.
            ("cuDeviceGetCount", [count]) => {
                let count = place::<c_int>(*count);
                count.write((*count - 1).max(0));
            }
            // A name that fills the buffer, without a NUL.
            ("cuDeviceGetName", [name, length, _]) => {
                let length = usize::try_from(*length as c_int).unwrap_or(0);
                place::<c_char>(*name).write_bytes(b'x', length);
            }
            ("cuGetErrorName" | "cuGetErrorString", [_, text]) => {
                place::<*const c_char>(*text).write(null());
            }
            // As for a name that the driver does not know.
            ("cuGetProcAddress_v2", [_, function, _, _, status]) => {
                place::<*mut c_void>(*function).write(null_mut());
                if *status != 0 {
                    place::<Found>(*status).write(Found::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
                }
            }
            // An image of no bytes.
            ("cuLinkComplete", [_, image, bytes]) => {
                place::<*mut c_void>(*image).write(null_mut());
                place::<usize>(*bytes).write(0);
            }
            // Other programs have taken all memory.
            ("cuMemGetInfo_v2", [free, _]) if *free != 0 => place::<usize>(*free).write(0),
            // Not one block fits.
            (_, [blocks, ..]) if function.starts_with("cuOccupancyMaxActiveBlocks") => {
                place::<c_int>(*blocks).write(0);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions;

    #[test]
    fn all_are_functions_of_the_api() {
        for name in FUNCTIONS {
            assert_eq!(functions::named(name).map(|function| function.name), Some(*name));
        }
    }
}
