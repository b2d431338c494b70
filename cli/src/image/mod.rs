//! A kernel file with everything that can be known of it without a driver.

mod cubin;
mod fatbin;
mod ptx;
mod source;

use cuda_launch::{CudaContext, CudaModule, Error, load_kernel_file};
use cuda_ptx::image::{Image, ImageError, ImageKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};
use crate::files;
use crate::model::{Kernel, Part, Signature, Variable};
use source::Source;

/// Bytes of the largest file that is read; what it holds compressed may be as long again.
const MAX_FILE: u64 = 256 << 20;
/// Bytes of the longest PTX that is read: its tree takes some twenty times as much.
const MAX_PTX: usize = 16 << 20;
/// Kernels, parameters and variables of the largest file: each takes some kilobytes by the time it is printed, and some ten bytes
/// in the file.
const MAX_SYMBOLS: usize = 100_000;
/// Kernels that a message lists.
const LISTED: usize = 20;

/// A kernel file.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: ImageKind,
    /// The images in it: one, or the entries of a fatbin.
    pub(crate) parts: Vec<Part>,
    /// Whether `bytes` is PTX that a compiler made of the file.
    compiled: bool,
}

impl File {
    /// Reads and checks it, whole.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let source = Source::of(path);
        if source.is_some() && std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
            let message = format!(
                "{}: a source is read more than once, which a pipe or a device does not allow\n  help: save it as a file",
                path.display()
            );
            return Err(Failure::new(Exit::File, message));
        }
        let bytes = files::read(path, MAX_FILE, "a kernel file")?;
        if let Some(source) = source {
            return Self::compile(path, &bytes, source);
        }
        let (kind, parts) = parts(&bytes).map_err(|error| Failure::image(path, &error))?;
        Ok(Self { path: path.to_owned(), bytes, kind, parts, compiled: false })
    }

    fn compile(path: &Path, bytes: &[u8], source: Source) -> Result<Self, Failure> {
        let (bytes, origin) = source.ptx(path, bytes)?;
        let (kind, mut parts) = parts(&bytes).map_err(|error| Failure::image(path, &error))?;
        parts.iter_mut().for_each(|part| part.source = Some(origin.clone()));
        Ok(Self { path: path.to_owned(), bytes, kind, parts, compiled: true })
    }

    /// Loads it; what has to be compiled, for this device.
    pub(crate) fn load(&self, context: &CudaContext) -> Result<CudaModule, Error> {
        if self.compiled { load_kernel_file(context, &self.path) } else { context.load_module(&self.bytes) }
    }

    /// The kernels, each once: as the entry that says most of it has it.
    pub(crate) fn kernels(&self) -> Vec<&Kernel> {
        let mut kernels: Vec<&Kernel> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let known = |kernel: &Kernel| kernel.signature.as_ref().map_or(0, Signature::known);
        for kernel in self.parts.iter().flat_map(|part| &part.kernels) {
            let place = *places.entry(&kernel.name).or_insert(kernels.len());
            match kernels.get_mut(place) {
                Some(found) if known(kernel) > known(found) => *found = kernel,
                Some(_) => {}
                None => kernels.push(kernel),
            }
        }
        kernels
    }

    /// The variables of all images.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().flat_map(|part| part.variables.iter().chain(&part.internal))
    }

    /// The kernel of this name, also as it stood in the source.
    pub(crate) fn kernel(&self, name: &str) -> Result<&Kernel, Failure> {
        let kernels = self.kernels();
        let own = |kernel: &&&Kernel| kernel.name == name;
        let plain = |kernel: &&&Kernel| {
            kernel.source_name.as_ref().is_some_and(|source| source.split(['(', '<']).next() == Some(name))
        };
        let mut alike = kernels.iter().filter(plain);
        match (kernels.iter().find(own), alike.next(), alike.next()) {
            (Some(kernel), ..) | (None, Some(kernel), None) => Ok(kernel),
            _ => {
                let names: Vec<&str> =
                    kernels.iter().take(LISTED).map(|kernel| kernel.name.as_str()).collect();
                let more = kernels.len().saturating_sub(LISTED);
                let has = match (names.is_empty(), more) {
                    (true, _) => "no kernel".to_owned(),
                    (false, 0) => names.join(", "),
                    (false, more) => format!("{}, and {more} more", names.join(", ")),
                };
                Err(Failure::usage(format!("{} has no kernel `{name}`; it has {has}", self.path.display())))
            }
        }
    }
}

/// How many symbols a file may still have.
struct Symbols(usize);

impl Symbols {
    /// Counts some of an image before anything is made of them.
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

fn parts(bytes: &[u8]) -> Result<(ImageKind, Vec<Part>), ImageError> {
    let mut left = Symbols(MAX_SYMBOLS);
    Ok(match Image::read(bytes)? {
        Image::Ptx(text) => (ImageKind::Ptx, vec![ptx::read(text, &mut left)?]),
        Image::Cubin(cubin) => (ImageKind::Cubin, vec![cubin::read(&cubin, &mut left)?]),
        Image::Fatbin(fatbin) => (ImageKind::Fatbin, fatbin::read(&fatbin, &mut left)?),
        _ => (Image::identify(bytes)?, Vec::new()),
    })
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
