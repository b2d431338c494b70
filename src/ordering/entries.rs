//! The list of one piece of memory, which rarely has more than one entry and then needs no heap.

use std::mem::replace;
use std::ops::{Deref, DerefMut};

#[derive(Debug)]
pub(super) enum Entries<E> {
    One(E),
    Many(Vec<E>),
}

impl<E> Entries<E> {
    pub(super) const fn new() -> Self {
        Self::Many(Vec::new())
    }

    /// Before the one at `at`, or behind the last one.
    pub(super) fn insert(&mut self, at: usize, entry: E) {
        match replace(self, Self::new()) {
            Self::Many(entries) if entries.capacity() == 0 => *self = Self::One(entry),
            Self::Many(mut entries) => {
                entries.insert(at.min(entries.len()), entry);
                *self = Self::Many(entries);
            }
            Self::One(first) => {
                *self = Self::Many(if at == 0 { vec![entry, first] } else { vec![first, entry] })
            }
        }
    }

    /// Takes the entry at `at` out, if it is there.
    pub(super) fn remove(&mut self, at: usize) -> Option<E> {
        match replace(self, Self::new()) {
            Self::One(entry) if at == 0 => Some(entry),
            Self::Many(mut entries) if at < entries.len() => {
                let gone = entries.remove(at);
                *self = Self::Many(entries);
                Some(gone)
            }
            rest => {
                *self = rest;
                None
            }
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&E) -> bool) {
        match self {
            Self::One(entry) if keep(entry) => {}
            Self::One(_) => *self = Self::new(),
            Self::Many(entries) => entries.retain(keep),
        }
    }
}

impl<E> Deref for Entries<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}

impl<E> DerefMut for Entries<E> {
    fn deref_mut(&mut self) -> &mut [E] {
        match self {
            Self::One(entry) => std::slice::from_mut(entry),
            Self::Many(entries) => entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Entries;

    /// With 0 to 3 entries: what comes and goes is what a `Vec` has, in its order.
    #[test]
    fn does_what_a_vec_does() {
        for len in 0..4 {
            let filled = || {
                let (mut entries, mut model) = (Entries::new(), Vec::new());
                for number in 0..len {
                    entries.insert(number, number);
                    model.push(number);
                }
                (entries, model)
            };
            let (mut entries, mut model) = filled();
            assert_eq!((entries.to_vec(), &mut *entries), (model.clone(), &mut *model));
            for at in 0..=len {
                let (mut entries, mut model) = filled();
                entries.insert(at, 7);
                model.insert(at, 7);
                assert_eq!(*entries, *model);
                assert_eq!(entries.remove(at), Some(model.remove(at)));
                assert_eq!(*entries, *model);
                assert_eq!(entries.remove(at), (at < len).then(|| model.remove(at)));
                assert_eq!(*entries, *model);
            }
            for kept in 0..len {
                let (mut entries, mut model) = filled();
                entries.retain(|number| *number == kept);
                model.retain(|number| *number == kept);
                assert_eq!(*entries, *model);
            }
            entries.retain(|_| false);
            assert!(entries.is_empty());
        }
    }
}
