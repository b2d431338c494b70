//! What can be wrong with a variable of a module, and with a driver that is older than a function.

use std::fmt;

/// A variable of a module that cannot be had as asked for; nothing was read or written.
///
/// ```
/// use cuda_launch::error::GlobalError;
/// use cuda_launch::{CudaContext, ErrorKind};
/// let ctx = CudaContext::new(0)?;
/// let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let error = module.global::<f32>("tabel").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Global(GlobalError::NotFound { nearest, .. }) if nearest == &["table"]));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobalError {
    /// The module has no variable of this name.
    NotFound {
        /// The name asked for.
        name: String,
        /// The module.
        module: String,
        /// The names that look most like it, best first.
        nearest: Vec<String>,
    },
    /// The variable is no whole number of such elements.
    Size {
        /// The variable.
        name: String,
        /// The module.
        module: String,
        /// Its bytes.
        bytes: usize,
        /// Bytes of one element.
        size: usize,
        /// The element type asked for.
        type_name: &'static str,
    },
    /// The variable does not lie where such elements may.
    Alignment {
        /// The variable.
        name: String,
        /// The module.
        module: String,
        /// Its address.
        address: u64,
        /// The alignment that the elements need, in bytes.
        align: usize,
        /// The element type asked for.
        type_name: &'static str,
    },
    /// The variable has a handle already. There is one at a time, so that a mutable view is the only one.
    InUse {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
    /// Asked for as a variable that kernels write, and it is a constant.
    Constant {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
    /// Asked for as a constant, and it is none, as far as the image tells.
    NotConstant {
        /// The variable.
        name: String,
        /// The module.
        module: String,
    },
}

impl fmt::Display for GlobalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { name, module, nearest } => {
                write!(f, "no variable {name:?} in {module}{}", did_you_mean(nearest))
            }
            Self::Size { name, module, bytes, size, type_name } => write!(
                f,
                "variable {name:?} of {module} has {bytes} bytes, which is no whole number of {type_name} ({size} bytes each)"
            ),
            Self::Alignment { name, module, address, align, type_name } => write!(
                f,
                "variable {name:?} of {module} lies at {address:#x}; {type_name} must be aligned to {align} bytes\n  help: give the \
                 variable an alignment of {align} in the kernel's source, or read it as smaller elements"
            ),
            Self::InUse { name, module } => write!(
                f,
                "variable {name:?} of {module} has a handle already\n  help: drop that one first, or share it; \
                 `raw_global` tells the address as often as one likes"
            ),
            Self::Constant { name, module } => write!(
                f,
                "variable {name:?} of {module} is a constant, which kernels only read\n  help: use `constant`"
            ),
            Self::NotConstant { name, module } => write!(
                f,
                "variable {name:?} of {module} is in global memory, not a constant\n  help: use `global`"
            ),
        }
    }
}

impl std::error::Error for GlobalError {}

/// Something that came with a newer driver than this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What was asked for.
    pub what: String,
    /// First version, as `cuDriverGetVersion` counts (12000 = 12.0).
    pub since: u32,
    /// This driver's version.
    pub driver: u32,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, since, driver } = self;
        write!(
            f,
            "{what} came with CUDA {}; this driver is for CUDA {}: update it, or go without",
            version(*since),
            version(*driver)
        )
    }
}

impl std::error::Error for Unsupported {}

fn version(v: u32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    format!("\n  help: did you mean {}?", nearest.join(" or "))
}
