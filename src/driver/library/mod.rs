//! Libraries: images that do not belong to a context, and are loaded into each context that uses them.

#![allow(unsafe_code)] // Calls of the driver with live handles: a library is unloaded only by `LibraryInner`.

pub(in crate::driver) mod kernel;

use cuda_driver_sys::{CUcontext, CUlibrary, CUlibraryOption, CUmodule, CUresult, Driver};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use super::choice::initialise;
use super::context::CudaContext;
use super::host_call;
use super::image::{Image, Signatures};
use super::jit::slots::Slots;
use super::jit::{JitOptions, JitReport};
use super::kernel::kernel_name;
use super::kernel_image::KernelImage;
use super::module::{CudaModule, WeakModule};
use super::own_lock::OwnLock;
use super::park::Keep;
use super::symbols::Symbols;
use crate::error::{Error, ErrorKind, GlobalError, check};
use crate::options::options;
use crate::trace;
use cuda_ptx::nearest;

/// A kernel image that does not belong to a context (CUDA 12.0): the driver loads it into each context that uses it.
///
/// Handles are cheap to clone; kernels, functions and variables keep their library loaded. The image is unloaded when
/// the last of them is dropped, which waits for its kernels.
///
/// The driver inspects an image only when it is first used, and reports success for anything until then. So the bytes
/// are checked here, as for [`CudaContext::load_module`]; compiler errors are reported with the first kernel.
///
/// ```standalone_crate
/// use cuda_launch::module::CudaLibrary;
/// use cuda_launch::{CudaContext, LaunchConfig, cuda_launch};
/// let ctx = CudaContext::new(0)?;
/// let library = CudaLibrary::load(ctx.driver(), include_str!("../../../examples/kernels/fill.ptx"))?;
/// let fill = library.kernel("fill")?;
/// // Usable in every context; a function is usable in one.
/// let function = fill.function(&ctx)?;
/// assert_eq!((fill.name(), function.name()), ("fill", "fill"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUlibrary")]
pub struct CudaLibrary {
    inner: Arc<LibraryInner>,
}

pub(super) struct LibraryInner {
    /// Goes first: kernels, modules and variables each have a handle of the library, so that none is left by then.
    loaded: Loaded,
    origin: String,
    signatures: Arc<Signatures>,
    report: JitReport,
    /// Its module in each context that uses it, so that there is one handle of each.
    modules: OwnLock<Vec<InContext>>,
    /// Outlives the handles of the modules: the accesses to their variables, by streams that keep the contexts alive.
    symbols: Arc<Symbols>,
}

/// A library, and what the driver may look at while it is loaded: that goes after it, or, where it cannot be unloaded, never. This value
/// is there before the library, so that it is so too where a subscriber of `tracing` unwinds out of the call that loads it.
struct Loaded {
    /// Null before the library is loaded, and once it has been unloaded: it is loaded as long as this value has it.
    raw: CUlibrary,
    driver: Arc<Driver>,
    /// The image, where the driver was told that it stays.
    preserved: Option<Arc<[u8]>>,
    /// The compiler's options: drivers look at an image when it is first used, and nothing says that they copy the options before.
    slots: Slots,
}

// SAFETY: a CUlibrary may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph object thread
// safety"). Nobody follows the pointers of `slots` but the driver; the rest is Send.
unsafe impl Send for Loaded {}
// SAFETY: as above, and so may a CUcontext; the rest is Send.
unsafe impl Send for LibraryInner {}
// SAFETY: as above; what is changed through a shared reference is behind a lock or in a `OnceLock`, and the rest is
// Sync.
unsafe impl Sync for LibraryInner {}

/// A library's module in one context.
#[derive(Debug)]
struct InContext {
    context: CUcontext,
    module: WeakModule,
}

options! {
    /// How a library is loaded.
    ///
    /// ```standalone_crate
    /// use cuda_launch::module::{CudaLibrary, JitOptions, LibraryOptions};
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let options = LibraryOptions::new().jit(JitOptions::new().line_info(true));
    /// let fill = include_str!("../../../examples/kernels/fill.ptx");
    /// let library = CudaLibrary::load_with(ctx.driver(), fill, &options)?;
    /// assert_eq!(library.kernel_names()?, ["fill"]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[derive(Clone, Debug, Default)]
    pub struct LibraryOptions {
        /// Options for the compiler.
        pub jit: JitOptions,
        /// Keeps the image in this process as long as the library lives, so that the driver need not copy it.
        #[doc(alias = "CU_LIBRARY_BINARY_IS_PRESERVED")]
        pub preserve: bool,
    }
}

impl CudaLibrary {
    /// Loads an image from memory: PTX text (with or without a NUL at its end), a cubin, or a fatbin.
    ///
    /// Driver call: `cuLibraryLoadData` (CUDA 12.0).
    ///
    /// # Errors
    /// [`ErrorKind::Image`] for bytes that are not a complete image; [`Error::is_unsupported`] on drivers before 12.0.
    #[doc(alias = "cuLibraryLoadData")]
    pub fn load(driver: &Arc<Driver>, image: impl KernelImage) -> Result<Self, Error> {
        Self::load_with(driver, image, &LibraryOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As for [`CudaLibrary::load`], and [`Error::is_unsupported`] for an option that is newer than the driver.
    pub fn load_with(
        driver: &Arc<Driver>,
        image: impl KernelImage,
        options: &LibraryOptions,
    ) -> Result<Self, Error> {
        let origin = "image in memory";
        Self::new(driver, Image::of(&image, origin), origin, options)
    }

    /// Loads an image from a file. The file is read here, and checked like any image.
    ///
    /// Driver call: `cuLibraryLoadData` (CUDA 12.0).
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, and those of [`CudaLibrary::load_with`].
    #[doc(alias = "cuLibraryLoadFromFile")]
    pub fn load_file(
        driver: &Arc<Driver>,
        path: impl AsRef<Path>,
        options: &LibraryOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        let origin = path.display().to_string();
        Self::new(driver, Image::new(&bytes, &origin), &origin, options)
    }

    fn new(
        driver: &Arc<Driver>,
        image: Result<Image<'_>, Error>,
        origin: &str,
        options: &LibraryOptions,
    ) -> Result<Self, Error> {
        const CALL: &str = "cuLibraryLoadData";
        initialise(driver)?;
        let version = driver
            .version()
            .map_err(|code| crate::error::failed(code, "cuDriverGetVersion", String::new()))?;
        let slots = Slots::new(&options.jit, u32::try_from(version).unwrap_or(0))?;
        let image = image?;
        // A NUL behind it, should it be text: the copy is what the driver may keep.
        let preserved: Option<Arc<[u8]>> =
            options.preserve.then(|| image.bytes().iter().copied().chain([0]).collect::<Vec<u8>>().into());
        let data = preserved.as_ref().map_or(image.as_ptr(), |bytes| bytes.as_ptr().cast());
        let mut loaded = Loaded { raw: std::ptr::null_mut(), driver: driver.clone(), preserved, slots };
        let mut ids = [CUlibraryOption::CU_LIBRARY_BINARY_IS_PRESERVED];
        let mut values = [std::ptr::without_provenance_mut::<c_void>(1)];
        let count = u32::from(options.preserve);
        let (jit_count, jit_ids, jit_values) = loaded.slots.parts();
        let (span, asked) = trace::call(CALL, None, || origin.to_string());
        let code = span.inside(|| {
            let (raw, ids, values) = (&mut loaded.raw, ids.as_mut_ptr(), values.as_mut_ptr());
            // SAFETY: text ends in NUL; the headers of other images were checked to lie, with all they point to, inside
            // the bytes. Options and values are as many as said. What they point to, and a preserved image, `Loaded`
            // lets go once the library is unloaded, or it stays by duty 2 of `JitOptions::raw`; all else outlives the
            // call.
            let code = unsafe {
                driver.cuLibraryLoadData(raw, data, jit_ids, jit_values, jit_count, ids, values, count)
            };
            if code != CUresult::SUCCESS {
                // Whatever was written there, it is no library.
                *raw = std::ptr::null_mut();
            }
            code
        });
        let report = loaded.slots.report();
        if code == CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER {
            return Err(crate::error::failed(code, CALL, asked()));
        }
        if code != CUresult::SUCCESS {
            return Err(image.refused(CALL, code, None, origin, report));
        }
        let inner = LibraryInner {
            loaded,
            origin: origin.to_string(),
            signatures: Arc::new(image.into_signatures()),
            report,
            modules: OwnLock::default(),
            symbols: Arc::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Its module in a context, into which it is loaded now if necessary. The library unloads it.
    ///
    /// Driver call: `cuLibraryGetModule`.
    ///
    /// # Errors
    /// The context belongs to another driver, or the driver rejects the image there.
    #[doc(alias = "cuLibraryGetModule")]
    pub fn module(&self, context: &CudaContext) -> Result<CudaModule, Error> {
        self.same_driver(context)?;
        let mut modules = self.inner.modules.lock("cuLibraryGetModule")?;
        let known = modules.iter_mut().find(|known| known.context == context.raw());
        if let Some(module) = known.as_ref().and_then(|known| known.module.upgrade()) {
            return Ok(module);
        }
        let mut raw: CUmodule = std::ptr::null_mut();
        context.call(
            "cuLibraryGetModule",
            || self.origin().to_string(),
            // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); `call` made the context, of the same driver
            // as was checked, current; `raw` is a local, which outlives the call.
            |driver| unsafe { driver.cuLibraryGetModule(&mut raw, self.raw()) },
        )?;
        // SAFETY: 1: the driver has just named it as that.
        let module = unsafe { CudaModule::of_library(context, raw, self, self.inner.symbols.clone()) };
        match known {
            Some(known) => known.module = module.downgrade(),
            None => modules.push(InContext { context: context.raw(), module: module.downgrade() }),
        }
        Ok(module)
    }

    /// Its modules that have handles.
    pub(super) fn live_modules(&self) -> Result<Vec<CudaModule>, Error> {
        let modules = self.inner.modules.lock("cuLibraryGetModule")?;
        Ok(modules.iter().filter_map(|known| known.module.upgrade()).collect())
    }

    /// Address and size in bytes of a managed variable, which is the same in all contexts.
    ///
    /// Driver call: `cuLibraryGetManaged`.
    ///
    /// # Errors
    /// [`GlobalError::NotFound`] if there is none.
    #[doc(alias = "cuLibraryGetManaged")]
    pub fn raw_managed(&self, name: &str) -> Result<(u64, usize), Error> {
        host_call::refuse("cuLibraryGetManaged")?;
        let c_name = kernel_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); the name is a `CString`, which ends in NUL; it
        // and the outputs are locals, which outlive the call.
        let code = unsafe {
            self.driver().cuLibraryGetManaged(&mut address, &mut bytes, self.raw(), c_name.as_ptr())
        };
        check(code, "cuLibraryGetManaged", || self.asked(name))
            .map_err(|error| self.no_variable(error, name))?;
        Ok((address, bytes))
    }

    /// Address and size in bytes of a variable in a context; [`CudaLibrary::module`] and its
    /// [`global`](CudaModule::global) check types and bounds.
    ///
    /// Driver call: `cuLibraryGetGlobal`.
    ///
    /// # Errors
    /// [`GlobalError::NotFound`] if there is none.
    #[doc(alias = "cuLibraryGetGlobal")]
    pub fn raw_global(&self, context: &CudaContext, name: &str) -> Result<(u64, usize), Error> {
        self.same_driver(context)?;
        let c_name = kernel_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        context
            .call(
                "cuLibraryGetGlobal",
                || self.asked(name),
                // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); `call` made the context, of the same
                // driver as was checked, current; the name is a `CString`, which ends in NUL; it and the outputs are locals, which
                // outlive the call.
                |driver| unsafe {
                    driver.cuLibraryGetGlobal(&mut address, &mut bytes, self.raw(), c_name.as_ptr())
                },
            )
            .map_err(|error| self.no_variable(error, name))?;
        Ok((address, bytes))
    }

    /// The address of a function that both host and device can call (systems with unified function pointers).
    ///
    /// Driver call: `cuLibraryGetUnifiedFunction`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND` if there is none, or the device does not support unified function pointers.
    #[doc(alias = "cuLibraryGetUnifiedFunction")]
    pub fn unified_function(&self, name: &str) -> Result<*mut c_void, Error> {
        host_call::refuse("cuLibraryGetUnifiedFunction")?;
        let c_name = kernel_name(name)?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); the name is a `CString`, which ends in NUL; it
        // and the output are locals, which outlive the call.
        let code =
            unsafe { self.driver().cuLibraryGetUnifiedFunction(&mut pointer, self.raw(), c_name.as_ptr()) };
        check(code, "cuLibraryGetUnifiedFunction", || format!("function {name:?} of {}", self.origin()))?;
        Ok(pointer)
    }

    fn asked(&self, name: &str) -> String {
        format!("variable {name:?} of {}", self.origin())
    }

    /// The error with the nearest names, if it says that there is no such variable.
    #[cold]
    fn no_variable(&self, error: Error, name: &str) -> Error {
        if error.code() != Some(CUresult::CUDA_ERROR_NOT_FOUND) {
            return error;
        }
        let names: Vec<&str> = self.signatures().variables().map(|(name, _)| name).collect();
        let nearest = nearest(name, &names);
        let (name, module) = (name.to_string(), self.origin().to_string());
        ErrorKind::Global(GlobalError::NotFound { name, module, nearest }).into()
    }

    /// What the compiler reported when the image was loaded; empty for drivers that inspect it later.
    pub fn report(&self) -> &JitReport {
        &self.inner.report
    }

    /// The file it was loaded from, or "image in memory".
    pub fn origin(&self) -> &str {
        &self.inner.origin
    }

    /// The driver.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.inner.loaded.driver
    }

    /// The raw library, valid as long as this handle lives.
    pub fn raw(&self) -> CUlibrary {
        self.inner.loaded.raw
    }

    /// What keeps it loaded.
    pub(super) fn keep(&self) -> Keep {
        self.inner.clone()
    }

    pub(super) fn signatures(&self) -> &Arc<Signatures> {
        &self.inner.signatures
    }

    /// Handles of one driver mean nothing to another.
    pub(super) fn same_driver(&self, context: &CudaContext) -> Result<(), Error> {
        context.of_driver(self.driver(), "the library", "the context")
    }

    /// Unloads the library now if this is the last handle to it and what is in it, and reports any error.
    ///
    /// Driver call: `cuLibraryUnload`, for the last handle.
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuLibraryUnload")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.loaded.unload(&inner.origin))
    }
}

impl Loaded {
    fn unload(&mut self, origin: &str) -> Result<(), Error> {
        if !self.raw.is_null() {
            // Still loaded: the drop that follows passes it on.
            host_call::refuse("cuLibraryUnload")?;
        }
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        let owned = (self.preserved.take(), std::mem::take(&mut self.slots));
        let owned = ManuallyDrop::new(owned);
        if !raw.is_null() {
            // SAFETY: this value had the library, and unloads it once; of kernels, modules and variables of it none is left, as each has a
            // handle, and this is the end of what these share.
            let code = unsafe { self.driver.cuLibraryUnload(raw) };
            check(code, "cuLibraryUnload", || origin.to_string())?;
        }
        drop(ManuallyDrop::into_inner(owned));
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if !self.raw.is_null() && host_call::is_running() {
            let rest = Self {
                raw: std::mem::replace(&mut self.raw, std::ptr::null_mut()),
                driver: self.driver.clone(),
                preserved: self.preserved.take(),
                slots: std::mem::take(&mut self.slots),
            };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // Nobody can be told here; `close` tells.
        let _ = self.unload("");
    }
}
