//! Exports of a driver besides the functions of the table: older ABIs, and the variants whose NULL stream is the thread's
//! own.
//!
//! Relies on: the callers of a symbol uphold the duties for the function that it stands for (C1 to C8 in `entry`). A row of
//! `for_each_export!` has the symbol's parameters in the header, and the function that is called for it has the same parameters.

use cuda_driver_sys::{CUresult, FUNCTIONS};
use std::ffi::c_void;

use super::lookup::{driver, table_address};
use super::{default_stream, older_abi, state, unimplemented};

/// A symbol of a driver's library.
pub(super) struct Export {
    symbol: &'static str,
    /// The name for `cuGetProcAddress`.
    name: &'static str,
    since: u32,
    /// Its NULL stream is the thread's own.
    per_thread: bool,
    /// The function of the table that it is.
    same: Option<&'static str>,
}

impl Export {
    /// The exact symbol.
    pub(super) fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// Its name in the table; its symbol if the table does not have it.
    pub(super) fn in_table(&self) -> &'static str {
        self.same.unwrap_or(self.symbol)
    }
}

macro_rules! exports {
    ($($symbol:ident($($argument:ident: $type:ty),*) $since:literal $name:literal $default:ident $how:ident $target:ident;)*) => {
        $(form! { $default $how $target $symbol($($argument: $type),*) })*

        /// Every symbol.
        const EXPORTS: &[Export] = &[$(Export {
            symbol: stringify!($symbol),
            name: $name,
            since: $since,
            per_thread: matches!(stringify!($default).as_bytes(), b"per_thread"),
            same: same!($default $how $target),
        },)*];

        /// The function of a symbol, whatever its version.
        fn any_address(symbol: &str) -> *const c_void {
            match symbol {
                $(stringify!($symbol) => form_address!($default $how $target $symbol),)*
                _ => std::ptr::null(),
            }
        }
    };
}

/// The function of the table that a row is.
macro_rules! same {
    (legacy same $target:ident) => {
        Some(stringify!($target))
    };
    ($default:ident $how:ident $target:ident) => {
        None
    };
}

/// The function of a row, unless that is one of the table.
macro_rules! form {
    (legacy same $($rest:tt)*) => {};
    (per_thread same $target:ident $symbol:ident($($argument:ident: $type:ty),*)) => {
        #[allow(unsafe_code, non_snake_case, clippy::too_many_arguments, reason = "a C function")]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            // SAFETY: the caller's own arguments, in the same order and for the same duration. The caller upholds the duties of the other
            // function (the head of this file), because the two differ only in the meaning of NULL as a stream.
            default_stream::on_own_stream(|| unsafe { driver().$target($($argument),*) })
        }
    };
    (legacy adapted $target:ident $symbol:ident($($argument:ident: $type:ty),*)) => {
        #[allow(unsafe_code, non_snake_case, reason = "a C function")]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            // SAFETY: the caller's own arguments, in the same order and for the same duration. The caller upholds the duties of the older
            // form (the head of this file).
            unsafe { older_abi::$target(&driver() $(, $argument)*) }
        }
    };
    (per_thread adapted $target:ident $symbol:ident($($argument:ident: $type:ty),*)) => {
        #[allow(unsafe_code, non_snake_case, reason = "a C function")]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            // SAFETY: the caller's own arguments, in the same order and for the same duration. The caller upholds the duties of the older
            // form (the head of this file).
            default_stream::on_own_stream(|| unsafe { older_abi::$target(&driver() $(, $argument)*) })
        }
    };
    ($default:ident refused $target:ident $symbol:ident()) => {
        // It has no parameters: in the calling conventions of C the caller removes its own arguments, and this function
        // ignores them.
        #[allow(non_snake_case, reason = "a C function")]
        extern "C" fn $symbol() -> CUresult {
            unimplemented::refuse_export(stringify!($symbol), stringify!($target))
        }
    };
}

/// The address of the function of a row.
macro_rules! form_address {
    (legacy same $target:ident $symbol:ident) => {
        table_address(stringify!($target))
    };
    ($default:ident $how:ident $target:ident $symbol:ident) => {
        $symbol as *const c_void
    };
}
cuda_driver_sys::for_each_export!(exports);

/// The emulator's function for that exact symbol; null if driver 580 has none.
///
/// For code that provides the functions itself, as the shared library does. It knows every symbol that driver 580 exports for the public
/// headers, older ABIs and functions whose NULL stream is the thread's own (`_ptsz`, `_ptds`) included; and the names of
/// [`cuda_driver_sys::FUNCTIONS`], where these are not the symbols.
pub fn symbol_address(symbol: &str) -> *const c_void {
    let known = EXPORTS.binary_search_by_key(&symbol, |export| export.symbol).ok();
    match known.and_then(|at| EXPORTS.get(at)) {
        Some(export) if is_there(export) => any_address(symbol),
        Some(_) => std::ptr::null(),
        // `cuMemAdvise_v1`, whose symbol is `cuMemAdvise`.
        None if FUNCTIONS.iter().any(|function| function.name() == symbol) => table_address(symbol),
        None => std::ptr::null(),
    }
}

/// Whether the emulated driver has it.
fn is_there(export: &Export) -> bool {
    export.since <= state::version() as u32
}

/// The result of a lookup.
pub(super) enum Found {
    Symbol(&'static Export),
    /// It was introduced after the program's version.
    Later,
    Nothing,
}

/// A name that means another function to programs of that version and later: `cuda.h` of 12.0 says so.
const RENAMED: (&str, u32, &str) = ("cuGraphInstantiate", 12_000, "cuGraphInstantiateWithFlags");

/// Finds a function by its unversioned name and the CUDA version that the program was written for: the newest ABI that
/// is not newer than that, and of that the form whose NULL stream is the thread's own, if that is asked and there is one.
///
/// A negative version is any.
pub(super) fn find(name: &str, version: i32, per_thread: bool) -> Found {
    let limit = u32::try_from(version).unwrap_or(u32::MAX);
    let (old, since, new) = RENAMED;
    let name = if name == old && limit >= since { new } else { name };
    let named = || EXPORTS.iter().filter(|export| export.name == name && is_there(export));
    let newest = |per_thread| {
        let fits = |export: &&Export| export.since <= limit && export.per_thread == per_thread;
        named().filter(fits).max_by_key(|export| export.since)
    };
    match newest(per_thread).or_else(|| newest(false)) {
        Some(export) => Found::Symbol(export),
        None if named().next().is_some() => Found::Later,
        None => Found::Nothing,
    }
}
