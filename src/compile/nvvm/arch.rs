//! Which architecture libNVVM compiles for, if the options leave the choice to it.

use cuda_driver_sys::nvvm::nvvmResult;

use super::options::NvvmOptions;
use crate::driver::JitTarget;
use crate::error::{CompileError, Error, ErrorKind};

/// What libraries of the last ten years have known, newest first: the library itself does not tell.
const ARCHITECTURES: [u32; 18] =
    [121, 120, 110, 103, 101, 100, 90, 89, 87, 86, 80, 75, 72, 70, 62, 61, 60, 52];

/// The options as they are, and where any older architecture serves too, those for each, newest first.
pub(super) fn candidates(options: &NvvmOptions) -> impl Iterator<Item = NvvmOptions> {
    let device = options.target.raw().0;
    let older = ARCHITECTURES.into_iter().filter(move |arch| options.nearest && *arch < device);
    let older = older.map(|arch| NvvmOptions { target: JitTarget::sm(arch), ..options.clone() });
    std::iter::once(options.clone()).chain(older)
}

/// Whether the library refused because it does not know the architecture.
pub(super) fn is_unknown(error: &Error) -> bool {
    let ErrorKind::Compile(CompileError::Refused(refusal)) = error.kind() else { return false };
    refusal.code == nvvmResult::NVVM_ERROR_INVALID_OPTION.0 && refusal.log.contains("-arch=")
}
