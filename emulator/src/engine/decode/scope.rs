//! The scopes of names in a function.

use std::collections::HashMap;

use cuda_ptx::Variable;

use super::draft::{Label, Register};
use crate::engine::exec::operand::Class;
use crate::engine::image::element_bytes;

/// The symbol for a name.
#[derive(Clone, Debug)]
pub(crate) enum Symbol<'a> {
    /// A register, or the first element of a vector register.
    Register {
        /// The register.
        first: Register,
        /// Elements: 1 for a scalar.
        elements: u32,
    },
    /// A local variable at that offset in the frame's local memory.
    Local(u32),
    /// A shared variable at that address.
    Shared(u32),
    /// A variable in device memory at that address.
    Global(u64),
    /// A kernel parameter at that offset.
    KernelParam(u32),
    /// A parameter of a device function or of a call, in rows of the frame.
    Param {
        /// First row.
        row: u32,
        /// Bytes.
        bytes: u32,
    },
    /// A label.
    Label(Label),
    /// A function of the program: its index, and its address.
    Function(usize, u64),
    /// A list of labels or functions.
    Targets(&'a [&'a str]),
    /// A call prototype.
    Prototype,
}

/// A set of registers `%r<5>`.
#[derive(Clone, Copy, Debug)]
struct RegisterSet {
    first: Register,
    count: u32,
    elements: u32,
}

/// Names of one `{}` block.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Symbol<'a>>,
    /// The distance between elements of its variables, in bytes.
    elements: HashMap<&'a str, u32>,
    sets: HashMap<&'a str, RegisterSet>,
}

/// Names of the nested blocks around an instruction, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
}

impl<'a> Scopes<'a> {
    /// Enters a block.
    pub(crate) fn push(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Leaves a block.
    pub(crate) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Declares a name in the innermost block.
    pub(crate) fn declare(&mut self, name: &'a str, symbol: Symbol<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, symbol);
        }
    }

    /// Declares a variable in the innermost block.
    pub(crate) fn declare_variable(&mut self, variable: &Variable<'a>, symbol: Symbol<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(variable.name, symbol);
            scope.elements.insert(variable.name, element_bytes(variable));
        }
    }

    /// The distance between elements of a variable of these blocks, in bytes.
    pub(crate) fn element_bytes(&self, name: &str) -> Option<u32> {
        self.scopes.iter().rev().find(|scope| scope.names.contains_key(name))?.elements.get(name).copied()
    }

    /// Declares registers `prefix0` to `prefix(count-1)`, each of `elements` consecutive virtual registers.
    pub(crate) fn declare_set(&mut self, prefix: &'a str, first: Register, count: u32, elements: u32) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.sets.insert(prefix, RegisterSet { first, count, elements });
        }
    }

    /// The symbol for a name, searched from the innermost block outwards.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol<'a>> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        self.scopes.iter().rev().find_map(|scope| {
            if let Some(symbol) = scope.names.get(name) {
                return Some(symbol.clone());
            }
            // A set's prefix may itself end in a digit: try every split.
            (0..digits.len()).find_map(|taken| {
                let set = scope.sets.get(&name[..prefix.len() + taken])?;
                let number: u32 = digits[taken..].parse().ok()?;
                // `%r07` is not `%r7`.
                let canonical = digits.len() - taken == 1 || !digits[taken..].starts_with('0');
                (canonical && number < set.count).then(|| Symbol::Register {
                    first: Register(set.first.0 + number * set.elements),
                    elements: set.elements,
                })
            })
        })
    }
}

/// The class that a register of this type needs.
pub(crate) fn class_of(ty: cuda_ptx::Type) -> Class {
    match (ty, ty.size()) {
        (cuda_ptx::Type::Pred, _) => Class::Predicate,
        (_, 16) => Class::Quad,
        (_, 8) => Class::Wide,
        _ => Class::Word,
    }
}
