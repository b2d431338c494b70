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

// SAFETY: the pointer points into the bytes of the `PackedArguments` that contains it; both move to another thread together, and
// only that value reads through the pointer.
unsafe impl Send for Pointer {}
// SAFETY: as above; the pointers are read through `&mut PackedArguments` alone.
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
            // SAFETY: 1: `index` is below the number of `sizes`, so that `params` has a pointer there, to as many bytes as `places` took
            // from `sizes`: the caller's duty 1.
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
        // SAFETY: 1: the caller's duty 1, as `size` is the argument's; 2: `places` says so.
        unsafe { self.set_bytes(index, from, size) }
    }

    /// The same where the size is known.
    ///
    /// # Safety
    /// 1. `from` is valid for reads of `size` bytes.
    /// 2. That is the argument's size, if there is such an argument.
    #[inline(always)]
    pub(crate) unsafe fn set_bytes(&mut self, index: usize, from: *const u8, size: usize) {
        let Some(&Pointer(to)) = self.pointers.get(index) else { return };
        // SAFETY: `from` has `size` bytes to read, by the caller's duty 1. `copy` made the store so large that the argument's size, which
        // is `size` by the caller's duty 2, is inside from where its pointer points on. The two do not overlap: what points into the store
        // was valid until this use of `self`.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), to.cast::<MaybeUninit<u8>>(), size);
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
        // SAFETY: 1: there is a pointer for each of the two sizes, to a local of that size.
        let mut packed = unsafe { PackedArguments::copy(params.as_mut_ptr(), [1, 24].into_iter()) };
        small = 0;
        let copies = packed.kernel_params();
        // SAFETY: there are two pointers, each to a copy of the value, at an offset that is a multiple of 16, and so aligned for both
        // types.
        unsafe {
            assert_eq!(*(*copies).cast::<u8>(), 7);
            assert_eq!(*(*copies.add(1)).cast::<[u64; 3]>(), [1, 2, 3]);
        }
        // SAFETY: 1: the array, a temporary that outlives the call, has 24 bytes, as argument 1.
        unsafe { packed.set(1, [4u64, 5, 6].as_ptr().cast()) };
        let copies = packed.kernel_params();
        // SAFETY: the second pointer is to the bytes that `set` has just written, aligned to 16.
        unsafe { assert_eq!(*(*copies.add(1)).cast::<[u64; 3]>(), [4, 5, 6]) };
        assert_eq!(small, 0);
    }

    #[test]
    fn a_copy_has_its_own_bytes_wherever_it_is_moved() {
        let mut value = 7u32;
        // SAFETY: 1: there is one pointer, for the one size, to a local of 4 bytes.
        let first = unsafe { PackedArguments::copy([(&raw mut value).cast()].as_mut_ptr(), [4].into_iter()) };
        let mut all = vec![first.clone(), first];
        // SAFETY: 1: `value` has 4 bytes; 2: argument 0 has so many.
        unsafe { all[0].set_bytes(0, (&raw const value).cast(), 4) };
        value = 9;
        // SAFETY: 1: `value` has 4 bytes, as argument 0.
        unsafe { all[0].set(0, (&raw const value).cast()) };
        all.reserve(1000);
        // SAFETY: each has one pointer, to 4 bytes of its own that were copied from a `u32`, aligned to 16.
        let read = |packed: &mut PackedArguments| unsafe { *(*packed.kernel_params()).cast::<u32>() };
        assert_eq!(all.iter_mut().map(read).collect::<Vec<_>>(), [9, 7]);
        drop(all.remove(1));
        assert_eq!(all.iter_mut().map(read).collect::<Vec<_>>(), [9]);
    }
}
