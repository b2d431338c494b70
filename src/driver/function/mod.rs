//! Functions: kernels that have been looked up.

#![allow(unsafe_code)] // Calls of the driver with a function that its handle, or who made it, keeps loaded.

pub(in crate::driver) mod attribute;

use cuda_driver_sys::{CUfunction, CUfunctionLoadingState, CUmodule};
#[cfg(feature = "async")]
use std::borrow::Cow;
use std::sync::Arc;

use super::cache_config::CacheConfig;
use super::context::CudaContext;
use super::kernel::{Kernel, Parameters, driver_text};
use super::module::CudaModule;
use crate::error::Error;

/// A kernel that has been looked up; keeps its module loaded.
///
/// Handles are cheap to clone and may be used from every thread.
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let f = ctx.load_module(include_str!("../../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let sizes: Vec<usize> = f.parameters().list().expect("PTX lists them").iter().map(|p| p.size).collect();
/// assert_eq!(sizes, [8, 4, 4]);
/// assert_eq!(f.max_threads_per_block(), 1024);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUfunction")]
pub struct CudaFunction {
    /// Keeps the function loaded; `None` where other code does, as `from_raw` was promised by its duty 2.
    module: Option<CudaModule>,
    kernel: Arc<Kernel>,
}

#[cfg(feature = "async")]
impl<'a> From<&'a CudaFunction> for Cow<'a, CudaFunction> {
    fn from(function: &'a CudaFunction) -> Self {
        Cow::Borrowed(function)
    }
}

#[cfg(feature = "async")]
impl From<CudaFunction> for Cow<'_, CudaFunction> {
    fn from(function: CudaFunction) -> Self {
        Cow::Owned(function)
    }
}

impl CudaFunction {
    pub(super) fn new(module: CudaModule, kernel: Arc<Kernel>) -> Self {
        Self { module: Some(module), kernel }
    }

    /// A handle to a function that other code loaded and keeps loaded.
    ///
    /// Driver calls: `cuFuncGetName` (without it, the name is that of the address), and those of
    /// [`CudaModule::load_function`] that ask about a function.
    ///
    /// ```standalone_crate
    /// use cuda_launch::{CudaContext, CudaFunction};
    /// let ctx = CudaContext::new(0)?;
    /// let module = ctx.load_module(include_str!("../../../examples/kernels/fill.ptx"))?;
    /// let foreign = module.load_function("fill")?.raw();
    /// // SAFETY: 1: it is a function of `module`, which is of `ctx`; 2: that outlives the handle, which launches nothing.
    /// let f = unsafe { CudaFunction::from_raw(&ctx, foreign)? };
    /// assert_eq!(f.name(), "fill");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    ///
    /// # Safety
    /// 1. `raw` is a function of this context, on its driver.
    /// 2. It stays loaded as long as this handle or a clone lives, as work that launches it runs, and as a graph that
    ///    launches it, or anything instantiated from one, can run: this crate does not keep its module loaded.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUfunction) -> Result<Self, Error> {
        // SAFETY: 1: the caller's duties 1 and 2.
        let name = unsafe { driver_name(context, raw) };
        let name = match name {
            Err(error) if error.is_unsupported() => format!("function at {raw:?}"),
            name => name?,
        };
        // SAFETY: 1: the caller's duties 1 and 2.
        let kernel = Arc::new(unsafe { Kernel::describe(context, raw, &name, None) }?);
        Ok(Self { module: None, kernel })
    }

    /// Whether the driver has already loaded its code: it may defer that to the first launch.
    ///
    /// Driver call: `cuFuncIsLoaded` (CUDA 12.4).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// println!("{}", f.is_loaded()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuFuncIsLoaded")]
    pub fn is_loaded(&self) -> Result<bool, Error> {
        let mut state = CUfunctionLoadingState(0);
        self.context().call(
            "cuFuncIsLoaded",
            || self.name().to_string(),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; `state` is a local, which outlives the call.
            |driver| unsafe { driver.cuFuncIsLoaded(&mut state, self.raw()) },
        )?;
        Ok(state == CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED)
    }

    /// Makes the driver load its code now, so that the first launch does not have to.
    ///
    /// Driver call: `cuFuncLoad` (CUDA 12.4).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// f.load()?; // now, and not at the first launch
    /// assert!(f.is_loaded()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuFuncLoad")]
    pub fn load(&self) -> Result<(), Error> {
        self.context().call(
            "cuFuncLoad",
            || self.name().to_string(),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current.
            |driver| unsafe { driver.cuFuncLoad(self.raw()) },
        )
    }

    /// Sets whether it prefers L1 cache or shared memory; for later devices use
    /// [`set_shared_carveout`](CudaFunction::set_shared_carveout).
    ///
    /// Driver call: `cuFuncSetCacheConfig`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// use cuda_launch::module::CacheConfig;
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// f.set_cache_config(CacheConfig::PREFER_L1)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a number that is not a configuration.
    #[doc(alias = "cuFuncSetCacheConfig")]
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<(), Error> {
        self.context().call(
            "cuFuncSetCacheConfig",
            || format!("{} to {config:?}", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; the preference is a number, which the driver checks.
            |driver| unsafe { driver.cuFuncSetCacheConfig(self.raw(), config.raw()) },
        )
    }

    /// The raw module that it belongs to, according to the driver.
    ///
    /// Driver call: `cuFuncGetModule`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuFuncGetModule")]
    pub fn raw_module(&self) -> Result<CUmodule, Error> {
        let mut module = std::ptr::null_mut();
        self.context().call(
            "cuFuncGetModule",
            || self.name().to_string(),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; `module` is a local, which outlives the call.
            |driver| unsafe { driver.cuFuncGetModule(&mut module, self.raw()) },
        )?;
        Ok(module)
    }

    /// Whether dropping it unloads the module.
    #[cfg(feature = "async")]
    #[inline]
    pub(crate) fn is_last_handle(&self) -> bool {
        self.module.as_ref().is_some_and(CudaModule::is_last_handle)
    }

    /// The name that it was looked up by.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert_eq!(f.name(), "fill");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        self.kernel.name()
    }

    /// The kernel's parameter list as reported by the driver or the image, or why it is unknown. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let sizes: Vec<usize> = f.parameters().list().unwrap().iter().map(|parameter| parameter.size).collect();
    /// assert_eq!(sizes, [8, 4, 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "cuFuncGetParamInfo")]
    pub fn parameters(&self) -> &Parameters {
        self.kernel.parameters()
    }

    /// The maximum number of threads per block for this kernel on its device. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert!(f.max_threads_per_block() <= ctx.limits().max_threads_per_block);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn max_threads_per_block(&self) -> u32 {
        self.kernel.max_threads
    }

    /// Static shared memory per block, in bytes. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert_eq!(f.static_shared_memory(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn static_shared_memory(&self) -> u32 {
        self.kernel.static_shared_memory()
    }

    /// Dynamic shared memory that a launch may currently request, in bytes. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert!(f.max_dynamic_shared_memory() >= 48 << 10);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn max_dynamic_shared_memory(&self) -> u32 {
        self.kernel.max_dynamic_shared_memory()
    }

    /// The module; `None` for a function from [`CudaFunction::from_raw`]. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert!(f.module().is_some());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn module(&self) -> Option<&CudaModule> {
        self.module.as_ref()
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// assert_eq!(f.context().ordinal(), ctx.ordinal());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        self.kernel.context()
    }

    /// The raw function, valid as long as this handle lives.
    pub fn raw(&self) -> CUfunction {
        self.kernel.raw()
    }

    /// What a launch needs to know.
    #[inline]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The same by its handle, for the macros.
    #[doc(hidden)]
    #[inline]
    pub fn shared_kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }
}

/// The driver's name of a function.
///
/// # Safety
/// 1. `raw` is a live function of `context`.
pub(super) unsafe fn driver_name(context: &CudaContext, raw: CUfunction) -> Result<String, Error> {
    let mut name = std::ptr::null();
    context.call(
        "cuFuncGetName",
        || format!("function {raw:?}"),
        // SAFETY: the function is live, by the caller's duty 1, in the context that `call` made current; `name` is a local, which
        // outlives the call.
        |driver| unsafe { driver.cuFuncGetName(&mut name, raw) },
    )?;
    // SAFETY: 1: as the driver wrote it; the function, and so its module, is live: the caller's duty 1.
    Ok(unsafe { driver_text(name, || format!("function at {raw:?}")) })
}
