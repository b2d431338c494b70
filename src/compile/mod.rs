//! Device code compiled and linked while the program runs.
//!
//! [`load_kernel_module`] finds a kernel file of any kind and loads it, compiling or linking it if necessary;
//! `#[cuda_module]` embeds one. Each compiler has its own feature, and is a library that is loaded at run time like the
//! driver, so that a program with these features builds and starts without a toolkit:
//!
//! | feature | library | makes | of |
//! |---|---|---|---|
//! | `nvrtc` | NVRTC, `Nvrtc` | PTX, cubin, LTO IR | CUDA C++ |
//! | `nvjitlink` | nvJitLink, `NvJitLink` | cubin, PTX | LTO IR, PTX, cubins, fatbins, objects, libraries |
//! | `nvvm` | libNVVM, `Nvvm` | PTX, LTO IR | NVVM IR |
//!
//! They come with the CUDA toolkit and as wheels on PyPI (`nvidia-cuda-nvrtc`, `nvidia-nvjitlink`, `nvidia-nvvm`). The variables
//! `CUDA_LAUNCH_NVRTC`, `CUDA_LAUNCH_NVJITLINK` and `CUDA_LAUNCH_NVVM` name a file or a folder if the library is not in
//! one of the usual places.

mod find;
mod kernel_file;

#[cfg(feature = "nvrtc")]
mod includes;
#[cfg(feature = "nvjitlink")]
mod inputs;
#[cfg(feature = "nvjitlink")]
mod nvjitlink;
#[cfg(feature = "nvjitlink")]
mod nvjitlink_options;
#[cfg(feature = "nvrtc")]
mod nvrtc;
#[cfg(feature = "nvrtc")]
mod nvrtc_options;
#[cfg(feature = "nvrtc")]
mod nvrtc_refusal;
#[cfg(feature = "nvvm")]
mod nvvm;
#[cfg(feature = "nvvm")]
mod nvvm_arch;
#[cfg(feature = "nvvm")]
mod nvvm_options;
#[cfg(feature = "nvrtc")]
mod source;

#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod cache;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod cache_entry;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod cache_trust;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod code;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod compiler;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod search;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod sha256;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod text;

pub use find::load_kernel_module;
#[cfg(feature = "nvrtc")]
pub(crate) use kernel_file::load_cuda;
pub use kernel_file::load_kernel_file;
#[cfg(feature = "nvjitlink")]
pub(crate) use kernel_file::load_lto_ir;
#[cfg(feature = "nvvm")]
pub(crate) use kernel_file::load_nvvm_ir;

#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
pub use cache::{CacheUse, CompileCache};
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
pub use code::{CodeKind, CompiledCode};
#[cfg(feature = "nvjitlink")]
pub use inputs::LinkInputs;
#[cfg(feature = "nvjitlink")]
pub use nvjitlink::NvJitLink;
#[cfg(feature = "nvjitlink")]
pub use nvjitlink_options::{NvJitLinkOption, NvJitLinkOptions};
#[cfg(feature = "nvrtc")]
pub use nvrtc::Nvrtc;
#[cfg(feature = "nvrtc")]
pub use nvrtc_options::{CppStandard, NvrtcOption, NvrtcOptions};
#[cfg(feature = "nvvm")]
pub use nvvm::{Nvvm, NvvmIr};
#[cfg(feature = "nvvm")]
pub use nvvm_options::{NvvmOption, NvvmOptions};
#[cfg(feature = "nvrtc")]
pub use source::CudaSource;
