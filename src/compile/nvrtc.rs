//! NVRTC: compiles CUDA C++ to PTX, a cubin or LTO IR.

#![allow(unsafe_code)] // Calls of NVRTC with a program that `Program` owns, and strings and buffers that outlive the calls.

use cuda_driver_sys::nvrtc::{Nvrtc as Table, nvrtcProgram, nvrtcResult};
use cuda_driver_sys::{Missing, preload};
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use super::cache::{CacheUse, CompileCache, Key, KeyParts};
use super::code::{CodeKind, CompiledCode};
use super::includes;
use super::nvrtc_options::NvrtcOptions;
use super::nvrtc_refusal::{known, refused, too_old};
use super::search::{Library, once};
use super::source::CudaSource;
use super::text::{argument_error, c_strings, from_log, pointers};
use crate::driver::JitTarget;
use crate::error::Error;
use crate::trace;

pub(super) const LIBRARY: Library = Library {
    name: "NVRTC",
    variable: "CUDA_LAUNCH_NVRTC",
    stem: if cfg!(windows) { "nvrtc64_" } else { "libnvrtc" },
    names: if cfg!(windows) {
        &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"]
    } else {
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"]
    },
    wheel: "nvidia-cuda-nvrtc",
};

/// The compiler of CUDA C++, loaded from its library at run time.
///
/// Cheap to clone, and may be used from every thread. Compiling needs neither a driver nor a GPU.
///
/// ```
/// use cuda_launch::CudaContext;
/// use cuda_launch::compile::{CudaSource, Nvrtc, NvrtcOptions};
/// # fn main() -> Result<(), cuda_launch::Error> {
/// let nvrtc = match Nvrtc::load() {
///     Ok(nvrtc) => nvrtc,
///     Err(error) if error.is_no_compiler() => return Ok(println!("{error}")), // every place it was sought in
///     Err(error) => return Err(error),
/// };
/// let ctx = CudaContext::new(0)?;
/// let source = CudaSource::new("template<class T> __global__ void twice(T* x) { *x *= 2; }").expression("twice<float>");
/// let code = nvrtc.compile(&source, &NvrtcOptions::for_context(&ctx))?;
/// let twice = code.load(&ctx)?.load_function(code.lowered_name("twice<float>")?)?;
/// assert_eq!(twice.name(), "_Z5twiceIfEvPT_");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Nvrtc {
    inner: Arc<Inner>,
    cache: Option<CompileCache>,
}

#[derive(Debug)]
struct Inner {
    table: Table,
    version: (u32, u32),
    /// The architectures that it can compile for, ascending; empty if it cannot report them.
    archs: Vec<u32>,
}

/// The one that was found; looked for again only after a failure.
static FOUND: Mutex<Option<Nvrtc>> = Mutex::new(None);

impl Nvrtc {
    /// Finds and loads the library. It stays loaded, and later calls return the same.
    ///
    /// The places, in order: the file or folder in the variable `CUDA_LAUNCH_NVRTC`, and no other if it is set; the
    /// toolkit in `CUDA_HOME` or `CUDA_PATH`; the virtual environment in `VIRTUAL_ENV` or `CONDA_PREFIX`, as PyPI's
    /// wheels fill it; the usual folders of a toolkit; the search path of the system's loader.
    ///
    /// Calls: `nvrtcVersion`, `nvrtcGetNumSupportedArchs`, `nvrtcGetSupportedArchs`.
    ///
    /// # Errors
    /// [`CompileError::NotFound`](crate::error::CompileError::NotFound) with everything that was tried.
    pub fn load() -> Result<Self, Error> {
        once(&FOUND, || Self::with_library(LIBRARY.load()?))
    }

    /// Uses a library that other code loaded: a second version next to the first, or one from a test.
    ///
    /// # Errors
    /// [`CompileError::TooOld`](crate::error::CompileError::TooOld) if it cannot report its version.
    pub fn with_library(table: Table) -> Result<Self, Error> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both outputs outlive the call.
        let code = unsafe { table.nvrtcVersion(&mut major, &mut minor) }
            .map_err(|missing| too_old(None, missing))?;
        if code != nvrtcResult::SUCCESS {
            let what = format!("NVRTC does not report its version: nvrtcVersion returned {}", code.0);
            return Err(argument_error(what, "install another one, and name it with CUDA_LAUNCH_NVRTC"));
        }
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        if let Some(folder) = table.file().and_then(Path::parent) {
            preload_builtins(folder, version);
        }
        let archs = archs(&table).unwrap_or_default();
        Ok(Self { inner: Arc::new(Inner { table, version, archs }), cache: None })
    }

    /// Its version: `(13, 0)`.
    #[doc(alias = "nvrtcVersion")]
    pub fn version(&self) -> (u32, u32) {
        self.inner.version
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

    /// The architectures that it compiles for, ascending: 90 is `compute_90`. Empty if it cannot report them (before
    /// 11.2).
    #[doc(alias = "nvrtcGetSupportedArchs")]
    pub fn architectures(&self) -> &[u32] {
        &self.inner.archs
    }

    /// Compiles a source.
    ///
    /// Calls: `nvrtcCreateProgram`, `nvrtcAddNameExpression`, `nvrtcCompileProgram`, `nvrtcGetProgramLog`,
    /// `nvrtcGetLoweredName`, one of `nvrtcGetPTX`, `nvrtcGetCUBIN` and `nvrtcGetLTOIR`, `nvrtcDestroyProgram`.
    ///
    /// # Errors
    /// [`CompileError::Refused`](crate::error::CompileError::Refused) with the compiler's log and the lines that it points at;
    /// [`CompileError::TooOld`](crate::error::CompileError::TooOld) for an output that this version cannot make.
    #[doc(alias = "nvrtcCompileProgram")]
    pub fn compile(&self, source: &CudaSource, options: &NvrtcOptions) -> Result<CompiledCode, Error> {
        let options = self.settle(options)?;
        let key = || self.key(source, &options);
        CompileCache::through(self.cache.as_ref(), key, || self.compile_now(source, &options))
    }

    /// All that the code depends on; or why that cannot be known.
    fn key(&self, source: &CudaSource, options: &NvrtcOptions) -> Result<Key, String> {
        if options.has_raw() {
            return Err("a raw option may name files unknown to this crate".into());
        }
        let texts: Vec<&str> = std::iter::once(&source.text)
            .chain(source.headers.iter().map(|(_, text)| text))
            .map(String::as_str)
            .collect();
        let folders: Vec<_> = options.include_folders().chain(&source.folder).cloned().collect();
        let files = includes::of(&texts, source.folder.as_deref(), &folders)?;
        let arguments = options.arguments();
        let key = KeyParts::new(LIBRARY.name, self.version(), self.file(), options.driver)?
            .part(source.name.as_bytes())
            .part(source.folder.as_deref().unwrap_or(Path::new("")).as_os_str().as_encoded_bytes())
            .parts(texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>())
            .parts(source.headers.iter().map(|(name, _)| name.as_bytes()))
            .parts(source.expressions.iter().map(String::as_bytes))
            .parts(arguments.iter().map(String::as_bytes));
        let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        Ok(key
            .parts(paths.iter().map(String::as_bytes))
            .parts(files.iter().map(|(_, text)| &text[..]))
            .finish())
    }

    /// The options with an architecture that this compiler knows, where they leave the choice.
    pub(super) fn settle(&self, options: &NvrtcOptions) -> Result<NvrtcOptions, Error> {
        let mut options = options.clone();
        let device = options.target.raw().0;
        if options.nearest && !self.inner.archs.is_empty() && !self.inner.archs.contains(&device) {
            // Machine code runs on later devices of the same generation, PTX on all later ones.
            let fits = |arch: &&u32| {
                **arch < device && (options.output != CodeKind::Cubin || **arch / 10 == device / 10)
            };
            let nearest = self.inner.archs.iter().rev().find(fits).ok_or_else(|| self.no_arch(device))?;
            options.target = JitTarget::sm(*nearest);
        }
        Ok(options)
    }

    fn no_arch(&self, device: u32) -> Error {
        let (archs, (major, minor)) = (&self.inner.archs, self.inner.version);
        let what =
            format!("NVRTC {major}.{minor} cannot compile for a device of sm_{device}: {}", known(archs));
        argument_error(what, "install another version, and name it with CUDA_LAUNCH_NVRTC")
    }

    fn compile_now(&self, source: &CudaSource, options: &NvrtcOptions) -> Result<CompiledCode, Error> {
        let mut arguments = options.arguments();
        if let Some(folder) = &source.folder {
            arguments.push(format!("--include-path={}", folder.display()));
        }
        let program = Program::new(self, source)?;
        let expressions = c_strings("a name expression", &source.expressions)?;
        for expression in &expressions {
            // SAFETY: `program` has the program, which is not compiled yet; the text ends in NUL, and outlives it.
            let code =
                self.call(|table| unsafe { table.nvrtcAddNameExpression(program.raw, expression.as_ptr()) })?;
            program.check("nvrtcAddNameExpression", code, source, &arguments)?;
        }
        let c_arguments = c_strings("an option", &arguments)?;
        let list = pointers(&c_arguments);
        // SAFETY: `program` has the program; there are as many options as said, each ends in NUL, and all outlive the call.
        let compile = |table: &Table| unsafe {
            table.nvrtcCompileProgram(program.raw, list.len() as c_int, list.as_ptr())
        };
        let code = trace::compile("nvrtcCompileProgram", &source.name, || self.call(compile))?;
        program.check("nvrtcCompileProgram", code, source, &arguments)?;
        let mut names = Vec::new();
        for (expression, text) in source.expressions.iter().zip(&expressions) {
            names.push((expression.clone(), program.lowered(text, source, &arguments)?));
        }
        let (kind, bytes) = (options.output, program.output(options.output, source, &arguments)?);
        let (log, origin) = (program.log(), source.name.clone());
        Ok(CompiledCode { kind, bytes, log, names, origin, cache: CacheUse::Off })
    }

    /// Calls a function, which this version may not have.
    fn call<R>(&self, call: impl FnOnce(&Table) -> Result<R, Missing>) -> Result<R, Error> {
        call(&self.inner.table).map_err(|missing| too_old(Some(self.inner.version), missing))
    }
}

/// NVRTC asks for this library by its bare name, which the system finds only in its own folders, unless it is loaded already.
fn preload_builtins(folder: &Path, (major, minor): (u32, u32)) {
    let name = match cfg!(windows) {
        true => format!("nvrtc-builtins64_{major}{minor}.dll"),
        false => format!("libnvrtc-builtins.so.{major}.{minor}"),
    };
    let file = folder.join(name);
    if file.is_file() {
        // SAFETY: 1: it has the name of a part of NVRTC, in the folder from which NVRTC was loaded, which would load it itself: its
        // initialisers are as sound as those. Where it does not load, NVRTC says so when it compiles.
        let _ = unsafe { preload(file) };
    }
}

fn archs(table: &Table) -> Option<Vec<u32>> {
    let mut count: c_int = 0;
    // SAFETY: the output outlives the call.
    let code = unsafe { table.nvrtcGetNumSupportedArchs(&mut count) }.ok()?;
    let mut archs: Vec<c_int> =
        vec![0; usize::try_from(count).ok().filter(|_| code == nvrtcResult::SUCCESS)?];
    // SAFETY: the list has as many elements as the library said it writes.
    let code = unsafe { table.nvrtcGetSupportedArchs(archs.as_mut_ptr()) }.ok()?;
    (code == nvrtcResult::SUCCESS).then(|| archs.into_iter().map(c_int::unsigned_abs).collect())
}

/// A program, destroyed when it goes.
struct Program<'a> {
    nvrtc: &'a Nvrtc,
    raw: nvrtcProgram,
}

impl<'a> Program<'a> {
    fn new(nvrtc: &'a Nvrtc, source: &CudaSource) -> Result<Self, Error> {
        let text = c_strings("the source", [&source.text])?.remove(0);
        let name = c_strings("the source's name", [&source.name])?.remove(0);
        let headers = c_strings("a header", source.headers.iter().map(|(_, text)| text))?;
        let names = c_strings("a header's name", source.headers.iter().map(|(name, _)| name))?;
        let (count, headers, names) = (headers.len() as c_int, pointers(&headers), pointers(&names));
        let mut raw = null_mut();
        // SAFETY: all texts end in NUL; there are as many headers and names as said; NVRTC copies what it keeps.
        let code = nvrtc.call(|table| unsafe {
            table.nvrtcCreateProgram(
                &mut raw,
                text.as_ptr(),
                name.as_ptr(),
                count,
                headers.as_ptr(),
                names.as_ptr(),
            )
        })?;
        let program = Self { nvrtc, raw };
        program.check("nvrtcCreateProgram", code, source, &[])?;
        Ok(program)
    }

    fn check(
        &self,
        call: &'static str,
        code: nvrtcResult,
        source: &CudaSource,
        options: &[String],
    ) -> Result<(), Error> {
        if code == nvrtcResult::SUCCESS {
            return Ok(());
        }
        Err(refused(self.nvrtc, call, code, &source.name, options, self.log()))
    }

    /// The log; empty if there is none.
    fn log(&self) -> String {
        if self.raw.is_null() {
            return String::new();
        }
        let table = &self.nvrtc.inner.table;
        let mut size = 0;
        // SAFETY: this value has the program, the output outlives the call.
        if unsafe { table.nvrtcGetProgramLogSize(self.raw, &mut size) } != Ok(nvrtcResult::SUCCESS) {
            return String::new();
        }
        let mut log = vec![0_u8; size + 1];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes, and one more.
        let code = unsafe { table.nvrtcGetProgramLog(self.raw, log.as_mut_ptr().cast()) };
        if code == Ok(nvrtcResult::SUCCESS) { from_log(&log) } else { String::new() }
    }

    fn lowered(
        &self,
        expression: &CString,
        source: &CudaSource,
        options: &[String],
    ) -> Result<String, Error> {
        let mut name: *const c_char = null();
        // SAFETY: this value has the program, which `compile_now` has compiled after it added this text, which ends in NUL; the output outlives
        // the call.
        let code = self
            .nvrtc
            .call(|table| unsafe { table.nvrtcGetLoweredName(self.raw, expression.as_ptr(), &mut name) })?;
        self.check("nvrtcGetLoweredName", code, source, options)?;
        // SAFETY: the name ends in NUL, and lives as long as the program.
        Ok(unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    fn output(&self, kind: CodeKind, source: &CudaSource, options: &[String]) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: this value has the program, which `compile_now` has compiled; the output outlives the call.
        let code = self.nvrtc.call(|table| unsafe {
            match kind {
                CodeKind::Ptx => table.nvrtcGetPTXSize(self.raw, &mut size),
                CodeKind::Cubin => table.nvrtcGetCUBINSize(self.raw, &mut size),
                CodeKind::LtoIr => table.nvrtcGetLTOIRSize(self.raw, &mut size),
            }
        })?;
        self.check("nvrtcGetPTXSize, nvrtcGetCUBINSize or nvrtcGetLTOIRSize", code, source, options)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes.
        let code = self.nvrtc.call(|table| unsafe {
            let buffer = bytes.as_mut_ptr().cast();
            match kind {
                CodeKind::Ptx => table.nvrtcGetPTX(self.raw, buffer),
                CodeKind::Cubin => table.nvrtcGetCUBIN(self.raw, buffer),
                CodeKind::LtoIr => table.nvrtcGetLTOIR(self.raw, buffer),
            }
        })?;
        self.check("nvrtcGetPTX, nvrtcGetCUBIN or nvrtcGetLTOIR", code, source, options)?;
        if kind == CodeKind::Ptx && bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: this value owned the program, and ends with it. Nobody can be told of an error here.
            let _ = unsafe { self.nvrtc.inner.table.nvrtcDestroyProgram(&mut self.raw) };
        }
    }
}
