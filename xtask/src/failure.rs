//! What all chores return.

/// An error, described for the person at the terminal.
pub(crate) type Failure = Box<dyn std::error::Error>;

pub(crate) type Result<T> = std::result::Result<T, Failure>;
