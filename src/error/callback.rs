//! Errors of host functions in streams.

use std::fmt;

/// A call that was made in a host function of a stream or graph, or in a listener of the driver's log, where CUDA cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InHostCallback {
    /// The driver function that was to be called.
    pub call: &'static str,
}

impl fmt::Display for InHostCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call } = self;
        write!(
            f,
            "{call}: this thread runs a function that the driver has called (a host function of a stream or graph, a listener of its log), \
             in which CUDA cannot be used: what waits there may wait for the function itself\n  help: let the function only signal (a channel, an atomic), and make the call on a thread of your own"
        )
    }
}

impl std::error::Error for InHostCallback {}

/// Host functions of a stream panicked since it was last waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPanic {
    /// What each said, in the order of the panics; never empty.
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
        f.write_str("\n  help: the stream went on; its other work is done")
    }
}

impl std::error::Error for HostPanic {}
