//! libNVVM: compiles NVVM IR to PTX or LTO IR.

#![allow(unsafe_code)] // Calls of libNVVM with a program that `Program` owns, and texts and buffers that outlive the calls.

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvvm::{Nvvm as Table, nvvmProgram, nvvmResult};
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use super::cache::{CacheUse, CompileCache, Key, KeyParts};
use super::code::{CodeKind, CompiledCode};
use super::nvvm_arch;
use super::nvvm_options::NvvmOptions;
use super::search::{Library, once};
use super::text::{argument_error, c_strings, from_log, pointers};
use crate::error::{CompileError, Diagnostic, Error, ErrorKind, Refusal, Tried};
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
/// ```
/// use cuda_launch::compile::NvvmIr;
/// let ir = NvvmIr::new("kernel.ll", include_str!("../../tests/kernels/vecadd.ll"));
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
/// ```
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{Nvvm, NvvmIr, NvvmOptions};
/// # fn main() -> Result<(), cuda_launch::Error> {
/// let nvvm = match Nvvm::load() {
///     Ok(nvvm) => nvvm,
///     Err(error) if error.is_no_compiler() => return Ok(println!("{error}")), // every place it was sought in
///     Err(error) => return Err(error),
/// };
/// let ir = NvvmIr::new("vecadd.ll", include_str!("../../tests/kernels/vecadd.ll"));
/// let code = nvvm.compile(&ir, &NvvmOptions::new(JitTarget::sm(80)))?;
/// assert!(code.ptx().is_some_and(|text| text.contains(".entry vecadd(")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Nvvm {
    inner: Arc<Inner>,
    cache: Option<CompileCache>,
}

#[derive(Debug)]
struct Inner {
    table: Table,
    version: (u32, u32),
}

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
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both outputs outlive the call.
        match unsafe { table.nvvmVersion(&mut major, &mut minor) }
            .map_err(|missing| too_old(None, missing))?
        {
            nvvmResult::SUCCESS => {
                let version = (major.unsigned_abs(), minor.unsigned_abs());
                Ok(Self { inner: Arc::new(Inner { table, version }), cache: None })
            }
            code => {
                let what = format!("libNVVM does not report its version: nvvmVersion returned {}", code.0);
                Err(argument_error(what, "install another one, and name it with CUDA_LAUNCH_NVVM"))
            }
        }
    }

    /// The version of its interface, which differs from that of the toolkit: `(2, 0)` for CUDA 13.
    #[doc(alias = "nvvmVersion")]
    pub fn version(&self) -> (u32, u32) {
        self.inner.version
    }

    /// The version of the IR that it reads, as a module states it in `!nvvmir.version`: `(2, 0)`.
    ///
    /// # Errors
    /// [`CompileError::TooOld`] if it cannot report it.
    #[doc(alias = "nvvmIRVersion")]
    pub fn ir_version(&self) -> Result<(u32, u32), Error> {
        let (mut major, mut minor, mut debug_major, mut debug_minor) = (0, 0, 0, 0);
        // SAFETY: the outputs outlive the call. It cannot fail but for a null one.
        let _code = self.call(|table| unsafe {
            table.nvvmIRVersion(&mut major, &mut minor, &mut debug_major, &mut debug_minor)
        })?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// The same, with a cache for everything that it produces from now on; see [`CompileCache`].
    #[must_use]
    pub fn with_cache(self, cache: CompileCache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// The library's file, where the system reports it.
    pub fn file(&self) -> Option<&Path> {
        self.inner.table.file()
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
                Err(error) => tried.push(Tried { path, reason: error.to_string() }),
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
        for options in nvvm_arch::candidates(options) {
            let key = || self.key(ir, &options);
            match CompileCache::through(self.cache.as_ref(), key, || self.compile_now(ir, &options)) {
                // What it says of the architecture that was asked for is what counts.
                Err(error) if nvvm_arch::is_unknown(&error) => refused = refused.or(Some(error)),
                answer => return answer,
            }
        }
        Err(refused.unwrap_or_else(|| argument_error("there is no architecture".into(), "name one")))
    }

    /// All that the code depends on.
    fn key(&self, ir: &NvvmIr, options: &NvvmOptions) -> Result<Key, String> {
        if options.has_raw() {
            return Err("a raw option may name files unknown to this crate".into());
        }
        let lazy: Vec<u8> = ir.modules.iter().map(|module| u8::from(module.lazy)).collect();
        Ok(KeyParts::new(LIBRARY.name, self.version(), self.file(), options.driver)?
            .parts(options.arguments().iter().map(String::as_bytes))
            .part(&lazy)
            .parts(ir.modules.iter().map(|module| module.name.as_bytes()))
            .parts(ir.modules.iter().map(|module| &module.bytes[..]))
            .finish())
    }

    fn compile_now(&self, ir: &NvvmIr, options: &NvvmOptions) -> Result<CompiledCode, Error> {
        let arguments = options.arguments();
        let program = Program::new(self, ir, &arguments)?;
        ir.modules.iter().try_for_each(|module| program.add(module))?;
        let texts = c_strings("an option", &arguments)?;
        let mut list = pointers(&texts);
        let count = c_int::try_from(list.len()).unwrap_or(c_int::MAX);
        // SAFETY: `program` has the program; there are as many options as said, each ends in NUL, and all outlive the call.
        let code =
            self.call(|table| unsafe { table.nvvmVerifyProgram(program.raw, count, list.as_mut_ptr()) })?;
        program.check("nvvmVerifyProgram", code)?;
        let first = ir.modules.first().map_or("", |module| module.name.as_str());
        // SAFETY: as above.
        let compile =
            |table: &Table| unsafe { table.nvvmCompileProgram(program.raw, count, list.as_mut_ptr()) };
        let code = trace::compile("nvvmCompileProgram", first, || self.call(compile))?;
        program.check("nvvmCompileProgram", code)?;
        let (kind, mut bytes, log) = (options.output, program.output()?, program.log());
        if kind == CodeKind::Ptx && bytes.last() == Some(&0) {
            bytes.pop();
        }
        let origin = ir.origin().to_string();
        Ok(CompiledCode { kind, bytes, log, names: Vec::new(), origin, cache: CacheUse::Off })
    }

    /// Calls a function, which this version may not have.
    fn call<R>(&self, call: impl FnOnce(&Table) -> Result<R, Missing>) -> Result<R, Error> {
        call(&self.inner.table).map_err(|missing| too_old(Some(self.inner.version), missing))
    }
}

/// A program, destroyed when it goes.
struct Program<'a> {
    nvvm: &'a Nvvm,
    raw: nvvmProgram,
    ir: &'a NvvmIr,
    options: &'a [String],
}

impl<'a> Program<'a> {
    fn new(nvvm: &'a Nvvm, ir: &'a NvvmIr, options: &'a [String]) -> Result<Self, Error> {
        let mut program = Self { nvvm, raw: null_mut(), ir, options };
        // SAFETY: the output outlives the call.
        let code = nvvm.call(|table| unsafe { table.nvvmCreateProgram(&mut program.raw) })?;
        program.check("nvvmCreateProgram", code)?;
        Ok(program)
    }

    fn add(&self, module: &IrModule) -> Result<(), Error> {
        let name = c_strings("a module's name", [&module.name])?.remove(0);
        let (data, size) = (module.bytes.as_ptr().cast(), module.bytes.len());
        // SAFETY: this value has the program; there are as many bytes as said, which `ir` keeps longer than that; the name ends in NUL, and
        // libNVVM copies it.
        let code = self.nvvm.call(|table| unsafe {
            match module.lazy {
                true => table.nvvmLazyAddModuleToProgram(self.raw, data, size, name.as_ptr()),
                false => table.nvvmAddModuleToProgram(self.raw, data, size, name.as_ptr()),
            }
        })?;
        self.check("nvvmAddModuleToProgram", code)
    }

    fn check(&self, call: &'static str, code: nvvmResult) -> Result<(), Error> {
        if code == nvvmResult::SUCCESS {
            return Ok(());
        }
        let log = self.log();
        Err(ErrorKind::Compile(CompileError::Refused(Refusal {
            library: LIBRARY.name,
            version: self.nvvm.inner.version,
            call,
            code: code.0,
            code_name: code.name().unwrap_or("unknown code"),
            origin: self.ir.origin().to_string(),
            options: self.options.to_vec(),
            diagnostics: self.diagnostics(&log),
            hint: hint(code, &log),
            log,
        }))
        .into())
    }

    /// The log parsed, with the lines of text that it points at: libNVVM does not show them.
    fn diagnostics(&self, log: &str) -> Vec<Diagnostic> {
        let mut diagnostics = Diagnostic::parse(log);
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.excerpt.is_none()) {
            let module = self.ir.modules.iter().find(|m| diagnostic.file.as_ref() == Some(&m.name));
            let text = module.and_then(|module| std::str::from_utf8(&module.bytes).ok());
            let number = diagnostic.line.and_then(|line| (line as usize).checked_sub(1));
            let line = text.zip(number).and_then(|(text, number)| text.lines().nth(number));
            diagnostic.excerpt = line.map(str::to_string);
        }
        diagnostics
    }

    /// The log; empty if there is none.
    fn log(&self) -> String {
        if self.raw.is_null() {
            return String::new();
        }
        let (table, mut size) = (&self.nvvm.inner.table, 0);
        // SAFETY: this value has the program, the output outlives the call.
        if unsafe { table.nvvmGetProgramLogSize(self.raw, &mut size) } != Ok(nvvmResult::SUCCESS) {
            return String::new();
        }
        let mut log = vec![0_u8; size + 1];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes, and one more.
        let code = unsafe { table.nvvmGetProgramLog(self.raw, log.as_mut_ptr().cast()) };
        if code == Ok(nvvmResult::SUCCESS) { from_log(&log) } else { String::new() }
    }

    fn output(&self) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: this value has the program, which `compile_now` has compiled; the output outlives the call.
        let code = self.nvvm.call(|table| unsafe { table.nvvmGetCompiledResultSize(self.raw, &mut size) })?;
        self.check("nvvmGetCompiledResultSize", code)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes.
        let code = self
            .nvvm
            .call(|table| unsafe { table.nvvmGetCompiledResult(self.raw, bytes.as_mut_ptr().cast()) })?;
        self.check("nvvmGetCompiledResult", code)?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: this value owned the program, and ends with it. Nobody can be told of an error here.
            let _ = unsafe { self.nvvm.inner.table.nvvmDestroyProgram(&mut self.raw) };
        }
    }
}

fn hint(code: nvvmResult, log: &str) -> Option<String> {
    let text = match code {
        nvvmResult::NVVM_ERROR_IR_VERSION_MISMATCH => {
            "the module's `!nvvmir.version` is not what this library reads: see `Nvvm::ir_version`"
        }
        nvvmResult::NVVM_ERROR_INVALID_OPTION if log.contains("-arch=") => {
            "this library does not know the architecture: request an older one with `NvvmOptions::new`, or install one that does"
        }
        nvvmResult::NVVM_ERROR_INVALID_OPTION => "remove the option, or install a newer library",
        _ => return None,
    };
    Some(text.to_string())
}

#[cold]
fn too_old(found: Option<(u32, u32)>, missing: Missing) -> Error {
    let (library, variable, what) = (LIBRARY.name, LIBRARY.variable, missing.symbol.to_string());
    let since = "this crate needs that of CUDA 11.2";
    ErrorKind::Compile(CompileError::TooOld { library, found, what, since, variable }).into()
}
