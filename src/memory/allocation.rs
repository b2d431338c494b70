//! The sole owner of a piece of device memory: knows the accesses to it, and how it is freed.

#![allow(unsafe_code)] // Freeing memory that this value owns, after all work that is known to use it.

use cuda_driver_sys::Driver;

use crate::driver::{
    ContextWait, CudaContext, CudaModule, CudaStream, Resource, StreamAccesses, ThreadStream,
    end_or_try_again,
};
use crate::error::Error;
use crate::ordering::Submission;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Device memory and its accesses. A buffer holds one, and so does a graph whose captured work uses the buffer.
pub(crate) struct Allocation {
    address: u64,
    home: Home,
    accesses: StreamAccesses,
    /// Whether work of this crate may use it that is not recorded here: see [`Allocation::address_taken`].
    taken: AtomicBool,
    /// So may any work: see [`Allocation::escape`].
    escaped: AtomicBool,
    origin: Origin,
}

/// Where memory belongs.
#[derive(Clone)]
enum Home {
    Context(CudaContext),
    /// Memory of a pool: the stream that it was allocated on, and the context of that.
    Stream(CudaStream),
}

impl Home {
    #[inline(always)]
    fn context(&self) -> &CudaContext {
        match self {
            Self::Context(context) => context,
            Self::Stream(stream) => stream.context(),
        }
    }
}

/// Where memory comes from, and so how it goes.
pub(crate) enum Origin {
    /// No memory: an empty buffer.
    Empty,
    /// `cuMemAlloc`: `cuMemFree` waits for the device.
    Plain,
    /// `cuMemAllocAsync` on the stream that it belongs to: `cuMemFreeAsync` after the last use.
    Pool(Option<Arc<dyn Pool>>),
    /// Other code's; this keeps it there, and is dropped once nothing uses the memory.
    Foreign(Box<dyn Any + Send + Sync>),
    /// Other code's, which frees it.
    Borrowed,
    /// A variable of this module, which frees it.
    Variable(CudaModule),
}

/// A pool that this crate has made or opened.
pub(crate) trait Pool: Send + Sync {
    /// Memory of it was freed on `stream`, before which it must not be destroyed.
    fn outlast(self: Arc<Self>, stream: &CudaStream);
}

impl Allocation {
    /// Owns the memory at `address` as `origin` says.
    ///
    /// # Safety
    /// 1. `origin` says how the memory at `address`, which is of `context`, goes: nothing else frees memory that is `Plain`, or kept by what
    ///    is `Foreign`; a `Variable` is one of that module; what is `Borrowed` outlives the result and all work that is noted there; and it is
    ///    no `Pool`.
    pub(crate) unsafe fn new(address: u64, context: &CudaContext, origin: Origin) -> Arc<Self> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { Self::accessed(address, context, origin, StreamAccesses::new(context.owner())) }
    }

    /// Owns memory of a pool that was allocated on `stream`, or is freed there.
    ///
    /// # Safety
    /// 1. The memory at `address` is of the context of `stream`, and goes by `cuMemFreeAsync`; nothing else frees it.
    pub(super) unsafe fn of_pool(
        address: u64,
        stream: &CudaStream,
        pool: Option<Arc<dyn Pool>>,
    ) -> Arc<Self> {
        let accesses = StreamAccesses::new(stream.context().owner());
        Self::with(address, Home::Stream(stream.clone()), accesses, Origin::Pool(pool))
    }

    /// No memory, of an empty buffer.
    pub(crate) fn empty(context: &CudaContext) -> Arc<Self> {
        // SAFETY: 1: there is none.
        unsafe { Self::new(0, context, Origin::Empty) }
    }

    /// `bytes` bytes, more than none, for `len` elements, from `cuMemAlloc`.
    #[inline]
    pub(super) fn plain(context: &CudaContext, bytes: usize, len: usize) -> Result<Arc<Self>, Error> {
        context.make(
            "cuMemAlloc",
            || asked(bytes, len),
            // SAFETY: `make` made the context current; the output outlives the call.
            |driver, address| unsafe { driver.cuMemAlloc(address, bytes) },
            // SAFETY: 1: it was just allocated so, in this context; its address is in this function alone.
            |address| unsafe { Self::new(address, context, Origin::Plain) },
        )
    }

    /// The same from `cuMemAllocAsync`, as announced work of `stream`: other streams wait until it has reached the allocation.
    #[inline]
    pub(super) fn pooled(stream: &CudaStream, bytes: usize, len: usize) -> Result<Arc<Self>, Error> {
        let _work = stream.queue().announced();
        stream.make(
            "cuMemAllocAsync",
            || asked(bytes, len),
            // SAFETY: the stream lives as long as its handle (`StreamInner`), and says of which context the memory is; the place outlives
            // the call.
            |driver, address| unsafe { driver.cuMemAllocAsync(address, bytes, stream.raw()) },
            // SAFETY: 1: it was just allocated so, on this stream; its address is in this function alone; 2: `_work`.
            |address| unsafe { Self::made_on(address, stream, None) },
        )
    }

    /// The same for memory that announced work of `stream` allocates.
    ///
    /// # Safety
    /// 1. As duty 1 of [`Allocation::of_pool`].
    /// 2. The caller has announced the submission that makes it, before the driver's call, and finishes it after this one.
    pub(super) unsafe fn made_on(
        address: u64,
        stream: &CudaStream,
        pool: Option<Arc<dyn Pool>>,
    ) -> Arc<Self> {
        let accesses = StreamAccesses::made_by(ThreadStream::here(stream), stream.context().owner());
        Self::with(address, Home::Stream(stream.clone()), accesses, Origin::Pool(pool))
    }

    /// The same for memory that was accessed before.
    ///
    /// # Safety
    /// 1. As duty 1 of [`Allocation::new`].
    pub(super) unsafe fn accessed(
        address: u64,
        context: &CudaContext,
        origin: Origin,
        accesses: StreamAccesses,
    ) -> Arc<Self> {
        Self::with(address, Home::Context(context.clone()), accesses, origin)
    }

    fn with(address: u64, home: Home, accesses: StreamAccesses, origin: Origin) -> Arc<Self> {
        let (taken, escaped) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { address, home, accesses, taken, escaped, origin })
    }

    /// Its accesses so far.
    #[inline(always)]
    pub(crate) fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    /// The host has waited for all of them, and no work can have used the memory meanwhile.
    pub(super) fn forget_accesses(&self) {
        self.accesses.forget();
    }

    /// Where the memory is.
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// The context that the memory belongs to.
    #[inline(always)]
    pub(crate) fn context(&self) -> &CudaContext {
        self.home.context()
    }

    /// Notes that `work` accesses the memory.
    pub(crate) fn note(self: &Arc<Self>, work: &mut Submission<'_>, written: bool) -> Result<(), Error> {
        if written { work.writes(self) } else { work.reads(self) }
    }

    /// The address was given out for launches: work of this crate may use it that did not note that.
    #[inline(always)]
    pub(crate) fn address_taken(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }

    /// The address became known outside: work that this crate does not see may use it.
    #[inline(always)]
    pub(crate) fn escape(&self) {
        self.escaped.store(true, Ordering::Relaxed);
    }

    /// Gives the memory up without freeing it.
    pub(crate) fn disown(&mut self) {
        if let Origin::Foreign(owner) = std::mem::replace(&mut self.origin, Origin::Borrowed) {
            // Dropping it would free the memory.
            std::mem::forget(owner);
        }
    }

    /// Gives the memory back after all work that uses it; once.
    ///
    /// If it must not be freed now, or it is unknown when the work is done, it stays: dropping this value tries again.
    pub(crate) fn release(&mut self) -> Result<(), Error> {
        if self.is_owned() {
            self.context().may_give_back("cuMemFree").inspect_err(|_| self.leave())?;
        }
        let last = self.last_use()?;
        // After the waits for single streams, which may take long: a capture waits only a limited time for this wait.
        let _alone = match &self.origin {
            Origin::Plain => Some(ContextWait::begin(self.context(), "cuMemFree")?),
            _ => None,
        };
        match std::mem::replace(&mut self.origin, Origin::Empty) {
            Origin::Empty | Origin::Borrowed => Ok(()),
            Origin::Plain => self.free("cuMemFree", |address, driver| {
                // SAFETY: this value owned the allocation, and frees it once, as its `origin` is `Empty` by now; the
                // call waits for all work of the device, and `last_use` has waited for that of others.
                unsafe { driver.cuMemFree(address) }
            }),
            Origin::Pool(pool) => {
                let Some(stream) = last.as_ref().or(self.stream()) else { return Ok(()) };
                let (address, asked) = (self.address, || format!("{:#x}", self.address));
                // SAFETY: this value owned the allocation, and frees it once, as above. `last_use` found a stream that
                // comes after every use that was noted, or, where the address was taken, after all work of this crate;
                // or else it has waited for the context. The stream lives as long as `stream` (`StreamInner`).
                let free = |driver: &Driver| unsafe { driver.cuMemFreeAsync(address, stream.raw()) };
                stream.free("cuMemFreeAsync", asked, free)?;
                if let Some(pool) = pool {
                    pool.outlast(stream);
                }
                Ok(())
            }
            Origin::Variable(module) => {
                // Unloading the module waits for its work.
                module.symbols().leave(self.address, self.accesses.take());
                Ok(())
            }
            Origin::Foreign(owner) => {
                // No work uses it any more: the work is done, or a fault ended it.
                drop(owner);
                self.context().faulted()
            }
        }
    }

    /// The stream that memory of a pool was allocated on.
    fn stream(&self) -> Option<&CudaStream> {
        match &self.home {
            Home::Stream(stream) => Some(stream),
            Home::Context(_) => None,
        }
    }

    /// Stores the accesses of a variable whose module must not be unloaded now; the next handle continues from there.
    fn leave(&mut self) {
        if let Origin::Variable(module) = &self.origin
            && !self.accesses.has_strangers(self.context())
        {
            module.symbols().leave(self.address, self.accesses.take());
            (*self.taken.get_mut(), *self.escaped.get_mut()) = (false, false);
            self.origin = Origin::Foreign(Box::new(module.clone()));
        }
    }

    /// Waits for the uses of foreign memory, or finds a stream that all uses of a pool's memory come before, if that is not the one that
    /// it was allocated on. If the driver refuses, the whole context is waited for.
    fn last_use(&mut self) -> Result<Option<CudaStream>, Error> {
        let (taken, escaped) = (*self.taken.get_mut(), *self.escaped.get_mut());
        match (&self.origin, &self.home) {
            (Origin::Pool(_), Home::Stream(stream)) => {
                let last = if escaped {
                    None
                } else if taken {
                    self.accesses.last_stream_of_all(stream).map(Some)
                } else {
                    self.accesses.last_stream(stream).ok()
                };
                match last {
                    Some(last) => Ok(last),
                    None => self.accesses.end(stream.context(), true).map(|()| None),
                }
            }
            (Origin::Foreign(_), home) => self.accesses.end(home.context(), taken || escaped).map(|()| None),
            // The call itself, or that which unloads the module, waits for all of the device; not for a stream of another context that
            // copied from here or to it.
            (Origin::Plain | Origin::Variable(_), home) => {
                self.accesses.end_of_strangers(home.context()).map(|()| None)
            }
            _ => Ok(None),
        }
    }

    /// What is to be released, as a value of its own; nothing is left here.
    fn take(&mut self) -> Self {
        let (origin, accesses) = (std::mem::replace(&mut self.origin, Origin::Empty), self.accesses.take());
        let (taken, escaped) = (std::mem::take(&mut self.taken), std::mem::take(&mut self.escaped));
        Self { address: self.address, home: self.home.clone(), accesses, taken, escaped, origin }
    }

    /// Whether there is something to give back.
    fn is_owned(&self) -> bool {
        !matches!(self.origin, Origin::Empty | Origin::Borrowed)
    }

    fn free(
        &self,
        call: &'static str,
        free: impl FnOnce(u64, &cuda_driver_sys::Driver) -> cuda_driver_sys::CUresult,
    ) -> Result<(), Error> {
        self.context().give_back(call, || format!("{:#x}", self.address), |driver| free(self.address, driver))
    }
}

impl Allocation {
    /// Frees memory of a pool that only the stream which it was allocated on has used, as most is: as [`release`](Self::release), without
    /// the code of the other cases, which would have to be fetched from memory for every free. Returns `false`, having done nothing, in all
    /// other cases. Only for [`Drop`].
    fn is_freed_at_once(&mut self) -> bool {
        let (Origin::Pool(None), Home::Stream(stream)) = (&self.origin, &self.home) else { return false };
        if *self.taken.get_mut() || *self.escaped.get_mut() || !self.accesses.is_only_of(stream) {
            return false;
        }
        let address = self.address;
        // SAFETY: this value owned the allocation, and frees it once, because it is dropped, and `release` is not called then. The stream
        // comes after every use, all of which were on it, and lives as long as `stream` (`StreamInner`).
        stream
            .free_at_once("cuMemFreeAsync", |driver| unsafe { driver.cuMemFreeAsync(address, stream.raw()) })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.is_freed_at_once() {
            return;
        }
        // Work may still be using the rest.
        end_or_try_again(self, Self::release, |rest| rest.is_owned().then(|| rest.take()));
    }
}

impl Resource for Allocation {
    fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    fn escape(&self) {
        Allocation::escape(self);
    }
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocation").field("device", &self.context().ordinal()).finish_non_exhaustive()
    }
}

/// What was asked for, of an allocation that failed.
#[cold]
pub(super) fn asked(bytes: usize, len: usize) -> String {
    match bytes == len {
        // Elements of one byte, which may be parts of others.
        true => format!("{bytes} bytes"),
        false => format!("{bytes} bytes for {len} elements"),
    }
}
