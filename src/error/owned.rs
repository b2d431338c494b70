//! What an error owns, dropped in one place.
//!
//! Each function that can fail drops errors. What that takes is long, for there are many kinds, and the compiler would put a copy of it
//! into each part of a program that it compiles alone.

#![allow(unsafe_code)] // Dropping it, once.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::ErrorKind;

/// A `Box` whose end is one call.
pub(super) struct Owned(ManuallyDrop<Box<ErrorKind>>);

impl Owned {
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self(ManuallyDrop::new(Box::new(kind)))
    }
}

impl Drop for Owned {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: it is dropped here alone, and nothing uses it after its owner's `drop`.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

impl Deref for Owned {
    type Target = ErrorKind;

    fn deref(&self) -> &ErrorKind {
        &self.0
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut ErrorKind {
        &mut self.0
    }
}
