//! NVRTC: compiles CUDA C++ to PTX, a cubin or LTO IR.

#![allow(unsafe_code)] // Calls of NVRTC with a program that `Program` owns, and strings and buffers that outlive the calls.

mod includes;
mod options;
mod refusal;
mod source;

use cuda_driver_sys::nvrtc::{Functions, Nvrtc as Table, nvrtcResult};
use cuda_driver_sys::preload;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::null;
use std::sync::{Arc, Mutex};

pub use self::options::{CppStandard, NvrtcOption, NvrtcOptions};
use self::refusal::known;
pub use self::source::CudaSource;
use super::cache::{CompileCache, Key};
use super::code::{CodeKind, CompiledCode};
use super::compiler::{Asked, Job, Opened, Text, text};
use super::search::{Library, once};
use super::text::{argument_error, c_strings, pointers};
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
    opened: Opened<Functions>,
    /// The architectures that it can compile for, ascending; empty if it cannot report them.
    archs: Arc<[u32]>,
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
        let opened = Opened::new(table)?;
        if let Some(folder) = opened.file().and_then(Path::parent) {
            preload_builtins(folder, opened.version());
        }
        let archs = archs(opened.table()).unwrap_or_default().into();
        Ok(Self { opened, archs })
    }

    /// Its version: `(13, 0)`.
    #[doc(alias = "nvrtcVersion")]
    pub fn version(&self) -> (u32, u32) {
        self.opened.version()
    }

    /// The same, with a cache for everything that it produces from now on; see [`CompileCache`].
    #[must_use]
    pub fn with_cache(self, cache: CompileCache) -> Self {
        Self { opened: self.opened.with_cache(cache), ..self }
    }

    /// The library's file, where the system reports it.
    pub fn file(&self) -> Option<&Path> {
        self.opened.file()
    }

    /// The architectures that it compiles for, ascending: 90 is `compute_90`. Empty if it cannot report them (before
    /// 11.2).
    #[doc(alias = "nvrtcGetSupportedArchs")]
    pub fn architectures(&self) -> &[u32] {
        &self.archs
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
        CompileCache::through(self.opened.cache(), key, || self.compile_now(source, &options))
    }

    /// All that the code depends on; or why that cannot be known.
    fn key(&self, source: &CudaSource, options: &NvrtcOptions) -> Result<Key, String> {
        let key = self.opened.key(options.driver, options.has_raw())?;
        let texts: Vec<&str> = std::iter::once(&source.text)
            .chain(source.headers.iter().map(|(_, text)| text))
            .map(String::as_str)
            .collect();
        let folders: Vec<_> = options.include_folders().chain(&source.folder).cloned().collect();
        let files = includes::of(&texts, source.folder.as_deref(), &folders)?;
        let arguments = options.arguments();
        let key = key
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
        if options.nearest && !self.archs.is_empty() && !self.archs.contains(&device) {
            // Machine code runs on later devices of the same generation, PTX on all later ones.
            let fits = |arch: &&u32| {
                **arch < device && (options.output != CodeKind::Cubin || **arch / 10 == device / 10)
            };
            let nearest = self.archs.iter().rev().find(fits).ok_or_else(|| self.no_arch(device))?;
            options.target = JitTarget::sm(*nearest);
        }
        Ok(options)
    }

    fn no_arch(&self, device: u32) -> Error {
        let (archs, (major, minor)) = (&self.archs, self.version());
        let what =
            format!("NVRTC {major}.{minor} cannot compile for a device of sm_{device}: {}", known(archs));
        argument_error(what, "install another version, and name it with CUDA_LAUNCH_NVRTC")
    }

    fn compile_now(&self, source: &CudaSource, options: &NvrtcOptions) -> Result<CompiledCode, Error> {
        let mut arguments = options.arguments();
        if let Some(folder) = &source.folder {
            arguments.push(format!("--include-path={}", folder.display()));
        }
        let asked = Asked { origin: &source.name, options: &arguments, texts: &[] };
        // Before the program, so that they go after it: the library may keep pointers to them.
        let texts = Texts::of(source)?;
        let expressions = c_strings("a name expression", &source.expressions)?;
        let c_arguments = c_strings("an option", &arguments)?;
        let (count, list) = (count("options", arguments.len())?, pointers(&c_arguments));
        let program = self.program(&texts, asked)?;
        for text in &expressions {
            // SAFETY: `Job::call` passes a live program, which is not compiled yet; the text ends in NUL, and outlives
            // it, as it was made before.
            program.call("nvrtcAddNameExpression", |table, raw| unsafe {
                table.nvrtcAddNameExpression(raw, text.as_ptr())
            })?;
        }
        // SAFETY: `Job::call` passes a live program, which was not compiled before; `list` has `count` pointers, each to a text that ends in
        // NUL; the list and the texts outlive the program, as they were made before it.
        let compile =
            |table: &Functions, raw| unsafe { table.nvrtcCompileProgram(raw, count, list.as_ptr()) };
        let name = "nvrtcCompileProgram";
        trace::compile(name, &source.name, || program.call(name, compile))?;
        let names = source.expressions.iter().zip(&expressions);
        let names = names.map(|(expression, text)| Ok((expression.clone(), lowered(&program, text)?)));
        let names = names.collect::<Result<Vec<_>, Error>>()?;
        // SAFETY: 1: two functions for the same output of NVRTC, and the program is compiled.
        let code = unsafe { program.finish(options.output, output(options.output)) }?;
        Ok(CompiledCode { names, ..code })
    }

    /// A program of these texts.
    fn program<'a>(&'a self, texts: &'a Texts, asked: Asked<'a>) -> Result<Job<'a, Functions>, Error> {
        let count = count("headers", texts.headers.len())?;
        let (headers, names) = (pointers(&texts.headers), pointers(&texts.names));
        // SAFETY: all texts end in NUL and live as long as the program, which borrows them; both lists have `count` pointers and outlive the
        // call, which copies them.
        Job::new(&self.opened, asked, "nvrtcCreateProgram", |table, raw| unsafe {
            table.nvrtcCreateProgram(
                raw,
                texts.text.as_ptr(),
                texts.name.as_ptr(),
                count,
                headers.as_ptr(),
                names.as_ptr(),
            )
        })
    }
}

/// The texts of a source as C takes them.
struct Texts {
    text: CString,
    name: CString,
    headers: Vec<CString>,
    names: Vec<CString>,
}

impl Texts {
    fn of(source: &CudaSource) -> Result<Texts, Error> {
        Ok(Texts {
            text: c_strings("the source", [&source.text])?.remove(0),
            name: c_strings("the source's name", [&source.name])?.remove(0),
            headers: c_strings("a header", source.headers.iter().map(|(_, text)| text))?,
            names: c_strings("a header's name", source.headers.iter().map(|(name, _)| name))?,
        })
    }
}

/// As NVRTC counts them.
fn count(what: &str, len: usize) -> Result<c_int, Error> {
    let too_many = |_| argument_error(format!("{len} {what}"), "NVRTC counts them in a C int: pass fewer");
    c_int::try_from(len).map_err(too_many)
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

pub(super) fn archs(table: &Functions) -> Option<Vec<u32>> {
    let mut count: c_int = 0;
    // SAFETY: it writes a number, for which `count`, a local, is the place, and needs nothing else.
    let code = unsafe { table.nvrtcGetNumSupportedArchs(&mut count) }.ok()?;
    let mut archs: Vec<c_int> =
        vec![0; usize::try_from(count).ok().filter(|_| code == nvrtcResult::SUCCESS)?];
    // SAFETY: the list has as many elements as the library said it writes, and outlives the call.
    let code = unsafe { table.nvrtcGetSupportedArchs(archs.as_mut_ptr()) }.ok()?;
    (code == nvrtcResult::SUCCESS).then(|| archs.into_iter().map(c_int::unsigned_abs).collect())
}

/// The name in the code of an expression that was added before the program was compiled.
fn lowered(program: &Job<'_, Functions>, expression: &CStr) -> Result<String, Error> {
    let mut name: *const c_char = null();
    // SAFETY: `Job::call` passes a live program, which is compiled; the text is the one that was added, and ends in
    // NUL; the output outlives the call.
    program.call("nvrtcGetLoweredName", |table, raw| unsafe {
        table.nvrtcGetLoweredName(raw, expression.as_ptr(), &mut name)
    })?;
    if name.is_null() {
        let what = format!("nvrtcGetLoweredName reported success, but returned no name for {expression:?}");
        return Err(argument_error(what, "install another version, and name it with CUDA_LAUNCH_NVRTC"));
    }
    // SAFETY: not null, so a name that ends in NUL, and lives as long as the program, which is borrowed.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// What reads an output.
fn output(kind: CodeKind) -> &'static Text<Functions> {
    match kind {
        CodeKind::Ptx => &text!(Functions, nvrtcGetPTXSize, nvrtcGetPTX),
        CodeKind::Cubin => &text!(Functions, nvrtcGetCUBINSize, nvrtcGetCUBIN),
        CodeKind::LtoIr => &text!(Functions, nvrtcGetLTOIRSize, nvrtcGetLTOIR),
    }
}
