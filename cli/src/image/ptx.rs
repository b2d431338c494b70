//! What PTX text says.

use cuda_ptx::image::ImageError;
use cuda_ptx::{Function, FunctionKind, Linkage, Module, Space, Statement};

use std::collections::HashMap;

use super::{Debug, Kernel, Part, Variable, source_name, too_long};
use crate::signature::Signature;

/// Longest body that is searched for the types of what it reads and writes.
const SEARCHED: usize = 2 << 20;

pub(super) fn read(text: &str) -> Result<Part, ImageError> {
    if let Some(message) = too_long(text.len()) {
        return Err(ImageError::too_large(message));
    }
    let module = cuda_ptx::parse(text)?;
    let variables = module.variables.iter();
    let bytes =
        |space| variables.clone().filter(|v| v.space == space).fold(0u64, |n, v| n.saturating_add(v.size()));
    Ok(Part {
        kind: "ptx".into(),
        arch: module.targets.first().and_then(|name| cuda_ptx::image::Arch::from_name(name)),
        version: Some(module.version),
        bytes: text.len(),
        debug: debug(&module, text),
        constant_bytes: Some(bytes(Space::Const)),
        variables: variables.clone().filter(|v| is_found(v)).map(variable).collect(),
        kernels: kernels(&module)?,
        ..Part::default()
    })
}

fn debug(module: &Module<'_>, text: &str) -> Debug {
    if module.targets.contains(&"debug") || text.contains(".section\t.debug_info") {
        Debug::Full
    } else if module.files.is_empty() {
        Debug::None
    } else {
        Debug::Lines
    }
}

/// Can a program look it up?
fn is_found(variable: &cuda_ptx::Variable<'_>) -> bool {
    matches!(variable.space, Space::Global | Space::Const) && variable.linkage != Linkage::Internal
}

fn variable(variable: &cuda_ptx::Variable<'_>) -> Variable {
    let elements: String =
        variable.dims.iter().map(|n| n.map_or("[]".into(), |n| format!("[{n}]"))).collect();
    let vector = if variable.vector > 1 { format!(".v{}", variable.vector) } else { String::new() };
    Variable {
        name: variable.name.to_owned(),
        space: variable.space.name(),
        ty: format!("{vector}{}{elements}", variable.ty),
        bytes: variable.size(),
    }
}

/// Shared memory of module scope, by name.
type Shared<'m> = HashMap<&'m str, &'m cuda_ptx::Variable<'m>>;

fn kernels(module: &Module<'_>) -> Result<Vec<Kernel>, ImageError> {
    let defined = module.functions.iter().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    let shared = module.variables.iter().filter(|v| v.space == Space::Shared).map(|v| (v.name, v)).collect();
    defined.map(|function| kernel(&shared, function)).collect()
}

fn kernel(module: &Shared<'_>, function: &Function<'_>) -> Result<Kernel, ImageError> {
    let is_short = function.body.is_some_and(|body| body.len() <= SEARCHED);
    let statements = if is_short { function.statements()? } else { Vec::new() };
    let directives = &function.directives;
    let (own_shared, dynamic) = shared(module, &statements);
    Ok(Kernel {
        name: function.name.to_owned(),
        source_name: source_name(function.name),
        line: Some(function.line),
        signature: Some(Signature::of_ptx(function, &statements)),
        parameter_bytes: u32::try_from(function.parameter_bytes()).unwrap_or(u32::MAX),
        shared_bytes: is_short.then_some(own_shared),
        dynamic_shared: is_short.then_some(dynamic),
        max_threads: directives.maxntid,
        required_threads: directives.reqntid,
        max_registers: directives.maxnreg,
        min_blocks: directives.minnctapersm,
        cluster: directives.reqnctapercluster,
        max_cluster_blocks: directives.maxclusterrank,
        requires_cluster: directives.explicitcluster,
        grid_counts_clusters: directives.blocksareclusters,
        ..Kernel::default()
    })
}

/// Bytes of shared memory that the kernel declares or names, and whether it names memory that each launch chooses.
fn shared(module: &Shared<'_>, statements: &[Statement<'_>]) -> (u64, bool) {
    let mut names = Vec::new();
    let mut found: Vec<&cuda_ptx::Variable<'_>> = Vec::new();
    collect(statements, &mut names, &mut found);
    names.sort_unstable();
    names.dedup();
    found.extend(names.iter().filter_map(|name| module.get(name)));
    let is_dynamic = |v: &cuda_ptx::Variable<'_>| v.linkage == Linkage::Extern && v.size() == 0;
    let place = |end: u64, v: &&cuda_ptx::Variable<'_>| {
        end.checked_next_multiple_of(v.align().max(1) as u64).unwrap_or(u64::MAX).saturating_add(v.size())
    };
    (found.iter().fold(0, place), found.iter().any(|v| is_dynamic(v)))
}

fn collect<'s, 'a>(
    statements: &'s [Statement<'a>],
    names: &mut Vec<&'a str>,
    found: &mut Vec<&'s cuda_ptx::Variable<'a>>,
) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) if variable.space == Space::Shared => found.push(variable),
            Statement::Instruction(instruction) => {
                instruction.operands.iter().for_each(|operand| crate::signature::names(operand, names));
            }
            Statement::Block(inner) => collect(inner, names, found),
            _ => {}
        }
    }
}
