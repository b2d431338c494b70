//! nvJitLink: links LTO IR, PTX, cubins and more into one cubin.

#![allow(unsafe_code)] // Calls of nvJitLink with a link that `Job` owns, inputs that were checked or vouched for, and buffers.

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvjitlink::{NvJitLink as Table, nvJitLinkHandle, nvJitLinkInputType, nvJitLinkResult};
use std::ffi::CStr;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use super::cache::{CacheUse, CompileCache, Key, KeyParts};
use super::code::{CodeKind, CompiledCode};
use super::inputs::{Input, LinkInputs};
use super::nvjitlink_options::NvJitLinkOptions;
use super::search::{Library, once};
use super::text::{argument_error, c_strings, from_log, pointers};
use crate::driver::LinkInput;
use crate::error::{CompileError, Diagnostic, Error, ErrorKind, Refusal};
use crate::trace;

const LIBRARY: Library = Library {
    name: "nvJitLink",
    variable: "CUDA_LAUNCH_NVJITLINK",
    stem: if cfg!(windows) { "nvJitLink_" } else { "libnvJitLink" },
    names: if cfg!(windows) {
        &["nvJitLink_130_0.dll", "nvJitLink_120_0.dll"]
    } else {
        &["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"]
    },
    wheel: "nvidia-nvjitlink",
};

/// The linker of the toolkit, loaded from its library at run time.
///
/// It optimises LTO IR across all inputs, which the driver's own [`Linker`](crate::module::Linker) has not done since
/// CUDA 12. Cheap to clone, and may be used from every thread. Linking needs neither a driver nor a GPU.
///
/// ```
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{LinkInputs, NvJitLink, NvJitLinkOptions};
/// # fn main() -> Result<(), cuda_launch::Error> {
/// let linker = match NvJitLink::load() {
///     Ok(linker) => linker,
///     Err(error) if error.is_no_compiler() => return Ok(println!("{error}")), // every place it was sought in
///     Err(error) => return Err(error),
/// };
/// let head = ".version 7.0\n.target sm_52\n.address_size 64\n";
/// let mut inputs = LinkInputs::new();
/// inputs.add("helper.ptx", format!("{head}.visible .func helper() {{ ret; }}"))?;
/// inputs.add("kernel.ptx", format!("{head}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}"))?;
/// let cubin = linker.link(&inputs, &NvJitLinkOptions::new(JitTarget::sm(90)))?;
/// assert!(cubin.bytes().starts_with(b"\x7fELF"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NvJitLink {
    inner: Arc<Inner>,
    cache: Option<CompileCache>,
}

#[derive(Debug)]
struct Inner {
    table: Table,
    version: (u32, u32),
}

/// The one that was found; looked for again only after a failure.
static FOUND: Mutex<Option<NvJitLink>> = Mutex::new(None);

impl NvJitLink {
    /// Finds and loads the library, like [`Nvrtc::load`](super::Nvrtc::load); the variable is `CUDA_LAUNCH_NVJITLINK`.
    ///
    /// Call: `nvJitLinkVersion`.
    ///
    /// # Errors
    /// [`CompileError::NotFound`] with everything that was tried; a library before 12.3 cannot report its version and
    /// is not used.
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
        match unsafe { table.nvJitLinkVersion(&mut major, &mut minor) }
            .map_err(|missing| too_old(None, missing))?
        {
            nvJitLinkResult::SUCCESS => {
                let inner = Arc::new(Inner { table, version: (major, minor) });
                Ok(Self { inner, cache: None })
            }
            code => {
                let what =
                    format!("nvJitLink does not report its version: nvJitLinkVersion returned {}", code.0);
                Err(argument_error(what, "install another one, and name it with CUDA_LAUNCH_NVJITLINK"))
            }
        }
    }

    /// Its version: `(13, 0)`.
    #[doc(alias = "nvJitLinkVersion")]
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

    /// Links.
    ///
    /// Calls: `nvJitLinkCreate`, `nvJitLinkAddData`, `nvJitLinkComplete`, `nvJitLinkGetErrorLog`, `nvJitLinkGetInfoLog`,
    /// `nvJitLinkGetLinkedCubin` or `nvJitLinkGetLinkedPtx`, `nvJitLinkDestroy`.
    ///
    /// # Errors
    /// [`CompileError::Refused`] with the log, for an undefined symbol, an input for another architecture, or an option
    /// that the library does not know; [`CompileError::Argument`] for no inputs, and for PTX output from inputs that
    /// are not LTO IR.
    #[doc(alias = "nvJitLinkComplete")]
    pub fn link(&self, inputs: &LinkInputs, options: &NvJitLinkOptions) -> Result<CompiledCode, Error> {
        inputs.check(options.output)?;
        let mut arguments = options.arguments();
        if inputs.have_lto() && !arguments.iter().any(|argument| argument == "-lto") {
            arguments.push("-lto".into());
        }
        CompileCache::through(
            self.cache.as_ref(),
            || self.key(inputs, &arguments, options),
            || self.link_now(inputs, &arguments, options.output),
        )
    }

    /// All that the code depends on.
    fn key(
        &self,
        inputs: &LinkInputs,
        arguments: &[String],
        options: &NvJitLinkOptions,
    ) -> Result<Key, String> {
        if options.has_raw() {
            return Err("a raw option may name files unknown to this crate".into());
        }
        let kinds: Vec<String> = inputs.list.iter().map(|input| format!("{:?}", input.kind)).collect();
        Ok(KeyParts::new(LIBRARY.name, self.version(), self.file(), options.driver)?
            .parts(arguments.iter().map(String::as_bytes))
            .parts(kinds.iter().map(String::as_bytes))
            .parts(inputs.list.iter().map(|input| input.name.as_bytes()))
            .parts(inputs.list.iter().map(|input| &input.bytes[..]))
            .finish())
    }

    fn link_now(
        &self,
        inputs: &LinkInputs,
        arguments: &[String],
        kind: CodeKind,
    ) -> Result<CompiledCode, Error> {
        let origin = format!("link of {}", inputs.names().collect::<Vec<_>>().join(", "));
        // The library keeps the pointers: names and bytes must outlive the link.
        let names = c_strings("an input's name", inputs.list.iter().map(|input| &input.name))?;
        let job = Job::new(self, arguments, &origin)?;
        inputs.list.iter().zip(&names).try_for_each(|(input, name)| job.add(input, name))?;
        // SAFETY: `job` has the link; names and bytes of the inputs, of which it keeps pointers, are there until it is dropped.
        let link = |table: &Table| unsafe { table.nvJitLinkComplete(job.raw) };
        let code = trace::compile("nvJitLinkComplete", &origin, || self.call(link))?;
        job.check("nvJitLinkComplete", code)?;
        let (bytes, log) = (job.output(kind)?, job.logs());
        drop(job);
        Ok(CompiledCode { kind, bytes, log, names: Vec::new(), origin, cache: CacheUse::Off })
    }

    /// Calls a function, which this version may not have.
    fn call<R>(&self, call: impl FnOnce(&Table) -> Result<R, Missing>) -> Result<R, Error> {
        call(&self.inner.table).map_err(|missing| too_old(Some(self.inner.version), missing))
    }
}

/// A link, destroyed when it goes.
struct Job<'a> {
    linker: &'a NvJitLink,
    raw: nvJitLinkHandle,
    options: &'a [String],
    origin: &'a str,
}

impl<'a> Job<'a> {
    fn new(linker: &'a NvJitLink, options: &'a [String], origin: &'a str) -> Result<Self, Error> {
        let texts = c_strings("an option", options)?;
        let list = pointers(&texts);
        let mut job = Self { linker, raw: null_mut(), options, origin };
        // SAFETY: there are as many options as said, each ends in NUL; the output outlives the call.
        let code = linker.call(|table| unsafe {
            table.nvJitLinkCreate(&mut job.raw, u32::try_from(list.len()).unwrap_or(u32::MAX), list.as_ptr())
        })?;
        job.check("nvJitLinkCreate", code)?;
        Ok(job)
    }

    fn add(&self, input: &Input, name: &CStr) -> Result<(), Error> {
        let (data, size) = (input.bytes.as_ptr(), input.bytes.len());
        // SAFETY: this value has the link; there are as many bytes as said, a whole input of its kind: `LinkInputs::add` checked it, of LTO IR
        // its beginning, the rest of which the library checks, or it is duty 1 of `add_unchecked`. The name ends in NUL. Both outlive the
        // link, as `link_now` has it.
        let code = self.linker.call(|table| unsafe {
            table.nvJitLinkAddData(self.raw, raw_kind(input.kind), data.cast(), size, name.as_ptr())
        })?;
        // Without this the link goes on, and succeeds without the input.
        self.check("nvJitLinkAddData", code)
    }

    fn check(&self, call: &'static str, code: nvJitLinkResult) -> Result<(), Error> {
        if code == nvJitLinkResult::SUCCESS {
            return Ok(());
        }
        let log = self.logs();
        Err(ErrorKind::Compile(CompileError::Refused(Refusal {
            library: LIBRARY.name,
            version: self.linker.inner.version,
            call,
            code: code.0,
            code_name: code.name().unwrap_or("unknown code"),
            origin: self.origin.to_string(),
            options: self.options.to_vec(),
            diagnostics: Diagnostic::parse(&log),
            hint: hint(code),
            log,
        }))
        .into())
    }

    /// Both logs, errors first.
    fn logs(&self) -> String {
        let logs = [self.log(true), self.log(false)];
        logs.into_iter().filter(|log| !log.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn log(&self, of_errors: bool) -> String {
        let (table, raw, mut size) = (&self.linker.inner.table, self.raw, 0);
        if raw.is_null() {
            return String::new();
        }
        // SAFETY: this value has the link, the output outlives the call.
        let code = unsafe {
            match of_errors {
                true => table.nvJitLinkGetErrorLogSize(raw, &mut size),
                false => table.nvJitLinkGetInfoLogSize(raw, &mut size),
            }
        };
        if code != Ok(nvJitLinkResult::SUCCESS) {
            return String::new();
        }
        // One more: for an empty log it writes a NUL all the same.
        let mut log = vec![0_u8; size + 1];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes, and one more.
        let code = unsafe {
            match of_errors {
                true => table.nvJitLinkGetErrorLog(raw, log.as_mut_ptr().cast()),
                false => table.nvJitLinkGetInfoLog(raw, log.as_mut_ptr().cast()),
            }
        };
        if code == Ok(nvJitLinkResult::SUCCESS) { from_log(&log) } else { String::new() }
    }

    fn output(&self, kind: CodeKind) -> Result<Vec<u8>, Error> {
        let ptx = kind == CodeKind::Ptx;
        let mut size = 0;
        // SAFETY: this value has the link, which `link_now` has completed; the output outlives the call.
        let code = self.linker.call(|table| unsafe {
            match ptx {
                true => table.nvJitLinkGetLinkedPtxSize(self.raw, &mut size),
                false => table.nvJitLinkGetLinkedCubinSize(self.raw, &mut size),
            }
        })?;
        self.check("nvJitLinkGetLinkedCubinSize or nvJitLinkGetLinkedPtxSize", code)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: as above; the buffer has as many bytes as the library said it writes.
        let code = self.linker.call(|table| unsafe {
            match ptx {
                true => table.nvJitLinkGetLinkedPtx(self.raw, bytes.as_mut_ptr().cast()),
                false => table.nvJitLinkGetLinkedCubin(self.raw, bytes.as_mut_ptr().cast()),
            }
        })?;
        self.check("nvJitLinkGetLinkedCubin or nvJitLinkGetLinkedPtx", code)?;
        if ptx && bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(bytes)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: this value owned the link, and ends with it. Nobody can be told of an error here.
            let _ = unsafe { self.linker.inner.table.nvJitLinkDestroy(&mut self.raw) };
        }
    }
}

fn raw_kind(kind: LinkInput) -> nvJitLinkInputType {
    match kind {
        LinkInput::Cubin => nvJitLinkInputType::NVJITLINK_INPUT_CUBIN,
        LinkInput::Ptx => nvJitLinkInputType::NVJITLINK_INPUT_PTX,
        LinkInput::Fatbin => nvJitLinkInputType::NVJITLINK_INPUT_FATBIN,
        LinkInput::Object => nvJitLinkInputType::NVJITLINK_INPUT_OBJECT,
        LinkInput::Library => nvJitLinkInputType::NVJITLINK_INPUT_LIBRARY,
        LinkInput::Nvvm => nvJitLinkInputType::NVJITLINK_INPUT_LTOIR,
        LinkInput::Other(number) => nvJitLinkInputType(number),
    }
}

fn hint(code: nvJitLinkResult) -> Option<String> {
    let text = match code {
        nvJitLinkResult::NVJITLINK_ERROR_OUTDATED_LIBRARY | nvJitLinkResult::NVJITLINK_ERROR_NVVM_COMPILE => {
            "an input may come from a newer compiler than this library: nvJitLink must be as new as the newest"
        }
        nvJitLinkResult::NVJITLINK_ERROR_ARCH_MISMATCH => {
            "compile the inputs for the architecture of the link"
        }
        nvJitLinkResult::NVJITLINK_ERROR_UNRECOGNIZED_ARCH
        | nvJitLinkResult::NVJITLINK_ERROR_UNSUPPORTED_ARCH => {
            "this library does not know the architecture: install one that does"
        }
        nvJitLinkResult::NVJITLINK_ERROR_UNRECOGNIZED_OPTION => {
            "remove the option, or install a newer library"
        }
        _ => return None,
    };
    Some(text.to_string())
}

#[cold]
fn too_old(found: Option<(u32, u32)>, missing: Missing) -> Error {
    let (library, variable, what) = (LIBRARY.name, LIBRARY.variable, missing.symbol.to_string());
    let since = "this crate needs nvJitLink 12.3";
    ErrorKind::Compile(CompileError::TooOld { library, found, what, since, variable }).into()
}
