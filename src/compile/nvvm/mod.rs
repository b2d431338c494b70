//! libNVVM: compiles NVVM IR to PTX or LTO IR.

#![allow(unsafe_code)] // Calls of libNVVM with a program that `Program` owns, and texts and buffers that outlive the calls.

mod arch;
mod options;

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvvm::{_nvvmProgram, Functions, Nvvm as Table, nvvmProgram, nvvmResult};
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use self::options::{NvvmOption, NvvmOptions};
use super::cache::{CompileCache, Key};
use super::code::{CodeKind, CompiledCode};
use super::compiler::{Answer, Api, Asked, Job, Opened, Text, text};
use super::search::{Library, once};
use super::text::{argument_error, c_strings, pointers};
use crate::error::{CompileError, Error, ErrorKind, SearchAttempt};
use crate::trace;

const LIBRARY: Library = Library {
    name: "libNVVM",
    variable: "CUDA_LAUNCH_NVVM",
    stem: if cfg!(windows) { "nvvm" } else { "libnvvm" },
    names: if cfg!(windows) { &["nvvm70.dll", "nvvm64_40_0.dll"] } else { &["libnvvm.so.4", "libnvvm.so"] },
    wheel: "nvidia-nvvm",
};

/// NVVM IR, text (`.ll`) or bitcode (`.bc`), in one or more modules that are linked into one.
///
/// Kernels that go through LTO IR must be in `@llvm.used`, or the link drops them.
///
/// ```standalone_crate
/// use cuda_launch::compile::NvvmIr;
/// let ir = NvvmIr::new("kernel.ll", include_str!("../../../tests/kernels/vecadd.ll"));
/// assert_eq!(ir.origin(), "kernel.ll");
/// ```
#[derive(Clone, Debug)]
pub struct NvvmIr {
    /// Name and bytes; those after the first may be used lazily.
    pub(super) modules: Vec<IrModule>,
}

#[derive(Clone, Debug)]
pub(super) struct IrModule {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// Only what others use of it goes into the code.
    pub(super) lazy: bool,
}

impl NvvmIr {
    /// A module; its name is used in messages.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { modules: vec![IrModule { name: name.into(), bytes: bytes.into(), lazy: false }] }
    }

    /// Adds another module of the same program.
    #[must_use]
    #[doc(alias = "nvvmAddModuleToProgram")]
    pub fn module(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.modules.push(IrModule { name: name.into(), bytes: bytes.into(), lazy: false });
        self
    }

    /// Adds a library, such as [`Nvvm::libdevice`]: only what the modules use is linked in.
    #[must_use]
    #[doc(alias = "nvvmLazyAddModuleToProgram")]
    pub fn library(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.modules.push(IrModule { name: name.into(), bytes: bytes.into(), lazy: true });
        self
    }

    /// The first module's name.
    pub fn origin(&self) -> &str {
        self.modules.first().map_or("", |module| &module.name)
    }
}

/// The compiler of NVVM IR, loaded from its library at run time.
///
/// Cheap to clone, and may be used from every thread. Compiling needs neither a driver nor a GPU.
///
/// The IR must be well formed: some damaged modules make the library abort the process.
///
/// ```standalone_crate
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{Nvvm, NvvmIr, NvvmOptions};
/// # fn main() -> Result<(), cuda_launch::Error> {
/// let nvvm = match Nvvm::load() {
///     Ok(nvvm) => nvvm,
///     Err(error) if error.is_no_compiler() => return Ok(println!("{error}")), // every place it was sought in
///     Err(error) => return Err(error),
/// };
/// let ir = NvvmIr::new("vecadd.ll", include_str!("../../../tests/kernels/vecadd.ll"));
/// let code = nvvm.compile(&ir, &NvvmOptions::new(JitTarget::sm(80)))?;
/// assert!(code.ptx().is_some_and(|text| text.contains(".entry vecadd(")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Nvvm(Opened<Functions>);

/// The one that was found; looked for again only after a failure.
static FOUND: Mutex<Option<Nvvm>> = Mutex::new(None);

impl Nvvm {
    /// Finds and loads the library, like [`Nvrtc::load`](super::Nvrtc::load); the variable is `CUDA_LAUNCH_NVVM`.
    ///
    /// Call: `nvvmVersion`.
    ///
    /// # Errors
    /// [`CompileError::NotFound`] with everything that was tried.
    pub fn load() -> Result<Self, Error> {
        once(&FOUND, || Self::with_library(LIBRARY.load()?))
    }

    /// Uses a library that other code loaded: a second version next to the first, or one from a test.
    ///
    /// # Errors
    /// [`CompileError::TooOld`] if it cannot report its version.
    pub fn with_library(table: Table) -> Result<Self, Error> {
        Opened::new(table).map(Self)
    }

    /// The version of its interface, which differs from that of the toolkit: `(2, 0)` for CUDA 13.
    #[doc(alias = "nvvmVersion")]
    pub fn version(&self) -> (u32, u32) {
        self.0.version()
    }

    /// The version of the IR that it reads, as a module states it in `!nvvmir.version`: `(2, 0)`.
    ///
    /// # Errors
    /// [`CompileError::TooOld`] if it cannot report it.
    #[doc(alias = "nvvmIRVersion")]
    pub fn ir_version(&self) -> Result<(u32, u32), Error> {
        let (mut major, mut minor, mut debug_major, mut debug_minor) = (0, 0, 0, 0);
        // SAFETY: the outputs are locals, which outlive the call; it needs nothing else, and cannot fail but for a null one.
        let _code = self.0.call(|table| unsafe {
            table.nvvmIRVersion(&mut major, &mut minor, &mut debug_major, &mut debug_minor)
        })?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// The same, with a cache for everything that it produces from now on; see [`CompileCache`].
    #[must_use]
    pub fn with_cache(self, cache: CompileCache) -> Self {
        Self(self.0.with_cache(cache))
    }

    /// The library's file, where the system reports it.
    pub fn file(&self) -> Option<&Path> {
        self.0.file()
    }

    /// Reads `libdevice`, the mathematical functions (`__nv_sinf`) in IR, from next to the library.
    ///
    /// # Errors
    /// [`CompileError::NotFound`] with the places tried.
    pub fn libdevice(&self) -> Result<Vec<u8>, Error> {
        let folder = self.file().and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
        // In a toolkit `nvvm/lib64` and `nvvm/libdevice`; in the wheels since CUDA 13 `lib` and `nvvm/libdevice`.
        let places: [PathBuf; 3] = ["../libdevice", "../nvvm/libdevice", "../../libdevice"]
            .map(|part| folder.join(part).join("libdevice.10.bc"));
        let mut tried = Vec::new();
        for path in places {
            match std::fs::read(&path) {
                Ok(bytes) => return Ok(bytes),
                Err(error) => tried.push(SearchAttempt { path, reason: error.to_string() }),
            }
        }
        let help = "read the toolkit's libdevice.10.bc, and give it with `NvvmIr::library`".to_string();
        Err(ErrorKind::Compile(CompileError::NotFound { library: "libdevice", tried, help }).into())
    }

    /// Compiles a program.
    ///
    /// Calls: `nvvmCreateProgram`, `nvvmAddModuleToProgram`, `nvvmLazyAddModuleToProgram`, `nvvmVerifyProgram`,
    /// `nvvmCompileProgram`, `nvvmGetProgramLog`, `nvvmGetCompiledResult`, `nvvmDestroyProgram`.
    ///
    /// # Errors
    /// [`CompileError::Refused`] with the log and the line of the IR, if it names one; [`CompileError::Argument`] for a
    /// cubin, which this library does not produce.
    #[doc(alias = "nvvmCompileProgram")]
    pub fn compile(&self, ir: &NvvmIr, options: &NvvmOptions) -> Result<CompiledCode, Error> {
        if options.output == CodeKind::Cubin {
            let what = "libNVVM produces PTX or LTO IR, not a cubin".to_string();
            return Err(argument_error(what, "link its output with NvJitLink"));
        }
        let mut refused = None;
        for options in arch::candidates(options) {
            let key = || self.key(ir, &options);
            match CompileCache::through(self.0.cache(), key, || self.compile_now(ir, &options)) {
                // What it says of the architecture that was asked for is what counts.
                Err(error) if arch::is_unknown(&error) => refused = refused.or(Some(error)),
                answer => return answer,
            }
        }
        Err(refused.unwrap_or_else(|| argument_error("there is no architecture".into(), "name one")))
    }

    /// All that the code depends on.
    fn key(&self, ir: &NvvmIr, options: &NvvmOptions) -> Result<Key, String> {
        let lazy: Vec<u8> = ir.modules.iter().map(|module| u8::from(module.lazy)).collect();
        Ok(self
            .0
            .key(options.driver, options.has_raw())?
            .parts(options.arguments().iter().map(String::as_bytes))
            .part(&lazy)
            .parts(ir.modules.iter().map(|module| module.name.as_bytes()))
            .parts(ir.modules.iter().map(|module| &module.bytes[..]))
            .finish())
    }

    fn compile_now(&self, ir: &NvvmIr, options: &NvvmOptions) -> Result<CompiledCode, Error> {
        let arguments = options.arguments();
        let texts: Vec<(&str, &[u8])> =
            ir.modules.iter().map(|module| (module.name.as_str(), &module.bytes[..])).collect();
        let asked = Asked { origin: ir.origin(), options: &arguments, texts: &texts };
        // SAFETY: it writes the handle, and needs nothing else.
        let create = |table: &Functions, raw: &mut nvvmProgram| unsafe { table.nvvmCreateProgram(raw) };
        let program = Job::new(&self.0, asked, "nvvmCreateProgram", create)?;
        ir.modules.iter().try_for_each(|module| add(&program, module))?;
        let texts = c_strings("an option", &arguments)?;
        let mut list = pointers(&texts);
        let count = c_int::try_from(list.len()).unwrap_or(c_int::MAX);
        // SAFETY: `Job::call` passes a live program; there are as many options as said, each ends in NUL, and all
        // outlive the call.
        program.call("nvvmVerifyProgram", |table, raw| unsafe {
            table.nvvmVerifyProgram(raw, count, list.as_mut_ptr())
        })?;
        // SAFETY: `Job::call` passes a live program; there are as many options as said, each ends in NUL, and all
        // outlive the call.
        let compile =
            |table: &Functions, raw| unsafe { table.nvvmCompileProgram(raw, count, list.as_mut_ptr()) };
        let name = "nvvmCompileProgram";
        trace::compile(name, ir.origin(), || program.call(name, compile))?;
        let code = text!(Functions, nvvmGetCompiledResultSize, nvvmGetCompiledResult);
        // SAFETY: 1: two functions of libNVVM for the same output, and the program is compiled.
        unsafe { program.finish(options.output, &code) }
    }
}

fn add(program: &Job<'_, Functions>, module: &IrModule) -> Result<(), Error> {
    let name = c_strings("a module's name", [&module.name])?.remove(0);
    let (data, size) = (module.bytes.as_ptr().cast(), module.bytes.len());
    // SAFETY: `Job::call` passes a live program; there are as many bytes as said, which the IR keeps longer than the
    // program lives; the name ends in NUL, and libNVVM copies it.
    program.call("nvvmAddModuleToProgram", |table, raw| unsafe {
        match module.lazy {
            true => table.nvvmLazyAddModuleToProgram(raw, data, size, name.as_ptr()),
            false => table.nvvmAddModuleToProgram(raw, data, size, name.as_ptr()),
        }
    })
}

impl From<nvvmResult> for Answer {
    fn from(code: nvvmResult) -> Self {
        Self { number: code.0, name: code.name() }
    }
}

// SAFETY: 1: they are libNVVM's functions for the version, for the end of a program and for its log, whose arguments
// are outputs and the program; 2: a program has a log from its creation on.
unsafe impl Api for Functions {
    type Job = _nvvmProgram;
    type Code = nvvmResult;

    const LIBRARY: Library = LIBRARY;
    const REPORT_VERSION: unsafe fn(&Self, *mut c_int, *mut c_int) -> Result<Self::Code, Missing> =
        Self::nvvmVersion;
    const DESTROY: unsafe fn(&Self, *mut *mut Self::Job) -> Result<Self::Code, Missing> =
        Self::nvvmDestroyProgram;
    const LOGS: &'static [Text<Self>] = &[text!(Self, nvvmGetProgramLogSize, nvvmGetProgramLog)];

    fn since(_: &str) -> &'static str {
        "this crate needs that of CUDA 11.2"
    }

    fn hint(&self, answer: Answer, log: &str, _: &[String]) -> Option<String> {
        hint(nvvmResult(answer.number), log)
    }
}

fn hint(code: nvvmResult, log: &str) -> Option<String> {
    let text = match code {
        nvvmResult::NVVM_ERROR_IR_VERSION_MISMATCH => {
            "this library cannot read the module's `!nvvmir.version`: see `Nvvm::ir_version`"
        }
        nvvmResult::NVVM_ERROR_INVALID_OPTION if log.contains("-arch=") => {
            "this library does not know the architecture: request an older one with `NvvmOptions::new`, or install one that does"
        }
        nvvmResult::NVVM_ERROR_INVALID_OPTION => "remove the option, or install a newer library",
        _ => return None,
    };
    Some(text.to_string())
}
