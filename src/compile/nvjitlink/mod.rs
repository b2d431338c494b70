//! nvJitLink: links LTO IR, PTX, cubins and more into one cubin.

#![allow(unsafe_code)] // Calls of nvJitLink with a link that `Job` owns, inputs that were checked or vouched for, and buffers.

mod inputs;
mod options;

use cuda_driver_sys::Missing;
use cuda_driver_sys::nvjitlink::{
    Functions, NvJitLink as Table, nvJitLink as RawJob, nvJitLinkInputType, nvJitLinkResult,
};
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::sync::Mutex;

use self::inputs::Input;
pub use self::inputs::LinkInputs;
pub use self::options::{NvJitLinkOption, NvJitLinkOptions};
use super::cache::{CompileCache, Key};
use super::code::{CodeKind, CompiledCode};
use super::compiler::{Answer, Api, Asked, Job, Opened, Text, text};
use super::search::{Library, once};
use super::text::{c_strings, pointers};
use crate::driver::LinkInput;
use crate::error::Error;
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
pub struct NvJitLink(Opened<Functions>);

/// The one that was found; looked for again only after a failure.
static FOUND: Mutex<Option<NvJitLink>> = Mutex::new(None);

impl NvJitLink {
    /// Finds and loads the library, like [`Nvrtc::load`](super::Nvrtc::load); the variable is `CUDA_LAUNCH_NVJITLINK`.
    ///
    /// Call: `nvJitLinkVersion`.
    ///
    /// # Errors
    /// [`CompileError::NotFound`](crate::error::CompileError::NotFound) with everything that was tried; a library before 12.3 cannot report its version and
    /// is not used.
    pub fn load() -> Result<Self, Error> {
        once(&FOUND, || Self::with_library(LIBRARY.load()?))
    }

    /// Uses a library that other code loaded: a second version next to the first, or one from a test.
    ///
    /// # Errors
    /// [`CompileError::TooOld`](crate::error::CompileError::TooOld) if it cannot report its version.
    pub fn with_library(table: Table) -> Result<Self, Error> {
        Opened::new(table).map(Self)
    }

    /// Its version: `(13, 0)`.
    #[doc(alias = "nvJitLinkVersion")]
    pub fn version(&self) -> (u32, u32) {
        self.0.version()
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

    /// Links.
    ///
    /// Calls: `nvJitLinkCreate`, `nvJitLinkAddData`, `nvJitLinkComplete`, `nvJitLinkGetErrorLog`, `nvJitLinkGetInfoLog`,
    /// `nvJitLinkGetLinkedCubin` or `nvJitLinkGetLinkedPtx`, `nvJitLinkDestroy`.
    ///
    /// # Errors
    /// [`CompileError::Refused`](crate::error::CompileError::Refused) with the log, for an undefined symbol, an input for another architecture, or an option
    /// that the library does not know; [`CompileError::Argument`](crate::error::CompileError::Argument) for no inputs, and for PTX output from inputs that
    /// are not LTO IR.
    #[doc(alias = "nvJitLinkComplete")]
    pub fn link(&self, inputs: &LinkInputs, options: &NvJitLinkOptions) -> Result<CompiledCode, Error> {
        inputs.check(options.output)?;
        let mut arguments = options.arguments();
        if inputs.have_lto() && !arguments.iter().any(|argument| argument == "-lto") {
            arguments.push("-lto".into());
        }
        CompileCache::through(
            self.0.cache(),
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
        let kinds: Vec<String> = inputs.list.iter().map(|input| format!("{:?}", input.kind)).collect();
        Ok(self
            .0
            .key(options.driver, options.has_raw())?
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
        let (texts, asked) =
            (c_strings("an option", arguments)?, Asked { origin: &origin, options: arguments, texts: &[] });
        let (list, count) = (pointers(&texts), u32::try_from(texts.len()).unwrap_or(u32::MAX));
        // SAFETY: there are as many options as said, and each ends in NUL; `texts` was made before the link, and goes after it.
        let job = Job::new(&self.0, asked, "nvJitLinkCreate", |table, raw| unsafe {
            table.nvJitLinkCreate(raw, count, list.as_ptr())
        })?;
        inputs.list.iter().zip(&names).try_for_each(|(input, name)| add(&job, input, name))?;
        // SAFETY: `Job::call` passes a live link; names and bytes of its inputs, to which it keeps pointers, are there
        // until it is dropped.
        let link = |table: &Functions, raw| unsafe { table.nvJitLinkComplete(raw) };
        let name = "nvJitLinkComplete";
        trace::compile(name, &origin, || job.call(name, link))?;
        // SAFETY: 1: two functions for the same output of nvJitLink, and the link is complete.
        unsafe { job.finish(kind, output(kind)) }
    }
}

fn add(job: &Job<'_, Functions>, input: &Input, name: &CStr) -> Result<(), Error> {
    let (data, size) = (input.bytes.as_ptr(), input.bytes.len());
    // Without a look at the result the link goes on, and succeeds without the input.
    // SAFETY: `Job::call` passes a live link; there are as many bytes as said, a whole input of its kind:
    // `LinkInputs::add` checked it, of LTO IR its beginning, the rest of which the library checks, or it is duty 1 of
    // `add_unchecked`. The name ends in NUL. Both outlive the link, as `link_now` has it.
    job.call("nvJitLinkAddData", |table, raw| unsafe {
        table.nvJitLinkAddData(raw, raw_kind(input.kind), data.cast(), size, name.as_ptr())
    })
}

/// What reads an output.
fn output(kind: CodeKind) -> &'static Text<Functions> {
    match kind {
        CodeKind::Ptx => &text!(Functions, nvJitLinkGetLinkedPtxSize, nvJitLinkGetLinkedPtx),
        _ => &Text {
            names: ("nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin"),
            size: Functions::nvJitLinkGetLinkedCubinSize,
            // SAFETY: a `Text` asks of its caller what this function asks: only the type of the buffer's elements
            // differs, of one byte.
            read: |table, job, buffer| unsafe { table.nvJitLinkGetLinkedCubin(job, buffer.cast()) },
        },
    }
}

impl From<nvJitLinkResult> for Answer {
    fn from(code: nvJitLinkResult) -> Self {
        Self { number: code.0, name: code.name() }
    }
}

// SAFETY: 1: they are nvJitLink's functions for the version, for the end of a link and for its logs, whose arguments
// are outputs and the link; 2: a link has its logs from its creation on.
unsafe impl Api for Functions {
    type Job = RawJob;
    type Code = nvJitLinkResult;

    const LIBRARY: Library = LIBRARY;
    const REPORT_VERSION: unsafe fn(&Self, *mut c_int, *mut c_int) -> Result<Self::Code, Missing> =
        // SAFETY: the caller gives two places, as this function asks; it writes numbers without signs, which are as
        // large.
        |table, major, minor| unsafe { table.nvJitLinkVersion(major.cast(), minor.cast()) };
    const DESTROY: unsafe fn(&Self, *mut *mut Self::Job) -> Result<Self::Code, Missing> =
        Self::nvJitLinkDestroy;
    const LOGS: &'static [Text<Self>] = &[
        text!(Self, nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog),
        text!(Self, nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog),
    ];

    fn since(_: &str) -> &'static str {
        "this crate needs nvJitLink 12.3"
    }

    fn hint(&self, answer: Answer, _: &str, _: &[String]) -> Option<String> {
        hint(nvJitLinkResult(answer.number))
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
