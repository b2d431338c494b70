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

/// Remembers the call; the first one of each function is reported, with what to do instead.
fn refuse(name: &'static str, instead: &dyn Fn() -> String) -> CUresult {
    call(name, Rule::Always, &mut |call| {
        let mut called = lock(&CALLED);
        if !called.contains(&call.name) {
            called.push(call.name);
            // Programs request undocumented tables, and continue without them.
            if call.name != "cuGetExportTable" {
                let name = call.name;
                super::report::line(format_args!(
                    "{name} is not emulated: CUDA_ERROR_NOT_SUPPORTED; {}",
                    instead()
                ));
            }
        }
        Err(NOT_SUPPORTED)
    })
}

/// For a function of the table.
fn refuse_row(name: &'static str) -> CUresult {
    refuse(name, &|| instead(name).to_owned())
}

/// For a symbol that is not in the table, and the one that programs of today call.
pub fn refuse_export(symbol: &'static str, newest: &'static str) -> CUresult {
    refuse(symbol, &|| {
        if symbol == newest {
            return instead(symbol).to_owned();
        }
        format!(
            "it is an older ABI (before CUDA 3.2, with 32-bit addresses), replaced by {newest}: build against a newer cuda.h, \
             or look that symbol up"
        )
    })
}

/// The alternative for a program that needs a function.
fn instead(name: &str) -> &'static str {
    let starts = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    if starts(&["cuGraphics", "cuGL", "cuEGL", "cuVDPAU", "cuEventCreateFromEGL"]) {
        "the emulated device has no graphics: copy through host memory"
    } else if starts(&["cuIpc"]) {
        "processes share memory and events only on Linux: use one process, or host memory"
    } else {
        "avoid it if possible, or run this part on a GPU"
    }
}

macro_rules! stubs {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        $(
            #[allow(unsafe_code, non_snake_case, clippy::too_many_arguments, reason = "a C function")]
            unsafe extern "C" fn $name($(_: $type),*) -> CUresult {
                refuse_row(stringify!($name))
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
