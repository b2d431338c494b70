//! The functions that the emulator does not have: each says so, on standard error and in the list of
//! [`unsupported_calls`], and returns `CUDA_ERROR_NOT_SUPPORTED`.

use cuda_driver_sys::CUresult;
use std::ffi::c_void;
use std::sync::Mutex;

use super::entry::{NOT_SUPPORTED, Rule, call};
use super::slot::{PerSlot, per_slot};
use super::state::lock;

static CALLED: PerSlot<Mutex<Vec<&'static str>>> = per_slot!(Mutex::new(Vec::new()));

/// The driver functions that this process has called and that the emulator does not have, in the order of their first
/// call.
pub fn unsupported_calls() -> Vec<&'static str> {
    lock(&CALLED).clone()
}

/// Forgets the calls.
pub(super) fn clear() {
    lock(&CALLED).clear();
}

/// Remembers the call; the first one of each function is reported.
pub(super) fn refuse(name: &'static str) -> CUresult {
    call(name, Rule::Always, |call| {
        let mut called = lock(&CALLED);
        if !called.contains(&call.name) {
            called.push(call.name);
            super::report::line(format_args!("{} is not emulated: CUDA_ERROR_NOT_SUPPORTED", call.name));
        }
        Err(NOT_SUPPORTED)
    })
}

macro_rules! stubs {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        $(
            #[allow(unsafe_code, non_snake_case, clippy::too_many_arguments, reason = "a C function")]
            unsafe extern "C" fn $name($(_: $type),*) -> CUresult {
                refuse(stringify!($name))
            }
        )*

        /// The stub of a function of the API.
        pub(super) fn address(name: &str) -> *const c_void {
            match name {
                $(stringify!($name) => {
                    let stub: cuda_driver_sys::pfn::$name = $name;
                    stub as *const c_void
                })*
                _ => std::ptr::null(),
            }
        }
    };
}
cuda_driver_sys::for_each_function!(stubs);
