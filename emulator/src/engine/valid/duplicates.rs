//! What the module declares, and what it declares twice.

use std::collections::HashMap;

use cuda_ptx::{Function, Linkage, Module, Variable};

use super::super::image::LoadFailure;
use super::calls::Signature;
use super::{declarations, duplicate, invalid};

/// The variables outside functions.
pub(super) fn module_variables(module: &Module<'_>, linked: bool) -> Result<(), LoadFailure> {
    let mut known: HashMap<&str, &Variable<'_>> = HashMap::with_capacity(module.variables.len());
    for variable in &module.variables {
        declarations::variable(variable, true).map_err(|message| invalid(variable.line, message))?;
        if let Some(before) = known.insert(variable.name, variable) {
            if !linked {
                again(before, variable)?;
            }
            if variable.linkage == Linkage::Extern {
                known.insert(variable.name, before);
            }
        }
    }
    Ok(())
}

/// A second declaration of a variable: of the same type, and one of the two `.extern`.
fn again(before: &Variable<'_>, variable: &Variable<'_>) -> Result<(), LoadFailure> {
    let (name, line) = (variable.name, variable.line);
    let is_extern = |variable: &Variable<'_>| variable.linkage == Linkage::Extern;
    if !is_extern(before) && !is_extern(variable) {
        return Err(duplicate(line, name));
    }
    let extents = before.dims.iter().zip(&variable.dims);
    let same_extents = before.dims.len() == variable.dims.len()
        && extents.into_iter().all(|(one, other)| one.is_none() || other.is_none() || one == other);
    if before.ty != variable.ty || before.vector != variable.vector || !same_extents {
        return Err(invalid(line, format!("`{name}` is declared with another type")));
    }
    if is_extern(before) && variable.linkage == Linkage::Internal {
        let message = format!("`{name}` is declared as `.extern`, and its definition is of this module only");
        return Err(invalid(line, message));
    }
    Ok(())
}

/// The heads of functions: each is declared as it is defined, and not behind its definition.
pub(super) fn heads(module: &Module<'_>, linked: bool) -> Result<(), LoadFailure> {
    let variables: HashMap<&str, u32> = module.variables.iter().map(|v| (v.name, v.line)).collect();
    let mut known: HashMap<&str, (Signature, &Function<'_>)> = HashMap::with_capacity(module.functions.len());
    for function in &module.functions {
        let (name, line) = (function.name, function.line);
        declarations::head(function).map_err(|message| invalid(line, message))?;
        if variables.contains_key(name) {
            return Err(duplicate(line, name));
        }
        if function.linkage == Linkage::Extern && function.body.is_some() {
            return Err(invalid(line, format!("`{name}` is `.extern`, and defined here")));
        }
        let signature = Signature::of(function);
        if let Some((other, before)) = known.get(name) {
            if !linked && !other.agrees(&signature) {
                return Err(invalid(line, format!("`{name}` is declared with other parameters")));
            }
            if before.body.is_some() {
                return Err(duplicate(line, name));
            }
            if before.linkage != function.linkage || other.noreturn != signature.noreturn {
                return Err(invalid(line, format!("`{name}` is declared with other directives before")));
            }
        }
        known.insert(name, (signature, function));
    }
    aliases(module, &known)
}

/// The functions that have a second name, which takes and returns the same.
fn aliases(
    module: &Module<'_>,
    known: &HashMap<&str, (Signature, &Function<'_>)>,
) -> Result<(), LoadFailure> {
    for (alias, target) in &module.aliases {
        if let (Some((one, declared)), Some((other, _))) = (known.get(alias), known.get(target))
            && !one.agrees(other)
            && !other.entry
        {
            let message = format!("alias `{alias}` and `{target}` differ in their parameters");
            return Err(invalid(declared.line, message));
        }
    }
    Ok(())
}
