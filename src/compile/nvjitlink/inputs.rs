//! What is linked together.

use cuda_ptx::image::{EntryKind, Image};
use std::path::Path;

use crate::compile::code::{CodeKind, CompiledCode};
use crate::compile::text::argument_error;
use crate::driver::LinkInput;
use crate::error::{Error, ErrorKind};

/// How LTO IR begins.
pub(super) const LTO_MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// The inputs of a link with [`NvJitLink`](super::NvJitLink), in any combination.
///
/// ```
/// use cuda_launch::compile::LinkInputs;
/// let head = ".version 7.0\n.target sm_52\n.address_size 64\n";
/// let mut inputs = LinkInputs::new();
/// inputs.add("helper.ptx", format!("{head}.visible .func helper() {{ ret; }}"))?;
/// inputs.add("kernel.ptx", format!("{head}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}"))?;
/// assert_eq!(inputs.names().collect::<Vec<_>>(), ["helper.ptx", "kernel.ptx"]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LinkInputs {
    pub(super) list: Vec<Input>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) kind: LinkInput,
    pub(super) name: String,
    /// PTX ends in NUL.
    pub(super) bytes: Vec<u8>,
    /// A fatbin with LTO IR in it.
    lto_inside: bool,
}

impl LinkInputs {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds PTX text, a cubin, a fatbin or LTO IR, detecting which it is; `name` is its name in logs.
    ///
    /// The bytes are checked; for LTO IR only the beginning, because the library checks the rest.
    ///
    /// # Errors
    /// [`ErrorKind::Image`] for bytes that are none of these, or damaged.
    pub fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (name, mut bytes) = (name.into(), bytes.into());
        let (kind, lto_inside) = match Image::read(&bytes) {
            _ if bytes.starts_with(&LTO_MAGIC) => (LinkInput::Nvvm, false),
            Ok(Image::Cubin(_)) => (LinkInput::Cubin, false),
            Ok(Image::Fatbin(fatbin)) => {
                (LinkInput::Fatbin, fatbin.entries().iter().any(|entry| entry.kind() == EntryKind::LtoIr))
            }
            // What is neither is text.
            Ok(_) => (LinkInput::Ptx, false),
            Err(error) => return Err(ErrorKind::Image { origin: name, error }.into()),
        };
        if kind == LinkInput::Ptx {
            let text = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            bytes.truncate(text);
            bytes.push(0);
        }
        self.list.push(Input { kind, name, bytes, lto_inside });
        Ok(())
    }

    /// Adds the output of another compiler.
    ///
    /// # Errors
    /// As for [`LinkInputs::add`].
    pub fn add_code(&mut self, code: &CompiledCode) -> Result<(), Error> {
        self.add(code.origin(), code.bytes())
    }

    /// Adds a file of PTX text, a cubin, a fatbin or LTO IR.
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, and those of [`LinkInputs::add`].
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        self.add(path.display().to_string(), bytes)
    }

    /// Adds code of any kind, unchecked: including object files and archives, which this crate cannot check. If they
    /// contain LTO IR, add [`NvJitLinkOption::Raw`](super::NvJitLinkOption::Raw)`("-lto")`.
    ///
    /// # Safety
    /// 1. The bytes are a complete input of this kind; PTX ends in NUL.
    #[allow(unsafe_code)] // A promise for `NvJitLink::link` to rely on.
    pub unsafe fn add_unchecked(
        &mut self,
        kind: LinkInput,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) {
        self.list.push(Input { kind, name: name.into(), bytes: bytes.into(), lto_inside: false });
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|input| input.name.as_str())
    }

    /// Whether any of them is LTO IR. Whether object files and archives contain any is unknown.
    pub(super) fn have_lto(&self) -> bool {
        self.list.iter().any(|input| input.kind == LinkInput::Nvvm || input.lto_inside)
    }

    /// Refuses what nvJitLink would take as it were something.
    pub(super) fn check(&self, output: CodeKind) -> Result<(), Error> {
        if self.list.is_empty() {
            return Err(argument_error("there is nothing to link".into(), "add an input"));
        }
        let other =
            self.list.iter().find(|input| !matches!(input.kind, LinkInput::Nvvm | LinkInput::Other(_)));
        match (output, other) {
            (CodeKind::LtoIr, _) => Err(argument_error(
                "nvJitLink produces a cubin or PTX, not LTO IR".into(),
                "request one of these",
            )),
            (CodeKind::Ptx, Some(input)) => {
                let what = format!(
                    "nvJitLink produces PTX only from LTO IR, and {} is {}",
                    input.name,
                    describe(input)
                );
                Err(argument_error(what, "link to a cubin, or compile the input to LTO IR"))
            }
            _ => Ok(()),
        }
    }
}

fn describe(input: &Input) -> &'static str {
    match input.kind {
        LinkInput::Cubin => "a cubin",
        LinkInput::Ptx => "PTX",
        LinkInput::Fatbin => "a fatbin",
        LinkInput::Object => "an object file",
        LinkInput::Library => "an archive",
        _ => "something else",
    }
}
