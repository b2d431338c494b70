//! Kernel files that are found by name or by how they begin, and compilers that are not there or too old.

#![allow(unsafe_code)] // A library of Rust functions: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, child, folder, is_child, nvrtc, passes};
use cuda_launch::compile::{CodeKind, CudaSource, Nvrtc, NvrtcOptions, Nvvm, NvvmIr, NvvmOptions};
use cuda_launch::error::CompileError;
use cuda_launch::module::JitTarget;
use cuda_launch::sys::nvrtc::{nvrtcProgram, nvrtcResult};
use cuda_launch::sys::nvvm::{nvvmProgram, nvvmResult};
use cuda_launch::{CudaContext, ErrorKind, load_kernel_file, load_kernel_module, sys};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

const VECADD: &str = include_str!("../examples/kernels/vecadd.cu");

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
    assert_eq!(text.matches("/surely").count(), 1, "the system's message repeats the name: {text}");
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
    // SAFETY: `Nvrtc` calls it as `nvrtcVersion`, whose outputs are places for a number each.
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
unsafe extern "C" fn compile(_: nvrtcProgram, count: c_int, options: *const *const c_char) -> nvrtcResult {
    // SAFETY: `Nvrtc` calls it as `nvrtcCompileProgram`: `options` has `count` texts that end in NUL, and `i` is below `count`.
    let text =
        |i: c_int| unsafe { CStr::from_ptr(*options.offset(i as isize)) }.to_str().unwrap().to_string();
    OPTIONS.set((0..count).map(text).collect());
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn count_archs(count: *mut c_int) -> nvrtcResult {
    // SAFETY: `Nvrtc` calls it as `nvrtcGetNumSupportedArchs`, whose output is a place for one number.
    unsafe { *count = 2 };
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn archs(archs: *mut c_int) -> nvrtcResult {
    // SAFETY: `Nvrtc` calls it as `nvrtcGetSupportedArchs`, whose output has room for as many numbers as `count_archs` said: two.
    unsafe { archs.cast::<[c_int; 2]>().write([50, 61]) };
    nvrtcResult::SUCCESS
}

thread_local! {
    /// What `compile` was given last on this thread.
    static OPTIONS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// An NVRTC of before cubins and LTO IR.
fn old(knows_archs: bool) -> Nvrtc {
    let lookup = |symbol: &CStr| match symbol.to_bytes() {
        b"nvrtcVersion" => version as *const c_void,
        b"nvrtcCreateProgram" => create as *const c_void,
        b"nvrtcCompileProgram" => compile as *const c_void,
        b"nvrtcGetNumSupportedArchs" if knows_archs => count_archs as *const c_void,
        b"nvrtcGetSupportedArchs" if knows_archs => archs as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: 1: the functions above have the signatures of the header's names they are given for; 2: they are code of this
    // program.
    Nvrtc::with_library(unsafe { sys::nvrtc::Nvrtc::from_lookup(lookup) }).unwrap()
}

#[test]
fn a_library_that_is_too_old_is_told_with_what_it_lacks() {
    let nvrtc = old(false);
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

/// PTX for the newest architecture that compiler and device know; of a cubin there is none.
#[test]
fn a_device_newer_than_the_compiler_gets_older_ptx() {
    let (nvrtc, ctx) = (old(true), CudaContext::new(0).unwrap());
    assert_eq!(nvrtc.architectures(), [50, 61]);
    // It has no function for the output, but was asked to compile before.
    assert!(
        nvrtc.compile(&CudaSource::new(""), &NvrtcOptions::for_context(&ctx)).unwrap_err().is_no_compiler()
    );
    assert_eq!(OPTIONS.take(), ["--gpu-architecture=compute_61"]);
    let options = NvrtcOptions::for_context(&ctx).output(CodeKind::Cubin);
    let error = nvrtc.compile(&CudaSource::new(""), &options).unwrap_err();
    assert!(error.to_string().contains("it supports 50, 61"), "{error}");
    assert!(OPTIONS.take().is_empty());
}

unsafe extern "C" fn endless(_: nvrtcProgram, bytes: *mut usize) -> nvrtcResult {
    // SAFETY: `Nvrtc` calls it as `nvrtcGetPTXSize`, whose output is a place for one number.
    unsafe { *bytes = usize::MAX };
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn nothing(_: nvrtcProgram, _: *mut c_char) -> nvrtcResult {
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn added(_: nvrtcProgram, _: *const c_char) -> nvrtcResult {
    nvrtcResult::SUCCESS
}
unsafe extern "C" fn nameless(_: nvrtcProgram, _: *const c_char, _: *mut *const c_char) -> nvrtcResult {
    nvrtcResult::SUCCESS
}

#[test]
fn what_no_compiler_answers_is_an_error() {
    let lookup = |symbol: &CStr| match symbol.to_bytes() {
        b"nvrtcVersion" => version as *const c_void,
        b"nvrtcCreateProgram" => create as *const c_void,
        b"nvrtcAddNameExpression" => added as *const c_void,
        b"nvrtcCompileProgram" => compile as *const c_void,
        b"nvrtcGetLoweredName" => nameless as *const c_void,
        b"nvrtcGetPTXSize" => endless as *const c_void,
        b"nvrtcGetPTX" => nothing as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: 1: the functions above have the signatures of the header's names they are given for; 2: they are code of this
    // program.
    let nvrtc = Nvrtc::with_library(unsafe { sys::nvrtc::Nvrtc::from_lookup(lookup) }).unwrap();
    let options = NvrtcOptions::new(JitTarget::sm(80)).output(CodeKind::Ptx);
    let refused = |source: CudaSource| nvrtc.compile(&source, &options).unwrap_err().to_string();
    let text = refused(CudaSource::new(""));
    assert!(
        text.contains("nvrtcGetPTXSize") && text.contains("more bytes than there is memory for"),
        "{text}"
    );
    let text = refused(CudaSource::new("").expression("f<int>"));
    assert!(text.contains("nvrtcGetLoweredName"), "{text}");
}

/// A libNVVM that knows `compute_52` and no other.
mod old_nvvm {
    use super::*;

    unsafe extern "C" fn version(major: *mut c_int, minor: *mut c_int) -> nvvmResult {
        // SAFETY: `Nvvm` calls it as `nvvmVersion`, whose outputs are places for a number each.
        unsafe { (*major, *minor) = (2, 0) };
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn create(program: *mut nvvmProgram) -> nvvmResult {
        // SAFETY: `Nvvm` calls it as `nvvmCreateProgram`, whose output is a place for a handle; only functions here get it, and
        // none follows it.
        unsafe { *program = std::ptr::dangling_mut() };
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn destroy(_: *mut nvvmProgram) -> nvvmResult {
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn add(_: nvvmProgram, _: *const c_char, _: usize, _: *const c_char) -> nvvmResult {
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn compile(_: nvvmProgram, count: c_int, options: *const *const c_char) -> nvvmResult {
        // SAFETY: `Nvvm` calls it as `nvvmCompileProgram`: `options` has `count` texts that end in NUL, and `i` is below `count`.
        let text = |i: c_int| unsafe { CStr::from_ptr(*options.offset(i as isize)) }.to_str().unwrap();
        match (0..count).any(|i| text(i) == "-arch=compute_52") {
            true => nvvmResult::SUCCESS,
            false => nvvmResult::NVVM_ERROR_INVALID_OPTION,
        }
    }
    const LOG: &CStr = c"libnvvm : error: -arch= has an unsupported value";
    unsafe extern "C" fn log_size(_: nvvmProgram, size: *mut usize) -> nvvmResult {
        // SAFETY: `Nvvm` calls it as `nvvmGetProgramLogSize`, whose output is a place for one number.
        unsafe { *size = LOG.count_bytes() + 1 };
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn log(_: nvvmProgram, text: *mut c_char) -> nvvmResult {
        // SAFETY: `text` is the caller's buffer of as many bytes as `log_size` said: those of `LOG` with its NUL.
        unsafe { text.copy_from(LOG.as_ptr(), LOG.count_bytes() + 1) };
        nvvmResult::SUCCESS
    }
    const PTX: &CStr = c".version 7.0";
    unsafe extern "C" fn result_size(_: nvvmProgram, size: *mut usize) -> nvvmResult {
        // SAFETY: `Nvvm` calls it as `nvvmGetCompiledResultSize`, whose output is a place for one number.
        unsafe { *size = PTX.count_bytes() + 1 };
        nvvmResult::SUCCESS
    }
    unsafe extern "C" fn result(_: nvvmProgram, text: *mut c_char) -> nvvmResult {
        // SAFETY: `text` is the caller's buffer of as many bytes as `result_size` said: those of `PTX` with its NUL.
        unsafe { text.copy_from(PTX.as_ptr(), PTX.count_bytes() + 1) };
        nvvmResult::SUCCESS
    }

    pub(super) fn load() -> Nvvm {
        let lookup = |symbol: &CStr| match symbol.to_bytes() {
            b"nvvmVersion" => version as *const c_void,
            b"nvvmCreateProgram" => create as *const c_void,
            b"nvvmDestroyProgram" => destroy as *const c_void,
            b"nvvmAddModuleToProgram" => add as *const c_void,
            b"nvvmVerifyProgram" | b"nvvmCompileProgram" => compile as *const c_void,
            b"nvvmGetProgramLogSize" => log_size as *const c_void,
            b"nvvmGetProgramLog" => log as *const c_void,
            b"nvvmGetCompiledResultSize" => result_size as *const c_void,
            b"nvvmGetCompiledResult" => result as *const c_void,
            _ => std::ptr::null(),
        };
        // SAFETY: 1: the functions above have the signatures of the header's names they are given for; 2: they are code of this
        // program.
        Nvvm::with_library(unsafe { sys::nvvm::Nvvm::from_lookup(lookup) }).unwrap()
    }
}

/// The library does not tell what it knows: older architectures are tried where the device's is unknown, and only there.
#[test]
fn a_device_newer_than_libnvvm_gets_older_ptx() {
    let (nvvm, ctx) = (old_nvvm::load(), CudaContext::new(0).unwrap());
    let ir = NvvmIr::new("k.ll", "; nothing");
    assert_eq!(nvvm.compile(&ir, &NvvmOptions::for_context(&ctx)).unwrap().ptx(), Some(".version 7.0"));
    let error = nvvm.compile(&ir, &NvvmOptions::new(JitTarget::sm(80))).unwrap_err();
    assert!(error.to_string().contains("does not know the architecture"), "{error}");
}
