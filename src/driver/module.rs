//! Modules: loaded kernel images.

#![allow(unsafe_code)] // Calls of the driver with live handles: a module is unloaded only by `ModuleInner`.

use cuda_driver_sys::CUmodule;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::CudaContext;
use super::function::CudaFunction;
use super::image::{Image, Signatures};
use super::kernel::{Kernel, kernel_name};
use super::kernel_table::KernelTable;
use crate::error::{Error, ErrorKind, KernelNotFound, check};

/// A loaded kernel image: PTX, cubin or fatbin.
///
/// Handles are cheap to clone; functions keep their module loaded. The image is unloaded with the last of them, which
/// waits for its kernels.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let module = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
/// assert_eq!(module.load_function("fill")?.name(), "fill");
/// let error = module.load_function("fil").unwrap_err();
/// assert!(error.is_not_found() && error.to_string().contains("did you mean fill?"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUmodule")]
pub struct CudaModule {
    inner: Arc<ModuleInner>,
}

#[derive(Debug)]
struct ModuleInner {
    raw: CUmodule,
    /// Never given twice in a process, so that call sites can tell modules apart.
    id: u64,
    context: CudaContext,
    origin: String,
    info_log: String,
    signatures: Signatures,
    kernels: KernelTable,
}

// SAFETY: a CUmodule may be used from every thread (driver API, "Module Management"); the rest is Send and Sync.
unsafe impl Send for ModuleInner {}
// SAFETY: as above.
unsafe impl Sync for ModuleInner {}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl CudaContext {
    /// Loads a kernel image from memory: PTX text (with or without a NUL at its end), a cubin, or a fatbin.
    ///
    /// The bytes are checked before the driver sees them, because it reads past the end of cut images.
    ///
    /// Driver call: `cuModuleLoadDataEx`, asking for both compiler logs.
    ///
    /// # Errors
    /// [`ErrorKind::Image`] for bytes that are no whole image, [`ErrorKind::Compiler`] with the log and the line it
    /// points at where the driver refuses them.
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load_module(&self, image: impl AsRef<[u8]>) -> Result<CudaModule, Error> {
        CudaModule::load(self, image.as_ref(), "image in memory")
    }

    /// Loads a kernel image from a file; see [`CudaContext::load_module`].
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, and those of [`CudaContext::load_module`].
    pub fn load_module_from_file(&self, path: impl AsRef<Path>) -> Result<CudaModule, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        CudaModule::load(self, &bytes, &path.display().to_string())
    }
}

impl CudaModule {
    fn load(context: &CudaContext, bytes: &[u8], origin: &str) -> Result<Self, Error> {
        let image = Image::new(bytes, origin)?;
        context.bind()?;
        let (raw, info_log) = image.load(context, origin)?;
        let inner = ModuleInner {
            raw,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            context: context.clone(),
            origin: origin.to_string(),
            info_log,
            signatures: image.signatures(),
            kernels: KernelTable::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Looks up a kernel. The result keeps the module loaded.
    ///
    /// Driver calls, the first time for a name: `cuModuleGetFunction`, `cuFuncGetParamInfo`, `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the nearest names if there is none.
    #[doc(alias = "cuModuleGetFunction")]
    pub fn load_function(&self, name: &str) -> Result<CudaFunction, Error> {
        let (kernel, _) = self.find(name)?;
        Ok(CudaFunction::new(self.clone(), kernel))
    }

    /// Names of the kernels, where the image lists them (PTX and cubins do).
    ///
    /// No driver call.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.inner.signatures.names()
    }

    /// What the driver's compiler had to say about an image that it accepted; often nothing.
    pub fn info_log(&self) -> &str {
        &self.inner.info_log
    }

    /// The file it came from, or "image in memory".
    pub fn origin(&self) -> &str {
        &self.inner.origin
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// The raw module, valid as long as this handle.
    pub fn raw(&self) -> CUmodule {
        self.inner.raw
    }

    /// Address and size in bytes of a `__device__` or `__constant__` variable.
    ///
    /// Driver call: `cuModuleGetGlobal`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND` if there is none.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn global(&self, name: &str) -> Result<(u64, usize), Error> {
        self.context().bind()?;
        let c_name = kernel_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is live and of the current context; name and outputs outlive the call.
        let code = unsafe {
            self.context().driver().cuModuleGetGlobal(&mut address, &mut bytes, self.raw(), c_name.as_ptr())
        };
        check(code, "cuModuleGetGlobal", || format!("variable {name:?} of {}", self.origin()))?;
        Ok((address, bytes))
    }

    /// Unloads the module now if this is the last handle to it and its functions, and says what the driver answered.
    ///
    /// Driver call: `cuModuleUnload`, for the last handle.
    ///
    /// # Errors
    /// Whatever the driver answers; the handle is gone in any case.
    #[doc(alias = "cuModuleUnload")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.unload())
    }

    /// A number that no other module of this process has.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    /// The kernel at an index that [`CudaModule::find`] gave.
    #[inline]
    pub(crate) fn kernel_at(&self, index: u16) -> Option<&Arc<Kernel>> {
        self.inner.kernels.at(index)
    }

    /// The kernel of this name, and its index.
    pub(crate) fn find(&self, name: &str) -> Result<(Arc<Kernel>, Option<u16>), Error> {
        let inner = &*self.inner;
        inner.kernels.find(name, || {
            // Weak, because the module owns the kernel.
            let owner = Arc::downgrade(&self.inner);
            Kernel::look_up(&inner.context, inner.raw, owner, name, inner.signatures.get(name))
                .map_err(|e| if e.is_not_found() { self.not_found(name) } else { e })
        })
    }

    #[cold]
    fn not_found(&self, name: &str) -> Error {
        let names: Vec<&str> = self.kernel_names().collect();
        ErrorKind::Kernel(KernelNotFound {
            name: name.to_string(),
            module: self.origin().to_string(),
            nearest: nearest(name, &names),
            available: self.inner.signatures.complete().then_some(names.len()),
        })
        .into()
    }
}

impl ModuleInner {
    fn unload(&mut self) -> Result<(), Error> {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        if raw.is_null() {
            return Ok(());
        }
        // Also where it cannot be bound: an error is told below.
        let _ = self.context.bind();
        // SAFETY: this value owned the module; no function of it is left, as each holds the module.
        check(unsafe { self.context.driver().cuModuleUnload(raw) }, "cuModuleUnload", || self.origin.clone())
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.unload();
    }
}

/// Up to three names that look most like `name`.
fn nearest(name: &str, names: &[&str]) -> Vec<String> {
    let mut scored: Vec<(usize, &str)> = names
        .iter()
        .map(|n| if n.contains(name) { (0, *n) } else { (distance(name, n), *n) })
        .filter(|(d, n)| *d <= name.len().max(n.len()) / 2)
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, n)| n.to_string()).collect()
}

/// Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_far_ones_not_at_all() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("vecad", &["scan", "vecadd", "_Z6vecaddPf"]), ["_Z6vecaddPf", "vecadd"]);
        assert!(nearest("vecadd", &["mandelbrot"]).is_empty());
    }
}
