//! Errors about variables of a module, and about functions that a driver is too old for.

use super::arguments::joined;
use thiserror::Error;

/// A variable of a module that cannot be accessed as requested; nothing was read or written.
///
/// ```standalone_crate
/// use cuda_launch::error::GlobalError;
/// use cuda_launch::{CudaContext, ErrorKind};
/// let ctx = CudaContext::new(0)?;
/// let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let error = module.global::<f32>("tabel").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Global(GlobalError::NotFound { nearest, .. }) if nearest == &["table"]));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobalError {
    /// The module has no variable of this name.
    #[error("no variable {name:?} in {module}{}", did_you_mean(nearest))]
    NotFound {
        /// The requested name.
        name: String,
        /// The module.
        module: String,
        /// The most similar names, best first.
        nearest: Vec<String>,
    },
    /// The size of the variable is not a multiple of the element size.
    #[error(
        "variable {name:?} of {module} has {bytes} bytes, which is not a multiple of the size of {type_name} ({size} bytes)\n  help: \
         use the type that the variable has in the kernel's source, or read it as `u8`"
    )]
    Size {
        /// The variable.
        name: String,
        /// The module.
        module: String,
        /// Its size in bytes.
        bytes: usize,
        /// Size of one element, in bytes.
        size: usize,
        /// The requested element type.
        type_name: &'static str,
    },
    /// The variable is misaligned for such elements.
    #[error(
        "variable {name:?} of {module} lies at {address:#x}; {type_name} must be aligned to {align} bytes\n  help: give the \
         variable an alignment of {align} in the kernel's source, or read it as smaller elements"
    )]
    Alignment {
        /// The variable.
        name: String,
        /// The module.
        module: String,
        /// Its address.
        address: u64,
        /// The alignment that the elements need, in bytes.
        align: usize,
        /// The requested element type.
        type_name: &'static str,
    },
    /// A handle to the variable already exists. There is only one at a time, so that mutable views are exclusive.
    #[error(
        "variable {name:?} of {module} already has a handle, or is `.managed` and used by a graph of another context\n  help: drop \
         that first, or share the handle; `raw_global` returns the address any number of times"
    )]
    InUse {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
    /// It was requested as a variable that kernels can write, but it is a constant.
    #[error(
        "variable {name:?} of {module} is a constant, which kernels can only read\n  help: use `constant`"
    )]
    Constant {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
    /// It was requested as a constant, but the image says that it is not one.
    #[error("variable {name:?} of {module} is in global memory, not a constant\n  help: use `global`")]
    NotConstant {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
}

/// Something that requires a newer driver than this one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{what} requires CUDA {}; this driver supports CUDA {}\n  help: update the driver, or do without",
    version(*since), version(*driver)
)]
#[non_exhaustive]
pub struct Unsupported {
    /// What was requested.
    pub what: String,
    /// The first version that has it, in the format of `cuDriverGetVersion` (12000 is 12.0).
    pub since: u32,
    /// This driver's version.
    pub driver: u32,
}

fn version(v: u32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return "\n  help: is the variable `__device__` or `__constant__`, and used by a kernel? Others are not in the image".into();
    }
    format!("\n  help: did you mean {}?", joined(nearest, " or "))
}
