//! Operations that borrow, several at a time: all of them are waited for at the end of a closure.

#![allow(unsafe_code)] // Runs operations that borrow, inside of what they borrow.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use super::context::Source;
use super::device_operation::DeviceOperation;
use super::run;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::trace;

/// Accepts operations in [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// The streams that were used.
    streams: RefCell<Vec<CudaStream>>,
    /// Makes both lifetimes invariant.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Calls `f` with a [`Scope`], and waits for all operations submitted to it, even if `f` panics.
///
/// Operations in it may borrow values that outlive the call, like threads in [`std::thread::scope`].
///
/// ```
/// use cuda_launch::operation::{self, DeviceOperation, copy_to_host};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let buffers = [DeviceBuffer::from_host(&stream, &[1, 2])?, DeviceBuffer::from_host(&stream, &[3])?];
/// let copies = operation::scope(|s| {
///     buffers.iter().map(|buffer| s.submit(copy_to_host(buffer))).collect::<Result<Vec<_>, _>>()
/// })??;
/// assert_eq!((copies[0].as_slice()?, copies[1].as_slice()?), (&[1, 2][..], &[3][..]));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Driver call: `cuStreamSynchronize` for each stream that was used.
///
/// # Errors
/// A fault of the work.
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> Result<R, Error> {
    let scope = Scope { streams: RefCell::default(), lifetimes: PhantomData };
    let end = End(&scope.streams);
    let result = f(&scope);
    end.wait().map(|()| result)
}

impl<'scope> Scope<'scope, '_> {
    /// Submits an operation to a stream of the default device and returns its output, on which the device may still be
    /// working.
    ///
    /// # Errors
    /// Any error from submitting the work.
    pub fn submit<Op: DeviceOperation + 'scope>(&'scope self, op: Op) -> Result<Op::Output, Error> {
        /// Records the stream even if the operation panics.
        struct Note<'s>(&'s RefCell<Vec<CudaStream>>, run::Submitted);
        impl Drop for Note<'_> {
            fn drop(&mut self) {
                let Note(streams, chain) = self;
                // The chain may get its stream only here.
                trace::contained(|| chain.0.join_forgotten());
                super::context::add(&mut streams.borrow_mut(), chain.0.used_stream());
            }
        }
        let note = Note(&self.streams, run::Submitted::new(Source::Default));
        // SAFETY: 1: what the operation borrows lives at least as long as `'scope`. The drop of `note` passes the chain's stream to `End`,
        // even if `execute` or the join of forgotten branches unwinds (then `Unjoined` has waited for the branches), and `End` waits for it
        // before `scope` returns or unwinds.
        let output = unsafe { op.execute(&note.1.0) };
        // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust
        // leaks that value.
        drop(note);
        output
    }
}

/// The end of a scope.
struct End<'s>(&'s RefCell<Vec<CudaStream>>);

impl End<'_> {
    /// Waits for all of them, even after an error.
    fn wait(&self) -> Result<(), Error> {
        let mut result = Ok(());
        // Each stays in the list until the wait for it, which may unwind, has returned.
        while let Some(stream) = self.first() {
            let waited = stream.finish();
            if waited.as_ref().is_err_and(|error| !error.is_sticky()) {
                stream.wait_untraced();
            }
            self.0.borrow_mut().remove(0);
            result = result.and(waited);
        }
        result
    }

    fn first(&self) -> Option<CudaStream> {
        self.0.borrow().first().cloned()
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        // Something is left only after a panic. Without spans, because a `tracing` subscriber may have caused the
        // panic.
        for stream in self.0.take() {
            stream.wait_untraced();
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("streams", &self.streams.borrow().len()).finish()
    }
}
