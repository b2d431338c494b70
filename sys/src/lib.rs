//! The CUDA driver API for Rust: all of its types, and its functions as a table that is loaded at run time.
//!
//! This is the raw layer: C names, C signatures, no policy. Nothing is linked and there is no build script, so it
//! builds without CUDA, and one build works with every driver: calling a function that a driver does not have returns
//! an ordinary error code.
//!
//! # Three ways to get a driver
//!
//! - [`Driver::system`] finds the driver of this machine.
//! - [`Driver::open`] loads it from a library that you name.
//! - [`Driver::from_lookup`] uses functions that you provide: an emulator, a fault injector, a call recorder. This one
//!   runs under Miri.
//!
//! ```
//! use cuda_driver_sys::{CUresult, Driver, pfn};
//! use std::ffi::{CStr, c_int, c_void};
//!
//! // A driver of two functions. Assigning to the `pfn` types lets the compiler check the signatures.
//! unsafe extern "C" fn init(_flags: u32) -> CUresult {
//!     CUresult::SUCCESS
//! }
//! unsafe extern "C" fn version(version: *mut c_int) -> CUresult {
//!     unsafe { *version = 12040 };
//!     CUresult::SUCCESS
//! }
//! let (init, version): (pfn::cuInit, pfn::cuDriverGetVersion) = (init, version);
//! let lookup = |symbol: &CStr| match symbol.to_bytes() {
//!     b"cuInit" => init as *const c_void,
//!     b"cuDriverGetVersion" => version as *const c_void,
//!     _ => std::ptr::null(),
//! };
//!
//! // SAFETY: 1: the functions have the signatures of the driver functions with these names, and write only what those
//! // document; 2: they are functions of this program, so they are never unloaded.
//! let driver = unsafe { Driver::from_lookup(lookup) };
//! assert_eq!(unsafe { driver.cuInit(0) }, CUresult::SUCCESS);
//! assert_eq!(driver.version(), Ok(12040));
//!
//! // Calling a function that the driver lacks returns an error; `has` tells beforehand.
//! let mut memory = 0;
//! let result = unsafe { driver.cuMemAlloc(&mut memory, 1024) };
//! assert_eq!(format!("{result:?}"), "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER (36)");
//! assert!(!driver.has("cuMemAlloc"));
//! ```
//!
//! With a driver on the machine, start from [`Driver::system`]; the rest is the same:
//!
//! ```
//! use cuda_driver_sys::Driver;
//!
//! match Driver::system() {
//!     Ok(driver) => println!("{} serves CUDA {:?}", driver.origin(), driver.version()),
//!     Err(error) => println!("{error}"), // every name tried, and why each failed
//! }
//! ```
//!
//! # Names and versions
//!
//! The header renames functions as their signatures change: C programs write `cuMemAlloc` and get the symbol
//! `cuMemAlloc_v2`. Here both are methods with the same meaning ([`ALIASES`]); only the exact symbol is ever looked up,
//! so that a function is never called with another version's signature (where only the name is new, as that of
//! `cuEventElapsedTime_v2`, the older one serves too). [`FUNCTIONS`] lists the driver version that introduced each
//! symbol, and [`for_each_function!`] passes the whole list to your own macro.
//!
//! Enums are non-exhaustive: [`CUresult`] and the others are integers with named constants, because a driver newer than
//! the header returns values that the header does not know. Types have the names of the API (`CUlaunchConfig`), not
//! those of C's tags (`CUlaunchConfig_st`), and nested ones are named by their field
//! (`CUlaunchAttributeValue_clusterDim`).
//!
//! # What is not bound
//!
//! - `_ptsz` and `_ptds` functions: pass [`CU_STREAM_PER_THREAD`] to the plain ones instead.
//! - Versions of functions that no driver since CUDA 11.8 has as its newest. Those that some have are here: `cuCtxCreate_v3`, and
//!   `cuMemAdvise_v1`, whose symbol in a driver is `cuMemAdvise`.
//! - The OpenGL, EGL, VDPAU and profiler headers, and the run-time API.
//!
//! A library that stands in for a driver has to export these too (except for the run-time API): [`for_each_export!`] lists all.
//!
//! # Run-time compilers
//!
//! Features `nvrtc`, `nvjitlink` and `nvvm` bind the three libraries that compile and link device code, loaded in the
//! same way: `Compiler::open`. They need no driver. A function that a library does not have returns an error,
//! `Missing`.
//!
//! # Safety
//!
//! Calling the driver is calling C: see [`Driver`]. Loading it is safe provided that the library is what its name says.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The example from the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod compiler;
mod consts;
mod driver;
mod loader;
#[doc(hidden)]
pub mod process;
mod ptx_version;
mod result;
mod since;
mod table;

/// Made by `cargo xtask bindgen`; see `bindgen.toml`.
mod generated {
    mod exports;
    mod functions;
    pub(crate) mod methods;
    pub(crate) mod names;
    #[allow(
        missing_docs,
        reason = "the header's comments are NVIDIA's text: look the names up in its documentation"
    )]
    #[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "C names")]
    #[allow(
        unsafe_code,
        clippy::undocumented_unsafe_blocks,
        reason = "`Default` of structs with pointers: all zero bytes"
    )]
    pub(crate) mod types;

    // bindgen's tables of the run-time compilers.
    #[cfg(feature = "nvjitlink")]
    #[allow(missing_docs, reason = "as above")]
    #[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "C names")]
    #[allow(
        unsafe_code,
        clippy::undocumented_unsafe_blocks,
        reason = "as above; and the calls of the table's methods"
    )]
    pub(crate) mod nvjitlink;
    #[cfg(feature = "nvrtc")]
    #[allow(missing_docs, reason = "as above")]
    #[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "C names")]
    #[allow(
        unsafe_code,
        clippy::undocumented_unsafe_blocks,
        reason = "as above; and the calls of the table's methods"
    )]
    pub(crate) mod nvrtc;
    #[cfg(feature = "nvvm")]
    #[allow(missing_docs, reason = "as above")]
    #[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "C names")]
    #[allow(
        unsafe_code,
        clippy::undocumented_unsafe_blocks,
        reason = "as above; and the calls of the table's methods"
    )]
    pub(crate) mod nvvm;
}

#[cfg(feature = "nvjitlink")]
pub use compiler::nvjitlink;
#[cfg(feature = "nvrtc")]
pub use compiler::nvrtc;
#[cfg(feature = "nvvm")]
pub use compiler::nvvm;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
pub use compiler::{Compiler, Missing, Table, preload};
pub use consts::*;
pub use driver::{Driver, Origin};
pub use generated::types::*;
pub use loader::{Attempt, LoadError, Reason, open_library, system_names};
pub use ptx_version::newest_ptx;
pub use since::value_since;
pub use table::{FUNCTIONS, FunctionInfo, pfn};

/// The header's unversioned names, ascending, each with the symbol that it stands for: `("cuMemAlloc",
/// "cuMemAlloc_v2")`.
///
/// Drivers export most of these names too, but as older functions with another signature: never look one up as a symbol.
pub const ALIASES: &[(&str, &str)] = generated::names::ALIASES;
