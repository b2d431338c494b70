//! Whether the constant data of the module fits.

use std::collections::HashMap;

use super::failure;
use crate::engine::image::{LoadFailure, LoadFailureKind};
use cuda_ptx::{Linkage, Module, Space, Variable};

/// Most bytes of `.const` variables.
const MOST: u64 = 64 << 10;

/// Refuses a module with more constant data than there can be. `nested` are the variables of functions, all of which count, used or not.
/// As in ptxas 13.0, those that other modules see stand before the others, each where it is aligned.
pub(super) fn check(module: &Module<'_>, nested: &[Variable<'_>]) -> Result<(), LoadFailure> {
    let mut known: HashMap<&str, &Variable<'_>> = HashMap::new();
    for variable in module.variables.iter().filter(|variable| variable.space == Space::Const) {
        // One that is declared and defined is there once.
        let known = known.entry(variable.name).or_insert(variable);
        if variable.linkage != Linkage::Extern {
            *known = variable;
        }
    }
    let nested = nested.iter().filter(|variable| variable.space == Space::Const);
    let mut variables: Vec<&Variable<'_>> = known.into_values().chain(nested).collect();
    // Names are parts of one text: these are in its order.
    variables.sort_by_key(|variable| (variable.linkage == Linkage::Internal, variable.name.as_ptr().addr()));
    let mut bytes = 0_u64;
    for variable in variables {
        let start = bytes.checked_next_multiple_of(variable.align().max(1) as u64).unwrap_or(u64::MAX);
        bytes = start.saturating_add(variable.size());
        if bytes > MOST {
            let message = format!("the module has {bytes} bytes of constant data, and {MOST} are possible");
            return Err(failure(LoadFailureKind::Invalid, variable.line, message));
        }
    }
    Ok(())
}
