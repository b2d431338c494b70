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
mod ptx_only;

#[cfg(feature = "nvjitlink")]
mod nvjitlink;
#[cfg(feature = "nvrtc")]
mod nvrtc;
#[cfg(feature = "nvvm")]
mod nvvm;

#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod cache;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod code;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod compiler;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
mod search;
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
pub use cache::CompileCache;
#[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
pub use code::{CacheUse, CodeKind, CompiledCode};
#[cfg(feature = "nvjitlink")]
pub use nvjitlink::{LinkInputs, NvJitLink, NvJitLinkOption, NvJitLinkOptions};
#[cfg(feature = "nvrtc")]
pub use nvrtc::{CppStandard, CudaSource, Nvrtc, NvrtcOption, NvrtcOptions};
#[cfg(feature = "nvvm")]
pub use nvvm::{Nvvm, NvvmIr, NvvmOption, NvvmOptions};
