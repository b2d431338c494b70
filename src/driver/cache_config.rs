//! The choice between L1 cache and shared memory.

use cuda_driver_sys::CUfunc_cache;

use crate::open_number::open_number;

open_number! {
    /// The preference of a function or a context, on devices where L1 cache and shared memory use the same storage.
    ///
    /// A preference, which devices of compute capability 7 and later largely ignore.
    ///
    /// ```standalone_crate
    /// use cuda_launch::module::CacheConfig;
    /// use cuda_launch::sys::CUfunc_cache;
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// f.set_cache_config(CacheConfig::PREFER_L1)?;
    /// assert!(f.set_cache_config(CacheConfig::from_raw(CUfunc_cache(99))).is_err());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CUfunc_cache")]
    #[derive(Default)]
    pub struct CacheConfig(CUfunc_cache);

    /// No preference.
    PREFER_NONE = CU_FUNC_CACHE_PREFER_NONE;
    /// More shared memory.
    PREFER_SHARED = CU_FUNC_CACHE_PREFER_SHARED;
    /// More L1 cache.
    PREFER_L1 = CU_FUNC_CACHE_PREFER_L1;
    /// Equal amounts of both.
    PREFER_EQUAL = CU_FUNC_CACHE_PREFER_EQUAL;
}
