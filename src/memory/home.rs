//! The one owner of a piece of device memory: knows who used it last, and how it is given back.

#![allow(unsafe_code)] // Freeing memory that this value owns, after all work that is known to use it.

use crate::driver::{
    CudaContext, CudaModule, CudaStream, Resource, Uses, Waits, despite_captures, end_later, forbid_anywhere,
    forbid_here, must_not_end,
};
use crate::error::Error;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
/// Device memory and its users. A buffer holds one, and so does a graph whose captured work uses the buffer.
pub(crate) struct Home {
    address: u64,
    context: CudaContext,
    uses: Uses,
    /// Its address was handed out as a number: work may use it that nobody noted here.
    escaped: AtomicBool,
    origin: Origin,
}

/// Where memory comes from, and so how it goes.
pub(crate) enum Origin {
    /// No memory: an empty buffer.
    Empty,
    /// `cuMemAlloc`: `cuMemFree` waits for the device.
    Plain,
    /// `cuMemAllocAsync` on this stream: `cuMemFreeAsync` after the last use.
    Pool(CudaStream),
    /// Somebody else's; this keeps it there, and is dropped once nothing uses the memory.
    Foreign(Box<dyn Any + Send + Sync>),
    /// Somebody else's, who frees it.
    Borrowed,
    /// A variable of this module, which frees it; the name is the variable's.
    Variable(CudaModule, Box<str>),
}

impl Home {
    /// Owns the memory at `address` as `origin` says.
    pub(crate) fn new(address: u64, context: &CudaContext, origin: Origin) -> Arc<Self> {
        Self::used(address, context, origin, Uses::default())
    }

    /// The same for memory that was used before.
    pub(super) fn used(address: u64, context: &CudaContext, origin: Origin, uses: Uses) -> Arc<Self> {
        let escaped = AtomicBool::new(false);
        Arc::new(Self { address, context: context.clone(), uses, escaped, origin })
    }

    /// The context that the memory belongs to.
    #[inline(always)]
    pub(crate) fn context(&self) -> &CudaContext {
        &self.context
    }

    /// Who used it last.
    #[inline(always)]
    pub(crate) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Orders work on `stream` that is about to be submitted and reads the memory.
    #[inline]
    pub(crate) fn read_on(self: &Arc<Self>, stream: &CudaStream) -> Result<(), Error> {
        self.uses.read_on(stream, || self.clone())
    }

    /// The same for work that uses other memory too: `waits` are the streams it waits for already.
    #[inline]
    pub(crate) fn read_with(self: &Arc<Self>, stream: &CudaStream, waits: &mut Waits) -> Result<(), Error> {
        self.uses.read_with(stream, waits, || self.clone())
    }

    /// Orders work on `stream` that is about to be submitted and writes the memory.
    #[inline]
    pub(crate) fn write_on(self: &Arc<Self>, stream: &CudaStream) -> Result<(), Error> {
        self.uses.write_on(stream, || self.clone())
    }

    /// The same for work that uses other memory too: `waits` are the streams it waits for already.
    #[inline]
    pub(crate) fn write_with(self: &Arc<Self>, stream: &CudaStream, waits: &mut Waits) -> Result<(), Error> {
        self.uses.write_with(stream, waits, || self.clone())
    }

    /// The address becomes known outside: work that is not noted may use it.
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

    /// Gives the memory back after all work that uses it; once. Where a capture stands in the way nothing is given back, and the
    /// error tells.
    pub(crate) fn release(&mut self) -> Result<(), Error> {
        if self.is_owned() {
            forbid_here(&self.context, "cuMemFree")?;
            if self.waits_for_all() {
                forbid_anywhere(&self.context, "cuMemFree")?;
            }
        }
        let idle = if self.waits_for_all() { self.context.drain() } else { Ok(()) };
        if let Err(error) = &idle
            && error.is_capture_error()
        {
            // Somebody captures whom this crate does not know: work may still use the memory.
            return idle;
        }
        match std::mem::replace(&mut self.origin, Origin::Empty) {
            Origin::Empty | Origin::Borrowed => Ok(()),
            Origin::Plain => self.free("cuMemFree", |address, driver| {
                // SAFETY: this value owned the allocation; the call waits for all work of the device.
                unsafe { driver.cuMemFree(address) }
            }),
            Origin::Pool(stream) => {
                let ordered = self.uses.last_stream(&stream);
                if let Err(error) = &ordered
                    && let Err(busy) = self.context.drain()
                    && busy.is_capture_error()
                {
                    let error = error.clone();
                    self.origin = Origin::Pool(stream);
                    return Err(error);
                }
                // Where waiting failed otherwise there is no work any more: the free below says what happened.
                let stream = ordered.unwrap_or(stream);
                self.free("cuMemFreeAsync", |address, driver| {
                    // SAFETY: this value owned the allocation; every noted use comes before this on the stream, and the device
                    // is idle where there may be others.
                    unsafe { driver.cuMemFreeAsync(address, stream.raw()) }
                })
            }
            Origin::Variable(module, name) => {
                // The next handle goes on from there. Unloading the module waits for its work.
                module.symbols().leave(&name, std::mem::take(&mut self.uses));
                Ok(())
            }
            Origin::Foreign(owner) => {
                let waited = self.uses.wait().and(idle);
                // Also where the wait failed: then the context is gone, and with it all work.
                drop(owner);
                waited
            }
        }
    }

    /// Whether giving it back waits for all work of the context: nobody noted what may use it.
    fn waits_for_all(&mut self) -> bool {
        *self.escaped.get_mut() && matches!(self.origin, Origin::Pool(_) | Origin::Foreign(_))
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
        // Also where it cannot be bound: it may be current all the same, and an error is told below.
        let _ = self.context.bind();
        let code = despite_captures(&self.context, || free(self.address, self.context.driver()));
        self.context.check(code, call, || format!("{:#x}", self.address))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let waits = self.waits_for_all();
        if self.is_owned() && must_not_end(&self.context, waits) {
            let (origin, uses) =
                (std::mem::replace(&mut self.origin, Origin::Empty), std::mem::take(&mut self.uses));
            let (address, context, escaped) =
                (self.address, self.context.clone(), std::mem::take(&mut self.escaped));
            let rest = Self { address, context, uses, escaped, origin };
            return end_later(&self.context, waits, move || drop(rest));
        }
        // Nobody can be told here; `close` tells. Memory that stays is better than memory that is used after its end.
        let _ = self.release();
        self.disown();
    }
}

impl Resource for Home {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home")
            .field("address", &self.address)
            .field("uses", &self.uses)
            .finish_non_exhaustive()
    }
}
