//! What the code that the macros write refers to. It is not part of the public API: it changes in every release.

pub use crate::foundation::*;
pub use crate::launch::site::{
    ByValue, FunctionRef, KernelName, ModuleRef, MutArgument, Site, StreamRef, by_value, by_value_borrowed,
    config, kernel_by_name, pitched, pitched_mut, plain, ptr, slice, slice_mut,
};
pub use crate::launch::submit::submit_shared;

/// What `#[cuda_module]` refers to.
#[cfg(feature = "macros")]
pub mod typed {
    pub use crate::launch::typed::*;
}
