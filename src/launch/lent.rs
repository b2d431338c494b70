//! A handle that is lent by its value.

#![allow(unsafe_code)] // Copying the handle, which the original outlives.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::driver::{CudaStream, Kernel};

/// A handle that is borrowed for `'a`: as a reference to it, without the place where it stands. To keep that, and to read it there again,
/// would be two instructions of a warm launch.
pub(super) struct BorrowedHandle<'a, H> {
    handle: ManuallyDrop<H>,
    of: PhantomData<&'a H>,
}

/// A handle that is an `Arc` and nothing else: a copy of it may be moved about beside the original, as one of a `Box` may not.
pub(super) trait Counted {}

impl Counted for CudaStream {}
impl Counted for Arc<Kernel> {}

impl<'a, H: Counted> BorrowedHandle<'a, H> {
    #[inline(always)]
    pub(super) fn new(handle: &'a H) -> Self {
        // SAFETY: a reference can be read, and `ManuallyDrop` has the layout of what is in it. What is read is never dropped, and nobody
        // gets it but by a reference: so the original, which is borrowed as long as this is there, and is neither changed nor dropped
        // until then, stays the owner of the one count. Both are pointers to what is counted (`Counted`), which may be shared.
        let handle = unsafe { std::ptr::from_ref(handle).cast::<ManuallyDrop<H>>().read() };
        Self { handle, of: PhantomData }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> &H {
        &self.handle
    }
}

/// A kernel that is lent, by its handle or by a reference.
pub(super) trait BorrowedKernel {
    fn kernel(&self) -> &Kernel;
}

impl BorrowedKernel for BorrowedHandle<'_, Arc<Kernel>> {
    #[inline(always)]
    fn kernel(&self) -> &Kernel {
        self.get()
    }
}

impl BorrowedKernel for &Kernel {
    #[inline(always)]
    fn kernel(&self) -> &Kernel {
        self
    }
}
