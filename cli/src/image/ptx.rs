//! The contents of PTX text.

use cuda_ptx::image::ImageError;
use cuda_ptx::{Function, FunctionKind, Linkage, Module, SharedVariables, Space};

use super::{Symbols, source_name, too_long};
use crate::debug::Sections;
use crate::model::{Debug, Kernel, Part, Signature, Variable};

/// The maximum length of a body that is searched for the types of its accesses.
const SEARCHED: usize = 2 << 20;

pub(super) fn read(text: &str, left: &mut Symbols) -> Result<Part, ImageError> {
    if let Some(message) = too_long(text.len()) {
        return Err(ImageError::too_large(message));
    }
    let module = cuda_ptx::parse(text)?;
    let parameters = defined(&module).map(|function| function.params.len()).sum();
    left.take(defined(&module).count() + module.variables.len(), parameters)?;
    let mut kernels = kernels(&module)?;
    Sections::of_ptx(&module).describe(&mut kernels);
    let variables = module.variables.iter();
    let stored = variables.clone().filter(|v| matches!(v.space, Space::Global | Space::Const));
    let bytes =
        |space| variables.clone().filter(|v| v.space == space).fold(0u64, |n, v| n.saturating_add(v.size()));
    Ok(Part {
        kind: "ptx".into(),
        arch: module.arch(),
        version: Some(module.version),
        bytes: text.len(),
        debug: debug(&module, text),
        constant_bytes: Some(bytes(Space::Const)),
        variables: stored.clone().filter(|v| v.linkage != Linkage::Internal).map(variable).collect(),
        internal: stored.filter(|v| v.linkage == Linkage::Internal).map(variable).collect(),
        kernels,
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

fn defined<'m, 'a>(module: &'m Module<'a>) -> impl Iterator<Item = &'m Function<'a>> {
    module.functions.iter().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
}

fn kernels(module: &Module<'_>) -> Result<Vec<Kernel>, ImageError> {
    let shared = SharedVariables::of(module);
    defined(module).map(|function| kernel(&shared, function)).collect()
}

fn kernel<'a>(module: &SharedVariables<'_, 'a>, function: &Function<'a>) -> Result<Kernel, ImageError> {
    let is_short = function.body.is_some_and(|body| body.len() <= SEARCHED);
    let statements = if is_short { function.statements()? } else { Vec::new() };
    let directives = &function.directives;
    let shared = module.used_by(&statements);
    Ok(Kernel {
        name: function.name.to_owned(),
        source_name: source_name(function.name),
        line: Some(function.line),
        signature: Some(Signature::of_ptx(function, &statements)),
        parameter_bytes: u32::try_from(function.parameter_bytes()).unwrap_or(u32::MAX),
        shared_bytes: is_short.then_some(shared.bytes),
        dynamic_shared: is_short.then_some(shared.dynamic),
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
