//! The bytes of a launch's arguments, owned: what graphs keep of a packet.

#![allow(unsafe_code)] // Copying bytes into a store of that size.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Each argument's bytes, from an offset that is a multiple of 16.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedArguments {
    store: Box<[MaybeUninit<u128>]>,
    /// Offset in units of 16 bytes, and size in bytes.
    places: Vec<(usize, usize)>,
    pointers: Vec<Pointer>,
}

/// Room for a pointer into `store`, written anew for each use.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Pointer(*mut c_void);

// SAFETY: the pointers are written before each use, under `&mut`, and mean nothing in between.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl PackedArguments {
    /// Copies what a packet points at.
    ///
    /// # Safety
    /// 1. `params` has one pointer for each of `sizes`, to that many readable bytes.
    pub(crate) unsafe fn copy(params: *mut *mut c_void, sizes: impl Iterator<Item = usize>) -> Self {
        let mut units = 0;
        let places: Vec<_> = sizes
            .map(|size| {
                let start = units;
                units += size.div_ceil(size_of::<u128>());
                (start, size)
            })
            .collect();
        let store = vec![MaybeUninit::uninit(); units].into_boxed_slice();
        let pointers = vec![Pointer(std::ptr::null_mut()); places.len()];
        let mut packed = Self { store, places, pointers };
        for index in 0..packed.places.len() {
            // SAFETY: 1: the pointer is there, to so many bytes as `places` has from `sizes`, by the caller's duty 1.
            unsafe { packed.set(index, (*params.add(index)).cast()) };
        }
        packed
    }

    /// Overwrites argument `index`; does nothing if there is none.
    ///
    /// # Safety
    /// 1. `from` is valid for reads of the argument's size.
    pub(crate) unsafe fn set(&mut self, index: usize, from: *const u8) {
        let Some(&(start, size)) = self.places.get(index) else { return };
        // SAFETY: the caller's duty 1; `copy` made the store so large that `size` bytes from `start` on are inside, and nobody else's.
        unsafe {
            let to = self.store.as_mut_ptr().add(start).cast::<MaybeUninit<u8>>();
            std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to, size);
        }
    }

    /// The packet as the driver takes it, valid until the next use of `self`.
    pub(crate) fn kernel_params(&mut self) -> *mut *mut c_void {
        let base = self.store.as_mut_ptr();
        for (pointer, &(start, _)) in self.pointers.iter_mut().zip(&self.places) {
            // A place of size zero may be the end of the store, which is in bounds for a pointer.
            *pointer = Pointer(base.wrapping_add(start).cast());
        }
        self.pointers.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_copied_and_overwritten_by_index() {
        let (mut small, mut large) = (7u8, [1u64, 2, 3]);
        let mut params: [*mut c_void; 2] = [(&raw mut small).cast(), (&raw mut large).cast()];
        // SAFETY: 1: both pointers are to values of these sizes.
        let mut packed = unsafe { PackedArguments::copy(params.as_mut_ptr(), [1, 24].into_iter()) };
        small = 0;
        let copies = packed.kernel_params();
        // SAFETY: two pointers, to copies of the values.
        unsafe {
            assert_eq!(*(*copies).cast::<u8>(), 7);
            assert_eq!(*(*copies.add(1)).cast::<[u64; 3]>(), [1, 2, 3]);
        }
        // SAFETY: 1: 24 bytes.
        unsafe { packed.set(1, [4u64, 5, 6].as_ptr().cast()) };
        let copies = packed.kernel_params();
        // SAFETY: as above.
        unsafe { assert_eq!(*(*copies.add(1)).cast::<[u64; 3]>(), [4, 5, 6]) };
        assert_eq!(small, 0);
    }
}
