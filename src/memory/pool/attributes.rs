//! Attributes of a pool: how much of it is in use, how much it keeps, which devices may use it.

#![allow(unsafe_code)] // Calls of the driver with live handles and values of the attributes' types.

use cuda_driver_sys::CUmemPool_attribute as A;

use super::MemoryPool;
use crate::driver::CudaContext;
use crate::error::Error;
use crate::memory::location::{MemoryAccess, MemoryLocation};

/// Memory use of a pool in bytes: now, and the maximum since it was created or the maximum was reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolUse {
    /// In allocations.
    pub used: u64,
    /// The high watermark of [`used`](Self::used).
    pub used_high: u64,
    /// Reserved from the device: in use, or cached.
    pub reserved: u64,
    /// The high watermark of [`reserved`](Self::reserved).
    pub reserved_high: u64,
}

/// How freed memory of a pool may be reused before the stream that frees it has reached the free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolReuse {
    /// By streams that wait, through events, for the free.
    FollowEventDependencies,
    /// By any stream, if the free happens to be complete.
    Opportunistic,
    /// By any stream: the driver makes it wait for the free.
    InternalDependencies,
}

impl PoolReuse {
    fn to_raw(self) -> A {
        match self {
            Self::FollowEventDependencies => A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
            Self::Opportunistic => A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
            Self::InternalDependencies => A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
        }
    }
}

impl MemoryPool {
    /// How many bytes are in use and reserved. Driver call: `cuMemPoolGetAttribute`, four times.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// let x = DeviceBuffer::<u8>::uninit_in(&pool, &stream, 1000)?;
    /// assert!(pool.memory_use()?.used >= 1000);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolGetAttribute")]
    pub fn memory_use(&self) -> Result<PoolUse, Error> {
        Ok(PoolUse {
            used: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            used_high: self.get(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
            reserved: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            reserved_high: self.get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
        })
    }

    /// Resets both high watermarks, [`PoolUse::used_high`] and [`PoolUse::reserved_high`], to the current use.
    ///
    /// Driver call: `cuMemPoolSetAttribute`, twice.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// pool.reset_high_watermark()?;
    /// assert_eq!(pool.memory_use()?.used_high, 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn reset_high_watermark(&self) -> Result<(), Error> {
        self.set(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0u64)?;
        self.set(A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0u64)
    }

    /// The number of bytes that the pool keeps reserved when its memory is freed. Driver call: `cuMemPoolGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(MemoryPool::new(&ctx, PoolOptions::default())?.release_threshold()?, 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn release_threshold(&self) -> Result<u64, Error> {
        self.get(A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Sets how many bytes the pool keeps reserved when its memory is freed; the rest is returned to the device at the
    /// next synchronisation. Driver call: `cuMemPoolSetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// pool.set_release_threshold(64 << 20)?;
    /// assert_eq!(pool.release_threshold()?, 64 << 20);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD")]
    pub fn set_release_threshold(&self, bytes: u64) -> Result<(), Error> {
        self.set(A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes)
    }

    /// Whether freed memory may be reused in that way. Driver call: `cuMemPoolGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions, PoolReuse};
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// println!("{}", pool.reuse(PoolReuse::Opportunistic)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn reuse(&self, way: PoolReuse) -> Result<bool, Error> {
        self.get::<i32>(way.to_raw()).map(|value| value != 0)
    }

    /// Sets whether freed memory may be reused in that way. Driver call: `cuMemPoolSetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions, PoolReuse};
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// pool.set_reuse(PoolReuse::Opportunistic, false)?; // the same addresses in each run
    /// assert!(!pool.reuse(PoolReuse::Opportunistic)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn set_reuse(&self, way: PoolReuse, allowed: bool) -> Result<(), Error> {
        self.set(way.to_raw(), i32::from(allowed))
    }

    /// What a device may do with the pool's memory. Driver call: `cuMemPoolGetAccess`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryAccess, MemoryLocation, MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// assert_eq!(pool.access(MemoryLocation::Device(0))?, MemoryAccess::ReadWrite);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolGetAccess")]
    pub fn access(&self, location: MemoryLocation) -> Result<MemoryAccess, Error> {
        let mut flags = MemoryAccess::None.to_raw();
        let mut raw = location.to_raw();
        self.context().call(
            "cuMemPoolGetAccess",
            || format!("{location:?}"),
            // SAFETY: the pool lives as long as this handle (`PoolInner::raw`); both values are locals, which outlive the call.
            |driver| unsafe { driver.cuMemPoolGetAccess(&mut flags, self.raw(), &mut raw) },
        )?;
        Ok(MemoryAccess::from_raw(flags))
    }

    /// Lets a device read and write the pool's memory, including existing allocations; the devices must be able to access each
    /// other. Driver call: `cuMemPoolSetAccess`.
    ///
    /// # Errors
    /// Any error returned by the driver; the pool's own device always has access.
    #[doc(alias = "cuMemPoolSetAccess")]
    pub fn grant_access(&self, location: MemoryLocation) -> Result<(), Error> {
        // SAFETY: 1: nothing is taken away.
        unsafe { self.set_access(location, MemoryAccess::ReadWrite) }
    }

    /// Sets what a device may do with the pool's memory, including existing allocations. Driver call: `cuMemPoolSetAccess`.
    ///
    /// # Safety
    /// 1. From now on the device uses no memory of the pool, including existing buffers, in a way that it may not: a kernel that does so
    ///    faults, and CUDA is unusable in the process from then on.
    ///
    /// # Errors
    /// Those of [`grant_access`](Self::grant_access).
    #[doc(alias = "cuMemPoolSetAccess")]
    pub unsafe fn set_access(&self, location: MemoryLocation, access: MemoryAccess) -> Result<(), Error> {
        let description = access.of(location);
        // SAFETY: the pool lives as long as this handle (`PoolInner::raw`); there is one description, as is said, a local that outlives
        // the call.
        self.context().call(
            "cuMemPoolSetAccess",
            || format!("{access:?} for {location:?}"),
            |driver| unsafe { driver.cuMemPoolSetAccess(self.raw(), &description, 1) },
        )
    }

    /// An error unless the context's device may read and write the pool's memory.
    pub(super) fn is_accessible_to(&self, context: &CudaContext) -> Result<(), Error> {
        const HELP: &str =
            "grant it access with `MemoryPool::grant_access` first, or use a stream of the pool's device";
        if self.inner.is_local && self.context().raw_device() == context.raw_device() {
            return Ok(());
        }
        let access = self.access(context.into())?;
        access.allows_kernels(context, ("cuMemPoolGetAccess", "memory of the pool", HELP))
    }

    /// `V` is the type that the attribute has.
    fn get<V: Default>(&self, attribute: A) -> Result<V, Error> {
        let mut value = V::default();
        self.context().call(
            "cuMemPoolGetAttribute",
            || format!("{attribute:?}"),
            // SAFETY: the pool lives as long as this handle (`PoolInner::raw`); the value, a local, is of the attribute's type: the callers
            // ask for 64 bits where it counts bytes, and for an `int` where it is a switch.
            |driver| unsafe { driver.cuMemPoolGetAttribute(self.raw(), attribute, (&raw mut value).cast()) },
        )?;
        Ok(value)
    }

    fn set<V>(&self, attribute: A, mut value: V) -> Result<(), Error> {
        // SAFETY: the pool lives as long as this handle (`PoolInner::raw`); the value, a local, is of the attribute's type: the callers
        // pass 64 bits where it counts bytes, and an `int` where it is a switch.
        self.context().call(
            "cuMemPoolSetAttribute",
            || format!("{attribute:?}"),
            |driver| unsafe { driver.cuMemPoolSetAttribute(self.raw(), attribute, (&raw mut value).cast()) },
        )
    }
}
