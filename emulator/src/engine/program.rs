//! One loaded PTX module.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_ptx::{FunctionKind, Type};

use super::decode;
use super::kernel::Kernel;
use super::load;
use crate::memory::Memory;

/// A PTX module: its text, its symbols, its variables placed in device memory. Functions are decoded when a kernel
/// that reaches them is first asked for.
pub struct Program {
    pub(super) image: Arc<Image>,
    memory: Arc<Memory>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// What decoding needs of a module.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) text: String,
    /// `.version` as `major * 10 + minor`.
    pub(super) version: u32,
    /// Architecture number.
    pub(super) target: u32,
    pub(super) files: HashMap<u32, String>,
    /// Functions that have a body, in source order.
    pub(super) functions: Vec<FunctionEntry>,
    /// Index in `functions` by name.
    pub(super) by_name: HashMap<String, usize>,
    /// Functions declared and not defined: the device runtime's.
    pub(super) externs: Vec<String>,
    /// `.global` and `.const` variables by name.
    pub(super) globals: HashMap<String, Global>,
    /// Variables declared `.extern` that nobody defines: this image does.
    pub(super) unresolved: Vec<String>,
    /// `.shared` variables of module scope by name.
    pub(super) shared: HashMap<String, SharedVariable>,
}

/// A function of the text.
#[derive(Debug)]
pub(super) struct FunctionEntry {
    pub(super) name: String,
    pub(super) kind: FunctionKind,
    pub(super) span: Range<usize>,
    pub(super) line: u32,
}

/// A variable in device memory.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) constant: bool,
    pub(super) ty: Type,
    /// Placed by the module, which gives the memory back; else whoever loaded it said where it lies.
    pub(super) owned: bool,
}

/// A shared variable of module scope.
#[derive(Clone, Debug)]
pub(super) struct SharedVariable {
    /// Bytes; 0 for `.extern .shared x[]`, which lies behind all others.
    pub(super) bytes: u64,
    pub(super) align: u32,
    pub(super) dynamic: bool,
}

impl Program {
    /// Reads a module and places its variables (`cuModuleLoadData`). A trailing zero byte is ignored.
    ///
    /// What the text says is checked as far as every function's structure, names and mnemonics; an instruction that
    /// exists but that this engine lacks stops the kernel that reaches it, not the module.
    pub fn load(text: &str, memory: &Arc<Memory>) -> Result<Program, LoadFailure> {
        Program::load_with(text, memory, &[])
    }

    /// The same, with addresses for variables that the module declares `.extern`.
    pub fn load_with(
        text: &str,
        memory: &Arc<Memory>,
        symbols: &[(String, u64)],
    ) -> Result<Program, LoadFailure> {
        let image = load::load(text, memory, symbols)?;
        Ok(Program { image: Arc::new(image), memory: Arc::clone(memory), kernels: Mutex::default() })
    }

    /// Names of the kernels in source order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.image.functions.iter().filter(|f| f.kind == FunctionKind::Entry).map(|f| f.name.as_str())
    }

    /// The kernel of that name, decoded on first use: the same one each time (`cuModuleGetFunction`).
    pub fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        let index = *self.image.by_name.get(name)?;
        if self.image.functions.get(index)?.kind != FunctionKind::Entry {
            return None;
        }
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(name) {
            return Some(Arc::clone(kernel));
        }
        let kernel = Arc::new(decode::kernel(&self.image, index, self.memory.checker().is_some()));
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Some(kernel)
    }

    /// Variables that were declared `.extern` and that nobody defines: they were made here, of zeros.
    pub fn unresolved(&self) -> impl Iterator<Item = &str> {
        self.image.unresolved.iter().map(String::as_str)
    }

    /// Address and size in bytes of a `.global` or `.const` variable (`cuModuleGetGlobal`).
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.image.globals.get(name).map(|global| (global.address, global.bytes))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        load::release(&self.image, &self.memory);
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}

/// Why a module was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// Line in the PTX text, counted from 1; 0 where no line is to blame.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// The kind of thing that is wrong.
    pub kind: LoadFailureKind,
}

/// Kinds of [`LoadFailure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadFailureKind {
    /// The text is no PTX module.
    NotPtx,
    /// A `.version` newer than this engine knows.
    Version,
    /// A `.target` beyond the device.
    Target,
    /// The text breaks the grammar, or names an instruction that PTX does not have.
    Syntax,
    /// A name that nothing defines.
    Unresolved,
    /// A name defined twice.
    Duplicate,
    /// No device memory for the module's variables.
    OutOfMemory,
    /// A feature of PTX that this engine does not have and that concerns the module as a whole.
    Unsupported,
}

impl fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for LoadFailure {}
