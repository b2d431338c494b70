//! Kernel images, with everything that can be read from them without a driver.
//!
//! Neither this module nor anything that it uses depends on `cuda_launch`, because the build script of `tests/bound`
//! includes these files.

mod cubin;
mod fatbin;
mod ptx;

use cuda_ptx::image::{Image, ImageError, ImageKind};
use std::collections::HashMap;

use crate::model::{Kernel, Part, Signature};

/// The maximum length of PTX in bytes: its tree takes some twenty times as much.
const MAX_PTX: usize = 64 << 20;
/// The maximum number of kernels, parameters and variables of a file: each takes some ten bytes in the file, but some kilobytes
/// when it is printed.
const MAX_SYMBOLS: usize = 100_000;
/// How many symbols a file may still have.
struct Symbols(usize);

impl Symbols {
    /// Counts those of an image before they are processed.
    fn take(&mut self, kernels_and_variables: usize, parameters: usize) -> Result<(), ImageError> {
        let taken = kernels_and_variables.saturating_add(parameters);
        self.0 = self.0.checked_sub(taken).ok_or_else(|| {
            let message =
                format!("more kernels, parameters and variables than the limit of {MAX_SYMBOLS} for a file");
            ImageError::too_large(message)
        })?;
        Ok(())
    }
}

/// Reads and checks the bytes of an image, whole: its kind, and the images in it: one, or the entries of a fatbin.
pub(crate) fn read(bytes: &[u8]) -> Result<(ImageKind, Vec<Part>), ImageError> {
    let mut left = Symbols(MAX_SYMBOLS);
    Ok(match Image::read(bytes)? {
        Image::Ptx(text) => (ImageKind::Ptx, vec![ptx::read(text, &mut left)?]),
        Image::Cubin(cubin) => (ImageKind::Cubin, vec![cubin::read(&cubin, &mut left)?]),
        Image::Fatbin(fatbin) => (ImageKind::Fatbin, fatbin::read(&fatbin, &mut left)?),
        _ => (Image::identify(bytes)?, Vec::new()),
    })
}

/// The kernels, each once: from the entry with the most information.
pub(crate) fn kernels(parts: &[Part]) -> Vec<&Kernel> {
    let mut kernels: Vec<&Kernel> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let known = |kernel: &Kernel| kernel.signature.as_ref().map_or(0, Signature::known);
    for kernel in parts.iter().flat_map(|part| &part.kernels) {
        let place = *places.entry(&kernel.name).or_insert(kernels.len());
        match kernels.get_mut(place) {
            Some(found) if known(kernel) > known(found) => *found = kernel,
            Some(_) => {}
            None => kernels.push(kernel),
        }
    }
    kernels
}

/// Threads of a block with these dimensions, which may be any numbers.
pub(crate) fn volume(dimensions: [u32; 3]) -> u64 {
    dimensions.iter().map(|axis| u64::from(*axis)).fold(1, u64::saturating_mul)
}

/// The name as it stood in the source, if it is mangled.
fn source_name(name: &str) -> Option<String> {
    crate::signature::demangled(name)
}

fn too_long(bytes: usize) -> Option<String> {
    (bytes > MAX_PTX).then(|| format!("PTX of {bytes} bytes, over the limit of {MAX_PTX}"))
}
