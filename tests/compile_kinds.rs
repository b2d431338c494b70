//! The same kernel from a file of every kind, on whichever driver: each ends in the same sum, or in one sentence that says why not.
//!
//! What a kind takes beside this program: `.ptx`, `.cubin`, `.fatbin` nothing, `.cu` NVRTC, `.ll` libNVVM, `.ltoir` nvJitLink.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, child, folder, is_child, nvjitlink, nvrtc, nvvm, on_emulator, passes};
use cuda_launch::compile::CompileCache;
use cuda_launch::{CudaContext, CudaModule, Error, load_kernel_file};
use std::path::{Path, PathBuf};

/// `vecadd` in a file of each kind, and the compiler that it takes.
const KINDS: [(&str, &[u8], Option<&str>); 6] = [
    ("ptx", include_bytes!("../examples/kernels/vecadd.ptx"), None),
    ("cubin", include_bytes!("kernels/vecadd_sm90.cubin"), None),
    ("fatbin", include_bytes!("kernels/vecadd_plain.fatbin"), None),
    ("cu", include_bytes!("../examples/kernels/vecadd.cu"), Some("NVRTC")),
    ("ll", include_bytes!("kernels/vecadd.ll"), Some("libNVVM")),
    ("ltoir", include_bytes!("kernels/vecadd.ltoir"), Some("nvJitLink")),
];

/// Writes the file of a kind and loads it.
fn load(
    ctx: &CudaContext,
    folder: &Path,
    (ending, bytes, _): &(&str, &[u8], Option<&str>),
) -> (PathBuf, Result<CudaModule, Error>) {
    let path = folder.join("vecadd").with_extension(ending);
    std::fs::write(&path, bytes).unwrap();
    let loaded = load_kernel_file(ctx, &path);
    (path, loaded)
}

/// Whether a compiler is on this machine; says so if not.
fn is_here(compiler: &str) -> bool {
    match compiler {
        "NVRTC" => nvrtc().is_some(),
        "libNVVM" => nvvm().is_some(),
        _ => nvjitlink().is_some(),
    }
}

#[test]
fn every_kind_of_file_ends_in_a_launch() {
    const TEST: &str = "every_kind_of_file_ends_in_a_launch";
    if !is_child(TEST) {
        let cache = folder("kinds-cache");
        // In a process of its own, because a variable says where the cache is.
        let told = passes(&mut child(TEST, &cache));
        print!("{told}");
        return std::fs::remove_dir_all(cache).unwrap();
    }
    let (ctx, folder) = (CudaContext::new(0).unwrap(), folder("kinds"));
    let mut compiled = 0;
    for kind in &KINDS {
        let (path, loaded) = load(&ctx, &folder, kind);
        let (ending, _, compiler) = kind;
        match loaded {
            Ok(module) => {
                adds(&module, "vecadd");
                compiled += usize::from(compiler.is_some());
                println!(".{ending}: the sum is right");
            }
            Err(error) if on_emulator(&ctx) && *ending == "cubin" => {
                let start =
                    format!("{} is a cubin; cuda-launch emulator (CPU) runs PTX only", path.display());
                assert!(error.is_unsupported() && error.to_string().starts_with(&start), "{error}");
            }
            Err(error) if error.is_no_compiler() => {
                let compiler = compiler.unwrap();
                assert!(!is_here(compiler), "{error}");
                assert!(error.to_string().starts_with(&format!("{compiler} could not be loaded")), "{error}");
            }
            // A cubin is for its generation only.
            Err(error) => assert!(*ending == "cubin" && ctx.limits().compute_capability.0 != 9, "{error}"),
        }
    }
    let cache = CompileCache::user().unwrap();
    let kept = std::fs::read_dir(cache.folder()).map_or(0, Iterator::count);
    assert_eq!(kept, compiled, "what was compiled or linked is kept");
    std::fs::remove_dir_all(folder).unwrap();
}

/// As on a machine without any of the three libraries.
#[test]
fn without_its_library_a_kind_fails_with_one_sentence() {
    const TEST: &str = "without_its_library_a_kind_fails_with_one_sentence";
    if !is_child(TEST) {
        let mut command = child(TEST, Path::new(""));
        for variable in ["CUDA_LAUNCH_NVRTC", "CUDA_LAUNCH_NVVM", "CUDA_LAUNCH_NVJITLINK"] {
            command.env(variable, "/no/such/library.so");
        }
        passes(&mut command);
        return;
    }
    let (ctx, folder) = (CudaContext::new(0).unwrap(), folder("no-libraries"));
    for kind in &KINDS {
        let (_, loaded) = load(&ctx, &folder, kind);
        let Some(compiler) = kind.2 else { continue };
        let error = loaded.unwrap_err();
        let text = error.to_string();
        assert!(error.is_no_compiler(), "{text}");
        assert!(text.starts_with(&format!("{compiler} could not be loaded")), "{text}");
        assert!(text.contains("names it: correct the variable"), "it says what to do: {text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
