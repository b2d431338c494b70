//! Images that are no text: what is asked of a cubin or a fatbin after it was read.

use cuda_driver_sys::CUresult;
use cuda_ptx::image::{Image, Kernel};

use super::image::{Signature, dim3, threads};
#[cfg(feature = "link")]
use super::linker::LinkInput;
use crate::error::Parameter;

/// A cubin or a fatbin. A trait, so that only programs that read one have its reader: most load PTX text alone, and both readers together
/// are as large as the rest of what a load needs.
pub(super) trait Binary {
    /// `None` where the image does not list its kernels.
    fn kernels(&self) -> Option<Vec<(String, Signature)>>;

    /// What the code most likely means for this image on a device of this compute capability.
    fn hint(&self, code: CUresult, capability: (u32, u32)) -> Option<String>;

    /// What it is, as an input of a link.
    #[cfg(feature = "link")]
    fn link_input(&self) -> LinkInput;
}

impl Binary for Image<'_> {
    fn kernels(&self) -> Option<Vec<(String, Signature)>> {
        self.kernels().ok().map(|list| list.iter().map(signature).collect())
    }

    fn hint(&self, code: CUresult, (major, minor): (u32, u32)) -> Option<String> {
        let (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, Image::Cubin(cubin)) = (code, self) else { return None };
        let arch = cubin.arch()?;
        let help = format!("the cubin is for {arch}, this device is sm_{major}{minor}");
        let runs = arch.runs_on(major, minor);
        Some(if runs { help } else { format!("{help}: build for it, or ship PTX with it") })
    }

    #[cfg(feature = "link")]
    fn link_input(&self) -> LinkInput {
        match self {
            Image::Cubin(_) => LinkInput::Cubin,
            Image::Fatbin(_) => LinkInput::Fatbin,
            _ => LinkInput::Ptx,
        }
    }
}

fn signature(kernel: &Kernel<'_>) -> (String, Signature) {
    let sizes = kernel.parameters.as_ref().map(|list| list.iter().map(|p| p.size as usize));
    let parameters = sizes.map(|sizes| sizes.map(|size| Parameter { size, ty: None, name: None }).collect());
    let required_block = kernel.required_threads.map(dim3);
    (
        kernel.name.to_string(),
        Signature {
            parameters,
            required_block,
            max_threads: kernel.max_threads.map(threads),
            blocks_are_clusters: kernel.blocks_are_clusters,
        },
    )
}
