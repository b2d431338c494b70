//! Kernel images: checked before the driver sees them, then loaded with both compiler logs.

#![allow(unsafe_code)] // `cuModuleLoadDataEx` on bytes that were checked or end in NUL.

use cuda_driver_sys::{CUmodule, CUresult};
use cuda_ptx::image::{Image as Checked, ImageError};
use cuda_ptx::{KernelOutline, ParameterOutline, Space};
use std::ffi::{CString, c_void};
use std::fmt::Debug;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::binary::Binary;
use super::context::CudaContext;
use super::jit::slots::Slots;
use super::jit::{JitOptions, JitReport};
use super::kernel_image::KernelImage;
use crate::error::{CompilerLog, Error, ErrorKind, Parameter, log as said};

/// What an image says of one kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature {
    /// `None` where the image does not list them.
    pub(super) parameters: Option<Vec<Parameter>>,
    pub(super) required_block: Option<(u32, u32, u32)>,
    /// `.maxntid`: the product of its dimensions.
    pub(super) max_threads: Option<u32>,
    pub(super) blocks_are_clusters: bool,
}

/// What an image says about its kernels. Text is parsed on the first request: most programs load more than they launch, and
/// some look up nothing.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    listed: OnceLock<Listed>,
    /// Until it is read.
    text: Mutex<Option<CString>>,
}

#[derive(Default)]
struct Listed {
    /// `None` if the image does not list its kernels.
    kernels: Option<Box<dyn KernelList>>,
    /// Variables of global and constant memory, and whether they are constants.
    variables: Vec<(String, bool)>,
}

// Without the lists: a program has no code to print them all.
impl Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listed")
    }
}

/// The kernels of an image.
pub(super) trait KernelList: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// The name of the one at `place`, which is less than their number.
    fn name(&self, place: usize) -> &str;

    /// What the image says of the one with this name.
    fn get(&self, name: &str) -> Option<Signature>;
}

/// The kernels of a text.
struct OfPtx {
    kernels: Vec<(String, Signature)>,
    /// Their places, in the order of their names.
    order: Vec<usize>,
}

impl KernelList for OfPtx {
    fn count(&self) -> usize {
        self.kernels.len()
    }

    fn name(&self, place: usize) -> &str {
        &self.kernels[place].0
    }

    fn get(&self, name: &str) -> Option<Signature> {
        let found = self.order.binary_search_by(|place| self.name(*place).cmp(name)).ok()?;
        Some(self.kernels[self.order[found]].1.clone())
    }
}

impl Signatures {
    fn listed(&self) -> &Listed {
        self.listed.get_or_init(|| {
            // Nothing panics while it is locked, and either state is whole.
            let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).take();
            text.map_or_else(Listed::default, |text| Listed::of_ptx(&text.to_string_lossy()))
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<Signature> {
        self.listed().kernels.as_ref()?.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.listed().names()
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        self.listed().variables.iter().map(|(name, constant)| (name.as_str(), *constant))
    }

    pub(super) fn complete(&self) -> bool {
        self.listed().kernels.is_some()
    }
}

impl Listed {
    fn of_ptx(text: &str) -> Self {
        let Some(outline) = cuda_ptx::outline(text) else { return Self::default() };
        let of_space = |(name, space): &(&str, Space)| (name.to_string(), *space == Space::Const);
        let kernels: Vec<(String, Signature)> = outline.kernels.iter().map(ptx_signature).collect();
        let variables = outline.variables.iter().map(of_space).collect();
        let names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        let order = cuda_ptx::in_order_of_names(&names);
        Self { kernels: Some(Box::new(OfPtx { kernels, order })), variables }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let count = self.kernels.as_ref().map_or(0, |kernels| kernels.count());
        (0..count).map(|place| self.kernels.as_ref().map_or("", |kernels| kernels.name(place)))
    }
}

/// An image that may be given to the driver.
pub(super) struct Image<'a> {
    content: Content<'a>,
    bytes: &'a [u8],
    /// PTX with the NUL at its end that the driver looks for; other images carry their own length.
    text: Option<CString>,
}

enum Content<'a> {
    Ptx(&'a str),
    Binary(Box<dyn Binary + 'a>),
}

impl<'a> Image<'a> {
    /// Checks what a program passes.
    pub(super) fn of<I: KernelImage + ?Sized>(image: &'a I, origin: &str) -> Result<Self, Error> {
        if I::IS_TEXT { Self::of_text(image.bytes(), origin) } else { Self::new(image.bytes(), origin) }
    }

    /// Checks an image of any kind.
    pub(super) fn new(bytes: &'a [u8], origin: &str) -> Result<Self, Error> {
        Ok(match Checked::read(bytes).map_err(refused_by(origin))? {
            Checked::Ptx(text) => Self::ptx(bytes, text),
            binary => Self { content: Content::Binary(Box::new(binary)), bytes, text: None },
        })
    }

    /// The same where it can be nothing but PTX.
    fn of_text(bytes: &'a [u8], origin: &str) -> Result<Self, Error> {
        Ok(Self::ptx(bytes, Checked::read_ptx(bytes).map_err(refused_by(origin))?))
    }

    /// The text that was read has no NUL inside.
    fn ptx(bytes: &'a [u8], text: &'a str) -> Self {
        Self { content: Content::Ptx(text), bytes, text: CString::new(text).ok() }
    }

    /// All that was passed.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the driver starts to read.
    pub(super) fn as_ptr(&self) -> *const c_void {
        self.text.as_ref().map_or(self.bytes.as_ptr().cast(), |text| text.as_ptr().cast())
    }

    /// Bytes that the driver may read, the NUL of a text included.
    pub(super) fn len(&self) -> usize {
        self.text.as_ref().map_or(self.bytes.len(), |text| text.as_bytes_with_nul().len())
    }

    /// Loads the image into a context; `own` makes the module's owner, as for [`CudaContext::make`].
    pub(super) fn load<T>(
        &self,
        context: &CudaContext,
        origin: &str,
        options: &JitOptions,
        own: impl FnOnce(CUmodule) -> T,
    ) -> Result<(T, JitReport), Error> {
        const CALL: &str = "cuModuleLoadDataEx";
        let mut slots = Slots::new(options, context.driver_version())?;
        let (count, ids, values) = slots.parts();
        let (mut made, mut code) = (None, CUresult::SUCCESS);
        context.call(
            CALL,
            || origin.to_string(),
            |driver| {
                let mut module = std::ptr::null_mut();
                // SAFETY: `call` made the context current. Text is a `CString`, which ends in NUL; `Image::new` checked
                // that the headers of other images lie, with all they point to, inside `bytes`. Options and values are
                // as many as said; what they point to is of `slots`, or stays by duty 2 of `JitOptions::raw`. `slots`,
                // the image and the output outlive the call.
                code = unsafe { driver.cuModuleLoadDataEx(&mut module, self.as_ptr(), count, ids, values) };
                made = (code == CUresult::SUCCESS).then(|| own(module));
                // Reported below, with the logs; a fault of earlier work is reported here.
                if code.is_sticky() { code } else { CUresult::SUCCESS }
            },
        )?;
        match made {
            Some(made) => Ok((made, slots.report())),
            None => Err(self.refused(CALL, code, Some(context), origin, slots.report())),
        }
    }

    #[cold]
    pub(super) fn refused(
        &self,
        call: &'static str,
        code: CUresult,
        context: Option<&CudaContext>,
        origin: &str,
        report: JitReport,
    ) -> Error {
        let mut log = log_of(call, code, origin, report);
        if let Content::Ptx(text) = self.content {
            log.excerpt =
                log.line.and_then(|n| text.lines().nth((n as usize).checked_sub(1)?)).map(str::to_string);
        }
        if let Some(context) = context {
            let help = said::of_call(context.driver(), call, code).help;
            log.hint = help.or_else(|| self.hint(code, context)).or(log.hint);
        }
        ErrorKind::Compiler(log).into()
    }

    /// What it is, as an input of a link.
    #[cfg(feature = "link")]
    pub(super) fn link_input(&self) -> super::linker::LinkInput {
        match &self.content {
            Content::Ptx(_) => super::linker::LinkInput::Ptx,
            Content::Binary(binary) => binary.link_input(),
        }
    }

    /// What the code most likely means for this image on this device.
    fn hint(&self, code: CUresult, context: &CudaContext) -> Option<String> {
        let (major, minor) = context.limits().compute_capability;
        let text = match &self.content {
            Content::Ptx(text) => text,
            Content::Binary(binary) => return binary.hint(code, (major, minor)),
        };
        let outline = cuda_ptx::outline(text)?;
        match code {
            CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                let (isa_major, isa_minor) = outline.version;
                let version = context.driver_version();
                let (cuda_major, cuda_minor) = (version / 1000, version % 1000 / 10);
                Some(format!(
                    "the text is PTX ISA {isa_major}.{isa_minor}; this driver, for CUDA {cuda_major}.{cuda_minor}, takes an \
                     older one: compile with the toolkit of that version, or update the driver"
                ))
            }
            CUresult::CUDA_ERROR_INVALID_PTX => {
                let (arch, device, target) = (outline.arch()?, major * 10 + minor, outline.target);
                match arch.suffix {
                    _ if arch.sm > device => Some(format!(
                        "the text is for {target}, newer than this device (sm_{device}): compile for an older target"
                    )),
                    Some('a') if arch.sm != device => Some(format!(
                        "the text is for {target}, which only sm_{} runs, and this device is sm_{device}: compile for sm_{device}, or \
                         without the letter",
                        arch.sm
                    )),
                    Some('f') if arch.sm / 10 != device / 10 => Some(format!(
                        "the text is for {target}, which only devices sm_{}x run, and this one is sm_{device}: compile for sm_{device}, \
                         or without the letter",
                        arch.sm / 10
                    )),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What the image says about its kernels; nothing if it cannot be parsed.
    pub(super) fn into_signatures(self) -> Signatures {
        match self.content {
            Content::Ptx(_) => Signatures { listed: OnceLock::new(), text: Mutex::new(self.text) },
            // Copied now, because the bytes belong to the caller, who may free them afterwards.
            Content::Binary(binary) => {
                let listed = Listed { kernels: binary.kernels(), ..Listed::default() };
                Signatures { listed: listed.into(), text: Mutex::default() }
            }
        }
    }
}

/// The error for bytes that are no image.
fn refused_by(origin: &str) -> impl FnOnce(ImageError) -> Error {
    move |error| ErrorKind::Image { origin: origin.to_string(), error }.into()
}

/// The error for code that the driver refused, without a look at it.
#[cold]
pub(super) fn compiler_error(call: &'static str, code: CUresult, origin: &str, report: JitReport) -> Error {
    ErrorKind::Compiler(log_of(call, code, origin, report)).into()
}

fn log_of(call: &'static str, code: CUresult, origin: &str, report: JitReport) -> CompilerLog {
    let JitReport { error_log, info_log, .. } = report;
    CompilerLog {
        call,
        code,
        origin: origin.to_string(),
        line: log_line(&error_log),
        error_log,
        info_log,
        excerpt: None,
        hint: crate::error::call_hint(code, call, None),
    }
}

/// The number after the first `line ` of a log.
fn log_line(log: &str) -> Option<u32> {
    let (_, rest) = log.split_once("line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

fn ptx_signature(kernel: &KernelOutline<'_>) -> (String, Signature) {
    let directives = &kernel.directives;
    let signature = Signature {
        parameters: Some(kernel.parameters.iter().map(wanted).collect()),
        required_block: directives.reqntid.map(dim3),
        max_threads: directives.maxntid.map(threads),
        blocks_are_clusters: directives.blocksareclusters,
    };
    (kernel.name.to_string(), signature)
}

fn wanted(parameter: &ParameterOutline<'_>) -> Parameter {
    let &ParameterOutline { name, ty, size, array, .. } = parameter;
    let extent = if array { format!("[{}]", size / ty.size().max(1)) } else { String::new() };
    Parameter { size, ty: Some(format!("{ty}{extent}")), name: Some(name.to_string()) }
}

/// The product.
pub(super) fn threads(dimensions: [u32; 3]) -> u32 {
    dimensions.into_iter().fold(1, u32::saturating_mul)
}

pub(super) fn dim3([x, y, z]: [u32; 3]) -> (u32, u32, u32) {
    (x, y, z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_log_is_its_first_one() {
        let log = "ptxas application ptx input, line 5; error   : Not a name\nptxas fatal   : line 9";
        assert_eq!(log_line(log), Some(5));
        assert_eq!(log_line("no such thing"), None);
        assert_eq!(log_line("line x"), None);
    }
}
