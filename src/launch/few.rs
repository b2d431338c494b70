//! A list that needs no heap while it is short.

#![allow(unsafe_code)] // Reading the first `len` places, which `push` has written.

use std::fmt;
use std::mem::MaybeUninit;

/// Up to `N` values in place; from the next one on all of them on the heap, in one piece either way.
pub(super) struct Few<T: Copy, const N: usize> {
    len: usize,
    here: [MaybeUninit<T>; N],
    /// All values once there are more than `N`.
    #[allow(clippy::box_collection)] // One word to write and to look at where there are none.
    spilled: Option<Box<Vec<T>>>,
}

impl<T: Copy, const N: usize> Few<T, N> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { len: 0, here: [const { MaybeUninit::uninit() }; N], spilled: None }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        match self.here.get_mut(self.len) {
            Some(place) => {
                place.write(value);
            }
            None => self.spill(value),
        }
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self, value: T) {
        let mut all = self.spilled.take().unwrap_or_else(|| Box::new(self.as_slice().to_vec()));
        all.push(value);
        self.spilled = Some(all);
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[T] {
        if self.len <= N {
            // SAFETY: `push` wrote the first `len` places, in order, and nothing unwrites them.
            unsafe { std::slice::from_raw_parts(self.here.as_ptr().cast(), self.len) }
        } else {
            self.spilled.as_deref().map_or(&[], Vec::as_slice)
        }
    }
}

#[cfg(feature = "async")]
impl<T: Copy, const N: usize> Few<T, N> {
    /// The value at `index`, to change.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if self.len > N {
            return self.spilled.as_mut()?.get_mut(index);
        }
        let place = self.here.get_mut(..self.len)?.get_mut(index)?;
        // SAFETY: `push` wrote the first `len` places.
        Some(unsafe { place.assume_init_mut() })
    }
}

impl<T: Copy + fmt::Debug, const N: usize> fmt::Debug for Few<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn what_is_pushed_is_there_in_order() {
        let mut few = Few::<u64, 3>::new();
        for n in 0..100 {
            let expected: Vec<u64> = (0..n).collect();
            assert_eq!(few.as_slice(), expected);
            #[cfg(feature = "async")]
            assert_eq!((few.get_mut(0).copied(), few.get_mut(n as usize)), (expected.first().copied(), None));
            few.push(n);
        }
        assert_eq!(format!("{:?}", Few::<u8, 2>::new()), "[]");
    }
}
