//! Which contexts have streams that capture, on whatever thread: waiting for all of such a context breaks its captures, in
//! every mode, and answers an error. Who only wants to be rid of an object puts that off.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::capturing::{after_captures, is_capturing};
use super::context::CudaContext;
use super::host_call;
use crate::error::{Error, ErrorKind, NotInCapture};

type Later = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Open {
    /// The identity of a context, once for each capture of it.
    contexts: Vec<usize>,
    /// What is to be done when the context of that identity is no longer captured.
    later: Vec<(usize, Later)>,
}

static OPEN: Mutex<Open> = Mutex::new(Open { contexts: Vec::new(), later: Vec::new() });

/// A capture of this crate that may be going on; it is over when this is dropped.
pub(super) struct OpenCapture {
    // Held, so that no other context gets its identity.
    context: CudaContext,
}

impl OpenCapture {
    /// Call it before the driver begins to capture.
    pub(super) fn new(context: &CudaContext) -> Self {
        open().contexts.push(context.identity());
        Self { context: context.clone() }
    }
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        let context = self.context.identity();
        let due: Vec<_> = {
            let mut open = open();
            if let Some(index) = open.contexts.iter().position(|other| *other == context) {
                open.contexts.swap_remove(index);
            }
            if open.contexts.contains(&context) {
                return;
            }
            open.later.extract_if(.., |(of, _)| *of == context).collect()
        };
        // Outside the lock: it may drop anything.
        due.into_iter().for_each(|(_, end)| end());
    }
}

/// Whether a stream of `context` captures, as far as this crate knows.
fn is_captured(context: &CudaContext) -> bool {
    open().contexts.contains(&context.identity())
}

/// An error where a stream of `context` captures, on whatever thread: `call` waits for all of it, which would break the capture.
pub(crate) fn forbid_anywhere(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    if !is_captured(context) {
        return Ok(());
    }
    let help = "a stream of the context is being captured, perhaps by another thread: wait for single streams, or do it after \
                the capture";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// Whether an object must not end now: in a host function, while this thread captures, or, where its end `waits` for all of
/// the context, while any thread does.
pub(crate) fn must_not_end(context: &CudaContext, waits: bool) -> bool {
    host_call::is_running() || is_capturing() || (waits && is_captured(context))
}

/// Does what ends an object's life as soon as it may be done; `waits` as for [`must_not_end`].
pub(crate) fn end_later(context: &CudaContext, waits: bool, end: impl FnOnce() + Send + 'static) {
    if host_call::is_running() {
        return host_call::outside(end);
    }
    if is_capturing() {
        return after_captures(end);
    }
    if waits {
        let mut open = open();
        // Else the capture has ended since the caller looked.
        if open.contexts.contains(&context.identity()) {
            return open.later.push((context.identity(), Box::new(end)));
        }
    }
    end();
}

fn open() -> MutexGuard<'static, Open> {
    // Nothing panics while it is locked, and every state of the lists is whole.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
