//! Handles: numbers that look like pointers, each good for one object of one kind.
//!
//! Handles are never dereferenced and never reused, so a handle that was destroyed, belongs to another kind or was made
//! up by the program is distinguished from a valid one.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::slot;

/// The numbers of one kind: each is used once.
pub(super) struct Numbers {
    /// Tells apart the kinds of one driver.
    kind: usize,
    /// The number of handles issued so far.
    count: AtomicUsize,
}

/// The objects of one kind.
pub(super) struct Handles<T> {
    numbers: Numbers,
    objects: RwLock<Objects>,
    kind: PhantomData<Arc<T>>,
}

/// Objects of one type, by their handles. The map is not generic: it is compiled once for all kinds.
type Objects = BTreeMap<usize, Arc<dyn Any + Send + Sync>>;

/// The result of looking up a handle.
pub(super) enum Found<T> {
    /// A live object.
    Live(Arc<T>),
    /// An object that was destroyed.
    Gone,
    /// Nothing that this driver has handed out.
    Unknown,
}

/// The first handle. It is not a canonical user address on any supported machine, so a program that dereferences a handle faults at
/// once.
const FIRST: usize = 0x0c0d_a000 << 32;
/// The distance between handles, as for objects of one cache line.
const STEP: usize = 64;
/// Room for the handles of one kind.
const KIND: usize = 1 << 32;
/// Room for the handles of one slot. No two slots have the same handle.
const SLOT: usize = 64 * KIND;

impl Numbers {
    pub(super) const fn new(kind: usize) -> Self {
        Numbers { kind, count: AtomicUsize::new(0) }
    }

    /// The number before the first one, in the current slot.
    fn start(&self) -> usize {
        FIRST + slot::current() * SLOT + self.kind * KIND
    }

    /// A new one.
    pub(super) fn reserve(&self) -> usize {
        self.start() + (self.count.fetch_add(1, Ordering::Relaxed) + 1) * STEP
    }

    /// Whether the handle was ever issued.
    fn issued(&self, handle: usize) -> bool {
        let distance = handle.wrapping_sub(self.start());
        distance.is_multiple_of(STEP) && (1..=self.count.load(Ordering::Relaxed)).contains(&(distance / STEP))
    }
}

impl<T: Any + Send + Sync> Handles<T> {
    /// An empty table; `kind` distinguishes the tables of one driver.
    pub(super) const fn new(kind: usize) -> Self {
        Handles { numbers: Numbers::new(kind), objects: RwLock::new(BTreeMap::new()), kind: PhantomData }
    }

    /// A number for an object that is about to be created.
    pub(super) fn reserve(&self) -> usize {
        self.numbers.reserve()
    }

    /// Assigns `object` to `handle`.
    pub(super) fn insert(&self, handle: usize, object: Arc<T>) {
        self.write().insert(handle, object);
    }

    /// Looks up `handle`.
    pub(super) fn find(&self, handle: usize) -> Found<T> {
        match self.get(handle) {
            Some(object) => Found::Live(object),
            None if self.numbers.issued(handle) => Found::Gone,
            None => Found::Unknown,
        }
    }

    /// The live object.
    pub(super) fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.read().get(&handle).cloned().and_then(typed)
    }

    /// Removes the object: its handle is never valid again.
    pub(super) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.write().remove(&handle).and_then(typed)
    }

    /// The handle of the live object that is wanted.
    pub(super) fn handle_of(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let objects = self.read();
        let mut entries = objects.iter().filter(|(_, object)| object.downcast_ref().is_some_and(&wanted));
        entries.next().map(|(handle, _)| *handle)
    }

    /// The number of live objects.
    pub(super) fn len(&self) -> usize {
        self.read().len()
    }

    /// All objects.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.read().values().cloned().filter_map(typed).collect()
    }

    /// All objects with their handles.
    pub(super) fn entries(&self) -> Vec<(usize, Arc<T>)> {
        let objects = self.read();
        objects.iter().filter_map(|(handle, object)| Some((*handle, typed(Arc::clone(object))?))).collect()
    }

    /// Removes all objects. They are dropped after the table is empty, because dropping them may access it.
    pub(super) fn clear(&self) {
        let objects = std::mem::take(&mut *self.write());
        drop(objects);
    }

    fn read(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object of a table, each of which has objects of one type.
fn typed<T: Any + Send + Sync>(object: Arc<dyn Any + Send + Sync>) -> Option<Arc<T>> {
    object.downcast().ok()
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

    #[test]
    fn slots_have_their_own() {
        let streams = Handles::<u32>::new(1);
        let handle = streams.reserve();
        assert!(matches!(streams.find(handle), Found::Gone));
        let _entered = slot::enter(1);
        assert!(matches!(streams.find(handle), Found::Unknown));
        assert_ne!(streams.reserve(), handle);
    }
}
