//! The one owner of a piece of device memory: knows who used it last, and how it is given back.

#![allow(unsafe_code)] // Freeing memory that this value owns, after all work that is known to use it.

use crate::driver::{
    CudaContext, CudaModule, CudaStream, Keep, Resource, Uses, Waits, forbid_anywhere, try_again,
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
    Pool(CudaStream, Option<Keep>),
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

    /// Whether work on `stream` may use the memory without waiting for anything.
    #[inline(always)]
    pub(crate) fn is_ready(&self, stream: &CudaStream, written: bool) -> bool {
        if written { self.uses.may_write(stream) } else { self.uses.may_read(stream) }
    }

    /// Orders work on `stream` that is about to be submitted; `waits` are the streams it waits for already.
    #[inline]
    pub(crate) fn order(
        self: &Arc<Self>,
        stream: &CudaStream,
        waits: &mut Waits,
        written: bool,
    ) -> Result<(), Error> {
        if written { self.write_with(stream, waits) } else { self.read_with(stream, waits) }
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

    /// Gives the memory back after all work that uses it; once.
    ///
    /// Where it must not be now, or nobody can tell when the work is done, it stays: the end of this value tries again.
    pub(crate) fn release(&mut self) -> Result<(), Error> {
        if self.is_owned() {
            self.context.may_give_back("cuMemFree")?;
        }
        let last = self.last_use()?;
        match std::mem::replace(&mut self.origin, Origin::Empty) {
            Origin::Empty | Origin::Borrowed => Ok(()),
            Origin::Plain => self.free("cuMemFree", |address, driver| {
                // SAFETY: this value owned the allocation; the call waits for all work of the device.
                unsafe { driver.cuMemFree(address) }
            }),
            Origin::Pool(stream, _pool) => {
                let stream = last.unwrap_or(stream);
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
                // No work uses it any more: it ended, or a fault ended all.
                drop(owner);
                self.context.faulted()
            }
        }
    }

    /// The end of memory that somebody has lent, who takes it back whatever the driver says: nothing is put off.
    ///
    /// Waits for the streams that use it, and where one of them cannot be waited for, for the context, as often as a capture of
    /// another thread forbids that. Last, it is taken off the driver.
    pub(super) fn end_loan(&mut self) -> Result<(), Error> {
        let escaped = *self.escaped.get_mut();
        let waited = loop {
            match self.uses.end(&self.context, escaped) {
                // This thread's own capture would not end.
                Err(error)
                    if error.is_not_in_capture() && self.context.may_give_back("cuMemFree").is_ok() =>
                {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                waited => break waited,
            }
        };
        self.origin = Origin::Borrowed;
        waited.and(self.context.faulted())
    }

    /// Waits for the uses of foreign memory, or finds a stream that all uses of a pool's memory come before. If the driver
    /// refuses, the whole context is waited for.
    fn last_use(&mut self) -> Result<Option<CudaStream>, Error> {
        let escaped = *self.escaped.get_mut();
        match &self.origin {
            Origin::Pool(stream, _) => {
                let last = self.uses.last_stream(stream);
                if last.is_err() || escaped {
                    self.uses.end(&self.context, true)?;
                }
                Ok(last.ok())
            }
            Origin::Foreign(_) => self.uses.end(&self.context, escaped).map(|()| None),
            // The call itself waits for all.
            Origin::Plain => forbid_anywhere(&self.context, "cuMemFree").map(|()| None),
            _ => Ok(None),
        }
    }

    /// What is to be given back, as a value of its own; nothing is left here.
    fn take(&mut self) -> Self {
        let (origin, uses) =
            (std::mem::replace(&mut self.origin, Origin::Empty), std::mem::take(&mut self.uses));
        let (address, context, escaped) =
            (self.address, self.context.clone(), std::mem::take(&mut self.escaped));
        Self { address, context, uses, escaped, origin }
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
        self.context.give_back(call, || format!("{:#x}", self.address), |driver| free(self.address, driver))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        if self.release().is_err() && self.is_owned() {
            try_again(self.take());
        }
    }
}

impl Resource for Home {
    fn uses(&self) -> &Uses {
        &self.uses
    }

    fn escape(&self) {
        Self::escape(self);
    }
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("device", &self.context.ordinal()).finish_non_exhaustive()
    }
}
