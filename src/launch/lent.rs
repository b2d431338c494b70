//! A handle that is borrowed by copying its pointer.

#![allow(unsafe_code)] // Copying the handle, which the original outlives.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::driver::{CudaStream, Kernel};

/// A handle that is borrowed for `'a`, like `&'a H`, but holding the pointer itself instead of the address where it is stored. A
/// reference would cost a warm launch two more instructions: to keep that address, and to read the pointer again.
pub(super) struct BorrowedHandle<'a, H> {
    handle: ManuallyDrop<H>,
    of: PhantomData<&'a H>,
}

/// A handle that is an `Arc` and nothing else: a bitwise copy may exist beside the original, which would be undefined
/// behaviour for a `Box`.
pub(super) trait Counted {}

impl Counted for CudaStream {}
impl Counted for Arc<Kernel> {}

impl<'a, H: Counted> BorrowedHandle<'a, H> {
    #[inline(always)]
    pub(super) fn new(handle: &'a H) -> Self {
        // SAFETY: a reference is readable, and `ManuallyDrop<H>` has the layout of `H`. The copy is never dropped and is only handed out
        // by reference, so the reference count still belongs to the original, which is borrowed, and so neither changed nor dropped, as
        // long as the copy exists. Original and copy are both `Arc` pointers (`Counted`), which may alias.
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
