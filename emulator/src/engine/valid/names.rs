//! What the names in a function stand for, with their whole types.

use cuda_ptx::{Space, Type, Variable};
use rustc_hash::FxHashMap;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameKind {
    /// A register, or a vector of them.
    Register {
        ty: Type,
        elements: u32,
    },
    /// A variable, with extents or without.
    Variable {
        space: Space,
        array: bool,
        ty: Type,
    },
    /// A parameter: of the kernel, which is only read; of the function; or of a call, which its body declares.
    Param {
        of_kernel: bool,
        of_function: bool,
        ty: Type,
        /// Bytes and alignment of an array.
        array: Option<(u64, u32)>,
    },
    Label,
    Function,
    /// A list of targets, or a prototype: which.
    List(usize),
}

/// Whose variable it is that a declaration declares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The module's, or a body's.
    Scope,
    /// A parameter or result of a function.
    Function,
    /// A parameter of a kernel.
    Kernel,
}

impl NameKind {
    /// What a declaration makes of its name.
    pub(super) fn of(variable: &Variable<'_>, owner: Owner) -> NameKind {
        let array = !variable.dims.is_empty();
        match variable.space {
            Space::Reg => NameKind::Register { ty: variable.ty, elements: variable.vector.max(1) },
            Space::Param => NameKind::Param {
                of_kernel: owner == Owner::Kernel,
                of_function: owner != Owner::Scope,
                ty: variable.ty,
                array: array
                    .then(|| (variable.size(), variable.align.unwrap_or(variable.element_size() as u32))),
            },
            space => NameKind::Variable { space, array, ty: variable.ty },
        }
    }
}

/// Names of one block.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, NameKind>,
    /// By prefix: how many, and what each is.
    sets: FxHashMap<&'a str, (u32, NameKind)>,
}

/// The nested blocks around a statement, the module's own first.
#[derive(Debug)]
pub(super) struct Names<'a> {
    scopes: Vec<Scope<'a>>,
}

impl<'a> Names<'a> {
    pub(super) fn new() -> Names<'a> {
        Names { scopes: vec![Scope::default()] }
    }

    pub(super) fn push(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Declares a name in the innermost block; false if it is there already.
    pub(super) fn declare(&mut self, name: &'a str, thing: NameKind) -> bool {
        let Some(scope) = self.scopes.last_mut() else { return false };
        let fresh = !in_sets(scope, name);
        scope.names.insert(name, thing).is_none() && fresh
    }

    /// The same for registers `prefix0` to `prefix(count-1)`.
    pub(super) fn declare_set(&mut self, prefix: &'a str, count: u32, thing: NameKind) -> bool {
        let Some(scope) = self.scopes.last_mut() else { return false };
        let taken = !scope.names.is_empty()
            && (scope.names.keys()).any(|name| {
                let number = name.strip_prefix(prefix).filter(|number| !number.is_empty());
                number.is_some_and(|number| {
                    let canonical = number.len() == 1 || !number.starts_with('0');
                    canonical
                        && number.bytes().all(|b| b.is_ascii_digit())
                        && number.parse::<u32>().is_ok_and(|number| number < count)
                })
            });
        scope.sets.insert(prefix, (count, thing)).is_none() && !taken
    }

    /// Where a name is declared that stands for a variable of a function, not of the module.
    pub(super) fn declared_in_function(&self, name: &str) -> Option<usize> {
        let inner = self.scopes.iter().skip(1).rev();
        let (declared, kind) = inner.filter_map(|scope| scope.names.get_key_value(name)).next()?;
        matches!(kind, NameKind::Variable { .. }).then(|| declared.as_ptr().addr())
    }

    pub(super) fn find(&self, name: &str) -> Option<&NameKind> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name).or_else(|| of_set(scope, name)))
    }
}

fn in_sets(scope: &Scope<'_>, name: &str) -> bool {
    of_set(scope, name).is_some()
}

/// A register of a set. The set's prefix may itself end in a digit: every split is tried.
fn of_set<'s>(scope: &'s Scope<'_>, name: &str) -> Option<&'s NameKind> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(prefix.len()..)?;
    (0..digits.len()).find_map(|taken| {
        let (count, thing) = scope.sets.get(name.get(..prefix.len() + taken)?)?;
        let number = digits.get(taken..)?;
        // `%r07` is not `%r7`.
        let canonical = number.len() == 1 || !number.starts_with('0');
        (canonical && number.parse::<u32>().ok()? < *count).then_some(thing)
    })
}
