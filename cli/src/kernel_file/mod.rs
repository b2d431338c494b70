//! A kernel file: an image, or a source that must be compiled first.

mod source;

use cuda_launch::{CudaContext, CudaModule, Error, load_kernel_file};
use cuda_ptx::image::ImageKind;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};
use crate::model::{Kernel, Part, Variable};
use crate::{files, image};
use source::Source;

/// The maximum size of a file in bytes; its decompressed contents may have the same size again.
const MAX_FILE: u64 = 256 << 20;
/// Kernels that a message lists.
const LISTED: usize = 20;

/// A kernel file.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: ImageKind,
    /// The images in it: one, or the entries of a fatbin.
    pub(crate) parts: Vec<Part>,
    /// Whether `bytes` is PTX that a compiler generated from the file.
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
        let (kind, parts) = image::read(&bytes).map_err(|error| Failure::image(path, &error))?;
        Ok(Self { path: path.to_owned(), bytes, kind, parts, compiled: false })
    }

    fn compile(path: &Path, bytes: &[u8], source: Source) -> Result<Self, Failure> {
        let (bytes, origin) = source.ptx(path, bytes)?;
        let (kind, mut parts) = image::read(&bytes).map_err(|error| Failure::image(path, &error))?;
        parts.iter_mut().for_each(|part| part.source = Some(origin.clone()));
        Ok(Self { path: path.to_owned(), bytes, kind, parts, compiled: true })
    }

    /// Loads it; sources are compiled for this device.
    pub(crate) fn load(&self, context: &CudaContext) -> Result<CudaModule, Error> {
        if self.compiled { load_kernel_file(context, &self.path) } else { context.load_module(&self.bytes) }
    }

    /// The kernels, each once.
    pub(crate) fn kernels(&self) -> Vec<&Kernel> {
        image::kernels(&self.parts)
    }

    /// The variables of all images.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().flat_map(|part| part.variables.iter().chain(&part.internal))
    }

    /// Why it has no variable of this name, where its image says which it has: PTX does.
    pub(crate) fn lacks_variable(&self, name: &str) -> Option<String> {
        let mut names: Vec<&str> = self.variables().map(|variable| variable.name.as_str()).collect();
        if self.kind != ImageKind::Ptx || names.contains(&name) {
            return None;
        }
        names.dedup();
        Some(format!("{} has no variable `{name}`; it has {}", self.path.display(), listed(&names, "none")))
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
                let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                let has = listed(&names, "no kernel");
                Err(Failure::usage(format!("{} has no kernel `{name}`; it has {has}", self.path.display())))
            }
        }
    }
}

/// The first of these names, and how many there are besides.
fn listed(names: &[&str], none: &str) -> String {
    let (first, more) = names.split_at(names.len().min(LISTED));
    match (first.is_empty(), more.len()) {
        (true, _) => none.to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{}, and {more} more", first.join(", ")),
    }
}
