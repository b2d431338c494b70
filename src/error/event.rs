//! Errors of events.

use std::fmt;

/// Two events between which no time can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventError {
    /// The event was never recorded.
    NotRecorded {
        /// Which of the two: `start` or `end`.
        event: &'static str,
    },
    /// The work before the event is not done yet.
    NotReady {
        /// Which of the two: `start` or `end`.
        event: &'static str,
    },
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRecorded { event } => write!(
                f,
                "cuEventElapsedTime: the {event} event was never recorded\n  help: call `record(&stream)` on it, and wait for the end event"
            ),
            Self::NotReady { event } => write!(
                f,
                "cuEventElapsedTime: the {event} event is not done yet\n  help: call `synchronize` on it first"
            ),
        }
    }
}

impl std::error::Error for EventError {}
