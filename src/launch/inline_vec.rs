//! A list that needs no heap while it is short.

#![allow(unsafe_code)] // Reading the first `len` places, which `push` has written.

use std::fmt;
use std::mem::MaybeUninit;

/// Stores up to `N` values inline; with more, all of them are on the heap. Contiguous in both cases.
///
/// Each value may have a companion, stored in a second contiguous array; `()` takes no space.
pub(super) struct InlineVec<T: Copy, U: Copy, const N: usize> {
    len: usize,
    here: [MaybeUninit<T>; N],
    beside: [MaybeUninit<U>; N],
    /// All values once there are more than `N`. Boxed, so that the usual case writes and tests one word.
    spilled: Option<Box<(Vec<T>, Vec<U>)>>,
}

impl<T: Copy, U: Copy, const N: usize> InlineVec<T, U, N> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        let (here, beside) = ([const { MaybeUninit::uninit() }; N], [const { MaybeUninit::uninit() }; N]);
        Self { len: 0, here, beside, spilled: None }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, value: T, beside: U) {
        match (self.here.get_mut(self.len), self.beside.get_mut(self.len)) {
            (Some(place), Some(place_beside)) => {
                place.write(value);
                place_beside.write(beside);
            }
            _ => self.spill(value, beside),
        }
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self, value: T, beside: U) {
        let mut all = match self.spilled.take() {
            Some(all) => all,
            None => Box::new((self.as_slice().to_vec(), self.beside().to_vec())),
        };
        all.0.push(value);
        all.1.push(beside);
        self.spilled = Some(all);
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[T] {
        if self.len <= N {
            // SAFETY: as long as `len` is at most `N`, each `push` has written the place `len` and counted it: the
            // first `len` places are written, nothing takes them out, and they are borrowed as `self` is.
            unsafe { std::slice::from_raw_parts(self.here.as_ptr().cast(), self.len) }
        } else {
            self.spilled.as_deref().map_or(&[], |(values, _)| values)
        }
    }

    /// The companions of the values.
    #[inline(always)]
    pub(super) fn beside(&self) -> &[U] {
        if self.len <= N {
            // SAFETY: as long as `len` is at most `N`, each `push` has written the place `len` of both arrays and counted it: the first
            // `len` places of `beside` are written, and borrowed as `self` is.
            unsafe { std::slice::from_raw_parts(self.beside.as_ptr().cast(), self.len) }
        } else {
            self.spilled.as_deref().map_or(&[], |(_, beside)| beside)
        }
    }
}

#[cfg(feature = "async")]
impl<T: Copy, U: Copy, const N: usize> InlineVec<T, U, N> {
    /// Whether the values are stored inline.
    #[inline(always)]
    pub(super) fn is_here(&self) -> bool {
        self.len <= N
    }

    /// The address of that value while the values are inline. `index` is below the length; the remainder operation
    /// avoids a bounds check.
    #[inline(always)]
    pub(super) fn place(&self, index: usize) -> *const T {
        self.here.as_ptr().cast::<T>().wrapping_add(index % N)
    }

    /// Changes that value while the values are inline.
    #[inline(always)]
    pub(super) fn set_here(&mut self, index: usize, value: T) {
        if let Some(place) = self.here.get_mut(index % N) {
            place.write(value);
        }
    }

    /// The values, mutably.
    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        if self.len <= N {
            // SAFETY: as long as `len` is at most `N`, each `push` has written the place `len` and counted it: the first `len` places are
            // written; `self` is borrowed exclusively, and they with it.
            unsafe { std::slice::from_raw_parts_mut(self.here.as_mut_ptr().cast(), self.len) }
        } else {
            self.spilled.as_deref_mut().map_or(&mut [], |(values, _)| values)
        }
    }
}

impl<T: Copy + fmt::Debug, U: Copy + fmt::Debug, const N: usize> fmt::Debug for InlineVec<T, U, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.as_slice().iter().zip(self.beside())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::InlineVec;

    #[test]
    fn what_is_pushed_is_there_in_order() {
        let mut list = InlineVec::<u64, u8, 3>::new();
        for n in 0..100u8 {
            assert_eq!(list.as_slice(), (0..n.into()).collect::<Vec<u64>>());
            assert_eq!((list.beside(), list.len()), ((0..n).collect::<Vec<u8>>().as_slice(), n.into()));
            #[cfg(feature = "async")]
            assert_eq!(list.as_mut_slice().to_vec(), list.as_slice());
            list.push(n.into(), n);
        }
        assert_eq!(format!("{:?}", InlineVec::<u8, (), 2>::new()), "{}");
    }
}
