//! What the code that `#[cuda_module]` writes calls; only the macro is meant to.

pub use super::typed_contract::{block, dynamic_shared, grid, max_threads, requirement};
pub use super::typed_expect::expect;
pub use super::typed_load::{Artifact, Code, Source, check_variable, checked_function, function, get, load};
pub use super::typed_object::{
    Argument, apart, object, object_mut, of_object, of_rows, of_slice, without_address,
};
#[cfg(feature = "nvrtc")]
pub use super::typed_source::load_cuda;
#[cfg(feature = "nvjitlink")]
pub use super::typed_source::load_lto_ir;
#[cfg(feature = "nvvm")]
pub use super::typed_source::load_nvvm_ir;
pub use crate::memory::object::{HeldObject, HeldObjectMut};
