//! The functions of the tables of instances: one of each per slot.
//!
//! A C function has no context, so the slot is part of the function. A shim is a few instructions: it passes its arguments and the
//! number of its slot on to a body, of which there is one for each driver function. The body enters the slot and calls the function
//! that the process's table has.
//!
//! Relies on: the callers of a shim uphold the duties of callers of the driver's function: C1 to C8 in `entry`, and that handles belong
//! to this instance. A shim passes the arguments on unchanged, and its call lasts as long.
#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "C names")]
#![allow(clippy::too_many_arguments, reason = "C functions")]

use cuda_driver_sys::{CUresult, FUNCTIONS, pfn};
use std::ffi::c_void;

use super::slot::INSTANCES;
use super::{profiler, slot_use};

/// The functions that the main header does not have.
const OTHERS: [&str; 2] = ["cuProfilerStart", "cuProfilerStop"];

/// The addresses of one slot's shims: in the order of [`FUNCTIONS`], then the [`OTHERS`].
struct Shims([*const c_void; FUNCTIONS.len()], [*const c_void; OTHERS.len()]);

// SAFETY: only pointers prevent this from being `Sync` automatically: addresses of functions, which are the same on every thread and are
// neither changed nor read through; any thread may call the functions.
unsafe impl Sync for Shims {}

/// The result of a call after the end of its instance.
const ENDED: CUresult = CUresult::CUDA_ERROR_DEINITIALIZED;

macro_rules! shims {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        /// The bodies, which all shims of a function call.
        mod bodies {
            use super::{CUresult, ENDED};
            use crate::driver::{slot_use, lookup};
            $(
                #[inline(never)]
                pub(super) unsafe extern "C" fn $name($($argument: $type,)* slot: usize) -> CUresult {
                    let Some(_visit) = slot_use::visit(slot) else { return ENDED };
                    // SAFETY: the caller's own arguments, in the same order and for the same duration. The caller upholds the duties of the
                    // other function (the head of this file). `_visit` keeps the instance until it returns.
                    unsafe { lookup::shared().$name($($argument),*) }
                }
            )*
        }

        mod functions {
            use super::{CUresult, bodies};
            $(
                pub(super) unsafe extern "C" fn $name<const SLOT: usize>($($argument: $type),*) -> CUresult {
                    // SAFETY: the caller's own arguments, in the same order and for the same duration; the body has the same duties
                    // as this function.
                    unsafe { bodies::$name($($argument,)* SLOT) }
                }
            )*
        }

        /// The shims of a slot; the compiler compares each with the function's type.
        const fn of_slot<const SLOT: usize>() -> Shims {
            Shims(
                [$({
                    let function: pfn::$name = functions::$name::<SLOT>;
                    function as *const c_void
                }),*],
                [start::<SLOT> as *const c_void, stop::<SLOT> as *const c_void],
            )
        }
    };
}
cuda_driver_sys::for_each_function!(shims);

extern "C" fn start<const SLOT: usize>() -> CUresult {
    slot_use::visit(SLOT).map_or(ENDED, |_visit| profiler::start())
}

extern "C" fn stop<const SLOT: usize>() -> CUresult {
    slot_use::visit(SLOT).map_or(ENDED, |_visit| profiler::stop())
}

/// Those of slot 1 are the first.
static ALL: [Shims; INSTANCES] = [
    of_slot::<1>(),
    of_slot::<2>(),
    of_slot::<3>(),
    of_slot::<4>(),
    of_slot::<5>(),
    of_slot::<6>(),
    of_slot::<7>(),
    of_slot::<8>(),
    of_slot::<9>(),
    of_slot::<10>(),
    of_slot::<11>(),
    of_slot::<12>(),
    of_slot::<13>(),
    of_slot::<14>(),
    of_slot::<15>(),
    of_slot::<16>(),
];

/// The shim of an instance's slot for that exact symbol; null if there is none.
pub(super) fn address(slot: usize, symbol: &str) -> *const c_void {
    let shims = slot.checked_sub(1).and_then(|index| ALL.get(index));
    let found = shims.and_then(|Shims(functions, others)| {
        match FUNCTIONS.binary_search_by_key(&symbol, |function| function.name()) {
            Ok(index) => functions.get(index),
            Err(_) => OTHERS.iter().zip(others).find(|(name, _)| **name == symbol).map(|(_, shim)| shim),
        }
    });
    found.copied().unwrap_or(std::ptr::null())
}
