//! Memory pools: where stream-ordered allocations come from.

#![allow(unsafe_code)] // Calls of the driver with live handles: a created pool is destroyed only by `PoolInner`.

pub(in crate::memory) mod attributes;

use cuda_driver_sys::{CUmemAllocationHandleType, CUmemAllocationType, CUmemPoolProps, CUmemoryPool};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::{CudaContext, CudaStream, ThreadStream, end_or_try_again, until_done};
use crate::error::Error;
use crate::memory::aligned::{OF_DEVICE, aligned};
use crate::memory::allocation::{Allocation, Pool, asked};
use crate::memory::buffer::{DeviceBuffer, byte_len};
use crate::memory::device_copy::DeviceCopy;
use crate::memory::location::MemoryLocation;
use crate::memory::os_handle::OsHandleKinds;
use crate::options::options;

options! {
    /// How a memory pool is created (`CUmemPoolProps`).
    ///
    /// ```
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::new().max_bytes(1 << 30))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[doc(alias = "CUmemPoolProps")]
    pub struct PoolOptions {
        /// Where its memory is; on the context's device by default.
        pub location: Option<MemoryLocation>,
        /// The maximum number of bytes that it may reserve, rounded up by the driver; 0 for no limit.
        pub max_bytes: usize,
        /// Kinds of handles with which other processes can open it.
        pub handles: OsHandleKinds,
    }
}

/// A memory pool of a device.
///
/// Handles are cheap to clone. A pool that this crate created is destroyed when neither a handle nor a buffer of it is left, unless it was
/// made [current](Self::make_current).
///
/// ```
/// use cuda_launch::memory::{MemoryPool, PoolOptions};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
/// pool.set_release_threshold(64 << 20)?;
/// let buffer = DeviceBuffer::<f32>::uninit_in(&pool, &stream, 1 << 20)?;
/// assert_eq!(pool.memory_use()?.used, 4 << 20);
/// drop(buffer);
/// stream.synchronize()?;
/// pool.trim_to(0)?;
/// assert_eq!(pool.memory_use()?.used, 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Destroying a pool that this crate created waits for the context, so that frees of its memory have completed.
#[derive(Clone, Debug)]
#[doc(alias = "CUmemoryPool")]
pub struct MemoryPool {
    inner: Arc<PoolInner>,
}

#[derive(Debug)]
struct PoolInner {
    /// Lives as long as this value: this value destroys it when dropped; or it is the default pool of its device, which is never
    /// destroyed; or the caller of `current_of` or `from_raw` promised it, by duty 1 there.
    raw: CUmemoryPool,
    context: CudaContext,
    /// Whether this value destroys it. Not one that was made current: memory that names no pool may come from it at any time, on every thread
    /// and in other code, and none of that keeps it.
    owned: AtomicBool,
    /// Whether its memory is on the context's device, which always has access.
    is_local: bool,
}

// SAFETY: a CUmemoryPool may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). The rest is Send and Sync.
unsafe impl Send for PoolInner {}
// SAFETY: as above; what is changed through a shared reference is atomic.
unsafe impl Sync for PoolInner {}

impl MemoryPool {
    /// Creates a pool.
    ///
    /// Driver call: `cuMemPoolCreate`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// let x = DeviceBuffer::<f32>::uninit_in(&pool, &stream, 1000)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if the device does not support pools, or not with such handles, or any error returned
    /// by the driver.
    #[doc(alias = "cuMemPoolCreate")]
    pub fn new(context: &CudaContext, options: PoolOptions) -> Result<Self, Error> {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType(options.handles.bits()),
            location: options.location.unwrap_or_else(|| context.into()).to_raw(),
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: options.max_bytes,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let is_local = options.location.is_none_or(|location| location == context.into());
        context.make(
            "cuMemPoolCreate",
            || format!("{options:?}"),
            // SAFETY: all members of the properties are set; they and the place outlive the call.
            |driver, raw| unsafe { driver.cuMemPoolCreate(raw, &properties) },
            // SAFETY: 1: the pool was just made, by this context's driver; its number is in this function alone.
            |raw| unsafe { Self::made(context, raw, is_local) },
        )
    }

    /// A pool that is this crate's to destroy; `is_local` if its memory is certain to be on the context's device.
    ///
    /// # Safety
    /// 1. `raw` is a live pool of `context`'s driver, and nothing else destroys it.
    pub(super) unsafe fn made(context: &CudaContext, raw: CUmemoryPool, is_local: bool) -> Self {
        // SAFETY: 1: the caller's duty 1, by which this value may destroy it.
        unsafe { Self::of(context, raw, true, is_local) }
    }

    /// The default pool of the context's device.
    ///
    /// Driver call: `cuDeviceGetDefaultMemPool`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::MemoryPool;
    /// # let ctx = CudaContext::new(0)?;
    /// let pool = MemoryPool::default_of(&ctx)?;
    /// pool.set_release_threshold(u64::MAX)?; // freed memory stays with the process
    /// # pool.set_release_threshold(0)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if the device does not support pools.
    #[doc(alias = "cuDeviceGetDefaultMemPool")]
    pub fn default_of(context: &CudaContext) -> Result<Self, Error> {
        let (device, mut raw) = (context.raw_device(), std::ptr::null_mut());
        // SAFETY: the device is the context's, as the driver named it; `raw`, a local, outlives the call.
        context.call("cuDeviceGetDefaultMemPool", String::new, |driver| unsafe {
            driver.cuDeviceGetDefaultMemPool(&mut raw, device)
        })?;
        // SAFETY: 1: the driver has just named it as the device's, and never destroys it.
        Ok(unsafe { Self::from_raw(context, raw) })
    }

    /// The current pool of the context's device, which allocations come from when none is named.
    ///
    /// Driver call: `cuDeviceGetMemPool`.
    ///
    /// # Safety
    /// 1. It is the default pool, or it outlives all clones of the result and all buffers from them: another handle may own and destroy
    ///    it.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if the device does not support pools.
    #[doc(alias = "cuDeviceGetMemPool")]
    pub unsafe fn current_of(context: &CudaContext) -> Result<Self, Error> {
        let (device, mut raw) = (context.raw_device(), std::ptr::null_mut());
        // SAFETY: the device is the context's, as the driver named it; `raw`, a local, outlives the call.
        context.call("cuDeviceGetMemPool", String::new, |driver| unsafe {
            driver.cuDeviceGetMemPool(&mut raw, device)
        })?;
        // SAFETY: 1: the driver has just named it as the device's; that it lives long enough is the caller's duty 1.
        Ok(unsafe { Self::from_raw(context, raw) })
    }

    /// Borrows a pool that other code created and will destroy.
    ///
    /// # Safety
    /// 1. `raw` is a live pool of the context's device, and outlives all clones of the result and all buffers from them.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUmemoryPool) -> Self {
        // SAFETY: 1: the caller's duty 1; this value does not destroy it.
        unsafe { Self::of(context, raw, false, true) }
    }

    /// # Safety
    /// 1. `raw` is a live pool of `context`'s driver; if `owned`, nothing else destroys it; if not, it outlives the result.
    unsafe fn of(context: &CudaContext, raw: CUmemoryPool, owned: bool, is_local: bool) -> Self {
        let (context, owned) = (context.clone(), AtomicBool::new(owned));
        Self { inner: Arc::new(PoolInner { raw, context, owned, is_local }) }
    }

    /// The raw pool, valid as long as a handle to it lives.
    pub fn raw(&self) -> CUmemoryPool {
        self.inner.raw
    }

    /// The context that it was made with.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::MemoryPool;
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(MemoryPool::default_of(&ctx)?.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// Makes this pool current: all allocations of the process on the context's device come from it when no pool is
    /// named. It stays current until another one is made so, for example the [default one](Self::default_of).
    ///
    /// From then on this crate does not destroy the pool, whatever happens to its handles: at any time another thread, or other code, may
    /// have memory that came from it. What is unused still goes back to the device, as the release threshold says.
    ///
    /// Driver call: `cuDeviceSetMemPool`.
    ///
    /// # Errors
    /// Any error returned by the driver: the pool must belong to that device.
    #[doc(alias = "cuDeviceSetMemPool")]
    pub fn make_current(&self) -> Result<(), Error> {
        let device = self.context().raw_device();
        // Before the driver knows: whatever it answers, the pool may be current.
        self.inner.owned.store(false, Ordering::Relaxed);
        // SAFETY: the pool lives as long as this handle (`PoolInner::raw`), and longer, now that it is never destroyed.
        self.context().call("cuDeviceSetMemPool", String::new, |driver| unsafe {
            driver.cuDeviceSetMemPool(device, self.raw())
        })
    }

    /// Returns unused memory to the device, until only `bytes` bytes are reserved, or as many as are in use.
    ///
    /// Driver call: `cuMemPoolTrimTo`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::MemoryPool;
    /// # let ctx = CudaContext::new(0)?;
    /// MemoryPool::default_of(&ctx)?.trim_to(0)?; // gives cached memory back to the system
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemPoolTrimTo")]
    pub fn trim_to(&self, bytes: usize) -> Result<(), Error> {
        // SAFETY: the pool lives as long as this handle (`PoolInner::raw`).
        self.context().call(
            "cuMemPoolTrimTo",
            || format!("{bytes} bytes"),
            |driver| unsafe { driver.cuMemPoolTrimTo(self.raw(), bytes) },
        )
    }

    /// A share in the pool, for memory of it.
    pub(in crate::memory) fn keep(&self) -> Option<Arc<dyn Pool>> {
        Some(self.inner.clone())
    }

    /// Destroys the pool now if this is the last handle, no buffer from it is alive, this crate created it and it was never made
    /// [current](Self::make_current), and reports any error. Driver calls: `cuCtxSynchronize`, `cuMemPoolDestroy`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// MemoryPool::new(&ctx, PoolOptions::default())?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuMemPoolDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates `len` uninitialised elements from `pool`, in stream order on `stream`.
    ///
    /// The pool's memory may be on another device, if the stream's device has been granted access ([`MemoryPool::grant_access`]).
    /// Driver call: `cuMemAllocFromPoolAsync`, and `cuMemPoolGetAccess` before it for such a pool; none for an empty buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{MemoryPool, PoolOptions};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pool = MemoryPool::new(&ctx, PoolOptions::default())?;
    /// let x = DeviceBuffer::<f32>::uninit_in(&pool, &stream, 1000)?;
    /// assert_eq!(x.len(), 1000);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], also if the pool has reached its limit; the pool is of another driver; the stream
    /// is being captured; [`ErrorKind::Inaccessible`](crate::ErrorKind::Inaccessible) if the stream's device may not read and write the
    /// pool's memory; [`Error::is_misaligned`] as for [`DeviceBuffer::uninit`]; or any error returned by the driver.
    #[doc(alias = "cuMemAllocFromPoolAsync")]
    pub fn uninit_in(pool: &MemoryPool, stream: &CudaStream, len: usize) -> Result<Self, Error> {
        let bytes = byte_len::<T>(len)?;
        let context = stream.context();
        context.same_driver(pool.context(), "the pool", "the stream")?;
        if bytes == 0 {
            return Ok(Self::from_allocation(len, 0, Allocation::empty(context)));
        }
        stream.refuse_in_capture("cuMemAllocFromPoolAsync")?;
        pool.is_accessible_to(context)?;
        let work = stream.queue().announced();
        let allocation = context.make(
            "cuMemAllocFromPoolAsync",
            || asked(bytes, len),
            // SAFETY: `make` made the context current; stream and pool live as long as their handles (`StreamInner`, `PoolInner::raw`), and
            // are of one driver, as was checked; the output outlives the call.
            |driver, address| unsafe {
                driver.cuMemAllocFromPoolAsync(address, bytes, pool.raw(), stream.raw())
            },
            // SAFETY: 1: it was just allocated so, on this stream; its address is in this function alone; 2: `work`.
            |address| unsafe { Allocation::made_on(address, stream, pool.keep()) },
        )?;
        let address = allocation.address();
        let buffer = Self::from_allocation(len, address, allocation);
        drop(work);
        aligned::<T>(address, "cuMemAllocFromPoolAsync", OF_DEVICE)?;
        Ok(buffer)
    }
}

impl Pool for PoolInner {
    fn outlast(self: Arc<Self>, stream: &CudaStream) {
        // Destroying it waits for its own context.
        if !self.context.is_same(stream.context()) {
            until_done(&ThreadStream::here(stream), vec![self]);
        }
    }
}

impl PoolInner {
    fn destroy(&mut self) -> Result<(), Error> {
        if !*self.owned.get_mut() {
            return Ok(());
        }
        self.context.may_give_back("cuMemPoolDestroy")?;
        // A thread of driver 580 crashes where a pool goes while its memory is being freed.
        let idle = self.context.drain();
        *self.owned.get_mut() = idle.as_ref().is_err_and(|error| !error.is_sticky());
        idle?;
        // SAFETY: this crate made or opened the pool, destroys it once, and no handle and no buffer from it is left: it was never current,
        // so all that came from it named it.
        self.context
            .give_back("cuMemPoolDestroy", String::new, |driver| unsafe { driver.cuMemPoolDestroy(self.raw) })
    }
}

impl Drop for PoolInner {
    fn drop(&mut self) {
        end_or_try_again(self, Self::destroy, |pool| {
            let rest = || Self {
                raw: pool.raw,
                context: pool.context.clone(),
                owned: AtomicBool::new(true),
                is_local: pool.is_local,
            };
            std::mem::take(pool.owned.get_mut()).then(rest)
        });
    }
}
