//! The static shared memory of kernels.

use std::collections::HashMap;

use crate::{Linkage, Module, Operand, Space, Statement, Variable};

/// The shared memory of module scope, by name: query it for each kernel of the module.
///
/// ```
/// let text = "
/// .version 7.8
/// .target sm_75
/// .address_size 64
/// .shared .align 4 .b8 tile[64];
/// .extern .shared .b8 rest[];
/// .visible .entry k() {
///     .shared .b32 own;
///     st.shared.u32 [own], 1;
///     st.shared.u32 [tile+4], 1;
///     ret;
/// }";
/// let module = cuda_ptx::parse(text)?;
/// let shared = cuda_ptx::SharedVariables::of(&module).used_by(&module.functions[0].statements()?);
/// assert_eq!((shared.bytes, shared.dynamic), (80, false)); // 68, and room for the alignment of `rest`
/// # Ok::<(), cuda_ptx::ParseError>(())
/// ```
#[derive(Debug)]
pub struct SharedVariables<'m, 'a> {
    by_name: HashMap<&'a str, &'m Variable<'a>>,
    /// The largest alignment of the arrays whose size each launch chooses; `None` if there are none.
    dynamic_align: Option<usize>,
}

/// The minimum alignment of shared memory whose size each launch chooses.
const DYNAMIC_ALIGN: usize = 16;

/// The shared memory per block of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedMemory {
    /// The size in bytes of the variables that the kernel declares or names; in a module with dynamic arrays it is
    /// rounded up to their alignment, as ptxas does for all kernels. Variables that only called functions use are not
    /// included.
    pub bytes: u64,
    /// Whether it names memory whose size each launch chooses.
    pub dynamic: bool,
}

impl<'m, 'a> SharedVariables<'m, 'a> {
    /// The shared memory of a module.
    #[must_use]
    pub fn of(module: &'m Module<'a>) -> Self {
        let shared = || module.variables.iter().filter(|v| v.space == Space::Shared);
        let dynamic_align = shared().filter(|v| is_dynamic(v)).map(Variable::align).max();
        Self { by_name: shared().map(|v| (v.name, v)).collect(), dynamic_align }
    }

    /// The shared memory of a kernel with this body.
    #[must_use]
    pub fn used_by(&self, statements: &[Statement<'a>]) -> SharedMemory {
        let mut names = Vec::new();
        let mut found: Vec<&Variable<'a>> = Vec::new();
        collect(statements, &mut names, &mut found);
        names.sort_unstable();
        names.dedup();
        found.extend(names.iter().filter_map(|name| self.by_name.get(name)));
        let (last, own): (Vec<_>, Vec<_>) = found.into_iter().partition(|v| is_dynamic(v));
        let up =
            |end: u64, align: usize| end.checked_next_multiple_of(align.max(1) as u64).unwrap_or(u64::MAX);
        let bytes = own.iter().fold(0, |end: u64, v| up(end, v.align()).saturating_add(v.size()));
        let align = last.iter().map(|v| v.align()).max().max(self.dynamic_align);
        let bytes = align.map_or(bytes, |align| up(bytes, align.max(DYNAMIC_ALIGN)));
        SharedMemory { bytes, dynamic: !last.is_empty() }
    }
}

fn is_dynamic(variable: &Variable<'_>) -> bool {
    variable.linkage == Linkage::Extern && variable.size() == 0
}

fn collect<'s, 'a>(
    statements: &'s [Statement<'a>],
    names: &mut Vec<&'a str>,
    found: &mut Vec<&'s Variable<'a>>,
) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) if variable.space == Space::Shared => found.push(variable),
            Statement::Instruction(instruction) => {
                instruction.operands.iter().for_each(|operand| operand.names(names));
            }
            Statement::Block(inner) => collect(inner, names, found),
            _ => {}
        }
    }
}

impl<'a> Operand<'a> {
    /// Adds the names in the operand to a list: registers, variables, functions and labels.
    pub fn names(&self, found: &mut Vec<&'a str>) {
        match self {
            Operand::Name(name)
            | Operand::Not(name)
            | Operand::Negated(name)
            | Operand::Offset(name, _)
            | Operand::Indexed(name, _)
            | Operand::Element(name, _) => found.push(name),
            Operand::IndexedBy { array, register, .. } => found.extend([array, register]),
            Operand::Address { base, .. } => base.names(found),
            Operand::AddressList(list) | Operand::Vector(list) | Operand::List(list) => {
                list.iter().for_each(|operand| operand.names(found));
            }
            Operand::Pair(a, b) => {
                a.names(found);
                b.names(found);
            }
            Operand::Literal(_) => {}
        }
    }
}
