//! Green contexts: partitions of a device's multiprocessors.

#![allow(unsafe_code)] // Calls of the driver with resources that it filled and outputs that outlive the call.

use cuda_driver_sys::{
    CUcontext, CUdevResource, CUdevResourceType, CUgreenCtx, CUgreenCtxCreate_flags, CUresult,
};
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use super::context::CudaContext;
use super::device::CudaDevice;
use super::hold::Hold;
use super::stream::{CudaStream, StreamFlags};
use crate::error::{Error, check};
use crate::flags::flags;

/// Some multiprocessors of a device.
///
/// ```
/// use cuda_launch::device::SmSplitFlags;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let all = ctx.device().multiprocessors()?;
/// let (parts, rest) = all.split(2, 16, SmSplitFlags::empty())?;
/// assert!(parts.iter().all(|part| part.count() >= 16));
/// let used: u32 = parts.iter().map(|part| part.count()).sum();
/// assert_eq!(used + rest.count(), all.count());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUdevResource")]
#[doc(alias = "CUdevSmResource")]
pub struct SmResource {
    /// Multiprocessors, as the driver filled it, in every constructor.
    raw: CUdevResource,
    device: CudaDevice,
}

// SAFETY: the driver's resource is numbers and a pointer, which nothing here follows: only the driver does, which takes
// a resource from any thread, as what it makes but graphs ("Graph object thread safety"); the device is Send.
unsafe impl Send for SmResource {}
// SAFETY: as above; nothing is changed after construction, and the device is Sync.
unsafe impl Sync for SmResource {}

flags! {
    /// How multiprocessors are split (`CUdevSmResourceSplitByCount_flags`).
    ///
    /// ```
    /// use cuda_launch::device::SmSplitFlags;
    /// assert_eq!(SmSplitFlags::IGNORE_COSCHEDULING.bits(), 1);
    /// ```
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    #[doc(alias = "CUdevSmResourceSplitByCount_flags")]
    pub struct SmSplitFlags: u32 {
        /// Smaller parts, in which clusters may not be possible.
        const IGNORE_COSCHEDULING = 1;
        /// Parts in which the largest clusters are possible.
        const MAX_POTENTIAL_CLUSTER_SIZE = 2;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

impl CudaDevice {
    /// All its multiprocessors, for splitting.
    ///
    /// Driver call: `cuDeviceGetDevResource`.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.4, or any error returned by the driver.
    #[doc(alias = "cuDeviceGetDevResource")]
    pub fn multiprocessors(&self) -> Result<SmResource, Error> {
        let (mut raw, kind) = (CUdevResource::default(), CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM);
        // SAFETY: the driver named the device (`CudaDevice::raw`); the output is a local, which outlives the call.
        self.call("cuDeviceGetDevResource", |driver| unsafe {
            driver.cuDeviceGetDevResource(self.raw(), &mut raw, kind)
        })?;
        Ok(SmResource { raw, device: self.clone() })
    }
}

impl CudaContext {
    /// The multiprocessors that kernels of this context run on: all, or those of a green context.
    ///
    /// Driver call: `cuCtxGetDevResource`.
    ///
    /// # Errors
    /// As for [`CudaDevice::multiprocessors`].
    #[doc(alias = "cuCtxGetDevResource")]
    pub fn multiprocessors(&self) -> Result<SmResource, Error> {
        let (mut raw, kind) = (CUdevResource::default(), CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM);
        // SAFETY: the context lives as long as this handle (`ContextInner::raw`); the output is a local, which outlives the call.
        self.call("cuCtxGetDevResource", String::new, |driver| unsafe {
            driver.cuCtxGetDevResource(self.raw(), &mut raw, kind)
        })?;
        Ok(SmResource { raw, device: self.device() })
    }
}

impl SmResource {
    /// How many multiprocessors. No driver call.
    pub fn count(&self) -> u32 {
        // SAFETY: every constructor asked the driver for multiprocessors, so that it filled `sm` of the union; all bytes were zero before
        // (`default`), and any bits are a count.
        unsafe { self.raw.__bindgen_anon_1.sm.smCount }
    }

    /// The raw resource. No driver call.
    pub fn raw(&self) -> &CUdevResource {
        &self.raw
    }

    /// At most `groups` parts of at least `least` multiprocessors each, and the remainder. The driver rounds up to what
    /// the device can schedule together, for example 8 multiprocessors.
    ///
    /// A part cannot be split again directly: make a green context from it, and split [its
    /// multiprocessors](GreenContext::multiprocessors).
    ///
    /// Driver call: `cuDevSmResourceSplitByCount`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION` if not even one part fits, and if this is already a part; some
    /// drivers return `CUDA_ERROR_INVALID_VALUE` instead, as this method does for zero groups.
    #[doc(alias = "cuDevSmResourceSplitByCount")]
    pub fn split(
        &self,
        groups: u32,
        least: u32,
        flags: SmSplitFlags,
    ) -> Result<(Vec<SmResource>, SmResource), Error> {
        let call = "cuDevSmResourceSplitByCount";
        if groups == 0 {
            let asked = format!("0 groups of {least}");
            return Err(crate::error::failed(CUresult::CUDA_ERROR_INVALID_VALUE, call, asked));
        }
        // Every part has at least one multiprocessor, so there are never more parts than multiprocessors.
        let groups = groups.min(self.count().max(1));
        let mut parts = vec![CUdevResource::default(); groups as usize];
        let (mut made, mut rest) = (groups, CUdevResource::default());
        // SAFETY: `parts` has as many places as `made` says, and the driver fills no more; `self.raw` is a resource of multiprocessors
        // that it filled (`SmResource::raw`); all outlive the call.
        self.device.call(call, |driver| unsafe {
            driver.cuDevSmResourceSplitByCount(
                parts.as_mut_ptr(),
                &mut made,
                &self.raw,
                &mut rest,
                flags.bits(),
                least,
            )
        })?;
        parts.truncate(made as usize);
        let owned = |raw| SmResource { raw, device: self.device.clone() };
        Ok((parts.into_iter().map(owned).collect(), owned(rest)))
    }
}

impl fmt::Debug for SmResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmResource")
            .field("device", &self.device.ordinal())
            .field("count", &self.count())
            .finish()
    }
}

/// A context that runs its kernels on only some of the multiprocessors.
///
/// [`GreenContext::context`] is an ordinary [`CudaContext`]: load modules and allocate memory there. Work on
/// [streams of the green context](GreenContext::new_stream) runs on its multiprocessors. It is destroyed with the last
/// handle, including the context and everything created from it.
///
/// ```
/// use cuda_launch::device::{GreenContext, SmSplitFlags};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let (parts, _) = ctx.device().multiprocessors()?.split(1, 16, SmSplitFlags::empty())?;
/// let green = GreenContext::new(&ctx, &parts)?;
/// let stream = green.new_stream(0)?;
/// let buffer = DeviceBuffer::from_host(&stream, &[1_u32, 2, 3])?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [1, 2, 3]);
/// assert_eq!(green.multiprocessors()?.count(), parts[0].count());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "cuGreenCtxCreate")]
pub struct GreenContext {
    inner: Arc<Green>,
    context: CudaContext,
}

/// The green context itself: its `CudaContext` owns it.
struct Green {
    /// Made by `GreenContext::new`, and owned by this value: it lives until `destroy`, which leaves null here.
    raw: CUgreenCtx,
    /// The same as a context.
    context: CUcontext,
    /// Green contexts belong to the primary one.
    primary: CudaContext,
}

// SAFETY: a CUgreenCtx and its CUcontext may be used from every thread: of what a driver makes, its documents except
// graphs alone ("Graph object thread safety"). The rest is Send and Sync.
unsafe impl Send for Green {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Green {}

impl GreenContext {
    /// Creates a green context on the device of `primary` with these multiprocessors, which must come from one split.
    ///
    /// Driver calls: `cuDevResourceGenerateDesc`, `cuGreenCtxCreate`, `cuCtxFromGreenCtx`.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.4; `CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION` or
    /// `CUDA_ERROR_INVALID_VALUE` for no resources, or resources that do not belong together; [`Error::is_context_mismatch`] for those of
    /// another device or driver.
    pub fn new(primary: &CudaContext, multiprocessors: &[SmResource]) -> Result<Self, Error> {
        let device = primary.device();
        let asked = || format!("device {}, {multiprocessors:?}", device.ordinal());
        // A driver may look at the first one in any case.
        if multiprocessors.is_empty() {
            let code = CUresult::CUDA_ERROR_INVALID_VALUE;
            return Err(crate::error::failed(code, "cuDevResourceGenerateDesc", asked()));
        }
        for resource in multiprocessors {
            device.same_device(&resource.device, "a part of the multiprocessors", "the green context")?;
        }
        let mut resources: Vec<_> = multiprocessors.iter().map(|resource| resource.raw).collect();
        let count = u32::try_from(resources.len()).unwrap_or(u32::MAX);
        let mut description = null_mut();
        // SAFETY: there are `count` resources, which the driver filled (`SmResource::raw`), all of this device; they and the output are
        // locals, which outlive the call.
        primary.call("cuDevResourceGenerateDesc", asked, |driver| unsafe {
            driver.cuDevResourceGenerateDesc(&mut description, resources.as_mut_ptr(), count)
        })?;
        let flags = CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM.0;
        let mut green = primary.make(
            "cuGreenCtxCreate",
            asked,
            // SAFETY: the driver made the description above, for this device, which it named; the output outlives the call.
            |driver, raw| unsafe { driver.cuGreenCtxCreate(raw, description, device.raw(), flags) },
            |raw| Green { raw, context: null_mut(), primary: primary.clone() },
        )?;
        let raw = green.raw;
        // SAFETY: `green` owns the green context, which was made above, until it is dropped; the output is its field, and outlives the
        // call.
        primary.call("cuCtxFromGreenCtx", asked, |driver| unsafe {
            driver.cuCtxFromGreenCtx(&mut green.context, raw)
        })?;
        let (raw, inner) = (green.context, Arc::new(green));
        // SAFETY: 1: the context of the green one, which was made above, of this device, and lives until `inner`, which
        // is the hold's owner, destroys it.
        let context = unsafe { CudaContext::adopt(device, raw, Hold::Foreign(Some(inner.clone()))) }?;
        context.mark_green();
        Ok(Self { inner, context })
    }

    /// Its context, for modules, memory and events. No driver call.
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// A stream whose work runs on its multiprocessors. A lower `priority` number is scheduled first; 0 is the default.
    ///
    /// Driver call: `cuGreenCtxStreamCreate`.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.5, or any error returned by the driver.
    #[doc(alias = "cuGreenCtxStreamCreate")]
    pub fn new_stream(&self, priority: i32) -> Result<CudaStream, Error> {
        let flags = StreamFlags::NON_BLOCKING.bits();
        self.context.make(
            "cuGreenCtxStreamCreate",
            || format!("priority {priority}"),
            // SAFETY: `inner` owns the green context until its last handle is dropped (`Green::raw`); the output outlives the call. The
            // flags say that the stream is non-blocking, as this call requires.
            |driver, raw| unsafe { driver.cuGreenCtxStreamCreate(raw, self.inner.raw, flags, priority) },
            // SAFETY: 1: the stream was just made, in the context of the green one, which `self.context` is; 2, 3: its number is in this
            // function alone.
            |raw| unsafe { CudaStream::from_raw_owned(&self.context, raw) },
        )
    }

    /// Its multiprocessors.
    ///
    /// Driver call: `cuGreenCtxGetDevResource`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuGreenCtxGetDevResource")]
    pub fn multiprocessors(&self) -> Result<SmResource, Error> {
        let (mut raw, kind) = (CUdevResource::default(), CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM);
        // SAFETY: `inner` owns the green context until its last handle is dropped (`Green::raw`); the output is a local that outlives
        // the call.
        self.context.call("cuGreenCtxGetDevResource", String::new, |driver| unsafe {
            driver.cuGreenCtxGetDevResource(self.inner.raw, &mut raw, kind)
        })?;
        Ok(SmResource { raw, device: self.context.device() })
    }

    /// The raw green context, valid as long as this handle lives. No driver call.
    pub fn raw(&self) -> CUgreenCtx {
        self.inner.raw
    }

    /// Destroys the green context now if this is the last handle to it and nothing made from its context is left, and reports any
    /// error.
    ///
    /// Driver call, for the last handle: `cuGreenCtxDestroy`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::device::{GreenContext, SmSplitFlags};
    /// # let ctx = CudaContext::new(0)?;
    /// let (parts, _) = ctx.device().multiprocessors()?.split(1, 16, SmSplitFlags::empty())?;
    /// GreenContext::new(&ctx, &parts)?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuGreenCtxDestroy")]
    pub fn close(self) -> Result<(), Error> {
        let Self { inner, context } = self;
        // The context keeps the green one.
        let released = context.close();
        released.and(Arc::into_inner(inner).map_or(Ok(()), |mut green| green.destroy()))
    }
}

impl fmt::Debug for GreenContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GreenContext")
            .field("device", &self.context.ordinal())
            .field("raw", &self.inner.raw)
            .finish()
    }
}

impl Green {
    /// Takes it off this thread: it is not documented what a driver does on a thread whose green context was destroyed.
    fn leave(&self) {
        let (driver, mut current) = (self.primary.driver(), null_mut());
        // SAFETY: the output is a local, which outlives the call; no context is asked for.
        let code = unsafe { driver.cuCtxGetCurrent(&mut current) };
        if code == CUresult::SUCCESS && current == self.context {
            // SAFETY: `primary` is a handle, which keeps its context (`ContextInner::raw`). Where this fails, the destruction says the
            // same.
            let _ = unsafe { driver.cuCtxSetCurrent(self.primary.raw()) };
        }
    }

    /// Destroys it, once.
    fn destroy(&mut self) -> Result<(), Error> {
        let raw = std::mem::replace(&mut self.raw, null_mut());
        if raw.is_null() {
            return Ok(());
        }
        self.leave();
        let driver = self.primary.driver();
        // SAFETY: this value owned it until `raw` was taken, and nothing made from it is left: each such thing keeps
        // its `CudaContext`, which holds this value. `leave` took it off this thread; where it still is current, after
        // a refusal or on another thread, no call of this crate is made in it: each makes its own context current
        // first, or names a stream, an event or memory of it.
        check(unsafe { driver.cuGreenCtxDestroy(raw) }, "cuGreenCtxDestroy", String::new)
    }
}

impl Drop for Green {
    fn drop(&mut self) {
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}
