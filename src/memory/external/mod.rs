//! Memory and semaphores of other APIs.

pub(crate) mod memory;
pub(crate) mod semaphore;
