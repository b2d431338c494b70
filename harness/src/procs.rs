//! Calls in which a driver describes itself: its version, and `cuGetProcAddress`.
//!
//! Relies on: the caller keeps the contract of the function, and the call succeeded.
#![allow(unsafe_code)]

use crate::functions::{self, Function};
use crate::read;
use crate::shims;
use cuda_driver_sys::{ALIASES, CUdriverProcAddressQueryResult as Found, FUNCTIONS};
use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// Makes the answer that of the layer's driver: not newer than its version, and with the functions of its own slot.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function, whose contract holds, and which succeeded.
pub(crate) unsafe fn adjust(
    slot: usize,
    has: &[bool],
    most: Option<u32>,
    function: &Function,
    words: &[u64],
) {
    match (function.name, words) {
        ("cuDriverGetVersion", [version]) => {
            let Some(most) = most.and_then(|version| c_int::try_from(version).ok()) else { return };
            let place = with_exposed_provenance_mut::<c_int>(*version as usize);
            // SAFETY: the program's aligned place for a number, which nothing else uses before the call returns; the
            // driver has just written one there: duty 1.
            unsafe { place.write((*place).min(most)) };
        }
        // The first has no status.
        ("cuGetProcAddress_v1" | "cuGetProcAddress_v2", [name, found, version, flags, rest @ ..]) => {
            // SAFETY: 1: a C string that nothing writes during the call, by duty 1.
            let name = unsafe { read::text(*name) }.unwrap_or_default();
            let place = with_exposed_provenance_mut::<*mut c_void>(*found as usize);
            // SAFETY: the program's aligned place for a pointer, which nothing else uses before the call returns; the
            // driver has just written one there, or null: duty 1.
            let address = unsafe { *place };
            // Functions whose default stream is the thread's own have no shims.
            if address.is_null() || flags & 2 != 0 {
                return;
            }
            let Some(index) = which(&name, *version as c_int) else { return };
            if has.get(index) == Some(&true) {
                // SAFETY: the place that was just read, by duty 1 good for a write too. The shim is the function of that name,
                // of the type that `shims` compares, and callable forever.
                unsafe { place.write(shims::address(slot, index).cast_mut()) };
                return;
            }
            let status = rest.first().copied().unwrap_or_default();
            let status = with_exposed_provenance_mut::<Found>(status as usize);
            // SAFETY: the first is the place of above; the second is null, as is compared, or the program's aligned
            // place for the status, which nothing else uses before the call returns, by duty 1.
            unsafe {
                place.write(null_mut());
                if !status.is_null() {
                    status.write(Found::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
                }
            }
        }
        _ => {}
    }
}

/// The function that a driver finds for a program of that version: the newest that is not newer, if it is one of the list.
fn which(name: &str, version: c_int) -> Option<usize> {
    // Driver 580 takes a negative version for any.
    let limit = u32::try_from(version).unwrap_or(u32::MAX);
    let found =
        (0..FUNCTIONS.len()).filter_map(|index| functions::at(index).map(|function| (index, function)));
    let found = found.filter(|(_, function)| function.since <= limit && is_called(function.name, name));
    found.max_by_key(|(_, function)| function.since).map(|(index, _)| index)
}

/// Whether programs ask for a function by that name: its symbol without the number of the ABI, or the header's alias.
fn is_called(symbol: &str, name: &str) -> bool {
    let is_number = |(_, number): &(&str, &str)| number.bytes().all(|digit| digit.is_ascii_digit());
    let base = symbol.rsplit_once("_v").filter(is_number).map_or(symbol, |(base, _)| base);
    base == name || ALIASES.binary_search(&(name, symbol)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_function_that_is_old_enough_is_found() {
        let found =
            |name, version| which(name, version).and_then(functions::at).map(|function| function.name);
        assert_eq!(found("cuMemAlloc", 12_000), Some("cuMemAlloc_v2"));
        assert_eq!(found("cuMemAlloc", 3_000), None);
        assert_eq!(found("cuGraphAddNode", 13_000), Some("cuGraphAddNode_v2"));
        assert_eq!(found("cuMemAdvise", 11_080), Some("cuMemAdvise_v1"));
        assert_eq!(found("cuMulticastBindMem", 12_010), Some("cuMulticastBindMem"));
        assert_eq!(found("cuMulticastBindMem", 13_010), Some("cuMulticastBindMem_v2"));
        assert_eq!(found("cuNothing", 13_000), None);
    }
}
