//! Where an error keeps its contents.

#![allow(unsafe_code)] // `ManuallyDrop`, whose value is dropped by the one `drop` of its owner.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::ErrorKind;

/// A box whose end is one function. The compiler writes the end of a plain box, with that of every kind of error, into each part of
/// a program that may drop an error: a tenth of a small program was that.
pub(super) struct Kept(ManuallyDrop<Box<ErrorKind>>);

impl Kept {
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self(ManuallyDrop::new(Box::new(kind)))
    }
}

impl Deref for Kept {
    type Target = ErrorKind;

    fn deref(&self) -> &ErrorKind {
        &self.0
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut ErrorKind {
        &mut self.0
    }
}

impl Drop for Kept {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: `drop` runs once, and is the only place that drops the field, which nothing uses afterwards: `self` goes with it.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}
