//! What all chores return.

/// What went wrong, in words for the person at the terminal.
pub(crate) type Failure = Box<dyn std::error::Error>;

pub(crate) type Result<T> = std::result::Result<T, Failure>;
