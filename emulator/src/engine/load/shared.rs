//! Whether the static shared memory of every kernel fits.

use super::failure;
use crate::engine::decode;
use crate::engine::image::{Image, LoadFailure, LoadFailureKind, SharedVariable};
use cuda_ptx::{FunctionKind, Module, Space, Variable};

/// Most bytes of static shared memory, as ptxas has it for `sm_90`.
const MOST: u64 = 48 << 10;
/// The same for `sm_90a`: all that a block can have.
const MOST_OF_A: u64 = 227 << 10;

/// Refuses kernels that use more. `nested` are the variables of functions.
pub(super) fn check(module: &Module<'_>, image: &Image, nested: &[Variable<'_>]) -> Result<(), LoadFailure> {
    let most = match module.targets.first() {
        Some(target) if target.ends_with('a') => MOST_OF_A,
        _ => MOST,
    };
    // What no kernel can exceed: all variables of the module together. Only beyond it each kernel's are laid out.
    let variables = module.variables.iter().chain(nested).filter(|variable| variable.space == Space::Shared);
    let bound = variables.map(SharedVariable::of).fold(0u64, |sum, variable| {
        sum.saturating_add(variable.bytes).saturating_add(u64::from(variable.align))
    });
    if bound.saturating_add(u64::from(decode::DYNAMIC_ALIGN)) <= most {
        return Ok(());
    }
    let kernels =
        image.functions.iter().enumerate().filter(|(_, function)| function.kind == FunctionKind::Entry);
    for (index, kernel) in kernels {
        let bytes = decode::static_shared(image, index);
        if bytes > most {
            let message = format!(
                "kernel `{}` has {bytes} bytes of static shared memory, and {most} are possible",
                kernel.name
            );
            return Err(failure(LoadFailureKind::Invalid, kernel.line, message));
        }
    }
    Ok(())
}
