//! Steps whose order is made by events alone: functions of the host that are not to run before others.

#![deny(unsafe_code)]

use crate::program::Program;
use cuda_launch::event::{AnyEvent, EventFlags, EventRecordFlags, EventWaitFlags, TimingEvent};
use cuda_launch::stream::HostTaskSyncMode;
use cuda_launch::{CudaEvent, CudaStream, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A call that not every driver has; whether it was made.
fn made(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Err(error) if error.is_unsupported() => Ok(false),
        result => result.map(|()| true),
    }
}

impl Program {
    /// Two functions of the host: one that takes its time, and one that comes after it. If it has run before, the program says so at its end.
    pub(crate) fn told_late(
        &mut self,
    ) -> (impl FnOnce() + Send + 'static, impl FnOnce() + Clone + Send + 'static) {
        let time = Duration::from_micros(self.random.pace().busy);
        let (done, early) = (Arc::new(AtomicBool::new(false)), self.early.clone());
        let does = done.clone();
        let first = move || {
            thread::sleep(time);
            does.store(true, Ordering::SeqCst);
        };
        let second = move || {
            if !done.load(Ordering::SeqCst) {
                early.store(true, Ordering::SeqCst);
            }
        };
        (first, second)
    }

    fn function(
        &mut self,
        stream: &CudaStream,
        function: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        if self.random.one_in(2) && self.ctx.driver().has("cuLaunchHostFunc_v2") {
            return stream.call_host_with(HostTaskSyncMode::Spin, function);
        }
        stream.call_host(function)
    }

    fn record_event(&mut self, event: &AnyEvent, stream: &CudaStream) -> Result<(), Error> {
        match self.random.below(4) {
            0 if made(event.record_context())? => Ok(()),
            1 => event.record_with(stream, EventRecordFlags::empty()),
            _ => event.record(stream),
        }
    }

    fn wait_for(&mut self, event: &AnyEvent, stream: &CudaStream) -> Result<(), Error> {
        match self.random.below(6) {
            0 if made(self.ctx.wait(event))? => Ok(()),
            1 => stream.wait_with(event, EventWaitFlags::empty()),
            2 => event.synchronize(),
            3 => {
                while !event.query()? {
                    thread::yield_now();
                }
                Ok(())
            }
            _ => stream.wait(event),
        }
    }

    /// A stream comes after another one, which is busy, by an event of one of several kinds, a join or a fork. The event may be gone by
    /// then, or be recorded once more.
    pub(crate) fn order_streams(&mut self) -> Result<(), Error> {
        let (first, mut second, other) = (self.stream(), self.stream(), self.stream());
        let ((does, looks), again) = (self.told_late(), self.random.one_in(2));
        self.function(&first, does)?;
        match self.random.below(5) {
            0 => {
                let start = TimingEvent::new(&self.ctx, EventFlags::empty())?;
                let end = self.ctx.new_timing_event()?;
                start.record(&first)?;
                end.record(&first)?;
                self.wait_for(&end, &second)?;
                end.synchronize()?;
                assert!(start.elapsed_ms(&end)? >= 0.0, "an event is before the one before it");
            }
            1 => second.join(&first)?,
            2 => second = first.fork()?,
            _ => {
                let event = CudaEvent::new(&self.ctx, EventFlags::empty())?;
                self.record_event(&event, &first)?;
                self.wait_for(&event, &second)?;
                if again {
                    // Whoever waits waits for the record before.
                    event.record(&other)?;
                }
                event.close()?;
            }
        }
        self.function(&second, looks)
    }
}
