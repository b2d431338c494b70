//! Kernels of libraries: usable in every context.

#![allow(unsafe_code)] // Calls of the driver with a kernel that its library keeps loaded.

use cuda_driver_sys::{CUkernel, CUresult};
use std::ffi::CString;
use std::sync::Arc;

use super::CudaLibrary;
use crate::driver::cache_config::CacheConfig;
use crate::driver::context::CudaContext;
use crate::driver::function::CudaFunction;
use crate::driver::function::attribute::FunctionAttribute;
use crate::driver::host_call;
use crate::driver::kernel::{Kernel, driver_text, kernel_name};
use crate::error::{Error, ErrorKind, KernelNotFound, check};
use cuda_ptx::nearest;

/// A kernel of a [`CudaLibrary`], which does not belong to a context; keeps its library loaded.
///
/// [`LibraryKernel::function`] is what a launch takes.
///
/// ```standalone_crate
/// use cuda_launch::module::{CudaLibrary, FunctionAttribute};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let library = CudaLibrary::load(ctx.driver(), include_str!("../../../examples/kernels/fill.ptx"))?;
/// let kernel = library.kernel("fill")?;
/// assert_eq!(kernel.parameter_sizes()?, [8, 4, 4]);
/// kernel.set_attribute(&ctx, FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, 60_000)?;
/// assert_eq!(kernel.function(&ctx)?.max_dynamic_shared_memory(), 60_000);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUkernel")]
pub struct LibraryKernel {
    raw: CUkernel,
    name: Arc<str>,
    library: CudaLibrary,
}

// SAFETY: a CUkernel may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). Its library stays loaded, as `library` keeps it; the rest is Send.
unsafe impl Send for LibraryKernel {}
// SAFETY: as above; nothing is changed after construction, and the rest is Sync.
unsafe impl Sync for LibraryKernel {}

impl CudaLibrary {
    /// Looks up a kernel.
    ///
    /// Driver call: `cuLibraryGetKernel`.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the nearest names if there is none; or the error of the driver's compiler for the
    /// image.
    #[doc(alias = "cuLibraryGetKernel")]
    pub fn kernel(&self, name: &str) -> Result<LibraryKernel, Error> {
        host_call::refuse("cuLibraryGetKernel")?;
        let c_name: CString = kernel_name(name)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); the name is a `CString`, which ends in NUL; it
        // and the output are locals, which outlive the call.
        let code = unsafe { self.driver().cuLibraryGetKernel(&mut raw, self.raw(), c_name.as_ptr()) };
        if code == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(self.no_kernel(name));
        }
        check(code, "cuLibraryGetKernel", || format!("kernel {name:?} of {}", self.origin()))?;
        Ok(LibraryKernel { raw, name: name.into(), library: self.clone() })
    }

    #[cold]
    fn no_kernel(&self, name: &str) -> Error {
        let names: Vec<&str> = self.signatures().names().collect();
        ErrorKind::Kernel(KernelNotFound {
            name: name.to_string(),
            module: self.origin().to_string(),
            nearest: nearest(name, &names),
            available: self.signatures().complete().then_some(names.len()),
        })
        .into()
    }

    /// All kernels, in no particular order.
    ///
    /// Driver calls: `cuLibraryGetKernelCount`, `cuLibraryEnumerateKernels`, and `cuKernelGetName` for each (CUDA 12.4).
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers, or any error returned by the driver.
    #[doc(alias = "cuLibraryEnumerateKernels")]
    pub fn kernels(&self) -> Result<Vec<LibraryKernel>, Error> {
        host_call::refuse("cuLibraryEnumerateKernels")?;
        let asked = || self.origin().to_string();
        let mut count = 0;
        // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); `count` is a local, which outlives the call.
        let code = unsafe { self.driver().cuLibraryGetKernelCount(&mut count, self.raw()) };
        check(code, "cuLibraryGetKernelCount", asked)?;
        let mut kernels = vec![std::ptr::null_mut(); count as usize];
        if count != 0 {
            // SAFETY: the library is loaded as long as this handle is there (`Loaded::raw`); `kernels` has `count` places, which the
            // driver is told, and outlives the call.
            let code =
                unsafe { self.driver().cuLibraryEnumerateKernels(kernels.as_mut_ptr(), count, self.raw()) };
            check(code, "cuLibraryEnumerateKernels", asked)?;
        }
        // SAFETY: 1: the driver has just listed them as kernels of this library.
        kernels.into_iter().filter(|raw| !raw.is_null()).map(|raw| unsafe { self.named(raw) }).collect()
    }

    /// # Safety
    /// 1. `raw` is a kernel of this library.
    unsafe fn named(&self, raw: CUkernel) -> Result<LibraryKernel, Error> {
        let mut name = std::ptr::null();
        // SAFETY: the kernel is one of this library, by the caller's duty 1, which is loaded as long as this handle is
        // there (`Loaded::raw`); `name` is a local, which outlives the call.
        let code = unsafe { self.driver().cuKernelGetName(&mut name, raw) };
        check(code, "cuKernelGetName", || self.origin().to_string())?;
        // SAFETY: 1: the driver has just written it, for a kernel of the library, which is loaded as long as this handle is there; or it
        // is null still.
        let name = unsafe { driver_text(name, || format!("kernel at {raw:?}")) };
        Ok(LibraryKernel { raw, name: name.into(), library: self.clone() })
    }

    /// The names of all kernels: the driver's list (CUDA 12.4), otherwise the image's.
    ///
    /// Driver calls: those of [`CudaLibrary::kernels`].
    ///
    /// # Errors
    /// Any error returned by the driver; [`Error::is_unsupported`] if neither the driver nor the image can list them.
    pub fn kernel_names(&self) -> Result<Vec<String>, Error> {
        match self.kernels() {
            Err(error) if error.is_unsupported() && self.signatures().complete() => {
                Ok(self.signatures().names().map(str::to_string).collect())
            }
            kernels => Ok(kernels?.iter().map(|kernel| kernel.name().to_string()).collect()),
        }
    }
}

impl LibraryKernel {
    /// Its function in a context, into which the library is loaded now if necessary: what `function:` of a launch
    /// takes.
    ///
    /// Driver calls: `cuKernelGetFunction`, `cuLibraryGetModule`, and those of [`CudaModule::load_function`] that ask about
    /// a function; the first time for a context.
    ///
    /// [`CudaModule::load_function`]: crate::CudaModule::load_function
    ///
    /// # Errors
    /// The context belongs to another driver, or the driver rejects the image there.
    #[doc(alias = "cuKernelGetFunction")]
    pub fn function(&self, context: &CudaContext) -> Result<CudaFunction, Error> {
        let module = self.library.module(context)?;
        module.function_with(&self.name, || {
            let signature = self.library.signatures().get(&self.name);
            let mut raw = std::ptr::null_mut();
            context.call(
                "cuKernelGetFunction",
                || self.name.to_string(),
                // SAFETY: `library` keeps the kernel loaded; `module` above has compared the drivers, and `call` made the context
                // current; `raw` is a local, which outlives the call.
                |driver| unsafe { driver.cuKernelGetFunction(&mut raw, self.raw) },
            )?;
            // SAFETY: 1: the driver has just named the function, of this context; `function_with` gives it to handles of the library's
            // module, which keep the library.
            unsafe { Kernel::describe(context, raw, &self.name, signature) }
        })
    }

    /// The sizes of its parameters, in bytes.
    ///
    /// Driver calls: `cuKernelGetParamInfo`, once for each parameter (CUDA 12.4). Where the image does not list them, `cuKernelGetParamCount`
    /// before that (CUDA 13.2), or in older drivers `cuKernelGetParamInfo` once more: then the list ends where the driver returns
    /// `CUDA_ERROR_INVALID_VALUE`. Where the image lists more than the driver, or no context is current, the sizes are the image's.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` if the image does not list them and no context is current on this thread; any other error returned by the
    /// driver.
    #[doc(alias = "cuKernelGetParamInfo")]
    pub fn parameter_sizes(&self) -> Result<Vec<usize>, Error> {
        host_call::refuse("cuKernelGetParamInfo")?;
        let listed = self.library.signatures().get(&self.name).and_then(|s| s.parameters);
        let listed = listed.as_ref();
        let of_image = || listed.map(|list| list.iter().map(|wanted| wanted.size).collect::<Vec<_>>());
        let count = if listed.is_none() { self.parameter_count()? } else { None };
        let mut sizes = Vec::new();
        // Where one of the two says how many there are, none past the end is asked for.
        while listed.map(Vec::len).or(count).is_none_or(|most| sizes.len() < most) {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: `library` keeps the kernel loaded; the driver checks the index; both outputs are locals, which outlive the call.
            let code = unsafe {
                self.library.driver().cuKernelGetParamInfo(self.raw, sizes.len(), &mut offset, &mut size)
            };
            match code {
                // The end, which the image would know, or a call that failed.
                CUresult::CUDA_ERROR_INVALID_VALUE if count.is_none() => {
                    return Ok(of_image().unwrap_or(sizes));
                }
                CUresult::CUDA_ERROR_INVALID_CONTEXT if listed.is_some() => {
                    return Ok(of_image().unwrap_or(sizes));
                }
                code => check(code, "cuKernelGetParamInfo", || {
                    format!("parameter {} of {}", sizes.len(), self.name)
                })?,
            }
            sizes.push(size);
        }
        Ok(sizes)
    }

    /// The number of its parameters, if the driver can tell.
    fn parameter_count(&self) -> Result<Option<usize>, Error> {
        const CALL: &str = "cuKernelGetParamCount";
        let driver = self.library.driver();
        if !driver.has(CALL) {
            return Ok(None);
        }
        let mut count = 0;
        // SAFETY: `library` keeps the kernel loaded; `count` is a local, which outlives the call.
        let code = unsafe { driver.cuKernelGetParamCount(self.raw, &mut count) };
        check(code, CALL, || self.name.to_string()).map(|()| Some(count))
    }

    /// Any attribute, on the device of a context.
    ///
    /// Driver call: `cuKernelGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that this driver does not know.
    #[doc(alias = "cuKernelGetAttribute")]
    pub fn attribute(
        &self,
        context: &CudaContext,
        attribute: impl Into<FunctionAttribute>,
    ) -> Result<i32, Error> {
        self.library.same_driver(context)?;
        let (attribute, mut value) = (attribute.into(), 0);
        context.call(
            "cuKernelGetAttribute",
            || format!("{attribute:?} of {}", self.name),
            // SAFETY: `library` keeps the kernel loaded; the device is the context's, of the same driver, as was
            // compared; the driver checks the number of the attribute; `value` is a local, which outlives the call.
            |driver| unsafe {
                driver.cuKernelGetAttribute(&mut value, attribute.raw(), self.raw, context.raw_device())
            },
        )?;
        Ok(value)
    }

    /// Sets an attribute on the device of a context, for all contexts there. A value set on a function itself takes
    /// precedence.
    ///
    /// Driver calls: `cuKernelSetAttribute`, which takes locks of the whole device; `cuFuncGetAttribute` for the dynamic
    /// shared memory of each function of it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that cannot be set, or not to this value.
    #[doc(alias = "cuKernelSetAttribute")]
    pub fn set_attribute(
        &self,
        context: &CudaContext,
        attribute: impl Into<FunctionAttribute>,
        value: i32,
    ) -> Result<(), Error> {
        self.library.same_driver(context)?;
        let attribute = attribute.into();
        context.call(
            "cuKernelSetAttribute",
            || format!("{attribute:?} of {} to {value}", self.name),
            // SAFETY: `library` keeps the kernel loaded; the device is the context's, of the same driver, as was checked; the driver
            // checks the numbers.
            |driver| unsafe {
                driver.cuKernelSetAttribute(attribute.raw(), value, self.raw, context.raw_device())
            },
        )?;
        if attribute == FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES {
            for module in self.library.live_modules()? {
                module.refresh_limits(&self.name)?;
            }
        }
        Ok(())
    }

    /// Sets whether it prefers L1 cache or shared memory, on the device of a context.
    ///
    /// Driver call: `cuKernelSetCacheConfig`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a number that is not a configuration.
    #[doc(alias = "cuKernelSetCacheConfig")]
    pub fn set_cache_config(&self, context: &CudaContext, config: CacheConfig) -> Result<(), Error> {
        self.library.same_driver(context)?;
        context.call(
            "cuKernelSetCacheConfig",
            || format!("{} to {config:?}", self.name),
            // SAFETY: `library` keeps the kernel loaded; the device is the context's, of the same driver, as was checked; the driver
            // checks the number.
            |driver| unsafe { driver.cuKernelSetCacheConfig(self.raw, config.raw(), context.raw_device()) },
        )
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its library.
    #[doc(alias = "cuKernelGetLibrary")]
    pub fn library(&self) -> &CudaLibrary {
        &self.library
    }

    /// The raw kernel, valid as long as this handle lives.
    pub fn raw(&self) -> CUkernel {
        self.raw
    }
}
