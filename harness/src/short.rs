//! Results that replace the driver's: short ones, as a driver may give, and malformed ones.
//!
//! Relies on: the caller keeps the contract of the function, and the call succeeded.
#![allow(unsafe_code)]

use cuda_driver_sys::CUdriverProcAddressQueryResult as Found;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};

/// The functions that have a short result, by symbol.
pub(crate) const SHORT: &[&str] = &[
    "cuDeviceGetCount",
    "cuGetProcAddress_v2",
    "cuMemGetInfo_v2",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
];

/// The functions that have a malformed result, by symbol.
pub(crate) const MALFORMED: &[&str] =
    &["cuDeviceGetName", "cuGetErrorName", "cuGetErrorString", "cuLinkComplete"];

/// Where an argument points to.
fn place<T>(word: u64) -> *mut T {
    with_exposed_provenance_mut(word as usize)
}

/// Replaces the result of a call by its short or malformed one.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function, whose contract holds, and which succeeded.
pub(crate) unsafe fn replace(function: &str, words: &[u64]) {
    // SAFETY: 1, in each arm: the word is an argument that the function declares as a pointer to a result of the type
    // that is written, so that it is null or the program's aligned place for one, which nothing else uses before the
    // call returns, by duty 1. The buffer of a name has as many bytes as the call says, by the same.
    unsafe {
        match (function, words) {
            // One device less; the driver has written the number, as the call succeeded.
            ("cuDeviceGetCount", [count]) if *count != 0 => {
                let there = *place::<c_int>(*count);
                put(*count, (there - 1).max(0));
            }
            // A name that fills the buffer, without a NUL.
            ("cuDeviceGetName", [name, length, _]) if *name != 0 => {
                let length = usize::try_from(*length as c_int).unwrap_or(0);
                place::<c_char>(*name).write_bytes(b'x', length);
            }
            ("cuGetErrorName" | "cuGetErrorString", [_, text]) => put(*text, null::<c_char>()),
            // As for a name that the driver does not know.
            ("cuGetProcAddress_v2", [_, function, _, _, status]) => {
                put(*function, null_mut::<c_void>());
                put(*status, Found::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
            }
            // An image of no bytes.
            ("cuLinkComplete", [_, image, bytes]) => {
                put(*image, null_mut::<c_void>());
                put(*bytes, 0_usize);
            }
            // Other programs have taken all memory.
            ("cuMemGetInfo_v2", [free, _]) => put(*free, 0_usize),
            // Not one block fits.
            (_, [blocks, ..]) if function.starts_with("cuOccupancyMaxActiveBlocks") => {
                put(*blocks, 0 as c_int)
            }
            _ => {}
        }
    }
}

/// Writes a result where the program wants one.
///
/// # Safety
///
/// 1. The word is null, or the address of an aligned place for a value of that type, which nothing else uses during the call.
unsafe fn put<T>(word: u64, value: T) {
    let place = place::<T>(word);
    if !place.is_null() {
        // SAFETY: not null, so an aligned place for the type, which nothing else uses, by duty 1.
        unsafe { place.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions;

    #[test]
    fn all_are_functions_of_the_api() {
        for name in SHORT.iter().chain(MALFORMED) {
            assert_eq!(functions::named(name).map(|function| function.name), Some(*name));
        }
    }
}
