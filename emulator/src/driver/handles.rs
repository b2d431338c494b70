//! Handles: numbers that look like pointers, each good for one object of one kind.
//!
//! No handle is ever dereferenced and none is used twice, so that one that was destroyed, belongs to another kind or was
//! invented by the program is told apart from a good one.

use std::collections::BTreeMap;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The objects of one kind.
pub(super) struct Handles<T> {
    first: usize,
    next: AtomicUsize,
    objects: RwLock<BTreeMap<usize, Arc<T>>>,
}

/// What a handle stands for.
pub(super) enum Found<T> {
    /// A live object.
    Live(Arc<T>),
    /// An object that was destroyed.
    Gone,
    /// Nothing that this driver has handed out.
    Unknown,
}

/// Distance of two handles: as if objects of a cache line stood there.
const STEP: usize = 64;
/// Room for the handles of one kind.
const KIND: usize = 1 << 32;

impl<T> Handles<T> {
    /// An empty table; `kind` tells apart the tables of one driver.
    pub(super) const fn new(kind: usize) -> Self {
        // Not a canonical user address on any machine we run on, so that a program that dereferences one stops at once.
        let first = (0x0c0d_a000 << 32) + kind * KIND;
        Handles { first, next: AtomicUsize::new(first + STEP), objects: RwLock::new(BTreeMap::new()) }
    }

    /// A number for an object that is about to be made.
    pub(super) fn reserve(&self) -> usize {
        self.next.fetch_add(STEP, Ordering::Relaxed)
    }

    /// Makes `handle` stand for `object`.
    pub(super) fn insert(&self, handle: usize, object: Arc<T>) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(handle, object);
    }

    /// What `handle` stands for.
    pub(super) fn find(&self, handle: usize) -> Found<T> {
        match self.objects.read().unwrap_or_else(PoisonError::into_inner).get(&handle) {
            Some(object) => Found::Live(Arc::clone(object)),
            None if self.issued(handle) => Found::Gone,
            None => Found::Unknown,
        }
    }

    /// The live object.
    pub(super) fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    /// Takes the object out: the handle is gone for good.
    pub(super) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// The handle of the live object that is wanted.
    pub(super) fn handle_of(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.iter().find(|(_, object)| wanted(object)).map(|(handle, _)| *handle)
    }

    /// How many live objects there are.
    pub(super) fn len(&self) -> usize {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// All objects.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// All objects with their handles.
    pub(super) fn entries(&self) -> Vec<(usize, Arc<T>)> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.iter().map(|(handle, object)| (*handle, Arc::clone(object))).collect()
    }

    fn issued(&self, handle: usize) -> bool {
        let range = self.first + STEP..self.next.load(Ordering::Relaxed);
        range.contains(&handle) && (handle - self.first).is_multiple_of(STEP)
    }
}

/// A handle as its C type.
pub(super) fn to_c<T>(handle: usize) -> *mut T {
    without_provenance_mut(handle)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn handles_are_told_apart() {
        let (streams, events) = (Handles::new(1), Handles::new(2));
        let handle = streams.reserve();
        streams.insert(handle, Arc::new(7));
        events.insert(events.reserve(), Arc::new(8));
        assert!(matches!(streams.find(handle), Found::Live(object) if *object == 7));
        assert!(matches!(events.find(handle), Found::Unknown));
        assert!(matches!(streams.find(handle + 1), Found::Unknown));
        streams.remove(handle);
        assert!(matches!(streams.find(handle), Found::Gone));
        assert_ne!(streams.reserve(), handle);
    }
}
