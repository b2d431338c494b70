//! The functions that a spy's table has: one of each per slot.
//!
//! A C function has no context, so the slot of the spy is part of the function. A shim is a few instructions: it passes its
//! arguments and the number of its slot on to a body, of which there is one for each driver function.
//!
//! Relies on: callers uphold the contract of the driver's functions, which is that of the shims; each shim has the type of the
//! function with its name, which the compiler checks; and a slot belongs to one layer as long as any of its drivers exists, because
//! they own the lease.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, non_snake_case, reason = "C names")]
#![allow(clippy::too_many_arguments, reason = "C functions")]

use crate::intercept::spied;
use crate::slots::{Lease, SLOTS};
use crate::word::Word;
use cuda_driver_sys::{CUresult, Driver, FUNCTIONS, pfn};
use std::ffi::{CStr, c_void};
use std::ptr::null;
use std::sync::Arc;

/// The addresses of one slot's shims, in the order of [`FUNCTIONS`].
struct Shims([*const c_void; FUNCTIONS.len()]);

// SAFETY: the addresses are those of functions, forever; they are set when this is compiled, and only read.
unsafe impl Sync for Shims {}

macro_rules! shims {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        /// Where each function is in [`FUNCTIONS`].
        #[derive(Clone, Copy)]
        #[repr(u16)]
        enum Place {
            $($name,)*
        }

        /// What all shims of a function call.
        mod bodies {
            use super::{CUresult, Place, Word, spied};
            $(
                #[inline(never)]
                pub(super) unsafe extern "C" fn $name($($argument: $type,)* slot: usize) -> CUresult {
                    let words = [$($argument.word()),*];
                    // SAFETY: 1: the words are the caller's own arguments of this function, whose contract the caller
                    // keeps. It is that of the base's function of this name too, which gets the same arguments.
                    unsafe { spied(slot, Place::$name as usize, &words, &mut |base| base.$name($($argument),*)) }
                }
            )*
        }

        mod shims {
            use super::{CUresult, bodies};
            $(
                pub(super) unsafe extern "C" fn $name<const SLOT: usize>($($argument: $type),*) -> CUresult {
                    // SAFETY: the body's contract is this one's, which the caller keeps: that of the driver's function; the arguments are its own.
                    unsafe { bodies::$name($($argument,)* SLOT) }
                }
            )*
        }

        /// The shims of a slot; the compiler compares each with the function's type.
        const fn of_slot<const SLOT: usize>() -> Shims {
            Shims([$({
                let function: pfn::$name = shims::$name::<SLOT>;
                function as *const c_void
            }),*])
        }
    };
}
cuda_driver_sys::for_each_function!(shims);

static ALL: [Shims; SLOTS] = [
    of_slot::<0>(),
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
];

/// The shim of a slot for the function at `index` of [`FUNCTIONS`].
pub(crate) fn address(slot: usize, index: usize) -> *const c_void {
    ALL.get(slot).and_then(|shims| shims.0.get(index)).copied().unwrap_or(std::ptr::null())
}

/// The driver of a layer, with the functions that it has, in the order of [`FUNCTIONS`].
pub(crate) fn driver(lease: Lease, has: &[bool]) -> Arc<Driver> {
    let slot = lease.slot();
    let lookup = |symbol: &CStr| {
        let name = symbol.to_str().ok();
        let place = name.and_then(|name| FUNCTIONS.binary_search_by_key(&name, |f| f.name()).ok());
        let place = place.filter(|place| has.get(*place) == Some(&true));
        place.map_or(null(), |place| address(slot, place))
    };
    // SAFETY: 1: each name is given the shim of its type, which does what the base does or returns an error: `Spy::inject` takes no
    // `CUDA_SUCCESS` for a call that is not made, and only `Fault::malformed` gives results that no document promises, to code that
    // checks them by duty 1 of that function. 2: they are functions of this program, callable forever; the slot is this layer's as
    // long as the driver owns the lease, which `with_owner` takes from no clone.
    Arc::new(unsafe { Driver::from_lookup(lookup) }.with_owner(Arc::new(lease)))
}
