//! Sources, which are compiled to PTX to read their kernels and parameters.

use cuda_launch::compile::{
    CodeKind, CompileCache, CompiledCode, CudaSource, LinkInputs, NvJitLink, NvJitLinkOptions, Nvrtc,
    NvrtcOptions, Nvvm, NvvmIr, NvvmOptions,
};
use cuda_launch::error::CompileError;
use cuda_launch::module::JitTarget;
use cuda_launch::{Error, ErrorKind};
use std::path::Path;

use crate::failure::{Exit, Failure};

/// The architecture for which a file is compiled if it is only inspected: that of the emulator.
const ARCH: u32 = 90;

/// A file that must be compiled or linked before a device can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Cuda,
    NvvmIr,
    LtoIr,
}

impl Source {
    /// Determined only by the file extension: libNVVM kills the process for some damaged files, so it must only get
    /// files that are meant for it.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("cu") => Some(Self::Cuda),
            Some("ll" | "bc") => Some(Self::NvvmIr),
            Some("ltoir") => Some(Self::LtoIr),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA C++",
            Self::NvvmIr => "NVVM IR",
            Self::LtoIr => "LTO IR",
        }
    }

    /// The PTX of a file, and a description of its origin.
    pub(super) fn ptx(self, path: &Path, bytes: &[u8]) -> Result<(Vec<u8>, String), Failure> {
        let (code, compiler) = match self {
            Self::Cuda => cuda(path),
            Self::NvvmIr => nvvm_ir(path, bytes),
            Self::LtoIr => lto_ir(path, bytes),
        }
        .map_err(|error| self.failure(path, &error))?;
        Ok((code.bytes().to_vec(), format!("{} by {compiler}", self.name())))
    }

    /// The compiler's message, or where to get the compiler.
    fn failure(self, path: &Path, error: &Error) -> Failure {
        let file = path.display().to_string();
        let place = serde_json::json!({ "file": file });
        let failure = match error.kind() {
            ErrorKind::Compile(CompileError::NotFound { library, tried, help }) => {
                let (what, places) = (self.name(), crate::table::count(tried.len(), "place"));
                Failure::new(
                    Exit::Driver,
                    format!(
                        "{file} is {what}, and {library} is not on this machine ({places} tried)\n  help: {help}"
                    ),
                )
            }
            // The message begins with the file and the line.
            ErrorKind::Compile(CompileError::Refused(_)) => Failure::new(Exit::File, error.to_string()),
            _ => Failure::new(Exit::File, format!("{file}: {error}")),
        };
        Failure { place, ..failure }
    }
}

fn cuda(path: &Path) -> Result<(CompiledCode, String), Error> {
    let mut nvrtc = Nvrtc::load()?;
    if let Some(cache) = CompileCache::user() {
        nvrtc = nvrtc.with_cache(cache);
    }
    let known = nvrtc.architectures();
    // A compiler that is too old for the architecture compiles for the newest that it supports.
    let arch = if known.is_empty() || known.contains(&ARCH) {
        ARCH
    } else {
        known.iter().copied().max().unwrap_or(ARCH)
    };
    let code = nvrtc.compile(&CudaSource::from_file(path)?, &NvrtcOptions::new(JitTarget::sm(arch)))?;
    let (major, minor) = nvrtc.version();
    Ok((code, format!("NVRTC {major}.{minor}")))
}

fn nvvm_ir(path: &Path, bytes: &[u8]) -> Result<(CompiledCode, String), Error> {
    let mut nvvm = Nvvm::load()?;
    if let Some(cache) = CompileCache::user() {
        nvvm = nvvm.with_cache(cache);
    }
    let mut ir = NvvmIr::new(path.display().to_string(), bytes);
    if bytes.windows(5).any(|word| word == b"__nv_") {
        ir = ir.library("libdevice", nvvm.libdevice()?);
    }
    let code = nvvm.compile(&ir, &NvvmOptions::new(JitTarget::sm(ARCH)))?;
    let (major, minor) = nvvm.version();
    Ok((code, format!("libNVVM {major}.{minor}")))
}

fn lto_ir(path: &Path, bytes: &[u8]) -> Result<(CompiledCode, String), Error> {
    let mut linker = NvJitLink::load()?;
    if let Some(cache) = CompileCache::user() {
        linker = linker.with_cache(cache);
    }
    let mut inputs = LinkInputs::new();
    inputs.add(path.display().to_string(), bytes)?;
    let options = NvJitLinkOptions::new(JitTarget::sm(ARCH)).output(CodeKind::Ptx);
    let code = linker.link(&inputs, &options)?;
    let (major, minor) = linker.version();
    Ok((code, format!("nvJitLink {major}.{minor}")))
}
