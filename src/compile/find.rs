//! Kernel files found by name.

use std::path::{Path, PathBuf};

use super::kernel_file::load_kernel_file;
use crate::driver::{CudaContext, CudaModule};
use crate::error::{Error, ErrorKind, ModuleNotFound, SearchAttempt};

/// A folder that is searched before all others.
const VARIABLE: &str = "CUDA_LAUNCH_KERNEL_DIR";
/// In the order of preference: what runs as it is, what holds several, what the driver compiles, what must be linked, what must be
/// compiled.
const ENDINGS: [&str; 7] = ["cubin", "fatbin", "ptx", "ltoir", "bc", "ll", "cu"];

/// Loads `name.cubin`, `name.fatbin`, `name.ptx`, `name.ltoir`, `name.bc`, `name.ll` or `name.cu`, whichever comes
/// first and can be used on the device.
///
/// Folders in order: the variable `CUDA_LAUNCH_KERNEL_DIR`; next to the executable, and one folder up; the crate that
/// is run or tested (`CARGO_MANIFEST_DIR`), its `kernels` and its `examples/kernels`; the current folder and its
/// `kernels`. In each folder a cubin comes first, if the device can run it. A file that exists but does not load is
/// remembered for the error, and the search continues. [`load_kernel_file`] lists what is done with each kind.
///
/// Driver calls: those of [`CudaContext::load_module`], for each file found.
///
/// ```
/// use cuda_launch::{load_kernel_module, CudaContext};
/// let ctx = CudaContext::new(0)?;
/// let module = load_kernel_module(&ctx, "vecadd")?;
/// assert!(module.kernel_names().any(|name| name == "vecadd"));
/// let error = load_kernel_module(&ctx, "no_such_kernels").unwrap_err();
/// assert!(error.to_string().contains("no_such_kernels.cubin, .fatbin, .ptx"), "it lists every path tried");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Module`] with every path that was tried and why it was not usable.
pub fn load_kernel_module(context: &CudaContext, name: &str) -> Result<CudaModule, Error> {
    let mut tried = Vec::new();
    for folder in folders() {
        for ending in ENDINGS {
            let path = folder.join(format!("{name}.{ending}"));
            if !path.is_file() {
                tried.push(SearchAttempt { path, reason: "no such file".into() });
                continue;
            }
            match load_kernel_file(context, &path) {
                Ok(module) => return Ok(module),
                // A poisoned process, or no memory: other files fail the same way.
                Err(error) if error.is_sticky() || error.is_out_of_memory() => return Err(error),
                Err(error) => tried.push(SearchAttempt { path, reason: error.to_string() }),
            }
        }
    }
    Err(ErrorKind::Module(ModuleNotFound { name: name.to_string(), tried }).into())
}

/// The folders to search, each once.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut add = |folder: PathBuf| {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    if let Some(folder) = std::env::var_os(VARIABLE) {
        add(folder.into());
    }
    if let Some(beside) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        add(beside.to_path_buf());
        if let Some(up) = beside.parent() {
            add(up.to_path_buf());
        }
    }
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) {
        let (kernels, examples) = (package.join("kernels"), package.join("examples").join("kernels"));
        add(package);
        add(kernels);
        add(examples);
    }
    add(PathBuf::from("."));
    add(PathBuf::from("kernels"));
    folders
}
