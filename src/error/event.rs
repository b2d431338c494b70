//! Errors of events.

use thiserror::Error;

/// Two events between which no time can be measured.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventError {
    /// The event was never recorded.
    #[error(
        "cuEventElapsedTime: the {event} event was never recorded\n  help: call `record(&stream)` on it, and wait for the end event"
    )]
    NotRecorded {
        /// Which of the two: `start` or `end`.
        event: &'static str,
    },
    /// The work before the event is not done yet.
    #[error("cuEventElapsedTime: the {event} event is not done yet\n  help: call `synchronize` on it first")]
    NotReady {
        /// Which of the two: `start` or `end`.
        event: &'static str,
    },
}
