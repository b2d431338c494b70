//! Called by the code that `#[cuda_module]` generates, and not meant for other use.

pub(in crate::launch) mod contract;
pub(in crate::launch) mod expect;
pub(in crate::launch) mod held;
pub(in crate::launch) mod load;
pub(in crate::launch) mod macros;
pub(in crate::launch) mod object;
pub(in crate::launch) mod operation;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
pub(in crate::launch) mod source;

pub use contract::{block, dynamic_shared, grid, max_threads, requirement};
pub use expect::expect;
pub use held::{HeldObject, HeldObjectMut};
pub use load::{Artifact, Code, Source, check_variable, checked_function, function, get, load};
pub use object::{Argument, apart, object, object_mut, of_object, of_rows, of_slice, without_address};
#[cfg(feature = "nvrtc")]
pub use source::load_cuda;
#[cfg(feature = "nvjitlink")]
pub use source::load_lto_ir;
#[cfg(feature = "nvvm")]
pub use source::load_nvvm_ir;
