//! Fences.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, Step};

/// `membar`, `fence`: a fence of the host, for the other workers.
pub(crate) const FENCE: Exec = |_, _| {
    fence(SeqCst);
    Step::Next
};
