//! Whether the static shared memory of every kernel fits.

use super::failure;
use crate::architecture::Architecture;
use crate::engine::decode;
use crate::engine::image::{Image, LoadFailure, LoadFailureKind, SharedVariable};
use cuda_ptx::{FunctionKind, Module, Space, Variable};

/// Refuses kernels that use more than a block can have. A driver accepts that much for every target (an H200, `sm_52` to `sm_90`),
/// whereas `ptxas` by itself accepts 48 KiB for a target without a letter. `nested` are the variables of functions.
pub(super) fn check(
    module: &Module<'_>,
    image: &Image,
    nested: &[Variable<'_>],
    device: Architecture,
) -> Result<(), LoadFailure> {
    let most = u64::from(device.machine().shared_optin);
    // An upper bound for every kernel: all variables of the module together. Each kernel is laid out only if this
    // exceeds the limit.
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
        if bytes.is_none_or(|bytes| bytes > most) {
            let bytes = bytes.map_or("too many".to_owned(), |bytes| bytes.to_string());
            let message = format!(
                "kernel `{}` has {bytes} bytes of static shared memory, and {most} are possible",
                kernel.name
            );
            return Err(failure(LoadFailureKind::Invalid, kernel.line, message));
        }
    }
    Ok(())
}
