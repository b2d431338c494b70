//! The choice between L1 cache and shared memory.

use cuda_driver_sys::CUfunc_cache;

/// What a function or a context prefers where L1 cache and shared memory use the same storage.
///
/// A preference, which devices of compute capability 7 and later largely ignore.
///
/// ```
/// use cuda_launch::module::CacheConfig;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// f.set_cache_config(CacheConfig::PREFER_L1)?;
/// assert!(f.set_cache_config(CacheConfig::from_raw(99)).is_err());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "CUfunc_cache")]
pub struct CacheConfig(u32);

impl CacheConfig {
    /// No preference.
    pub const PREFER_NONE: Self = Self(CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE.0);
    /// More shared memory.
    pub const PREFER_SHARED: Self = Self(CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED.0);
    /// More L1 cache.
    pub const PREFER_L1: Self = Self(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1.0);
    /// Equal amounts of both.
    pub const PREFER_EQUAL: Self = Self(CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0);

    /// The configuration with that number.
    pub const fn from_raw(number: u32) -> Self {
        Self(number)
    }

    /// The driver's form.
    pub const fn raw(self) -> CUfunc_cache {
        CUfunc_cache(self.0)
    }
}
