//! Initial values name only what is declared before them.

use std::collections::HashMap;

use cuda_ptx::{Init, Module, Space, Variable};

use super::super::image::LoadFailure;
use super::names::{NameKind, Names};
use super::{invalid, place};

/// Refuses the address of something that stands behind the variable, or of the variable itself.
pub(super) fn initial_values(module: &Module<'_>) -> Result<(), LoadFailure> {
    let with_addresses =
        module.variables.iter().filter(|variable| variable.init.as_ref().is_some_and(has_address));
    let mut first: Option<HashMap<&str, usize>> = None;
    for variable in with_addresses {
        let first = first.get_or_insert_with(|| {
            let mut first = HashMap::new();
            let names = module.functions.iter().map(|function| function.name);
            let names = names.chain(module.variables.iter().map(|variable| variable.name));
            for name in names.chain(module.aliases.iter().map(|(alias, _)| *alias)) {
                let at = first.entry(name).or_insert(usize::MAX);
                *at = place(name).min(*at);
            }
            first
        });
        let (own, late) = (place(variable.name), &mut None);
        if let Some(init) = &variable.init {
            addresses(init, &mut |symbol| {
                if first.get(symbol).is_some_and(|at| *at >= own) {
                    late.get_or_insert(symbol.to_owned());
                }
            });
        }
        if let Some(symbol) = late {
            let message = format!("initialiser of `{}`: `{symbol}` is not declared before it", variable.name);
            return Err(invalid(variable.line, message));
        }
    }
    Ok(())
}

/// Of a function's variable: the names in its initial values that mean other variables of functions, and the places of their declarations.
/// Refuses names that do not stand for a variable in device memory or a function by then.
pub(super) fn neighbours(
    variable: &Variable<'_>,
    names: &Names<'_>,
) -> Result<HashMap<String, usize>, String> {
    let (mut found, mut wrong) = (HashMap::new(), None);
    if let Some(init) = variable.init.as_ref().filter(|init| has_address(init)) {
        addresses(init, &mut |symbol| {
            if let Some(at) = names.declared_in_function(symbol) {
                found.insert(symbol.to_owned(), at);
            }
            let what = match names.find(symbol) {
                Some(NameKind::Function | NameKind::Variable { space: Space::Global | Space::Const, .. }) => {
                    return;
                }
                Some(NameKind::Variable { .. } | NameKind::Param { .. }) => "is not in .global or .const",
                _ => "is not declared before it",
            };
            wrong.get_or_insert(format!("initialiser of `{}`: `{symbol}` {what}", variable.name));
        });
    }
    wrong.map_or(Ok(found), Err)
}

fn has_address(init: &Init<'_>) -> bool {
    match init {
        Init::Address { .. } => true,
        Init::List(items) => items.iter().any(has_address),
        _ => false,
    }
}

/// Calls `each` for the symbols of an initial value.
fn addresses(init: &Init<'_>, each: &mut impl FnMut(&str)) {
    match init {
        Init::Address { symbol, .. } => each(symbol),
        Init::List(items) => items.iter().for_each(|item| addresses(item, each)),
        _ => {}
    }
}
