//! The contents of a module: its kernels as the driver or the image lists them, and its variables.

#![allow(unsafe_code)] // Calls of the driver with a module that its handle keeps loaded.

use cuda_driver_sys::{CUfunctionLoadingState, CUmoduleLoadingMode, CUresult};

use super::context::CudaContext;
use super::function::driver_name;
use super::kernel::kernel_name;
use super::module::CudaModule;
use crate::error::{Error, ErrorKind, GlobalError};
use cuda_ptx::nearest;

/// A kernel in a module that has not been looked up yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelEntry {
    /// Its name, as [`CudaModule::load_function`] takes it.
    pub name: String,
    /// Whether the driver has loaded its code; `None` if it cannot tell (before CUDA 12.4).
    pub loaded: Option<bool>,
}

/// Whether the driver loads kernels when their module is loaded, or when they are first used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadingMode {
    /// With their module.
    Eager,
    /// When they are first used.
    Lazy,
    /// A mode that this crate does not know, with its number.
    Other(u32),
}

impl CudaContext {
    /// Whether kernels are loaded with their module or when they are first used; the variable `CUDA_MODULE_LOADING`
    /// decides.
    ///
    /// Driver call: `cuModuleGetLoadingMode`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuModuleGetLoadingMode")]
    pub fn module_loading_mode(&self) -> Result<LoadingMode, Error> {
        let mut mode = CUmoduleLoadingMode(0);
        self.call(
            "cuModuleGetLoadingMode",
            String::new,
            // SAFETY: `call` made the context current; `mode` is a local, which outlives the call.
            |driver| unsafe { driver.cuModuleGetLoadingMode(&mut mode) },
        )?;
        Ok(match mode {
            CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING => LoadingMode::Eager,
            CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING => LoadingMode::Lazy,
            CUmoduleLoadingMode(other) => LoadingMode::Other(other),
        })
    }
}

impl CudaModule {
    /// The kernels, in no particular order. Listing them loads none.
    ///
    /// Driver calls: `cuModuleGetFunctionCount`, `cuModuleEnumerateFunctions`, and `cuFuncGetName` and `cuFuncIsLoaded` for
    /// each (CUDA 12.4). Older drivers: none; the list comes from the image.
    ///
    /// ```standalone_crate
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let module = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
    /// let names: Vec<String> = module.kernels()?.into_iter().map(|kernel| kernel.name).collect();
    /// assert_eq!(names, ["fill"]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; [`Error::is_unsupported`] if neither the driver nor the image can list them.
    #[doc(alias = "cuModuleEnumerateFunctions")]
    pub fn kernels(&self) -> Result<Vec<KernelEntry>, Error> {
        let mut count = 0;
        let counted = self.context().call(
            "cuModuleGetFunctionCount",
            || self.origin().to_string(),
            // SAFETY: the module is loaded as long as this handle is there (`ModuleInner`), in the context that `call` made current;
            // `count` is a local, which outlives the call.
            |driver| unsafe { driver.cuModuleGetFunctionCount(&mut count, self.raw()) },
        );
        match counted {
            Err(error) if error.is_unsupported() && self.lists_kernels() => {
                return Ok(self
                    .kernel_names()
                    .map(|name| KernelEntry { name: name.to_string(), loaded: None })
                    .collect());
            }
            counted => counted?,
        }
        let mut functions = vec![std::ptr::null_mut(); count as usize];
        if count != 0 {
            self.context().call(
                "cuModuleEnumerateFunctions",
                || format!("{count} functions of {}", self.origin()),
                // SAFETY: the module is loaded as long as this handle is there (`ModuleInner`), in the context that
                // `call` made current; `functions` has `count` places, which the driver is told, and outlives the call.
                |driver| unsafe {
                    driver.cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.raw())
                },
            )?;
        }
        // SAFETY: 1: the driver has just listed them as functions of this module.
        functions.into_iter().filter(|raw| !raw.is_null()).map(|raw| unsafe { self.entry(raw) }).collect()
    }

    /// # Safety
    /// 1. `raw` is a function of this module.
    unsafe fn entry(&self, raw: cuda_driver_sys::CUfunction) -> Result<KernelEntry, Error> {
        // SAFETY: 1: it is a function of this module, by the caller's duty 1, and so of its context; this handle keeps
        // it loaded.
        let name = unsafe { driver_name(self.context(), raw)? };
        let mut state = CUfunctionLoadingState(0);
        self.context().call(
            "cuFuncIsLoaded",
            || name.clone(),
            // SAFETY: the function is one of this module, by the caller's duty 1, which this handle keeps loaded, in
            // the context that `call` made current; `state` is a local, which outlives the call.
            |driver| unsafe { driver.cuFuncIsLoaded(&mut state, raw) },
        )?;
        Ok(KernelEntry {
            name,
            loaded: Some(state == CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED),
        })
    }

    /// Address and size in bytes of a `__device__` or `__constant__` variable; may be called repeatedly.
    ///
    /// [`CudaModule::global`] checks types and bounds. Driver call: `cuModuleGetGlobal`.
    ///
    /// # Errors
    /// [`GlobalError::NotFound`] with the nearest names if there is none.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn raw_global(&self, name: &str) -> Result<(u64, usize), Error> {
        let c_name = kernel_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        self.context()
            .call(
                "cuModuleGetGlobal",
                || format!("variable {name:?} of {}", self.origin()),
                // SAFETY: the module is loaded as long as this handle is there (`ModuleInner`), in the context that `call` made current;
                // the name ends with a NUL, and it and the outputs are locals, which outlive the call.
                |driver| unsafe {
                    driver.cuModuleGetGlobal(&mut address, &mut bytes, self.raw(), c_name.as_ptr())
                },
            )
            .map_err(|error| match error.code() {
                Some(CUresult::CUDA_ERROR_NOT_FOUND) => self.no_variable(name),
                _ => error,
            })?;
        Ok((address, bytes))
    }

    #[cold]
    fn no_variable(&self, name: &str) -> Error {
        let names: Vec<&str> = self.variables().map(|(name, _)| name).collect();
        let nearest = nearest(name, &names);
        let (name, module) = (name.to_string(), self.origin().to_string());
        ErrorKind::Global(GlobalError::NotFound { name, module, nearest }).into()
    }
}
