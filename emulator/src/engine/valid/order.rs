//! Initial values name only what is declared before them.

use std::collections::HashMap;

use cuda_ptx::{Init, Module};

use super::super::image::LoadFailure;
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
