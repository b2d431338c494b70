//! Images that are no text: what is asked of a cubin or a fatbin after it was read.

use cuda_driver_sys::CUresult;
use cuda_ptx::image::{Image, Kernel};
use std::sync::OnceLock;

use super::image::{KernelList, Signature, dim3, threads};
#[cfg(feature = "link")]
use super::linker::LinkInput;
use crate::error::Parameter;

/// A cubin or a fatbin. A trait, so that only programs that read one have its reader: most load PTX text alone, and both readers together
/// are as large as the rest of what a load needs.
pub(super) trait Binary {
    /// A copy of what the image says of its kernels; `None` where it does not list them.
    fn kernels(&self) -> Option<Box<dyn KernelList>>;

    /// What the code most likely means for this image on a device of this compute capability.
    fn hint(&self, code: CUresult, capability: (u32, u32)) -> Option<String>;

    /// What it is, as an input of a link.
    #[cfg(feature = "link")]
    fn link_input(&self) -> LinkInput;
}

impl Binary for Image<'_> {
    fn kernels(&self) -> Option<Box<dyn KernelList>> {
        let mut list = Kernels::default();
        self.for_each_kernel(&mut |kernel| list.push(kernel)).ok()?;
        Some(Box::new(list))
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

/// What is asked of kernels later, in a few lists for all of them: an image may have thousands, of which a program launches some.
#[derive(Default)]
struct Kernels {
    /// One after the other.
    names: String,
    parameters: Vec<u32>,
    kernels: Vec<Entry>,
    /// Their places, in the order of their names; sorted when one is asked for.
    order: OnceLock<Vec<usize>>,
}

struct Entry {
    /// Where name and parameters end; they begin where those of the kernel before end.
    name: usize,
    parameters: usize,
    lists_parameters: bool,
    blocks_are_clusters: bool,
    required_threads: Option<[u32; 3]>,
    max_threads: Option<[u32; 3]>,
}

impl Kernels {
    fn push(&mut self, kernel: &Kernel<'_>) {
        self.names.push_str(kernel.name);
        self.parameters.extend(kernel.parameters.iter().flatten().map(|parameter| parameter.size));
        self.kernels.push(Entry {
            name: self.names.len(),
            parameters: self.parameters.len(),
            lists_parameters: kernel.parameters.is_some(),
            blocks_are_clusters: kernel.blocks_are_clusters,
            required_threads: kernel.required_threads,
            max_threads: kernel.max_threads,
        });
    }

    /// The kernel before the one at `place`.
    fn before(&self, place: usize) -> Option<&Entry> {
        place.checked_sub(1).and_then(|before| self.kernels.get(before))
    }
}

impl KernelList for Kernels {
    fn count(&self) -> usize {
        self.kernels.len()
    }

    fn name(&self, place: usize) -> &str {
        &self.names[self.before(place).map_or(0, |entry| entry.name)..self.kernels[place].name]
    }

    fn get(&self, name: &str) -> Option<Signature> {
        let names = || (0..self.count()).map(|place| self.name(place)).collect::<Vec<_>>();
        let order = self.order.get_or_init(|| cuda_ptx::in_order_of_names(&names()));
        let found = order.binary_search_by(|place| self.name(*place).cmp(name)).ok()?;
        Some(self.signature(order[found]))
    }
}

impl Kernels {
    fn signature(&self, place: usize) -> Signature {
        let entry = &self.kernels[place];
        let first = self.before(place).map_or(0, |entry| entry.parameters);
        let sizes = self.parameters[first..entry.parameters].iter();
        let parameters = sizes.map(|size| Parameter { size: *size as usize, ty: None, name: None });
        Signature {
            parameters: entry.lists_parameters.then(|| parameters.collect()),
            required_block: entry.required_threads.map(dim3),
            max_threads: entry.max_threads.map(threads),
            blocks_are_clusters: entry.blocks_are_clusters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_what_the_image_says() -> Result<(), Box<dyn std::error::Error>> {
        for name in ["attributes.sm_90.cubin", "basic.plain.fatbin"] {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/tests/data/");
            let bytes = std::fs::read(format!("{path}{name}"))?;
            let image = Image::read(&bytes)?;
            let copied = Binary::kernels(&image).ok_or("no list")?;
            let all = image.kernels()?;
            assert!(all.len() > 1 && copied.count() == all.len(), "{name}");
            for (place, kernel) in all.iter().enumerate() {
                assert_eq!(copied.name(place), kernel.name);
                let Signature { parameters, required_block, max_threads, blocks_are_clusters } =
                    copied.get(kernel.name).ok_or(kernel.name)?;
                let sizes = parameters.map(|list| list.iter().map(|p| p.size as u32).collect::<Vec<_>>());
                let listed = kernel.parameters.as_ref();
                assert_eq!(sizes, listed.map(|list| list.iter().map(|p| p.size).collect()));
                assert_eq!(required_block, kernel.required_threads.map(dim3));
                assert_eq!(max_threads, kernel.max_threads.map(threads));
                assert_eq!(blocks_are_clusters, kernel.blocks_are_clusters);
            }
        }
        Ok(())
    }
}
