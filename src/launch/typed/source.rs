//! Files of a typed module that have to be compiled to an image: one function for each kind, available with its feature.

use super::load::Artifact;
use crate::compile;
use crate::driver::{CudaContext, CudaModule};
use crate::error::Error;

/// Compiles CUDA C++ for the device, with the headers that were beside it.
///
/// # Errors
/// Those of [`load_kernel_file`](crate::load_kernel_file).
#[cfg(feature = "nvrtc")]
pub fn load_cuda(context: &CudaContext, artifact: &Artifact) -> Result<CudaModule, Error> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut source = compile::CudaSource::new(text(artifact.bytes)).name(artifact.path);
    for (name, bytes) in artifact.source.iter().flat_map(|source| source.headers) {
        source = source.header(*name, text(bytes));
    }
    compile::load_cuda(context, &source)
}

/// Compiles NVVM IR for the device.
///
/// # Errors
/// Those of [`load_kernel_file`](crate::load_kernel_file).
#[cfg(feature = "nvvm")]
pub fn load_nvvm_ir(context: &CudaContext, artifact: &Artifact) -> Result<CudaModule, Error> {
    compile::load_nvvm_ir(context, artifact.path, artifact.bytes.to_vec())
}

/// Links LTO IR for the device.
///
/// # Errors
/// Those of [`load_kernel_file`](crate::load_kernel_file).
#[cfg(feature = "nvjitlink")]
pub fn load_lto_ir(context: &CudaContext, artifact: &Artifact) -> Result<CudaModule, Error> {
    compile::load_lto_ir(context, artifact.path, artifact.bytes.to_vec())
}
