//! Whether variables, parameters and the heads of functions are what ptxas takes.

use cuda_ptx::{Function, FunctionKind, Linkage, Module, Space, Type, Variable};

use super::super::image::LoadFailure;
use super::invalid;

/// Most bytes of a vector.
const LARGEST_VECTOR: usize = 16;

/// A variable of the module or of a function's body; `module` tells which.
pub(super) fn variable(variable: &Variable<'_>, module: bool) -> Result<(), String> {
    let (name, space) = (variable.name, variable.space);
    if module && matches!(space, Space::Reg | Space::Local | Space::Param | Space::Sreg) {
        return Err(format!("`{name}` in {space} cannot be declared outside functions"));
    }
    if variable.ty.is_opaque() && !(module && matches!(space, Space::Global | Space::Tex)) {
        return Err(format!("`{name}` of type {} must be a .global variable of the module", variable.ty));
    }
    is_name(name)?;
    element(variable)?;
    if space == Space::Param {
        parameter_align(variable)?;
    }
    if variable.linkage == Linkage::Common && space != Space::Global {
        return Err(format!("`{name}` in {space} cannot be `.common`"));
    }
    if variable.init.is_some() && !matches!(space, Space::Global | Space::Const) {
        return Err(format!("`{name}` in {space} cannot have an initial value"));
    }
    if variable.init.is_some() && variable.linkage == Linkage::Extern {
        return Err(format!("`{name}` is defined elsewhere and cannot have an initial value"));
    }
    if variable.managed && space != Space::Global {
        return Err(format!("`{name}` in {space} cannot be managed"));
    }
    let counted = variable.init.is_some() || variable.linkage == Linkage::Extern;
    match has_length(variable) || counted && !variable.dims.contains(&Some(0)) {
        true => Ok(()),
        false => Err(format!("`{name}` has no length")),
    }
}

/// What holds for the elements of all variables and parameters.
fn element(variable: &Variable<'_>) -> Result<(), String> {
    use Type as T;
    let (name, space, ty) = (variable.name, variable.space, variable.ty);
    let of_instructions = matches!(
        ty,
        T::Bf16
            | T::Bf16x2
            | T::Tf32
            | T::E4m3
            | T::E5m2
            | T::E4m3x2
            | T::E5m2x2
            | T::E4m3x4
            | T::E5m2x4
            | T::E2m3x2
            | T::E3m2x2
            | T::E2m3x4
            | T::E3m2x4
            | T::E2m1x2
            | T::E2m1x4
            | T::Ue8m0x2
            | T::S2f6x2
            | T::F32x2
            | T::U16x2
            | T::S16x2
    );
    if of_instructions {
        return Err(format!("`{name}`: {ty} is a type of instructions, not of variables"));
    }
    if ty == T::Pred && space != Space::Reg {
        return Err(format!("the predicate `{name}` must be a register"));
    }
    if variable.vector > 4 || variable.element_size() > LARGEST_VECTOR {
        return Err(format!("`{name}`: a vector has at most 4 elements and {LARGEST_VECTOR} bytes"));
    }
    if space == Space::Reg && !variable.dims.is_empty() {
        return Err(format!("the register `{name}` cannot be an array"));
    }
    if space == Space::Param && (variable.vector > 1 || ty == T::F16x2) {
        return Err(format!("the parameter `{name}` can be neither a vector nor packed"));
    }
    Ok(())
}

/// Refuses samplers apart from their textures where the module does not ask for them.
pub(super) fn samplers(module: &Module<'_>) -> Result<(), LoadFailure> {
    if module.targets.contains(&"texmode_independent") {
        return Ok(());
    }
    let kernels = module.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
    let of_kernels = kernels.flat_map(|kernel| kernel.params.iter().map(|param| (kernel.line, param)));
    let of_module = module.variables.iter().map(|variable| (variable.line, variable));
    match of_module.chain(of_kernels).find(|(_, variable)| variable.ty == Type::Samplerref) {
        Some((line, variable)) => {
            let message =
                format!("the sampler `{}` goes with `.target texmode_independent` only", variable.name);
            Err(invalid(line, message))
        }
        None => Ok(()),
    }
}

/// Parameters of functions and of calls are aligned to as much at most.
const LARGEST_ALIGN: u32 = 128;

fn parameter_align(variable: &Variable<'_>) -> Result<(), String> {
    match variable.align {
        Some(align) if align > LARGEST_ALIGN => Err(format!(
            "the parameter `{}` is aligned to {align}, and {LARGEST_ALIGN} is possible at most",
            variable.name
        )),
        _ => Ok(()),
    }
}

/// A name has more than its first mark.
fn is_name(name: &str) -> Result<(), String> {
    if matches!(name, "" | "_" | "$" | "%") {
        Err(format!("`{}` is not a name", if name.is_empty() { "_" } else { name }))
    } else {
        Ok(())
    }
}

fn has_length(variable: &Variable<'_>) -> bool {
    variable.dims.iter().all(|extent| extent.is_some_and(|extent| extent > 0))
}

/// The head of a function: its parameters, results and directives.
pub(super) fn head(function: &Function<'_>) -> Result<(), String> {
    let name = function.name;
    is_name(name)?;
    parameters(function)?;
    let d = &function.directives;
    if function.kind == FunctionKind::Function {
        let bounds = d.maxntid.or(d.reqntid).or(d.reqnctapercluster).is_some();
        let counts = d.minnctapersm.or(d.maxnreg).or(d.maxclusterrank).is_some();
        return match bounds || counts || d.explicitcluster || d.blocksareclusters {
            true => Err(format!("`{name}` is not a kernel, and its launches cannot be bounded")),
            false => Ok(()),
        };
    }
    if function.noreturn {
        return Err(format!("kernel `{name}` cannot be `.noreturn`"));
    }
    if [d.maxntid, d.reqntid].iter().flatten().flatten().any(|extent| *extent == 0) {
        return Err(format!("kernel `{name}` asks for blocks of no threads"));
    }
    for (directive, value) in [(".maxnreg", d.maxnreg), (".minnctapersm", d.minnctapersm)] {
        if value == Some(0) {
            return Err(format!("kernel `{name}`: {directive} is at least 1"));
        }
    }
    let exclusive = [
        (".maxntid", d.maxntid.is_some(), ".reqntid", d.reqntid.is_some()),
        (".reqnctapercluster", d.reqnctapercluster.is_some(), ".maxclusterrank", d.maxclusterrank.is_some()),
    ];
    if let Some((one, _, other, _)) = exclusive.iter().find(|(_, one, _, other)| *one && *other) {
        return Err(format!("kernel `{name}`: {one} and {other} do not go together"));
    }
    if d.blocksareclusters && d.reqntid.and(d.reqnctapercluster).is_none() {
        return Err(format!("kernel `{name}`: .blocksareclusters needs .reqntid and .reqnctapercluster"));
    }
    Ok(())
}

fn parameters(function: &Function<'_>) -> Result<(), String> {
    let entry = function.kind == FunctionKind::Entry;
    if function.returns.len() > 1 && function.returns.iter().any(|result| result.space != Space::Reg) {
        return Err(format!("several results of `{}` must be registers", function.name));
    }
    let last = function.params.len().checked_sub(1);
    let params = function.params.iter().enumerate().map(|(at, variable)| (Some(at) == last, variable));
    for (last, variable) in params.chain(function.returns.iter().map(|variable| (false, variable))) {
        let name = variable.name;
        if entry && variable.space == Space::Reg {
            return Err(format!("the parameter `{name}` of a kernel cannot be a register"));
        }
        if variable.ty.is_opaque() && !entry {
            return Err(format!("the parameter `{name}` of a function cannot be {}", variable.ty));
        }
        element(variable)?;
        if !entry {
            is_name(name)?;
            parameter_align(variable)?;
            if variable.ptr.is_some() {
                return Err(format!("`{name}`: `.ptr` is of the parameters of kernels"));
            }
        }
        if variable.dims.len() > 1 {
            return Err(format!("the parameter `{name}` cannot be an array of arrays"));
        }
        if !has_length(variable) && (entry || !last) {
            return Err(format!(
                "`{name}` has no length: only the last parameter of a function can have none"
            ));
        }
    }
    Ok(())
}
