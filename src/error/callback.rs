//! Errors of host functions in streams.

use std::cell::Cell;
use std::fmt;
use thiserror::Error;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a callback of the driver.
#[inline]
pub(crate) fn in_callback() -> bool {
    INSIDE.get()
}

/// From now on it is, or is not; what it was before.
pub(crate) fn set_in_callback(inside: bool) -> bool {
    INSIDE.replace(inside)
}

/// A call made inside a host function of a stream or graph, or inside a listener of the driver's log, where CUDA cannot
/// be used; or one that submits work to a stream, made by a `tracing` subscriber in the middle of another such call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{call}: this thread is inside a callback, where waiting could deadlock: a host function, a listener of the driver's log, a \
     `tracing` subscriber, or the closure of `submit_with`\n  help: let the callback only signal (a channel, an atomic), and make the \
     call on another thread"
)]
#[non_exhaustive]
pub struct InHostCallback {
    /// The driver function that would have been called.
    pub call: &'static str,
}

/// Host functions of a stream that panicked since the stream was last waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostPanic {
    /// The message of each panic, in order; never empty.
    pub messages: Vec<String>,
}

impl fmt::Display for HostPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.messages.as_slice() {
            [] => f.write_str("a host function of the stream panicked")?,
            [message] => write!(f, "a host function of the stream panicked: {message}")?,
            [first, ..] => {
                let count = self.messages.len();
                write!(f, "{count} host functions of the stream panicked, the first one: {first}")?;
            }
        }
        f.write_str("\n  help: the stream continued, and its other work was done; fix the panic")
    }
}

impl std::error::Error for HostPanic {}
