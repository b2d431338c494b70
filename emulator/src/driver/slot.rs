//! Slots: the process's driver has the first, each [`Instance`](super::instance::Instance) one of the others.
//!
//! A thread works for one slot at a time. The functions of an instance's table, and the threads that do its work, enter its slot
//! first; all others work for the process. The state of a driver is in [`PerSlot`] statics, so that the same code serves all.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

use super::slot_use;

/// How many instances there can be at a time.
pub(super) const INSTANCES: usize = 16;
/// The slot of the process's own driver.
pub(super) const PROCESS: usize = 0;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(PROCESS) };
}

/// The slot that this thread works for.
pub(super) fn current() -> usize {
    CURRENT.get()
}

/// The offset at which the current slot's addresses begin. The process has the first half, and each life of an instance
/// begins at a different offset, so that an address of another instance, or of an earlier life, is seldom valid.
pub(super) fn share(room: u64) -> u64 {
    const PARTS: u64 = 64;
    let part = room / (2 * INSTANCES as u64);
    match current() {
        PROCESS => 0,
        slot => room / 2 + (slot as u64 - 1) * part + slot_use::life() % PARTS * (part / PARTS),
    }
}

/// This thread works for a slot until it is dropped.
pub(super) struct Entered {
    outer: usize,
    /// It belongs to one thread.
    here: PhantomData<*const ()>,
}

/// From now on this thread works for that slot.
pub(super) fn enter(slot: usize) -> Entered {
    Entered { outer: CURRENT.replace(slot), here: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// A value for each slot, which dereferences to that of the current one.
pub(super) struct PerSlot<T> {
    process: T,
    instances: [T; INSTANCES],
}

impl<T> PerSlot<T> {
    /// For [`per_slot!`].
    pub(super) const fn new(process: T, instances: [T; INSTANCES]) -> Self {
        PerSlot { process, instances }
    }

    /// The value of that slot.
    pub(super) fn of(&self, slot: usize) -> &T {
        match slot.checked_sub(1) {
            None => &self.process,
            // There is no slot with another number.
            Some(index) => self.instances.get(index).unwrap_or(&self.process),
        }
    }
}

impl<T> Deref for PerSlot<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.of(current())
    }
}

/// A [`PerSlot`], each of whose values is that constant expression.
macro_rules! per_slot {
    ($value:expr) => {
        $crate::driver::slot::PerSlot::new($value, [const { $value }; $crate::driver::slot::INSTANCES])
    };
}
pub(super) use per_slot;

/// A small value for each slot, in a thread-local variable; forgotten when the slot's instance ends.
pub(super) struct PerThread<T: Copy> {
    fresh: T,
    /// Each value with the number of its instance's life.
    values: [Cell<(u64, T)>; 1 + INSTANCES],
}

impl<T: Copy> PerThread<T> {
    /// Each slot has this value at first.
    pub(super) const fn new(fresh: T, values: [Cell<(u64, T)>; 1 + INSTANCES]) -> Self {
        PerThread { fresh, values }
    }

    /// The value of the current slot.
    pub(super) fn get(&self) -> T {
        let known = self.values.get(current()).map(Cell::get).filter(|(life, _)| *life == slot_use::life());
        known.map_or(self.fresh, |(_, value)| value)
    }

    /// Replaces it, and returns the old value.
    pub(super) fn replace(&self, value: T) -> T {
        let before = self.get();
        if let Some(place) = self.values.get(current()) {
            place.set((slot_use::life(), value));
        }
        before
    }
}

/// A [`PerThread`], each of whose values is that constant expression.
macro_rules! per_thread {
    ($value:expr) => {
        $crate::driver::slot::PerThread::new(
            $value,
            [const { ::std::cell::Cell::new((0, $value)) }; 1 + $crate::driver::slot::INSTANCES],
        )
    };
}
pub(super) use per_thread;
