//! The result of loading a module's text, or the reason of a failure.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::windows;
use cuda_ptx::{FunctionKind, Linkage, Variable};

/// The parts of a module that decoding needs.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) text: Arc<str>,
    /// `.version` as `major * 10 + minor`.
    pub(super) version: u32,
    /// Architecture number.
    pub(super) target: u32,
    pub(super) files: HashMap<u32, String>,
    /// Whether the module is compiled for a debugger: `.target sm_90, debug`.
    pub(super) debug: bool,
    /// Functions that have a body, in source order.
    pub(super) functions: Vec<FunctionEntry>,
    /// The address of the first of them.
    pub(super) first_function: u64,
    /// Index in `functions` by name.
    pub(super) by_name: HashMap<String, usize>,
    /// Functions declared and not defined: the device runtime's.
    pub(super) externs: Vec<String>,
    /// `.global` and `.const` variables by name.
    pub(super) globals: HashMap<String, Global>,
    /// `.global` and `.const` variables of functions, by [`declaration`].
    pub(super) nested: HashMap<usize, Global>,
    /// Variables declared `.extern` that no image defines: this image does.
    pub(super) unresolved: Vec<String>,
    /// `.shared` variables of module scope by name.
    pub(super) shared: HashMap<String, SharedVariable>,
}

impl Image {
    /// The line of a name that was parsed from the text; 0 for others.
    pub(super) fn line_of(&self, name: &str) -> u32 {
        let offset = name.as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        let before = offset.and_then(|offset| self.text.get(..offset));
        before.map_or(0, |before| before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1)
    }

    /// Index and address of a function.
    pub(super) fn function(&self, name: &str) -> Option<(usize, u64)> {
        let index = *self.by_name.get(name)?;
        Some((index, windows::function_address(self.first_function, index)))
    }
}

/// A function of the text.
#[derive(Debug)]
pub(super) struct FunctionEntry {
    pub(super) name: String,
    pub(super) kind: FunctionKind,
    pub(super) span: Range<usize>,
    pub(super) line: u32,
    /// Where its name stands first: here, or where it is declared before.
    pub(super) declaration: usize,
}

/// A variable in device memory.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) constant: bool,
    /// See [`element_bytes`].
    pub(super) element: u32,
    /// Whether the module has allocated it and frees it; otherwise its address was given when the module was loaded.
    pub(super) owned: bool,
}

/// A shared variable of module scope.
#[derive(Clone, Debug)]
pub(super) struct SharedVariable {
    /// Bytes; 0 for `.extern .shared x[]`, which is placed after all others.
    pub(super) bytes: u64,
    pub(super) align: u32,
    pub(super) dynamic: bool,
    /// See [`element_bytes`].
    pub(super) element: u32,
    /// See [`declaration`]: it is placed behind those that stand before it.
    pub(super) declaration: usize,
}

/// Identifies a declaration in an image: the position of its name in [`Image::text`], from which it was parsed. One line may declare a
/// name several times, each in its own block.
pub(super) fn declaration(variable: &Variable<'_>) -> usize {
    variable.name.as_ptr().addr()
}

/// The distance between elements of an array for `array[index]`. As in ptxas, that is the size of the type, also for vectors, and an
/// array of arrays counts as an array of elements.
pub(super) fn element_bytes(variable: &Variable<'_>) -> u32 {
    variable.ty.size() as u32
}

impl SharedVariable {
    /// The properties of a declaration that the layout of shared memory needs.
    pub(super) fn of(variable: &Variable<'_>) -> SharedVariable {
        let dynamic = variable.linkage == Linkage::Extern;
        SharedVariable {
            bytes: if dynamic { 0 } else { variable.size() },
            align: variable.align() as u32,
            dynamic,
            element: element_bytes(variable),
            declaration: declaration(variable),
        }
    }
}

/// Why a module was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// Line in the PTX text, counted from 1; 0 if it is not about a line.
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
    /// An instruction or a declaration that does not assemble: names, types, numbers of operands, limits.
    Invalid,
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
