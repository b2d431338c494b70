//! The tables of the run-time compilers, filled by hand.

#![cfg(all(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
#![allow(unsafe_code)] // Tables of Rust functions: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
use cuda_driver_sys::{Compiler, Reason};
use cuda_driver_sys::{nvjitlink, nvrtc, nvvm};
use std::ffi::c_int;

unsafe extern "C" fn version(major: *mut c_int, minor: *mut c_int) -> nvrtc::nvrtcResult {
    // SAFETY: the caller of `nvrtcVersion` gives two places for one number each.
    unsafe { (*major, *minor) = (12, 3) };
    nvrtc::nvrtcResult::SUCCESS
}

#[test]
fn a_function_that_is_missing_is_an_error_with_its_name() {
    let lookup = |symbol: &std::ffi::CStr| match symbol.to_bytes() {
        b"nvrtcVersion" => version as *const std::ffi::c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: 1: the function has the signature of its name; 2: it lives as long as the program.
    let library = unsafe { nvrtc::Nvrtc::from_lookup(lookup) };
    assert!(library.has("nvrtcVersion") && !library.has("nvrtcGetPTX") && !library.has("cuInit"));
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the function is `version`, which writes one number to each output; both outlive the call.
    let code = unsafe { library.nvrtcVersion(&mut major, &mut minor) };
    assert_eq!((code, major, minor), (Ok(nvrtc::nvrtcResult::SUCCESS), 12, 3));
    // SAFETY: the table lacks the function, so that nothing is called.
    let missing = unsafe { library.nvrtcGetPTXSize(std::ptr::null_mut(), &mut 0) }.unwrap_err();
    assert_eq!(missing.symbol, "nvrtcGetPTXSize");
}

#[test]
fn codes_have_names_and_unknown_ones_have_none() {
    assert_eq!(nvrtc::nvrtcResult(6).name(), Some("NVRTC_ERROR_COMPILATION"));
    assert_eq!(nvjitlink::nvJitLinkResult(1).name(), Some("NVJITLINK_ERROR_UNRECOGNIZED_OPTION"));
    assert_eq!(nvvm::nvvmResult(9).name(), Some("NVVM_ERROR_COMPILATION"));
    assert_eq!(nvvm::nvvmResult(4711).name(), None);
}

#[test]
fn tables_have_the_plain_names() {
    assert!(nvjitlink::Functions::NAMES.contains(&"nvJitLinkCreate"), "{:?}", nvjitlink::Functions::NAMES);
    for names in [nvrtc::Functions::NAMES, nvjitlink::Functions::NAMES, nvvm::Functions::NAMES] {
        assert!(names.len() > 10 && names.is_sorted(), "{names:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn another_library_is_none() {
    // SAFETY: 1: the C library is loaded already, so that no initialiser runs; 2: it exports no name of the table.
    let reason = unsafe { Compiler::<nvvm::Functions>::open("libc.so.6") }.unwrap_err();
    assert_eq!(reason, Reason::Lacks("nvvmVersion"));
    // SAFETY: 1, 2: there is no such file, so that nothing is loaded.
    let reason = unsafe { Compiler::<nvvm::Functions>::open("/surely/not/there.so") }.unwrap_err();
    assert!(matches!(reason, Reason::NotLoaded(_)), "{reason}");
}
