//! The bytes of a launch's arguments, owned: what graphs keep of a packet.

#![allow(unsafe_code)] // Copying bytes into a store of that size.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Each argument's bytes, from an offset that is a multiple of 16.
#[derive(Debug, Default)]
pub(crate) struct PackedArguments {
    /// Never longer or shorter than it was made, and so always in one place.
    store: Vec<MaybeUninit<u128>>,
    /// Offset in units of 16 bytes, and size in bytes.
    places: Vec<(usize, usize)>,
    /// To each place of `store`.
    pointers: Vec<Pointer>,
}

/// A pointer into `store`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Pointer(*mut c_void);

// SAFETY: the pointers are to bytes that the same value owns, which goes to another thread with them.
unsafe impl Send for Pointer {}
// SAFETY: as above; through a shared reference nobody gets at them.
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
        let mut packed = Self::new(vec![MaybeUninit::uninit(); units], places);
        for index in 0..packed.places.len() {
            // SAFETY: 1: the pointer is there, to so many bytes as `places` has from `sizes`, by the caller's duty 1.
            unsafe { packed.set(index, (*params.add(index)).cast()) };
        }
        packed
    }

    /// Points at the places.
    fn new(mut store: Vec<MaybeUninit<u128>>, places: Vec<(usize, usize)>) -> Self {
        let base = store.as_mut_ptr();
        // A place of size zero may be the end of the store, which is in bounds for a pointer.
        let pointers = places.iter().map(|&(start, _)| Pointer(base.wrapping_add(start).cast())).collect();
        Self { store, places, pointers }
    }

    /// Overwrites argument `index`; does nothing if there is none.
    ///
    /// # Safety
    /// 1. `from` is valid for reads of the argument's size.
    pub(crate) unsafe fn set(&mut self, index: usize, from: *const u8) {
        let Some(&(_, size)) = self.places.get(index) else { return };
        // SAFETY: 1: the caller's duty 1; 2: it is the argument's size.
        unsafe { self.set_bytes(index, from, size) }
    }

    /// The same where the size is known.
    ///
    /// # Safety
    /// 1. `from` is valid for reads of `size` bytes.
    /// 2. That is the argument's size, if there is such an argument.
    #[inline(always)]
    pub(crate) unsafe fn set_bytes(&mut self, index: usize, from: *const u8, size: usize) {
        let Some(&(start, _)) = self.places.get(index) else { return };
        // SAFETY: the caller's duty 1; `copy` made the store so large that the argument's size, which is `size` by the caller's duty 2, is
        // inside from `start` on, and nobody else's.
        unsafe {
            let to = self.store.as_mut_ptr().add(start).cast::<MaybeUninit<u8>>();
            std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to, size);
        }
    }

    /// The packet as the driver takes it, valid until the next use of `self`.
    #[inline(always)]
    pub(crate) fn kernel_params(&mut self) -> *mut *mut c_void {
        self.pointers.as_mut_ptr().cast()
    }
}

impl Clone for PackedArguments {
    fn clone(&self) -> Self {
        // Pointers of its own.
        Self::new(self.store.clone(), self.places.clone())
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

    #[test]
    fn a_copy_has_its_own_bytes_wherever_it_is_moved() {
        let mut value = 7u32;
        // SAFETY: 1: the pointer is to a value of that size.
        let first = unsafe { PackedArguments::copy([(&raw mut value).cast()].as_mut_ptr(), [4].into_iter()) };
        let mut all = vec![first.clone(), first];
        // SAFETY: 1: 4 bytes; 2: of an argument of so many.
        unsafe { all[0].set_bytes(0, (&raw const value).cast(), 4) };
        value = 9;
        // SAFETY: 1: 4 bytes.
        unsafe { all[0].set(0, (&raw const value).cast()) };
        all.reserve(1000);
        // SAFETY: each has one pointer, to its own `u32`.
        let read = |packed: &mut PackedArguments| unsafe { *(*packed.kernel_params()).cast::<u32>() };
        assert_eq!(all.iter_mut().map(read).collect::<Vec<_>>(), [9, 7]);
        drop(all.remove(1));
        assert_eq!(all.iter_mut().map(read).collect::<Vec<_>>(), [9]);
    }
}
