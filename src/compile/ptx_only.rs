//! The emulator as a target, which runs PTX and nothing else.

use crate::driver::CudaContext;
use crate::error::{CompileError, Error, ErrorKind};

/// Refuses what is not PTX for a device that takes nothing else.
pub(super) fn ptx_only(context: &CudaContext, what: impl FnOnce() -> String) -> Result<(), Error> {
    if !takes_ptx_only(context)? {
        return Ok(());
    }
    let device = context.device_name()?;
    let help = "compile or link to PTX for it";
    Err(ErrorKind::Compile(CompileError::PtxOnly { what: what(), device, help }).into())
}

/// Whether the device is the emulator's, which runs no machine code.
pub(super) fn takes_ptx_only(context: &CudaContext) -> Result<bool, Error> {
    Ok(context.device_name()?.contains("emulator"))
}
