//! Loading a typed module: the best of its images, its kernels, its variables.

use cuda_driver_sys::CUresult;

use crate::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, JitOptions};
use crate::error::{ArtifactRefusal, Error, ErrorKind, GlobalError, NoArtifact};
use crate::launch::args::ArgumentList;
use crate::launch::check;
use crate::memory::{DeviceCopy, DeviceView};

/// A file that a typed module embeds: an image, or a source from which an image is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Artifact {
    /// The path as written in the attribute.
    pub path: &'static str,
    /// The contents of the file.
    pub bytes: &'static [u8],
    /// The code in it, if it is an image.
    pub codes: &'static [Code],
    /// How an image is compiled from it, if it is not one itself.
    pub source: Option<Source>,
}

/// A source that is compiled or linked for the device when the module is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// What it is, for messages.
    pub what: &'static str,
    /// Makes the image and loads it.
    pub load: fn(&CudaContext, &Artifact) -> Result<CudaModule, Error>,
    /// The headers next to it, by the names under which it includes them.
    pub headers: &'static [(&'static str, &'static [u8])],
}

/// Code in an image, and the architecture it is for.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// Whether it is machine code; otherwise it is PTX.
    pub machine: bool,
    /// Major times ten plus minor; 0 where the image does not say.
    pub sm: u32,
    /// `a` (that architecture only), `f` (its family), or NUL.
    pub suffix: char,
}

impl Code {
    /// How well it suits a device: machine code before PTX, and the newest architecture first; `None` if not at all.
    fn rank(self, (major, minor): (u32, u32)) -> Option<(bool, u32)> {
        let (own_major, own_minor) = (self.sm / 10, self.sm % 10);
        let runs = match self.suffix {
            _ if self.sm == 0 => true,
            'a' => (own_major, own_minor) == (major, minor),
            'f' => own_major == major && own_minor <= minor,
            _ if self.machine => own_major == major && own_minor <= minor,
            _ => (own_major, own_minor) <= (major, minor),
        };
        runs.then_some((self.machine, self.sm))
    }

    fn describe(self) -> String {
        let suffix = if self.suffix == '\0' { String::new() } else { self.suffix.to_string() };
        let what = if self.machine { "machine code" } else { "PTX" };
        match self.sm {
            0 => format!("{what} of unknown architecture"),
            sm => format!("{what} for sm_{sm}{suffix}"),
        }
    }
}

/// Loads the best image for the device of `context`; if the driver rejects that image, the next best. Sources that must be compiled
/// come last, in the order in which they were named, because an image is faster to load and needs no compiler.
///
/// # Errors
/// [`NoArtifact`] with every image, its architectures and the driver's answer.
pub fn load(context: &CudaContext, artifacts: &[Artifact]) -> Result<CudaModule, Error> {
    let capability = context.limits().compute_capability;
    let rank = |a: &Artifact| a.codes.iter().filter_map(|code| code.rank(capability)).max();
    let mut fitting: Vec<_> = artifacts.iter().filter_map(|a| rank(a).map(|rank| (rank, a))).collect();
    // The sort is stable: among equals, the one named first wins.
    fitting.sort_by_key(|&(rank, _)| std::cmp::Reverse(rank));
    let sources = artifacts.iter().filter(|artifact| artifact.source.is_some());
    let mut refused: Vec<(&Artifact, Error)> = Vec::new();
    for artifact in fitting.into_iter().map(|(_, artifact)| artifact).chain(sources) {
        let loaded = match artifact.source {
            Some(source) => (source.load)(context, artifact),
            None => CudaModule::load(context, artifact.bytes, artifact.path, &JitOptions::new())
                .map(|(module, _)| module),
        };
        match loaded {
            Ok(module) => return Ok(module),
            // With a single image its own error says everything; with several, the next one may work.
            Err(error) if artifacts.len() == 1 || !is_about_the_image(&error) => return Err(error),
            Err(error) => refused.push((artifact, error)),
        }
    }
    let refusal = |artifact: &Artifact| {
        let answer = refused.iter().find(|(a, _)| std::ptr::eq(*a, artifact)).map(|(_, e)| e.to_string());
        let holds = match artifact.source {
            Some(source) => vec![source.what.to_string()],
            None => artifact.codes.iter().map(|code| code.describe()).collect(),
        };
        ArtifactRefusal { path: artifact.path.to_string(), holds, answer }
    };
    let artifacts = artifacts.iter().map(refusal).collect();
    Err(ErrorKind::Artifacts(NoArtifact { compute_capability: capability, artifacts }).into())
}

/// Whether another image may do better.
fn is_about_the_image(error: &Error) -> bool {
    let is_about_a_compiler = matches!(error.kind(), ErrorKind::Compile(_));
    is_about_a_compiler
        || matches!(
            error.code(),
            Some(
                CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
                    | CUresult::CUDA_ERROR_INVALID_IMAGE
                    | CUresult::CUDA_ERROR_INVALID_PTX
                    | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                    | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
                    | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED
                    | CUresult::CUDA_ERROR_NOT_SUPPORTED
                    | CUresult::CUDA_ERROR_INVALID_SOURCE
            )
        )
}

/// Looks up a kernel and compares its parameters with a list of arguments.
///
/// # Errors
/// There is no kernel of this name, or its parameters differ.
pub fn checked_function<L: ArgumentList>(module: &CudaModule, name: &str) -> Result<CudaFunction, Error> {
    let function = module.load_function(name)?;
    check::compare(function.kernel(), L::SIGNATURE.into())?;
    Ok(function)
}

/// Looks up a kernel whose argument types differ between launches; the launch compares their sizes.
///
/// # Errors
/// There is none of this name.
pub fn function(module: &CudaModule, name: &str) -> Result<CudaFunction, Error> {
    module.load_function(name)
}

/// Compares the size of a variable.
///
/// # Errors
/// There is no variable of this name, or its size differs.
pub fn check_variable<T: DeviceCopy>(module: &CudaModule, name: &str) -> Result<(), Error> {
    let (_, bytes) = module.raw_global(name)?;
    if bytes == size_of::<T>() {
        return Ok(());
    }
    let (name, module) = (name.to_string(), module.origin().to_string());
    let (size, type_name) = (size_of::<T>(), std::any::type_name::<T>());
    Err(ErrorKind::Global(GlobalError::Size { name, module, bytes, size, type_name }).into())
}

/// The value of a variable.
///
/// # Errors
/// Those of [`DeviceView::to_host_vec`].
pub fn get<T: DeviceCopy>(variable: &DeviceView<'_, T>, stream: &CudaStream) -> Result<T, Error> {
    let values = variable.to_host_vec(stream)?;
    // Its size was compared when the module was loaded, so there is an element.
    values.first().copied().ok_or_else(|| {
        let reason = "the variable has no bytes";
        ErrorKind::Name { name: String::new(), reason }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn machine_code_goes_first_and_the_newest_that_runs() {
        let code = |machine, sm, suffix| Code { machine, sm, suffix }.rank((9, 0));
        assert_eq!(code(true, 90, '\0'), Some((true, 90)));
        assert_eq!(code(true, 80, '\0'), None, "another major version");
        assert_eq!(code(false, 80, '\0'), Some((false, 80)));
        assert_eq!(code(false, 100, '\0'), None);
        assert_eq!(code(false, 90, 'a'), Some((false, 90)));
        assert_eq!(Code { machine: false, sm: 90, suffix: 'a' }.rank((10, 0)), None);
        assert_eq!(Code { machine: false, sm: 100, suffix: 'f' }.rank((10, 3)), Some((false, 100)));
        assert_eq!(Code { machine: false, sm: 100, suffix: 'f' }.rank((12, 0)), None);
        assert_eq!(code(false, 0, '\0'), Some((false, 0)));
        assert_eq!(code(true, 0, '\0'), Some((true, 0)), "the driver knows");
    }
}
