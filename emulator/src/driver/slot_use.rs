//! The use of the slots: which are taken, and the calls in progress. An instance ends when its slot accepts no more calls and all have
//! returned.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::slot::{self, Entered, INSTANCES, PROCESS, PerSlot, per_slot};
use super::state::lock;

/// The use of an instance's slot.
struct SlotUse {
    /// Number of the present life; 0 for the process's, and before the first.
    life: AtomicU64,
    inside: Mutex<Calls>,
    empty: Condvar,
}

struct Calls {
    open: bool,
    /// Calls of the table's functions that have not returned.
    calls: usize,
}

static USES: PerSlot<SlotUse> = per_slot!(SlotUse {
    life: AtomicU64::new(0),
    inside: Mutex::new(Calls { open: false, calls: 0 }),
    empty: Condvar::new(),
});
/// Which instances there are; the first is that of slot 1.
static TAKEN: Mutex<TakenSlots> = Mutex::new(TakenSlots { slots: [false; INSTANCES], last: 0 });
static FREED: Condvar = Condvar::new();

struct TakenSlots {
    slots: [bool; INSTANCES],
    /// The slot that was taken last. The next lease takes another one, so that a stale function address is detected for as long
    /// as possible.
    last: usize,
}

impl TakenSlots {
    fn take(&mut self) -> Option<usize> {
        let next = (self.last + 1..INSTANCES).chain(0..=self.last);
        let index = next.into_iter().find(|index| self.slots.get(*index) == Some(&false))?;
        *self.slots.get_mut(index)? = true;
        self.last = index;
        Some(index)
    }
}

/// The number of the current slot's present life. No two lives have the same.
pub(super) fn life() -> u64 {
    USES.life.load(Ordering::Acquire)
}

/// Whether that life has not ended.
pub(super) fn is_present(life: u64) -> bool {
    (PROCESS..=INSTANCES).any(|slot| USES.of(slot).life.load(Ordering::Acquire) == life)
}

/// A slot that is taken, until it is returned.
pub(super) struct Lease(usize);

impl Lease {
    /// Takes a slot. If none is free, waits that long for one.
    pub(super) fn take(patience: Duration) -> Option<Lease> {
        let start = Instant::now();
        let mut taken = lock(&TAKEN);
        loop {
            if let Some(index) = taken.take() {
                return Some(Lease(index + 1));
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return None;
            }
            (taken, _) = FREED.wait_timeout(taken, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Its number.
    pub(super) fn slot(&self) -> usize {
        self.0
    }

    /// A new life begins, and calls are let in.
    pub(super) fn open(&self) {
        static LIVES: AtomicU64 = AtomicU64::new(1);
        let in_use = USES.of(self.0);
        in_use.life.store(LIVES.fetch_add(1, Ordering::Relaxed), Ordering::Release);
        lock(&in_use.inside).open = true;
    }

    /// Returns the slot after its instance has ended.
    pub(super) fn give_back(self) {
        if let Some(place) = lock(&TAKEN).slots.get_mut(self.0 - 1) {
            *place = false;
        }
        FREED.notify_one();
    }

    /// Admits no more callers, and waits until no thread is inside. Must not be called by a thread that is inside.
    pub(super) fn close(&self) {
        let in_use = USES.of(self.0);
        let mut inside = lock(&in_use.inside);
        inside.open = false;
        while inside.calls > 0 {
            inside = in_use.empty.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

thread_local! {
    /// How often this thread is at work for each slot, the program's callbacks in between included.
    static WITHIN: [Cell<u32>; 1 + INSTANCES] = const { [const { Cell::new(0) }; 1 + INSTANCES] };
}

/// This thread is at work for a slot until it is dropped.
pub(super) struct WorkGuard {
    slot: usize,
    _entered: Entered,
}

/// Begins to work for a slot.
pub(super) fn work_for(slot: usize) -> WorkGuard {
    add(slot, 1);
    WorkGuard { slot, _entered: slot::enter(slot) }
}

/// Whether this thread is working for a slot, so that it cannot wait for the slot's end.
pub(super) fn is_within(slot: usize) -> bool {
    WITHIN.with(|within| within.get(slot).is_some_and(|count| count.get() > 0))
}

fn add(slot: usize, difference: i32) {
    WITHIN.with(|within| {
        if let Some(count) = within.get(slot) {
            count.set(count.get().saturating_add_signed(difference));
        }
    });
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        add(self.slot, -1);
    }
}

/// A call of a function of an instance's table, which keeps it from ending.
pub(super) struct CallGuard(WorkGuard);

/// Begins a call; `None` if there is no instance, or if it ends.
pub(super) fn visit(slot: usize) -> Option<CallGuard> {
    let mut inside = lock(&USES.of(slot).inside);
    if !inside.open {
        return None;
    }
    inside.calls += 1;
    Some(CallGuard(work_for(slot)))
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let in_use = USES.of(self.0.slot);
        let mut inside = lock(&in_use.inside);
        inside.calls -= 1;
        if inside.calls == 0 && !inside.open {
            in_use.empty.notify_all();
        }
    }
}
