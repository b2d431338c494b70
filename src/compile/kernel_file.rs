//! Kernel files of every kind, each converted into a form that the device can run.

use cuda_ptx::image::{Image, ImageKind};
use std::path::Path;

use super::ptx_only::ptx_only;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink"))]
use super::ptx_only::takes_ptx_only;
use crate::driver::{CudaContext, CudaModule, JitOptions};
use crate::error::{Error, ErrorKind};

/// What a kernel file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Image(ImageKind),
    LtoIr,
    NvvmIr,
    Cuda,
}

/// Loads a kernel file of any kind, compiling or linking it if necessary:
///
/// | file | what is done | feature |
/// |---|---|---|
/// | `.cubin`, `.fatbin`, `.ptx` | the driver loads it | |
/// | `.ltoir` | nvJitLink links it to a cubin for the device | `nvjitlink` |
/// | `.bc`, `.ll` | libNVVM compiles it to PTX for the device, with `libdevice` if it is used | `nvvm` |
/// | `.cu` | NVRTC compiles it to a cubin for the device if it supports it, otherwise to PTX; headers are searched for next to the file | `nvrtc` |
///
/// For the emulator all of them become PTX, which is impossible for a cubin. What is compiled or linked is cached in
/// `CompileCache::user()`. A file with another extension is identified by its first bytes.
///
/// ```
/// use cuda_launch::{CudaContext, load_kernel_file};
/// let ctx = CudaContext::new(0)?;
/// let module = load_kernel_file(&ctx, concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kernels/vecadd.ptx"))?;
/// assert!(module.kernel_names().any(|name| name == "vecadd"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::File`] if it cannot be read; [`CompileError`](crate::error::CompileError) if the compiler that it needs is
/// not in this program or not on this machine, or rejects it; the errors of [`CudaContext::load_module`].
pub fn load_kernel_file(context: &CudaContext, path: impl AsRef<Path>) -> Result<CudaModule, Error> {
    let path = path.as_ref();
    let bytes = std::fs::read(path)
        .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
    match kind(path, &bytes)? {
        FileKind::Image(kind) => image(context, path, &bytes, kind),
        FileKind::LtoIr => lto_ir(context, path, bytes),
        FileKind::NvvmIr => nvvm_ir(context, path, bytes),
        FileKind::Cuda => cuda_file(context, path),
    }
}

fn kind(path: &Path, bytes: &[u8]) -> Result<FileKind, Error> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "ltoir" => Ok(FileKind::LtoIr),
        "bc" | "ll" => Ok(FileKind::NvvmIr),
        "cu" => Ok(FileKind::Cuda),
        _ if bytes.starts_with(&[0xed, 0x43, 0x4e, 0x7f]) => Ok(FileKind::LtoIr),
        // LLVM's bitcode, and its wrapper.
        _ if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) => {
            Ok(FileKind::NvvmIr)
        }
        _ => match Image::identify(bytes) {
            Ok(kind) => Ok(FileKind::Image(kind)),
            Err(error) => Err(ErrorKind::Image { origin: path.display().to_string(), error }.into()),
        },
    }
}

fn image(context: &CudaContext, path: &Path, bytes: &[u8], kind: ImageKind) -> Result<CudaModule, Error> {
    if kind == ImageKind::Cubin {
        ptx_only(context, || format!("{} is a cubin", path.display()))?;
    }
    Ok(CudaModule::load(context, bytes, &path.display().to_string(), &JitOptions::new())?.0)
}

#[cfg(feature = "nvjitlink")]
fn lto_ir(context: &CudaContext, path: &Path, bytes: Vec<u8>) -> Result<CudaModule, Error> {
    load_lto_ir(context, &path.display().to_string(), bytes)
}

#[cfg(not(feature = "nvjitlink"))]
fn lto_ir(_context: &CudaContext, path: &Path, _bytes: Vec<u8>) -> Result<CudaModule, Error> {
    Err(not_built(path, "nvJitLink", "nvjitlink"))
}

/// Links LTO IR for the device, and loads that.
#[cfg(feature = "nvjitlink")]
pub(crate) fn load_lto_ir(context: &CudaContext, name: &str, bytes: Vec<u8>) -> Result<CudaModule, Error> {
    use super::{CodeKind, LinkInputs, NvJitLink, NvJitLinkOptions};
    let mut inputs = LinkInputs::new();
    inputs.add(name, bytes)?;
    let mut options = NvJitLinkOptions::for_context(context);
    if takes_ptx_only(context)? {
        options = options.output(CodeKind::Ptx);
    }
    let mut linker = NvJitLink::load()?;
    if let Some(cache) = super::CompileCache::user() {
        linker = linker.with_cache(cache);
    }
    linker.link(&inputs, &options)?.load(context)
}

#[cfg(feature = "nvvm")]
fn nvvm_ir(context: &CudaContext, path: &Path, bytes: Vec<u8>) -> Result<CudaModule, Error> {
    load_nvvm_ir(context, &path.display().to_string(), bytes)
}

#[cfg(not(feature = "nvvm"))]
fn nvvm_ir(_context: &CudaContext, path: &Path, _bytes: Vec<u8>) -> Result<CudaModule, Error> {
    Err(not_built(path, "libNVVM", "nvvm"))
}

/// Compiles NVVM IR for the device, with `libdevice` if it is used, and loads that.
#[cfg(feature = "nvvm")]
pub(crate) fn load_nvvm_ir(context: &CudaContext, name: &str, bytes: Vec<u8>) -> Result<CudaModule, Error> {
    use super::{Nvvm, NvvmIr, NvvmOptions};
    let mut nvvm = Nvvm::load()?;
    if let Some(cache) = super::CompileCache::user() {
        nvvm = nvvm.with_cache(cache);
    }
    // Names stand in bitcode as they are in text.
    let mathematics = bytes.windows(5).any(|word| word == b"__nv_");
    let mut ir = NvvmIr::new(name, bytes);
    if mathematics {
        ir = ir.library("libdevice", nvvm.libdevice()?);
    }
    nvvm.compile(&ir, &NvvmOptions::for_context(context))?.load(context)
}

#[cfg(feature = "nvrtc")]
fn cuda_file(context: &CudaContext, path: &Path) -> Result<CudaModule, Error> {
    load_cuda(context, &super::CudaSource::from_file(path)?)
}

#[cfg(not(feature = "nvrtc"))]
fn cuda_file(_context: &CudaContext, path: &Path) -> Result<CudaModule, Error> {
    Err(not_built(path, "NVRTC", "nvrtc"))
}

/// Compiles CUDA C++ for the device, and loads that.
#[cfg(feature = "nvrtc")]
pub(crate) fn load_cuda(context: &CudaContext, source: &super::CudaSource) -> Result<CudaModule, Error> {
    use super::{CodeKind, Nvrtc, NvrtcOptions};
    let mut nvrtc = Nvrtc::load()?;
    if let Some(cache) = super::CompileCache::user() {
        nvrtc = nvrtc.with_cache(cache);
    }
    let mut options = NvrtcOptions::for_context(context);
    let knows_device = nvrtc.architectures().contains(&options.target.raw().0);
    // A driver may be too old for the PTX of a newer compiler, where it takes the cubin.
    if knows_device && !takes_ptx_only(context)? {
        options = options.output(CodeKind::Cubin);
    }
    nvrtc.compile(source, &options)?.load(context)
}

#[cfg(not(all(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm")))]
#[cold]
fn not_built(path: &Path, library: &'static str, feature: &'static str) -> Error {
    use crate::error::CompileError;

    ErrorKind::Compile(CompileError::NotBuilt { what: path.display().to_string(), library, feature }).into()
}
