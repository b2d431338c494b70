//! Kernel files of every kind, and compilers that are not there or too old.

#![allow(unsafe_code)] // A library of Rust functions: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, child, folder, is_child, nvjitlink, nvrtc, nvvm, on_emulator, passes};
use cuda_launch::compile::{CodeKind, CudaSource, Nvrtc, NvrtcOptions};
use cuda_launch::sys::nvrtc::{nvrtcProgram, nvrtcResult};
use cuda_launch::{
    CompileError, CudaContext, ErrorKind, JitTarget, load_kernel_file, load_kernel_module, sys,
};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

const VECADD: &str = include_str!("../examples/kernels/vecadd.cu");

/// Writes `vecadd` in every kind into the folder.
fn write_kinds(ctx: &CudaContext, nvrtc: &Nvrtc, folder: &Path) {
    let code = |kind| {
        let options = NvrtcOptions::for_context(ctx).output(kind);
        nvrtc.compile(&CudaSource::new(VECADD), &options).unwrap().bytes().to_vec()
    };
    let kinds: [(&str, Vec<u8>); 6] = [
        ("cu", VECADD.into()),
        ("ll", include_bytes!("kernels/vecadd.ll").into()),
        ("ltoir", code(CodeKind::LtoIr)),
        ("ptx", code(CodeKind::Ptx)),
        ("cubin", code(CodeKind::Cubin)),
        ("fatbin", include_bytes!("kernels/vecadd_plain.fatbin").into()),
    ];
    for (ending, bytes) in kinds {
        std::fs::write(folder.join("vecadd").with_extension(ending), bytes).unwrap();
    }
}

/// The same sum from `.cu`, `.ll`, `.ltoir`, `.ptx`, `.cubin` and `.fatbin`.
#[test]
fn every_kind_of_file_ends_in_a_launch() {
    const TEST: &str = "every_kind_of_file_ends_in_a_launch";
    let (Some(nvrtc), Some(_), Some(_)) = (nvrtc(), nvjitlink(), nvvm()) else { return };
    if !is_child(TEST) {
        let cache = folder("kinds-cache");
        passes(&mut child(TEST, &cache));
        let kept = std::fs::read_dir(&cache).unwrap().count();
        assert_eq!(kept, 3, "what was compiled or linked is kept: .cu, .ll and .ltoir");
        return std::fs::remove_dir_all(cache).unwrap();
    }
    let (ctx, folder) = (CudaContext::new(0).unwrap(), folder("kinds"));
    write_kinds(&ctx, &nvrtc, &folder);
    for ending in ["cu", "ll", "ltoir", "ptx", "cubin", "fatbin"] {
        let path = folder.join("vecadd").with_extension(ending);
        match load_kernel_file(&ctx, &path) {
            Ok(module) => adds(&module, "vecadd"),
            Err(error) => {
                assert!(on_emulator(&ctx) && ending == "cubin", "{error}");
                let start =
                    format!("{} is a cubin; cuda-launch emulator (CPU) runs PTX only", path.display());
                assert!(error.to_string().starts_with(&start), "{error}");
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_module_is_found_by_name_as_a_source_with_a_header_beside_it() {
    const TEST: &str = "a_module_is_found_by_name_as_a_source_with_a_header_beside_it";
    if nvrtc().is_none() {
        return;
    }
    if !is_child(TEST) {
        let folder = folder("by-name");
        let text = VECADD.replace("a[i] + b[i]", "SUM(a[i], b[i])");
        std::fs::write(folder.join("by_name.cu"), format!("#include \"sum.h\"\n{text}")).unwrap();
        std::fs::write(folder.join("sum.h"), "#define SUM(a, b) (a) + (b)\n").unwrap();
        std::fs::write(folder.join("broken.cu"), "extern \"C\" __global__ void k() { x; }").unwrap();
        passes(child(TEST, &folder.join("cache")).env("CUDA_LAUNCH_KERNEL_DIR", &folder));
        return std::fs::remove_dir_all(folder).unwrap();
    }
    let ctx = CudaContext::new(0).unwrap();
    let module = load_kernel_module(&ctx, "by_name").unwrap();
    assert!(module.origin().ends_with("by_name.cu"), "{}", module.origin());
    adds(&module, "vecadd");
    let text = load_kernel_module(&ctx, "broken").unwrap_err().to_string();
    assert!(text.contains("broken.cu:1: error: identifier \"x\" is undefined"), "{text}");
}

#[test]
fn a_file_with_another_ending_is_told_by_its_beginning() {
    let (ctx, folder) = (CudaContext::new(0).unwrap(), folder("endings"));
    std::fs::write(folder.join("kernels"), include_str!("../examples/kernels/vecadd.ptx")).unwrap();
    adds(&load_kernel_file(&ctx, folder.join("kernels")).unwrap(), "vecadd");
    std::fs::write(folder.join("nothing.txt"), "some words").unwrap();
    let error = load_kernel_file(&ctx, folder.join("nothing.txt")).unwrap_err();
    assert!(error.is_invalid_image() && error.to_string().contains("nothing.txt"), "{error}");
    assert!(matches!(
        load_kernel_file(&ctx, folder.join("lost.cu")).unwrap_err().kind(),
        ErrorKind::File { .. }
    ));
    std::fs::remove_dir_all(folder).unwrap();
}

/// What `Nvrtc::load` says where the variable names this.
fn load_with(variable: &str) -> String {
    const TEST: &str = "a_missing_library_is_told_with_what_was_tried";
    passes(child(TEST, Path::new("")).env("CUDA_LAUNCH_NVRTC", variable))
}

#[test]
fn a_missing_library_is_told_with_what_was_tried() {
    if is_child("a_missing_library_is_told_with_what_was_tried") {
        let error = Nvrtc::load().unwrap_err();
        assert!(error.is_no_compiler() && !error.is_compile_error());
        return println!("{error}");
    }
    let text = load_with("/surely/not/there/libnvrtc.so.13");
    for part in
        ["NVRTC could not be loaded", "/surely/not/there/libnvrtc.so.13: ", "CUDA_LAUNCH_NVRTC names it"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let folder = folder("libraries");
    let text = load_with(folder.to_str().unwrap());
    assert!(text.contains(": no libnvrtc*") || cfg!(windows), "{text}");
    std::fs::write(folder.join("libnvrtc.so.13"), "not a library").unwrap();
    std::fs::write(folder.join("libnvrtc.so.12"), "not a library").unwrap();
    let text = load_with(folder.to_str().unwrap());
    let (new, old) = (text.find("libnvrtc.so.13: "), text.find("libnvrtc.so.12: "));
    assert!((new.is_some() && new < old) || cfg!(windows), "the newest first: {text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn another_library_is_told() {
    let text = load_with("libm.so.6");
    assert!(
        text.contains("libm.so.6: it is another library, or one that is too old: it has no nvrtcVersion"),
        "{text}"
    );
}

unsafe extern "C" fn version(major: *mut c_int, minor: *mut c_int) -> nvrtcResult {
    // SAFETY: both are good for one number.
    unsafe { (*major, *minor) = (11, 0) };
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn create(
    _: *mut nvrtcProgram,
    _: *const c_char,
    _: *const c_char,
    _: c_int,
    _: *const *const c_char,
    _: *const *const c_char,
) -> nvrtcResult {
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn compile(_: nvrtcProgram, _: c_int, _: *const *const c_char) -> nvrtcResult {
    nvrtcResult::SUCCESS
}

/// An NVRTC of before cubins and LTO IR.
fn old() -> Nvrtc {
    let lookup = |symbol: &std::ffi::CStr| match symbol.to_bytes() {
        b"nvrtcVersion" => version as *const c_void,
        b"nvrtcCreateProgram" => create as *const c_void,
        b"nvrtcCompileProgram" => compile as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: the functions have the signatures of their names, and live as long as the program.
    Nvrtc::with_library(unsafe { sys::nvrtc::Nvrtc::from_lookup(lookup) }).unwrap()
}

#[test]
fn a_library_that_is_too_old_is_told_with_what_it_lacks() {
    let nvrtc = old();
    assert_eq!((nvrtc.version(), nvrtc.architectures()), ((11, 0), &[][..]));
    for (kind, lacks, since) in [
        (CodeKind::LtoIr, "nvrtcGetLTOIRSize", "NVRTC 12.0"),
        (CodeKind::Cubin, "nvrtcGetCUBINSize", "NVRTC 11.1"),
    ] {
        let options = NvrtcOptions::new(JitTarget::sm(80)).output(kind);
        let error = nvrtc.compile(&CudaSource::new(""), &options).unwrap_err();
        assert!(error.is_no_compiler());
        assert!(matches!(
            error.kind(),
            ErrorKind::Compile(CompileError::TooOld { found: Some((11, 0)), .. })
        ));
        let text = error.to_string();
        assert!(text.starts_with(&format!("NVRTC 11.0 has no {lacks}\n")) && text.contains(since), "{text}");
    }
}
