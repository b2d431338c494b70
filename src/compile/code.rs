//! The output of the compilers.

use std::fmt;

use super::ptx_only::ptx_only;
use crate::driver::{CudaContext, CudaModule, JitOptions, KernelImage};
use crate::error::{CompileError, Diagnostic, Error, ErrorKind, KernelNotFound};

/// Kinds of device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeKind {
    /// Text for a virtual architecture, which every driver compiles for its device, and which the emulator runs.
    Ptx,
    /// Machine code for one architecture.
    Cubin,
    /// Intermediate code that is optimised at link time, by [`NvJitLink`](super::NvJitLink).
    LtoIr,
}

impl fmt::Display for CodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ptx => "PTX",
            Self::Cubin => "a cubin",
            Self::LtoIr => "LTO IR",
        })
    }
}

/// How a cache was involved in compiled code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CacheUse {
    /// No cache is used.
    Off,
    /// The code was found in the cache.
    Hit,
    /// The code was compiled, and is now in the cache.
    Stored,
    /// The code was compiled but not cached, for this reason. A full disk is not a reason to fail.
    NotStored(String),
}

/// Compiled device code, with the compiler's log.
///
/// It is `AsRef<[u8]>`, so that [`CudaContext::load_module`] accepts it; [`CompiledCode::load`] has better errors for
/// code that does not fit.
///
/// ```no_run
/// # #[cfg(feature = "nvrtc")] {
/// use cuda_launch::compile::{CodeKind, CudaSource, Nvrtc, NvrtcOptions};
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::CudaContext;
/// let source = CudaSource::new("extern \"C\" __global__ void k() {}");
/// let code = Nvrtc::load()?.compile(&source, &NvrtcOptions::new(JitTarget::sm(80)).output(CodeKind::Cubin))?;
/// std::fs::write("k.cubin", code.bytes())?;
/// for warning in code.diagnostics() {
///     println!("{warning}");
/// }
/// let module = code.load(&CudaContext::new(0)?)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompiledCode {
    pub(super) kind: CodeKind,
    pub(super) bytes: Vec<u8>,
    pub(super) log: String,
    /// Each name expression, with the name that the compiler gave its kernel.
    pub(super) names: Vec<(String, String)>,
    pub(super) origin: String,
    pub(super) cache: CacheUse,
}

impl CompiledCode {
    /// What it is.
    pub fn kind(&self) -> CodeKind {
        self.kind
    }

    /// The code: text without a trailing NUL, or an image.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text, if it is PTX.
    pub fn ptx(&self) -> Option<&str> {
        (self.kind == CodeKind::Ptx).then(|| std::str::from_utf8(&self.bytes).ok()).flatten()
    }

    /// The compiler's log, including warnings; often empty.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// The parsed log.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        Diagnostic::parse(&self.log)
    }

    /// The source, or the inputs.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether it came from a cache, or was added to one.
    pub fn cache(&self) -> &CacheUse {
        &self.cache
    }

    /// The lowered name that a name expression (`scale<float>`) of the source has in the code.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the available expressions, if it was not among them.
    pub fn lowered_name(&self, expression: &str) -> Result<&str, Error> {
        let found = self.names.iter().find(|(asked, _)| asked == expression);
        found.map(|(_, name)| name.as_str()).ok_or_else(|| {
            ErrorKind::Kernel(KernelNotFound {
                name: expression.to_string(),
                module: format!("{} (as a name expression)", self.origin),
                nearest: self.names.iter().map(|(asked, _)| asked.clone()).collect(),
                available: Some(self.names.len()),
            })
            .into()
        })
    }

    /// Loads the code into a context.
    ///
    /// Driver call: `cuModuleLoadDataEx`.
    ///
    /// # Errors
    /// The errors of [`CudaContext::load_module`], and an explanatory error for code that cannot run on this device:
    /// LTO IR anywhere, a cubin on the emulator.
    pub fn load(&self, context: &CudaContext) -> Result<CudaModule, Error> {
        self.fits(context)?;
        Ok(CudaModule::load(context, &self.bytes, &self.origin, &JitOptions::new())?.0)
    }

    fn fits(&self, context: &CudaContext) -> Result<(), Error> {
        let what = || format!("{} was compiled to {}", self.origin, self.kind);
        match self.kind {
            CodeKind::LtoIr => {
                let help = "link it with NvJitLink, to a cubin or PTX".to_string();
                Err(ErrorKind::Compile(CompileError::Argument {
                    what: what() + ", which no driver can load",
                    help,
                })
                .into())
            }
            CodeKind::Cubin => ptx_only(context, what),
            CodeKind::Ptx => Ok(()),
        }
    }
}

impl AsRef<[u8]> for CompiledCode {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl KernelImage for CompiledCode {
    const IS_TEXT: bool = false;

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
