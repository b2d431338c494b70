//! Functions: kernels that were looked up.

use cuda_driver_sys::{CUfunction, CUfunction_attribute as A};
use std::sync::Arc;

use super::context::CudaContext;
use super::kernel::{Kernel, Parameters};
use super::module::CudaModule;
use crate::error::Error;

/// A kernel that was looked up; keeps its module loaded.
///
/// Handles are cheap to clone and may be used from every thread.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let sizes: Vec<usize> = f.parameters().list().expect("PTX lists them").iter().map(|p| p.size).collect();
/// assert_eq!(sizes, [8, 4, 4]);
/// assert_eq!(f.max_threads_per_block(), 1024);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUfunction")]
pub struct CudaFunction {
    module: CudaModule,
    kernel: Arc<Kernel>,
}

impl CudaFunction {
    pub(super) fn new(module: CudaModule, kernel: Arc<Kernel>) -> Self {
        Self { module, kernel }
    }

    /// The name it was looked up by.
    pub fn name(&self) -> &str {
        self.kernel.name()
    }

    /// The kernel's parameter list as driver or image tell it, or why nobody knows it. No driver call.
    #[doc(alias = "cuFuncGetParamInfo")]
    pub fn parameters(&self) -> &Parameters {
        self.kernel.parameters()
    }

    /// Threads that a block of this kernel can have at most on its device. No driver call.
    pub fn max_threads_per_block(&self) -> u32 {
        self.kernel.max_threads
    }

    /// Static shared memory of a block, in bytes. No driver call.
    pub fn static_shared_memory(&self) -> u32 {
        self.kernel.static_shared_memory()
    }

    /// Dynamic shared memory that a launch may ask for now, in bytes. No driver call.
    pub fn max_dynamic_shared_memory(&self) -> u32 {
        self.kernel.max_dynamic_shared_memory()
    }

    /// Opts in to `bytes` of dynamic shared memory; together with the static part at most what the device allows
    /// ([`DeviceLimits::max_shared_memory_optin`](crate::DeviceLimits)).
    ///
    /// Driver call: `cuFuncSetAttribute`, which waits for copies that are under way.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the sum is over the device's limit.
    pub fn set_max_dynamic_shared_memory(&self, bytes: u32) -> Result<(), Error> {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set_attribute(A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, value)
    }

    /// Registers of a thread.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn registers(&self) -> Result<u32, Error> {
        self.attribute(A::CU_FUNC_ATTRIBUTE_NUM_REGS).map(|v| v.max(0) as u32)
    }

    /// Local memory of a thread, in bytes.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn local_memory(&self) -> Result<u32, Error> {
        self.attribute(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES).map(|v| v.max(0) as u32)
    }

    /// Any attribute of the function.
    ///
    /// Driver call: `cuFuncGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that this driver does not know.
    #[doc(alias = "cuFuncGetAttribute")]
    pub fn attribute(&self, attribute: A) -> Result<i32, Error> {
        self.kernel.attribute(attribute)
    }

    /// Sets an attribute of the function, for every launch of it in its context.
    ///
    /// Driver call: `cuFuncSetAttribute`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuFuncSetAttribute")]
    pub fn set_attribute(&self, attribute: A, value: i32) -> Result<(), Error> {
        self.kernel.set_attribute(attribute, value)
    }

    /// The module.
    pub fn module(&self) -> &CudaModule {
        &self.module
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        self.kernel.context()
    }

    /// The raw function, valid as long as this handle.
    pub fn raw(&self) -> CUfunction {
        self.kernel.raw()
    }

    /// What a launch needs to know.
    #[inline]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}
