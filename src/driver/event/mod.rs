//! Events: markers in streams. What all kinds of events can do, and the plain kind.

#![allow(unsafe_code)] // Calls of the driver with live handles: an event is destroyed only by its one owner.

mod captured;
mod everything;
#[cfg(feature = "interop")]
mod ipc;
#[cfg(feature = "async")]
mod mark;
mod timing;

use cuda_driver_sys::{CUevent, CUresult, Driver};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::context::CudaContext;
use super::host_call;
use super::park::Keep;
use super::stream::CudaStream;
use crate::error::{Error, ErrorKind, RefusedInCapture};
use crate::flags::flags;
use captured::CapturedBy;
pub(crate) use captured::Recording;
pub(in crate::driver) use captured::Steady;
#[cfg(feature = "interop")]
pub use ipc::{IpcEvent, IpcEventHandle};
#[cfg(feature = "async")]
pub(super) use mark::EventPool;
#[cfg(feature = "async")]
pub(crate) use mark::StreamMark;
pub use timing::TimingEvent;

flags! {
    /// How an event is created (`CUevent_flags`). Whether it records time and whether other processes may open it
    /// depends on its type: [`CudaEvent`], [`TimingEvent`], [`IpcEvent`].
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct EventFlags: u32 {
        /// A thread that waits for the event sleeps instead of spinning.
        const BLOCKING_SYNC = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
const INTERPROCESS: u32 = 4;

flags! {
    /// How an event is recorded (`CUevent_record_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct EventRecordFlags: u32 {
        /// In a capture: the record becomes a node of the graph, done each time that the graph runs.
        const EXTERNAL = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

flags! {
    /// How a stream waits for an event (`CUevent_wait_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct EventWaitFlags: u32 {
        /// In a capture: the wait becomes a node of the graph, for an event that is recorded outside of it.
        const EXTERNAL = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// What every kind of event can do: [`CudaEvent`], [`TimingEvent`] and `IpcEvent` dereference to this.
///
/// ```
/// use cuda_launch::event::AnyEvent;
/// use cuda_launch::CudaContext;
/// fn is_past(event: &AnyEvent) -> Result<bool, cuda_launch::Error> {
///     event.query()
/// }
/// let ctx = CudaContext::new(0)?;
/// let (plain, timing) = (ctx.new_event()?, ctx.new_timing_event()?);
/// assert!(is_past(&plain)? && is_past(&timing)?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "CUevent")]
pub struct AnyEvent {
    /// Lives as long as this value, which owns the event, itself or through `shared`; or the caller of `from_raw` promised it, by duty 2
    /// there.
    raw: CUevent,
    context: CudaContext,
    /// Whether this value destroys it.
    owned: AtomicBool,
    /// Its handle, if graphs share it: the last owner destroys it.
    shared: OnceLock<Arc<AnyEvent>>,
    /// Whether this crate recorded it. Needed because the driver returns the same code for every problem with two
    /// events.
    recorded: AtomicBool,
    /// The capture that it was last recorded in.
    captured_by: CapturedBy,
}

// SAFETY: a CUevent may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). The rest is Send and Sync.
unsafe impl Send for AnyEvent {}
// SAFETY: as above; what is changed through a shared reference is atomic, or a `OnceLock`.
unsafe impl Sync for AnyEvent {}

/// A marker in a stream that others can wait for. It does not record time, which makes it cheap: see [`TimingEvent`].
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let (first, second) = (ctx.new_stream()?, ctx.new_stream()?);
/// let event = ctx.new_event()?;
/// event.record(&first)?;
/// second.wait(&event)?; // later work on `second` runs after earlier work on `first`
/// event.synchronize()?;
/// assert!(event.query()?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUevent")]
pub struct CudaEvent(AnyEvent);

impl CudaContext {
    /// An event that does not record time.
    ///
    /// Driver call: `cuEventCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = ctx.new_event()?;
    /// event.record(&stream)?;
    /// event.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn new_event(&self) -> Result<CudaEvent, Error> {
        CudaEvent::new(self, EventFlags::empty())
    }

    /// An event that records time.
    ///
    /// Driver call: `cuEventCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let (start, end) = (ctx.new_timing_event()?, ctx.new_timing_event()?);
    /// start.record(&stream)?;
    /// end.record(&stream)?;
    /// end.synchronize()?;
    /// println!("{} ms", start.elapsed_ms(&end)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn new_timing_event(&self) -> Result<TimingEvent, Error> {
        TimingEvent::new(self, EventFlags::empty())
    }
}

impl CudaEvent {
    /// Creates an event that counts as done until it is recorded.
    ///
    /// Driver call: `cuEventCreate`, with `CU_EVENT_DISABLE_TIMING`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaEvent};
    /// use cuda_launch::event::EventFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = CudaEvent::new(&ctx, EventFlags::BLOCKING_SYNC)?;
    /// event.record(&stream)?;
    /// event.synchronize()?; // sleeps instead of spinning
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuEventCreate")]
    pub fn new(context: &CudaContext, flags: EventFlags) -> Result<Self, Error> {
        AnyEvent::create(context, flags.bits() & !INTERPROCESS | DISABLE_TIMING).map(Self)
    }

    /// Borrows an event that other code created and will destroy. No driver call.
    ///
    /// # Safety
    /// 1. `raw` is a live event of `context`'s context, created with `CU_EVENT_DISABLE_TIMING` and without
    ///    `CU_EVENT_INTERPROCESS`.
    /// 2. It outlives the result, and graphs that record it or wait for it.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUevent) -> Self {
        // SAFETY: 1: the caller's duty 1; 2: it is not owned, and outlives all by the caller's duty 2.
        Self(unsafe { AnyEvent::wrap(context, raw, false) })
    }

    /// Takes ownership of an event that other code created: it is destroyed with the result. No driver call.
    ///
    /// # Safety
    /// 1. As duty 1 of [`CudaEvent::from_raw`].
    /// 2. Nothing else destroys it.
    pub unsafe fn from_raw_owned(context: &CudaContext, raw: CUevent) -> Self {
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        Self(unsafe { AnyEvent::wrap(context, raw, true) })
    }

    /// Releases ownership of the event: the caller destroys it, by `cuEventDestroy` or [`CudaEvent::from_raw_owned`];
    /// not before graphs whose launches record it as a launch attribute. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaEvent};
    /// # let ctx = CudaContext::new(0)?;
    /// let raw = ctx.new_event()?.into_raw();
    /// // SAFETY: 1: `new_event` made it in `ctx`, without timing; 2: `into_raw` has just given it up.
    /// let event = unsafe { CudaEvent::from_raw_owned(&ctx, raw) };
    /// assert!(event.query()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn into_raw(self) -> CUevent {
        self.0.release()
    }

    /// Destroys the event now and returns any error.
    ///
    /// Driver call: `cuEventDestroy`, unless the event is borrowed, or a graph records it as a launch attribute, which then destroys
    /// it. It does not wait: work that waits for the event still does.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// ctx.new_event()?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the event is released in any case.
    #[doc(alias = "cuEventDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.0.destroy()
    }
}

impl Deref for CudaEvent {
    type Target = AnyEvent;

    fn deref(&self) -> &AnyEvent {
        &self.0
    }
}

impl AnyEvent {
    fn create(context: &CudaContext, flags: u32) -> Result<Self, Error> {
        context.make(
            "cuEventCreate",
            || format!("flags {flags:#x}"),
            // SAFETY: `make` made the context current; the driver checks the flags; the output outlives the call.
            |driver, raw| unsafe { driver.cuEventCreate(raw, flags) },
            // SAFETY: 1: the event was just made, in this context; 2: its number is in this function alone.
            |raw| unsafe { Self::wrap(context, raw, true) },
        )
    }

    /// A value for `raw`, which destroys it if it is `owned`.
    ///
    /// # Safety
    /// 1. `raw` is a live event of `context`'s context.
    /// 2. If it is `owned`, nothing else destroys it. Otherwise it outlives the result, and graphs that have a share in that.
    unsafe fn wrap(context: &CudaContext, raw: CUevent, owned: bool) -> Self {
        Self {
            raw,
            context: context.clone(),
            owned: AtomicBool::new(owned),
            shared: OnceLock::new(),
            recorded: AtomicBool::new(false),
            captured_by: CapturedBy::default(),
        }
    }

    /// Records the event after all work submitted to `stream` so far; an earlier record is forgotten.
    ///
    /// Driver call: `cuEventRecord`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = ctx.new_event()?;
    /// event.record(&stream)?; // marks the work submitted to `stream` so far
    /// event.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The event and the stream belong to different contexts, or any error returned by the driver.
    #[doc(alias = "cuEventRecord")]
    pub fn record(&self, stream: &CudaStream) -> Result<(), Error> {
        if stream.capture().is_some() {
            return self.record_in_capture(stream);
        }
        self.record_in_turn(stream)
    }

    #[cold]
    fn record_in_capture(&self, stream: &CudaStream) -> Result<(), Error> {
        let _turn = stream.turn("cuEventRecord")?;
        self.record_in_turn(stream)
    }

    /// The same, if the caller has the turn already.
    pub(in crate::driver) fn record_in_turn(&self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(&self.context, "the event")?;
        stream.may_record("cuEventRecord", EventRecordFlags::empty())?;
        let recording = self.recording(stream, "cuEventRecord")?;
        // SAFETY: event and stream live as long as their handles (`AnyEvent::raw`, `StreamInner`), and were compared to be of one
        // context.
        stream.call("cuEventRecord", String::new, |driver| unsafe {
            driver.cuEventRecord(self.raw, stream.raw())
        })?;
        recording.done();
        Ok(())
    }

    /// Like [`record`](Self::record), with flags.
    ///
    /// Driver call: `cuEventRecordWithFlags`.
    ///
    /// # Errors
    /// As for [`record`](Self::record); `CUDA_ERROR_ILLEGAL_STATE` for [`EventRecordFlags::EXTERNAL`] outside of a
    /// capture.
    #[doc(alias = "cuEventRecordWithFlags")]
    pub fn record_with(&self, stream: &CudaStream, flags: EventRecordFlags) -> Result<(), Error> {
        let _turn = stream.turn("cuEventRecordWithFlags")?;
        stream.same_context(&self.context, "the event")?;
        stream.may_record("cuEventRecordWithFlags", flags)?;
        let recording = self.recording(stream, "cuEventRecordWithFlags")?;
        let asked = || format!("flags {flags:?}");
        // SAFETY: event and stream live as long as their handles (`AnyEvent::raw`, `StreamInner`), and were compared to be of one
        // context; the driver checks the flags.
        stream.call("cuEventRecordWithFlags", asked, |driver| unsafe {
            driver.cuEventRecordWithFlags(self.raw, stream.raw(), flags.bits())
        })?;
        recording.done();
        Ok(())
    }

    /// An error where the event marks work that is recorded, not run. It does so as long as the result lives.
    fn marks_work(&self, call: &'static str) -> Result<Steady<'_>, Error> {
        let steady = self.captured_by(call)?;
        if steady.capture() == 0 {
            return Ok(steady);
        }
        let help =
            "it was last recorded in a capture, where work does not run: record it on a stream outside";
        Err(ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into())
    }

    /// Waits until the work before the event is done.
    ///
    /// Driver call: `cuEventSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = ctx.new_event()?;
    /// event.record(&stream)?;
    /// event.synchronize()?;
    /// assert!(event.query()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky.
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<(), Error> {
        drop(self.marks_work("cuEventSynchronize")?);
        // SAFETY: the event lives as long as this value (`AnyEvent::raw`).
        let wait = |driver: &Driver| unsafe { driver.cuEventSynchronize(self.raw) };
        self.context.call_by_handle("cuEventSynchronize", String::new, wait)
    }

    /// Whether the work before the event is done; true for an event that was never recorded.
    ///
    /// Driver call: `cuEventQuery`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = ctx.new_event()?;
    /// event.record(&stream)?;
    /// while !event.query()? {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky.
    #[doc(alias = "cuEventQuery")]
    pub fn query(&self) -> Result<bool, Error> {
        drop(self.marks_work("cuEventQuery")?);
        // SAFETY: the event lives as long as this value (`AnyEvent::raw`).
        let ask = |driver: &Driver| unsafe { driver.cuEventQuery(self.raw) };
        match self.context.ask_by_handle("cuEventQuery", ask)? {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => self.context.check(code, "cuEventQuery", String::new).map(|()| true),
        }
    }

    /// The context. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(ctx.new_event()?.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// The raw event, valid as long as this value lives. No driver call.
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// A share in the event, for a graph whose launches record it: the event is destroyed with the last share.
    pub(crate) fn share(&self) -> Keep {
        let owned = self.owned.load(Ordering::Relaxed);
        let share = || {
            // SAFETY: 1: the event is live (`AnyEvent::raw`) and belongs to this context; 2: if it is owned, this value leaves
            // destroying it to the share, which `destroy` and `Drop` take first. If it is not, the caller of `from_raw` promised that
            // it outlives graphs.
            Arc::new(unsafe { Self::wrap(&self.context, self.raw, owned) })
        };
        self.shared.get_or_init(share).clone()
    }

    fn release(self) -> CUevent {
        self.disown();
        self.raw
    }

    /// Neither this value nor a share destroys it.
    fn disown(&self) {
        self.owned.store(false, Ordering::Relaxed);
        if let Some(shared) = self.shared.get() {
            shared.disown();
        }
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if let Some(shared) = self.shared.take() {
            *self.owned.get_mut() = false;
            return Arc::into_inner(shared).map_or(Ok(()), |mut last| last.destroy());
        }
        if !*self.owned.get_mut() {
            return Ok(());
        }
        // Still owned: the drop that follows passes it on.
        host_call::refuse("cuEventDestroy")?;
        *self.owned.get_mut() = false;
        // SAFETY: this value owned the event, no share of it is left, and it is not used again; the driver defers the destruction until
        // work that uses the event is done.
        let destroy = |driver: &Driver| unsafe { driver.cuEventDestroy(self.raw) };
        self.context.give_back_by_handle("cuEventDestroy", destroy)
    }
}

impl Drop for AnyEvent {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            // Dropping the last share destroys the event.
            *self.owned.get_mut() = false;
            return drop(shared);
        }
        if *self.owned.get_mut() && host_call::is_running() {
            *self.owned.get_mut() = false;
            // SAFETY: 1: this value owned the event, which is live and belongs to this context; 2: it no longer does, as `owned` now
            // says.
            let rest = unsafe { Self::wrap(&self.context, self.raw, true) };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}
