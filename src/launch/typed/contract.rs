//! Launch contracts: a comparison if the launch satisfies them, an error message if it does not.

use std::fmt::Debug;
use std::ops::RangeBounds;

use crate::error::{ContractError, Error, ErrorKind};
use crate::launch::config::{Dim3, LaunchConfig};

/// Requires this block exactly.
///
/// # Errors
/// [`ContractError`] for another.
#[inline(always)]
pub fn block(kernel: &str, config: LaunchConfig, required: Dim3) -> Result<(), Error> {
    if config.block_dim == required {
        Ok(())
    } else {
        Err(dimensions(kernel, "block", required, config.block_dim))
    }
}

/// Requires this grid exactly.
///
/// # Errors
/// [`ContractError`] for another.
#[inline(always)]
pub fn grid(kernel: &str, config: LaunchConfig, required: Dim3) -> Result<(), Error> {
    if config.grid_dim == required {
        Ok(())
    } else {
        Err(dimensions(kernel, "grid", required, config.grid_dim))
    }
}

/// Requires this many bytes of dynamic shared memory.
///
/// # Errors
/// [`ContractError`] for more or less.
#[inline(always)]
pub fn dynamic_shared(
    kernel: &str,
    config: LaunchConfig,
    required: &(impl RangeBounds<u32> + Debug),
) -> Result<(), Error> {
    let given = config.shared_mem_bytes;
    if required.contains(&given) { Ok(()) } else { Err(shared(kernel, required, given)) }
}

/// Requires at most this many threads per block.
///
/// # Errors
/// [`ContractError`] for more.
#[inline(always)]
pub fn max_threads(kernel: &str, config: LaunchConfig, required: u32) -> Result<(), Error> {
    let (x, y, z) = config.block_dim;
    // Dimensions over the device's limits, whose product may wrap, are refused after this.
    let given = x.wrapping_mul(y).wrapping_mul(z);
    if given <= required { Ok(()) } else { Err(threads(kernel, required, config.block_dim)) }
}

/// A condition on the arguments that does not hold: its text, and the two sides of a comparison.
#[cold]
#[inline(never)]
pub fn requirement(kernel: &str, required: &str, sides: &[&dyn Debug]) -> Error {
    let given = match sides {
        [left, right] => format!("{left:?} and {right:?}"),
        _ => "arguments for which this is false".into(),
    };
    violated(kernel, required.to_string(), given)
}

#[cold]
#[inline(never)]
fn dimensions(kernel: &str, what: &str, required: Dim3, given: Dim3) -> Error {
    violated(kernel, format!("{what} = {required:?}"), format!("{given:?}"))
}

#[cold]
#[inline(never)]
fn shared(kernel: &str, required: &dyn Debug, given: u32) -> Error {
    violated(kernel, format!("dynamic_shared = {required:?}"), format!("{given} bytes"))
}

#[cold]
#[inline(never)]
fn threads(kernel: &str, required: u32, given: Dim3) -> Error {
    violated(kernel, format!("at most {required} threads per block"), format!("a block of {given:?}"))
}

#[cold]
fn violated(kernel: &str, required: String, given: String) -> Error {
    ErrorKind::Contract(ContractError { kernel: kernel.to_string(), required, given }).into()
}
