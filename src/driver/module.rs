//! Modules: loaded kernel images.

#![allow(unsafe_code)] // Calls of the driver with live handles: a module is unloaded only by `ModuleInner`.

use cuda_driver_sys::CUmodule;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::context::CudaContext;
use super::function::CudaFunction;
use super::host_call;
use super::image::{Image, Signatures};
use super::jit::{JitOptions, JitReport};
use super::kernel::Kernel;
use super::kernel::table::KernelTable;
use super::kernel_image::KernelImage;
use super::library::CudaLibrary;
use super::park::Keep;
use super::symbols::Symbols;
use crate::error::{Error, ErrorKind, KernelNotFound};
use cuda_ptx::nearest;

/// A loaded kernel image: PTX, cubin or fatbin.
///
/// Handles are cheap to clone; functions keep their module loaded. The image is unloaded when the last of them is
/// dropped, which waits for its kernels.
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let module = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
/// assert_eq!(module.load_function("fill")?.name(), "fill");
/// let error = module.load_function("fil").unwrap_err();
/// assert!(error.is_not_found() && error.to_string().contains("did you mean fill?"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUmodule")]
pub struct CudaModule {
    inner: Arc<ModuleInner>,
}

/// What all handles of a module share. The module stays loaded as long as this value: this value unloads it when dropped; or its library
/// does, which `owner` keeps alive; or the caller of `from_raw` promised it, by duty 2 there.
struct ModuleInner {
    raw: CUmodule,
    /// Never given twice in a process, so that call sites can tell modules apart.
    id: u64,
    context: CudaContext,
    origin: String,
    info_log: String,
    signatures: Arc<Signatures>,
    kernels: KernelTable,
    symbols: Arc<Symbols>,
    owner: Owner,
}

/// Who unloads a module.
#[derive(Debug)]
pub(super) enum Owner {
    /// The last handle unloads it.
    Handle,
    /// Other code, which promised to keep it loaded.
    Foreign,
    /// Its library, which lives as long as this. A program that loads none has no code for one.
    Library { _kept: Keep },
}

/// A module that others keep.
#[derive(Debug)]
pub(super) struct WeakModule(Weak<ModuleInner>);

impl WeakModule {
    pub(super) fn upgrade(&self) -> Option<CudaModule> {
        self.0.upgrade().map(|inner| CudaModule { inner })
    }
}

// SAFETY: a CUmodule may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). The rest is Send and Sync.
unsafe impl Send for ModuleInner {}
// SAFETY: as above; what is changed through a shared reference is behind locks, in a `OnceLock`, or atomic.
unsafe impl Sync for ModuleInner {}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl CudaContext {
    /// Loads a kernel image from memory: PTX text (with or without a NUL at its end), a cubin, or a fatbin.
    ///
    /// The bytes are checked before they reach the driver, because it reads past the end of truncated images.
    ///
    /// Driver call: `cuModuleLoadDataEx`, asking for both compiler logs.
    ///
    /// ```standalone_crate
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let module = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
    /// assert!(module.load_function("fill").is_ok());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Image`] for bytes that are not a complete image, [`ErrorKind::Compiler`] with the log and the line
    /// that it points at if the driver rejects them.
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load_module(&self, image: impl KernelImage) -> Result<CudaModule, Error> {
        Ok(self.load_module_with(image, &JitOptions::new())?.0)
    }

    /// Loads a kernel image from memory with options for the compiler, and returns the compiler's report.
    ///
    /// Driver call: `cuModuleLoadDataEx`.
    ///
    /// ```standalone_crate
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::module::JitOptions;
    /// # let ctx = CudaContext::new(0)?;
    /// let ptx = include_str!("../../examples/kernels/fill.ptx");
    /// let (module, report) = ctx.load_module_with(ptx, &JitOptions::new().max_registers(32))?;
    /// println!("{}{}", report.error_log, module.origin());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CudaContext::load_module`], and [`Error::is_unsupported`] for an option that is newer than the driver.
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load_module_with(
        &self,
        image: impl KernelImage,
        options: &JitOptions,
    ) -> Result<(CudaModule, JitReport), Error> {
        let origin = "image in memory";
        CudaModule::load_image(self, Image::of(&image, origin)?, origin, options)
    }

    /// Loads a kernel image from a file; see [`CudaContext::load_module`].
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kernels/fill.ptx");
    /// let module = ctx.load_module_from_file(path)?;
    /// assert_eq!(module.kernel_names().collect::<Vec<_>>(), ["fill"]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, and those of [`CudaContext::load_module`].
    pub fn load_module_from_file(&self, path: impl AsRef<Path>) -> Result<CudaModule, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        Ok(CudaModule::load(self, &bytes, &path.display().to_string(), &JitOptions::new())?.0)
    }
}

impl CudaModule {
    pub(crate) fn load(
        context: &CudaContext,
        bytes: &[u8],
        origin: &str,
        options: &JitOptions,
    ) -> Result<(Self, JitReport), Error> {
        Self::load_image(context, Image::new(bytes, origin)?, origin, options)
    }

    fn load_image(
        context: &CudaContext,
        image: Image<'_>,
        origin: &str,
        options: &JitOptions,
    ) -> Result<(Self, JitReport), Error> {
        // SAFETY: 1: `Image::load` passes a module that was just loaded into this context; 2: its number is in this function alone.
        let own = |raw| Arc::new(unsafe { ModuleInner::new(context, raw, origin, Owner::Handle) });
        let (mut inner, report) = image.load(context, origin, options, own)?;
        if let Some(inner) = Arc::get_mut(&mut inner) {
            inner.info_log = report.info_log.clone();
            inner.signatures = Arc::new(image.into_signatures());
        }
        Ok((Self { inner }, report))
    }

    /// A handle to a module that other code loaded and will unload.
    ///
    /// What only an image contains, such as the names of parameters, is unknown for it. No driver call.
    ///
    /// ```standalone_crate
    /// use cuda_launch::{CudaContext, CudaModule};
    /// let ctx = CudaContext::new(0)?;
    /// let owner = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
    /// // SAFETY: 1: `owner` is of `ctx`; 2: it outlives the handle, and nothing is launched; 3: it has no variables.
    /// let module = unsafe { CudaModule::from_raw(&ctx, owner.raw()) };
    /// assert_eq!(module.load_function("fill")?.name(), "fill");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. `raw` is a module of this context, on its driver.
    /// 2. It stays loaded as long as this handle, a clone, or a function or variable from them lives, as work that uses
    ///    it runs, and as a graph with a launch of it, or anything instantiated from one, can run.
    /// 3. While a variable of it has a mutable view here, there is no view of it from another handle to the module.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUmodule) -> Self {
        let origin = format!("module at {raw:?}");
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        Self { inner: Arc::new(unsafe { ModuleInner::new(context, raw, &origin, Owner::Foreign) }) }
    }

    /// The handle to a library's module in a context.
    ///
    /// # Safety
    /// 1. `raw` is the module of `library` in `context`.
    pub(super) unsafe fn of_library(
        context: &CudaContext,
        raw: CUmodule,
        library: &CudaLibrary,
        symbols: Arc<Symbols>,
    ) -> Self {
        let owner = Owner::Library { _kept: library.keep() };
        // SAFETY: 1: the caller's duty 1; 2: the library unloads it, and `owner` keeps that.
        let mut inner = unsafe { ModuleInner::new(context, raw, library.origin(), owner) };
        inner.info_log = library.report().info_log.clone();
        (inner.signatures, inner.symbols) = (library.signatures().clone(), symbols);
        Self { inner: Arc::new(inner) }
    }

    /// Whether dropping it unloads the module.
    #[cfg(feature = "async")]
    #[inline]
    pub(super) fn is_last_handle(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    pub(super) fn downgrade(&self) -> WeakModule {
        WeakModule(Arc::downgrade(&self.inner))
    }

    /// Looks up a kernel. The result keeps the module loaded.
    ///
    /// Driver calls, the first time for a name: `cuModuleGetFunction`, `cuFuncGetParamInfo`, `cuFuncGetAttribute`; `cuFuncGetParamCount` if the
    /// image does not list the parameters (CUDA 13.2).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// let fill = module.load_function("fill")?;
    /// assert_eq!(fill.name(), "fill");
    /// assert!(module.load_function("filled").unwrap_err().to_string().contains("fill"), "a suggestion");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the nearest names if there is none.
    #[doc(alias = "cuModuleGetFunction")]
    pub fn load_function(&self, name: &str) -> Result<CudaFunction, Error> {
        let (kernel, _) = self.find(name)?;
        Ok(CudaFunction::new(self.clone(), kernel.clone()))
    }

    /// The function of this name; `make` asks the driver the first time.
    pub(super) fn function_with(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Kernel, Error>,
    ) -> Result<CudaFunction, Error> {
        let kernels = &self.inner.kernels;
        let (kernel, _) = match kernels.known(name) {
            Some(found) => found,
            None => kernels.find(name, || make().map(|kernel| self.owns(kernel)))?,
        };
        Ok(CudaFunction::new(self.clone(), kernel.clone()))
    }

    /// The same kernel, which knows whose it is: a graph that launches it keeps the module. Weak, because the module owns it.
    fn owns(&self, kernel: Kernel) -> Kernel {
        kernel.of(Arc::downgrade(&self.inner) as _)
    }

    /// The limits of the kernel of this name changed behind its back, if it was looked up.
    pub(super) fn refresh_limits(&self, name: &str) -> Result<(), Error> {
        self.inner.kernels.known(name).map_or(Ok(()), |(kernel, _)| kernel.refresh_limits())
    }

    /// The names of the kernels, if the image lists them (PTX and cubins do).
    ///
    /// No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// assert_eq!(module.kernel_names().collect::<Vec<_>>(), ["fill"]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.inner.signatures.names()
    }

    /// Whether the image lists its kernels.
    pub(super) fn lists_kernels(&self) -> bool {
        self.inner.signatures.complete()
    }

    /// The variables that the image lists, and whether they are constants.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        self.inner.signatures.variables()
    }

    /// The variables that have a handle.
    pub(crate) fn symbols(&self) -> &Symbols {
        &self.inner.symbols
    }

    /// What the driver's compiler reported about an image that it accepted; often nothing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// println!("{}", module.info_log());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn info_log(&self) -> &str {
        &self.inner.info_log
    }

    /// The file it was loaded from, the path that a typed module names, or "image in memory".
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// assert!(module.origin().ends_with("fill.ptx"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn origin(&self) -> &str {
        &self.inner.origin
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// assert_eq!(module.context().ordinal(), ctx.ordinal());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// The raw module, valid as long as this handle lives.
    pub fn raw(&self) -> CUmodule {
        self.inner.raw
    }

    /// Unloads the module now if this is the last handle to it and its functions, and reports any error.
    ///
    /// Driver call: `cuModuleUnload`, for the last handle.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// module.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuModuleUnload")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.unload())
    }

    /// A number that no other module in this process has.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    /// The kernel at an index that [`CudaModule::find`] gave, if that is one of the first.
    #[inline(always)]
    pub(crate) fn first_kernel_at(&self, index: usize) -> Option<&Arc<Kernel>> {
        self.inner.kernels.first_at(index)
    }

    /// The kernel at an index that [`CudaModule::find`] gave.
    #[inline]
    pub(crate) fn kernel_at(&self, index: u32) -> Option<&Arc<Kernel>> {
        self.inner.kernels.at(index)
    }

    /// The kernel of this name, and its index.
    #[inline(always)]
    pub(crate) fn find(&self, name: &str) -> Result<(&Arc<Kernel>, u32), Error> {
        self.inner.kernels.known(name).map_or_else(|| self.look_up(name), Ok)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, name: &str) -> Result<(&Arc<Kernel>, u32), Error> {
        let inner = &*self.inner;
        inner.kernels.find(name, || {
            // SAFETY: 1: the module is of this context, and loaded as long as its handles are (`ModuleInner`); the kernel is given to
            // those alone.
            let kernel =
                unsafe { Kernel::look_up(&inner.context, inner.raw, name, inner.signatures.get(name)) };
            kernel
                .map(|kernel| self.owns(kernel))
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
    /// Without what its image says.
    ///
    /// # Safety
    /// 1. `raw` is a module that is loaded in `context`.
    /// 2. If its owner is `Handle`, nothing else unloads it; if it is `Library`, that unloads it; if it is `Foreign`, it stays loaded as
    ///    duty 2 of [`CudaModule::from_raw`] says.
    unsafe fn new(context: &CudaContext, raw: CUmodule, origin: &str, owner: Owner) -> Self {
        Self {
            raw,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            context: context.clone(),
            origin: origin.to_string(),
            info_log: String::new(),
            signatures: Arc::default(),
            kernels: KernelTable::default(),
            symbols: Arc::default(),
            owner,
        }
    }

    /// Whether there is a module to unload.
    fn is_owned(&self) -> bool {
        !self.raw.is_null() && matches!(self.owner, Owner::Handle)
    }

    fn unload(&mut self) -> Result<(), Error> {
        if !self.is_owned() {
            return Ok(());
        }
        // Still owned: the drop that follows passes it on.
        host_call::refuse("cuModuleUnload")?;
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        self.context.give_back(
            "cuModuleUnload",
            || self.origin.clone(),
            // SAFETY: this value owned the module, and unloads it once; no function, variable or graph of it is left, as each holds it.
            // Launches may still run: the driver waits for them, which its documents do not say, but 580 did when it was asked to unload
            // what was running.
            |driver| unsafe { driver.cuModuleUnload(raw) },
        )
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        if self.is_owned() && host_call::is_running() {
            // SAFETY: 1: this value owned the module, which is loaded; 2: it has it no more, so that the new one alone unloads it.
            let mut rest = unsafe { Self::new(&self.context, self.raw, &self.origin, Owner::Handle) };
            self.raw = std::ptr::null_mut();
            rest.kernels = std::mem::take(&mut self.kernels);
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.unload();
    }
}
