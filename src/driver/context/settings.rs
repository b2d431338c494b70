//! What can be set on a context, and what else can be queried.

#![allow(unsafe_code)] // Calls of the driver with the context current and outputs that outlive the call.

use cuda_driver_sys::{CUfunc_cache, CUlimit};

use super::CudaContext;
use super::flags::{ContextFlags, ContextSchedule, join, split};
use crate::driver::cache_config::CacheConfig;
use crate::error::Error;
use crate::open_number::open_number;

open_number! {
    /// A limit of a context: the key of [`CudaContext::limit`] and [`CudaContext::set_limit`].
    ///
    /// The names are the driver's without their prefix. It is non-exhaustive: later numbers can be made with
    /// [`from_raw`](Self::from_raw).
    ///
    /// ```
    /// use cuda_launch::context::ContextLimit;
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// ctx.set_limit(ContextLimit::STACK_SIZE, 4096)?;
    /// assert!(ctx.limit(ContextLimit::STACK_SIZE)? >= 4096);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CUlimit")]
    pub struct ContextLimit(CUlimit);

    /// Bytes of stack per thread.
    STACK_SIZE = CU_LIMIT_STACK_SIZE;
    /// Bytes of the buffer that a kernel's `printf` writes to.
    PRINTF_FIFO_SIZE = CU_LIMIT_PRINTF_FIFO_SIZE;
    /// Bytes of the heap of a kernel's `malloc`; must be set before the first kernel that uses it.
    MALLOC_HEAP_SIZE = CU_LIMIT_MALLOC_HEAP_SIZE;
    /// How deeply nested device-side launches can synchronise; not on devices of compute capability 9.0 and later.
    DEV_RUNTIME_SYNC_DEPTH = CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH;
    /// How many device-side launches can be pending.
    DEV_RUNTIME_PENDING_LAUNCH_COUNT = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
    /// Bytes that the L2 cache fetches at a time, at most 128; a hint.
    MAX_L2_FETCH_GRANULARITY = CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    /// Bytes of the L2 cache set aside for persisting data.
    PERSISTING_L2_CACHE_SIZE = CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    /// Bytes of shared memory per block; read-only.
    SHMEM_SIZE = CU_LIMIT_SHMEM_SIZE;
    /// Whether it is a context for graphics; read-only.
    CIG_ENABLED = CU_LIMIT_CIG_ENABLED;
    /// Whether such a context may fall back to less shared memory.
    CIG_SHMEM_FALLBACK_ENABLED = CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
    /// Bytes of memory of a block.
    PER_BLOCK_MEMORY_SIZE = CU_LIMIT_PER_BLOCK_MEMORY_SIZE;
}

impl CudaContext {
    /// A limit: bytes or a count, as the key says.
    ///
    /// Driver call: `cuCtxGetLimit`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::context::ContextLimit;
    /// # let ctx = CudaContext::new(0)?;
    /// println!("{} bytes for `printf`", ctx.limit(ContextLimit::PRINTF_FIFO_SIZE)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_UNSUPPORTED_LIMIT` if the device has no such limit, `CUDA_ERROR_INVALID_VALUE` for a key that this
    /// driver does not know.
    #[doc(alias = "cuCtxGetLimit")]
    pub fn limit(&self, limit: impl Into<ContextLimit>) -> Result<usize, Error> {
        let (limit, mut value) = (limit.into(), 0);
        let asked = || limit.to_string();
        // SAFETY: `call` made the context current; the driver checks the key; the output is a local, which outlives the call.
        self.call("cuCtxGetLimit", asked, |driver| unsafe { driver.cuCtxGetLimit(&mut value, limit.raw()) })?;
        Ok(value)
    }

    /// Sets a limit. The driver may round it: query it afterwards.
    ///
    /// Driver call: `cuCtxSetLimit`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::context::ContextLimit;
    /// # let ctx = CudaContext::new(0)?;
    /// let before = ctx.limit(ContextLimit::STACK_SIZE)?;
    /// ctx.set_limit(ContextLimit::STACK_SIZE, 4096)?; // for a kernel that recurs
    /// assert!(ctx.limit(ContextLimit::STACK_SIZE)? >= 4096);
    /// # ctx.set_limit(ContextLimit::STACK_SIZE, before)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CudaContext::limit`]; `CUDA_ERROR_NOT_PERMITTED` for a read-only limit,
    /// `CUDA_ERROR_INVALID_VALUE` for a value out of range.
    #[doc(alias = "cuCtxSetLimit")]
    pub fn set_limit(&self, limit: impl Into<ContextLimit>, value: usize) -> Result<(), Error> {
        let limit = limit.into();
        // SAFETY: `call` made the context current; limit and value are numbers, which the driver checks.
        self.call(
            "cuCtxSetLimit",
            || format!("{limit} = {value}"),
            |driver| unsafe { driver.cuCtxSetLimit(limit.raw(), value) },
        )
    }

    /// The cache preference.
    ///
    /// Driver call: `cuCtxGetCacheConfig`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// println!("{:?}", ctx.cache_config()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxGetCacheConfig")]
    pub fn cache_config(&self) -> Result<CacheConfig, Error> {
        let mut raw = CUfunc_cache(0);
        // SAFETY: `call` made the context current; the output is a local, which outlives the call.
        self.call("cuCtxGetCacheConfig", String::new, |driver| unsafe {
            driver.cuCtxGetCacheConfig(&mut raw)
        })?;
        Ok(CacheConfig::from_raw(raw))
    }

    /// Sets the cache preference.
    ///
    /// Driver call: `cuCtxSetCacheConfig`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::module::CacheConfig;
    /// # let ctx = CudaContext::new(0)?;
    /// ctx.set_cache_config(CacheConfig::PREFER_SHARED)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxSetCacheConfig")]
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<(), Error> {
        // SAFETY: `call` made the context current; the preference is a number, which the driver checks.
        self.call(
            "cuCtxSetCacheConfig",
            || format!("{config:?}"),
            |driver| unsafe { driver.cuCtxSetCacheConfig(config.raw()) },
        )
    }

    /// How threads wait for this context, and its flags.
    ///
    /// Driver call: `cuCtxGetFlags`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let (schedule, flags) = ctx.flags()?;
    /// println!("{schedule:?} {flags:?}");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxGetFlags")]
    pub fn flags(&self) -> Result<(ContextSchedule, ContextFlags), Error> {
        let mut raw = 0;
        // SAFETY: `call` made the context current; the output is a local, which outlives the call.
        self.call("cuCtxGetFlags", String::new, |driver| unsafe { driver.cuCtxGetFlags(&mut raw) })?;
        Ok(split(raw))
    }

    /// Sets how threads wait for this context, and its flags. For a primary context prefer
    /// [`CudaDevice::set_primary_context_flags`](crate::CudaDevice::set_primary_context_flags), which older drivers
    /// support.
    ///
    /// Driver call: `cuCtxSetFlags`.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// use cuda_launch::context::{ContextFlags, ContextOptions, ContextSchedule};
    /// # let device = CudaDevice::new(0)?;
    /// let ctx = device.create_context(&ContextOptions::default())?;
    /// ctx.set_flags(ContextSchedule::Yield, ContextFlags::empty())?;
    /// assert_eq!(ctx.flags()?.0, ContextSchedule::Yield);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.1, `CUDA_ERROR_INVALID_VALUE` for flags that the driver does
    /// not know.
    #[doc(alias = "cuCtxSetFlags")]
    pub fn set_flags(&self, schedule: ContextSchedule, flags: ContextFlags) -> Result<(), Error> {
        // SAFETY: `call` made the context current; the flags are a number, which the driver checks.
        self.call(
            "cuCtxSetFlags",
            || format!("{schedule:?}, {flags:?}"),
            |driver| unsafe { driver.cuCtxSetFlags(join(schedule, flags)) },
        )
    }

    /// A number that no other context in this process ever has.
    ///
    /// Driver call: `cuCtxGetId`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(ctx.id()?, CudaContext::new(0)?.id()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxGetId")]
    pub fn id(&self) -> Result<u64, Error> {
        let mut id = 0;
        // SAFETY: the context lives as long as this handle (`ContextInner::raw`); the output is a local, which outlives the call.
        self.call("cuCtxGetId", String::new, |driver| unsafe { driver.cuCtxGetId(self.raw(), &mut id) })?;
        Ok(id)
    }

    /// The API version that the context was created with, as the driver numbers it: 3020 for all current contexts. What
    /// the driver supports is [`CudaContext::driver_version`].
    ///
    /// Driver call: `cuCtxGetApiVersion`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxGetApiVersion")]
    pub fn api_version(&self) -> Result<u32, Error> {
        let mut version = 0;
        // SAFETY: the context lives as long as this handle (`ContextInner::raw`); the output is a local, which outlives the call.
        self.call("cuCtxGetApiVersion", String::new, |driver| unsafe {
            driver.cuCtxGetApiVersion(self.raw(), &mut version)
        })?;
        Ok(version)
    }

    /// Resets all persisting lines in the L2 cache to normal.
    ///
    /// Driver call: `cuCtxResetPersistingL2Cache`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxResetPersistingL2Cache")]
    pub fn reset_persisting_l2_cache(&self) -> Result<(), Error> {
        // SAFETY: `call` made the context current, of which the call is; it takes nothing.
        self.call("cuCtxResetPersistingL2Cache", String::new, |driver| unsafe {
            driver.cuCtxResetPersistingL2Cache()
        })
    }
}
