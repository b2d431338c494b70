//! A driver call in a context: makes the context current and checks the result.

#![allow(unsafe_code)] // Calls of the driver with live handles: `ContextInner` keeps the context until it drops.

use cuda_driver_sys::{CUresult, Driver, process};
use std::sync::Arc;

use super::{ContextInner, CudaContext};
use crate::driver::capture::open::{Relaxed, despite_captures, is_any_open, outside_captures};
use crate::driver::host_call;
use crate::driver::stream::StreamInner;
use crate::error::{DriverError, Error, ErrorKind, ForkError, log};
use crate::trace;

impl CudaContext {
    /// Makes the context current on this thread if it is not already.
    ///
    /// Calls of this crate do so themselves; call it before your own raw driver calls.
    ///
    /// Driver calls: `cuCtxGetCurrent`, and `cuCtxSetCurrent` only if another context was current.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// ctx.bind()?; // for calls that do not go through this crate
    /// let mut current = std::ptr::null_mut();
    /// // SAFETY: `current` is a local, which outlives the call; no context is asked for.
    /// unsafe { ctx.driver().cuCtxGetCurrent(&mut current) };
    /// assert_eq!(current, ctx.raw());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[inline]
    pub fn bind(&self) -> Result<(), Error> {
        self.inner.bind()
    }

    /// Like [`bind`](Self::bind), for the driver function `call`, which an error may name.
    #[inline]
    pub(crate) fn enter(&self, call: &'static str) -> Result<(), Error> {
        if self.inner.fault.is_known() {
            return self.enter_slowly(call, None);
        }
        let (code, is_current) = self.inner.current();
        if is_current { Ok(()) } else { self.enter_slowly(call, Some(code)) }
    }

    /// What is not in every function that calls the driver: another context is current, or the answer is an error.
    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, call: &'static str, code: Option<CUresult>) -> Result<(), Error> {
        let bound = match code {
            Some(code) => self.inner.bind_slow(code),
            None => self.inner.fault.check(),
        };
        bound.or_else(|error| host_call::refuse(call).and(Err(error)))
    }

    /// Makes the context current, calls the driver and checks its answer: what every call on an object of this context
    /// goes through, launches excepted. `asked` is only evaluated for an error.
    #[inline]
    pub(crate) fn call(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.enter(name)?;
        self.traced(name, asked, |driver| match self.still_current() {
            CUresult::SUCCESS => call(driver),
            code => code,
        })
    }

    /// Like [`call`](Self::call), for what makes something: `call` is given the place for its handle, and `own` makes an owner of the
    /// handle where the driver has answered with success, before anything else happens. A `tracing` subscriber may unwind at the end of the
    /// span: the owner then releases what was created.
    #[inline]
    pub(crate) fn make<H: Default, T>(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver, &mut H) -> CUresult,
        own: impl FnOnce(H) -> T,
    ) -> Result<T, Error> {
        self.enter(name)?;
        self.traced_making(name, asked, |driver| {
            let (mut handle, mut code) = (H::default(), self.still_current());
            if code == CUresult::SUCCESS {
                code = call(driver, &mut handle);
            }
            if code == CUresult::SUCCESS { Ok(own(handle)) } else { Err(code) }
        })
    }

    /// Like [`call`](Self::call), for calls that release something: made even if the context cannot be made current,
    /// because it may still be current, which is not queried again. After a fork nothing is released: some drivers
    /// crash there.
    ///
    /// Never unwinds, whatever a `tracing` subscriber does; the same is true of the other functions that release
    /// something.
    pub(crate) fn give_back(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.enter_to_release(name)?;
        // The code that drops something does not know about captures in progress, so the call must not invalidate a
        // capture of other code either.
        let call = |driver: &Driver| {
            // Called also where the context cannot be made current, as above.
            let _ = self.still_current();
            outside_captures(self, || call(driver))
        };
        trace::contained(|| self.traced(name, asked, call))
    }

    /// The same without a span.
    pub(crate) fn give_back_untraced(
        &self,
        name: &'static str,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.enter_to_release(name)?;
        let code = outside_captures(self, || call(&self.inner.driver));
        self.check(code, name, String::new)
    }

    /// Like [`call`](Self::call), for a call whose stream, event or address argument identifies the context, so that it does the same
    /// regardless of the current context. Only if the driver's result says otherwise is the context made current and the call repeated:
    /// a call that was refused has done nothing.
    ///
    /// The other checks of [`enter`](Self::enter) are made here: for a fault, a host function, a fork.
    #[inline]
    pub(in crate::driver) fn call_by_handle(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnMut(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.call_on(true, name, asked, call)
    }

    /// The same if `by_handle` is set, and else like [`call`](Self::call). In one function, so that a call exists once in a program.
    #[inline]
    pub(in crate::driver) fn call_on(
        &self,
        by_handle: bool,
        name: &'static str,
        asked: impl FnOnce() -> String,
        mut call: impl FnMut(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.may_call_on(by_handle, name)?;
        self.traced(name, asked, |driver| self.twice_on(by_handle, name, || call(driver)))
    }

    /// The same for what makes something, as [`make`](Self::make) does.
    #[inline]
    pub(in crate::driver) fn make_on<H: Default, T>(
        &self,
        by_handle: bool,
        name: &'static str,
        asked: impl FnOnce() -> String,
        mut call: impl FnMut(&Driver, &mut H) -> CUresult,
        own: impl FnOnce(H) -> T,
    ) -> Result<T, Error> {
        self.may_call_on(by_handle, name)?;
        self.traced_making(name, asked, |driver| {
            let mut handle = H::default();
            let code = self.twice_on(by_handle, name, || call(driver, &mut handle));
            if code == CUresult::SUCCESS { Ok(own(handle)) } else { Err(code) }
        })
    }

    /// The same for calls that release something. The call is repeated only if no context was current and the driver may have required
    /// one: after any other result it is unknown what is left of the object. The calls for which this is used, `cuStreamDestroy` and
    /// `cuEventDestroy`, invalidate no capture of this crate or of other code, as `emulator/tests/driver_truth/captures.rs` found on a
    /// driver.
    pub(in crate::driver) fn give_back_by_handle(
        &self,
        name: &'static str,
        call: impl Fn(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        if self.is_special() {
            self.enter_to_release(name)?;
        }
        let call = |driver: &Driver| match call(driver) {
            CUresult::CUDA_ERROR_INVALID_CONTEXT if self.becomes_current(name) => call(driver),
            code => code,
        };
        trace::contained(|| self.traced(name, String::new, call))
    }

    /// The same for what captures of other code would mind: `cuMemFreeAsync`.
    pub(in crate::driver) fn free_by_handle(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl Fn(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        if self.is_special() {
            self.enter_to_release(name)?;
        }
        let call = |driver: &Driver| {
            outside_captures(self, || match call(driver) {
                CUresult::CUDA_ERROR_INVALID_CONTEXT if self.becomes_current(name) => call(driver),
                code => code,
            })
        };
        trace::contained(|| self.traced(name, asked, call))
    }

    /// The same where nobody is told of the call and nobody needs its error: not after a fault, in a host function, in a child, while this
    /// crate captures, or where a `tracing` subscriber listens. Then it returns `false`, having done nothing.
    #[inline]
    pub(in crate::driver) fn free_at_once(
        &self,
        name: &'static str,
        call: impl Fn(&Driver) -> CUresult,
    ) -> bool {
        if self.is_special() || trace::is_heard() || is_any_open() {
            return false;
        }
        let code = outside_captures(self, || match call(&self.inner.driver) {
            CUresult::CUDA_ERROR_INVALID_CONTEXT if self.becomes_current(name) => call(&self.inner.driver),
            code => code,
        });
        if code != CUresult::SUCCESS {
            drop(self.failed(code, name, String::new()));
        }
        true
    }

    /// The code that such a call answers; for questions, whose answer is no error.
    #[inline]
    pub(in crate::driver) fn ask_by_handle(
        &self,
        name: &'static str,
        call: impl Fn(&Driver) -> CUresult,
    ) -> Result<CUresult, Error> {
        self.may_call(name)?;
        Ok(despite_captures(self, || self.twice(name, || call(&self.inner.driver))))
    }

    /// An error where no call can be made. No driver call where one can.
    #[inline]
    pub(crate) fn may_call(&self, name: &'static str) -> Result<(), Error> {
        if self.is_special() { self.enter(name) } else { Ok(()) }
    }

    /// The same, with the context current unless the call is made `by_handle`.
    #[inline]
    fn may_call_on(&self, by_handle: bool, name: &'static str) -> Result<(), Error> {
        if !by_handle || self.is_special() { self.enter(name) } else { Ok(()) }
    }

    /// Whether there is more to a call than the call: after a fault, in a host function, in a child.
    #[inline]
    fn is_special(&self) -> bool {
        self.inner.fault.is_known() || host_call::is_running() || process::id() != self.inner.process
    }

    /// The answer of `call`; where that is about what is current, of a second one with this context.
    #[inline]
    pub(crate) fn twice(&self, name: &'static str, mut call: impl FnMut() -> CUresult) -> CUresult {
        match call() {
            CUresult::CUDA_ERROR_INVALID_CONTEXT | CUresult::CUDA_ERROR_INVALID_HANDLE
                if self.becomes_current(name) =>
            {
                call()
            }
            code => code,
        }
    }

    /// The same for a call that is made `by_handle`, or with the context current.
    #[inline]
    fn twice_on(&self, by_handle: bool, name: &'static str, mut call: impl FnMut() -> CUresult) -> CUresult {
        self.twice(name, || {
            let current = if by_handle { CUresult::SUCCESS } else { self.still_current() };
            if current == CUresult::SUCCESS { call() } else { current }
        })
    }

    /// Makes the context current, if it was not.
    #[cold]
    fn becomes_current(&self, name: &'static str) -> bool {
        let (_, was_current) = self.inner.current();
        !was_current && self.enter(name).is_ok()
    }

    /// Fails only where nothing can be released.
    fn enter_to_release(&self, name: &'static str) -> Result<(), Error> {
        match self.enter(name) {
            Err(error) if error.is_sticky() || error.is_forked() || host_call::is_running() => Err(error),
            _ => Ok(()),
        }
    }

    /// The call itself, and the check of its answer.
    #[inline]
    fn traced(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        let (span, asked) = trace::call(name, Some(self.ordinal()), asked);
        let code = span.inside(|| {
            let _relaxed = Relaxed::where_forbidden(self);
            call(&self.inner.driver)
        });
        if code == CUresult::SUCCESS { Ok(()) } else { Err(self.failed(code, name, asked())) }
    }

    /// The same for a call that makes something, and its owner with it.
    #[inline(always)]
    fn traced_making<T>(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> Result<T, CUresult>,
    ) -> Result<T, Error> {
        let (span, asked) = trace::call(name, Some(self.ordinal()), asked);
        let made = span.making(|| {
            let _relaxed = Relaxed::where_forbidden(self);
            call(&self.inner.driver)
        });
        match made {
            Ok(made) => Ok(made),
            Err(code) => Err(self.failed(code, name, asked())),
        }
    }

    /// Makes the context, which was current before the span began, current again, because a `tracing` subscriber may have made another one
    /// current. Returns the driver's result.
    #[inline]
    pub(crate) fn still_current(&self) -> CUresult {
        if trace::is_heard() { self.inner.make_current() } else { CUresult::SUCCESS }
    }

    /// Turns the driver's result code for a call on this context into a `Result`; remembers a fault.
    #[inline]
    pub(crate) fn check(
        &self,
        code: CUresult,
        call: &'static str,
        asked: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if code == CUresult::SUCCESS { Ok(()) } else { Err(self.failed(code, call, asked())) }
    }

    #[cold]
    pub(crate) fn failed(&self, code: CUresult, call: &'static str, asked: String) -> Error {
        self.inner.failed(code, call, asked)
    }

    /// An error if a kernel of this context faulted. No driver call.
    pub(crate) fn faulted(&self) -> Result<(), Error> {
        self.inner.fault.check()
    }
}

impl ContextInner {
    /// See [`CudaContext::bind`].
    #[inline]
    pub(super) fn bind(&self) -> Result<(), Error> {
        self.fault.check()?;
        let (code, is_current) = self.current();
        if is_current { Ok(()) } else { self.bind_slow(code) }
    }

    /// Whether it is current on this thread, and what the driver answered.
    #[inline]
    fn current(&self) -> (CUresult, bool) {
        let mut current = std::ptr::null_mut();
        // SAFETY: `current` is a local, which outlives the call; no context is asked for.
        let code = unsafe { self.driver.cuCtxGetCurrent(&mut current) };
        (code, code == CUresult::SUCCESS && current == self.raw)
    }

    /// Makes it current, in the middle of a call: the code of the driver.
    #[cold]
    fn make_current(&self) -> CUresult {
        match self.current() {
            (_, true) => CUresult::SUCCESS,
            // SAFETY: the context lives as long as this value (`ContextInner::raw`).
            _ => unsafe { self.driver.cuCtxSetCurrent(self.raw) },
        }
    }

    #[cold]
    fn bind_slow(&self, code: CUresult) -> Result<(), Error> {
        if code != CUresult::SUCCESS {
            return Err(self.failed(code, "cuCtxGetCurrent", self.label()));
        }
        // The driver would leave it current on a thread of its own.
        host_call::refuse("cuCtxSetCurrent")?;
        // SAFETY: the context lives as long as this value (`ContextInner::raw`).
        match unsafe { self.driver.cuCtxSetCurrent(self.raw) } {
            CUresult::SUCCESS => Ok(()),
            code => Err(self.failed(code, "cuCtxSetCurrent", self.label())),
        }
    }

    /// Waits once before a fault is remembered, because after that no wait is made, and objects that work may use are released. A fault
    /// reported by a wait means that the work has ended; a fault reported by any other call means only that some of it faulted, while a
    /// copy of borrowed memory may still be running.
    ///
    /// Not in a forked process, which has no work.
    #[cold]
    fn outlast_work(&self, call: &'static str) -> Vec<Arc<StreamInner>> {
        let waited = call.starts_with("cuCtxSynchronize");
        if waited || self.fault.is_known() || process::id() != self.process {
            return Vec::new();
        }
        let is_over = |code: CUresult| code == CUresult::SUCCESS || code.is_sticky();
        let (_, is_current) = self.current();
        // SAFETY: the context lives as long as this value (`ContextInner::raw`); it is taken off below.
        let is_pushed = !is_current && unsafe { self.driver.cuCtxPushCurrent(self.raw) } == CUresult::SUCCESS;
        // SAFETY: the context that is current is this one, as was just found or arranged.
        let all = (is_current || is_pushed).then(|| unsafe { self.driver.cuCtxSynchronize() });
        let mut streams = Vec::new();
        if !all.is_some_and(is_over) {
            // A capture may stand against it; most streams are in none.
            streams = self.fault.streams();
            for stream in &streams {
                // SAFETY: the stream lives as long as its handle (`StreamInner`); a default one is that of whatever
                // context is current, for which a wait does no harm.
                let _ = unsafe { self.driver.cuStreamSynchronize(stream.raw()) };
            }
        }
        if is_pushed {
            // SAFETY: the output outlives the call; what it takes off is the context that was pushed above.
            let _ = unsafe { self.driver.cuCtxPopCurrent(&mut std::ptr::null_mut()) };
        }
        streams
    }

    /// The error for a result code of the driver: a fault is remembered, and a fork is distinguished from a missing
    /// `cuInit`.
    fn failed(&self, code: CUresult, call: &'static str, asked: String) -> Error {
        let child = process::id();
        // A host function cannot wait: the fault is remembered when a call outside of it gets the same result.
        if code.is_sticky() && !host_call::is_running() {
            // Handles that are the last ones end when the fault is known.
            let held = self.outlast_work(call);
            let error = self.fault.raise(&self.driver, code, call);
            drop(held);
            host_call::reclaim(std::ptr::from_ref(self).addr());
            error
        } else if code == CUresult::CUDA_ERROR_NOT_INITIALIZED && child != self.process {
            ErrorKind::Forked(ForkError { call, parent: self.process, child }).into()
        } else {
            let said = log::of_call(&self.driver, call, code);
            DriverError::of(said, call, code, asked, Some(self.driver_version), None)
        }
    }
}
