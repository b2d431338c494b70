//! Who owns device memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::pools::Pool;
use crate::driver::context::Context;
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::exhausted::exhausted;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{State, lock};
use crate::memory::Reach;

/// Whose the allocations are. Variables of modules are not among them: a program cannot free those.
pub(in crate::driver) struct Allocations(Mutex<BTreeMap<u64, Record>>);

/// All of them, by address.
pub(in crate::driver) static ALLOCATIONS: PerSlot<Allocations> =
    per_slot!(Allocations(Mutex::new(BTreeMap::new())));

/// An allocation of the program.
#[derive(Clone)]
pub(in crate::driver) struct Record {
    /// Number of the context.
    pub(in crate::driver) context: u64,
    /// The pool that it was taken from by `cuMemAllocAsync`, and what counts there.
    pub(in crate::driver) pool: Option<Arc<Pool>>,
    /// Freed by `cuMemFreeAsync`, whose turn in its stream has not come.
    pub(super) released: bool,
    /// Its number, as `cuPointerGetAttribute` tells it.
    pub(in crate::driver) id: u64,
    /// Of memory that another process allocated: nobody frees it here.
    opened: Option<Opened>,
}

/// What another process allocated, and was opened here.
#[derive(Clone)]
pub(in crate::driver) struct Opened {
    /// By which it was opened.
    pub(in crate::driver) handle: [u8; 64],
    /// How often it has to be closed.
    pub(in crate::driver) times: u64,
}

impl Allocations {
    /// Forgets all of them.
    pub(in crate::driver) fn clear(&self) {
        lock(&self.0).clear();
    }

    /// How many there are.
    pub(in crate::driver) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Enters a new allocation.
    pub(in crate::driver) fn add(&self, address: u64, record: Record) {
        lock(&self.0).insert(address, record);
    }

    /// Takes out the allocation that starts at `address`, unless it is released.
    pub(super) fn take(&self, address: u64) -> Option<Record> {
        let mut records = lock(&self.0);
        records.get(&address).filter(|record| record.can_be_freed())?;
        records.remove(&address)
    }

    /// The address of what a context has opened by that handle. It has to be closed once more.
    pub(in crate::driver) fn open_again(&self, context: u64, handle: &[u8; 64]) -> Option<u64> {
        let mut records = lock(&self.0);
        records.iter_mut().filter(|(_, record)| record.context == context).find_map(|(address, record)| {
            let opened = record.opened.as_mut().filter(|opened| opened.handle == *handle)?;
            opened.times += 1;
            Some(*address)
        })
    }

    /// Closes what was opened at `address`; the last time, its record is the answer.
    pub(in crate::driver) fn close(&self, address: u64) -> Outcome<Option<Record>> {
        let mut records = lock(&self.0);
        let record = records.get_mut(&address).ok_or(INVALID_VALUE)?;
        let opened = record.opened.as_mut().ok_or(INVALID_VALUE)?;
        opened.times -= 1;
        if opened.times > 0 { Ok(None) } else { Ok(records.remove(&address)) }
    }

    /// Marks the allocation that starts at `address` as released: no function takes it any more.
    pub(in crate::driver) fn mark_released(&self, address: u64) -> Outcome {
        let mut records = lock(&self.0);
        let record = records.get_mut(&address).filter(|record| record.can_be_freed()).ok_or(INVALID_VALUE)?;
        record.released = true;
        Ok(())
    }

    /// What is known about the allocation that starts at `address`.
    pub(in crate::driver) fn get(&self, address: u64) -> Option<Record> {
        lock(&self.0).get(&address).cloned()
    }

    /// Takes out all that a context owns.
    pub(super) fn take_all(&self, context: u64) -> Vec<(u64, Record)> {
        let mut records = lock(&self.0);
        let own = records.iter().filter(|(_, record)| record.context == context);
        let own: Vec<_> = own.map(|(address, record)| (*address, record.clone())).collect();
        own.iter().for_each(|(address, _)| drop(records.remove(address)));
        own
    }

    /// Looks at all that were taken from a pool; none of them is given back meanwhile.
    pub(super) fn of_pool(&self, pool: &Arc<Pool>, mut look: impl FnMut(u64)) {
        let records = lock(&self.0);
        let own = |record: &Record| record.pool.as_ref().is_some_and(|other| Arc::ptr_eq(other, pool));
        records.iter().filter(|(_, record)| own(record)).for_each(|(address, _)| look(*address));
    }

    /// Takes out the allocation that starts at `address`, which is released.
    pub(in crate::driver) fn finish(&self, address: u64) -> Option<Record> {
        lock(&self.0).remove(&address)
    }
}

impl Record {
    /// Of what a context allocated by itself.
    pub(in crate::driver) fn new(context: u64, id: u64) -> Record {
        Record { context, pool: None, released: false, id, opened: None }
    }

    /// Of what was taken from a pool.
    pub(super) fn of_pool(context: u64, id: u64, pool: &Arc<Pool>) -> Record {
        Record { pool: Some(Arc::clone(pool)), ..Record::new(context, id) }
    }

    /// Of what was opened in a context.
    pub(in crate::driver) fn opened(context: u64, id: u64, opened: Opened) -> Record {
        Record { opened: Some(opened), ..Record::new(context, id) }
    }

    /// Whether it is memory of a context that is not freed, and no other process's.
    pub(in crate::driver) fn is_plain(&self) -> bool {
        self.pool.is_none() && self.can_be_freed()
    }

    /// Whether nobody has freed it.
    pub(super) fn is_in_use(&self) -> bool {
        !self.released
    }

    /// Whether a program can free it.
    fn can_be_freed(&self) -> bool {
        !self.released && self.opened.is_none()
    }

    /// Frees the allocation, which starts at `address` and is live: its record, which is gone, was the only way here.
    pub(in crate::driver) fn give_back(&self, address: u64, state: &State) {
        let bytes = state.memory.find(address).map_or(0, |allocation| allocation.len());
        if let Some(pool) = &self.pool {
            pool.give_back(bytes);
        }
        let _ = state.memory.free(address);
    }
}

impl State {
    /// Whether a range of device addresses is allocated, in one piece or in mappings side by side, and not freed.
    pub(in crate::driver) fn is_device_range(&self, address: u64, bytes: u64) -> bool {
        let Some(allocation) = self.memory.find(address) else { return false };
        self.memory.contains(address, bytes)
            && ALLOCATIONS.get(allocation.base()).is_none_or(|record| !record.released)
    }

    /// Whether an address is in memory that is registered for reading only: no copy, and no fill, goes there.
    pub(in crate::driver) fn is_read_only(&self, address: u64) -> bool {
        self.memory.find(address).is_some_and(|allocation| allocation.is_read_only())
    }

    /// Whether the host has the memory at an address, too.
    pub(in crate::driver) fn is_on_host(&self, address: u64) -> bool {
        self.memory.find(address).is_some_and(|allocation| allocation.is_on_host())
    }

    /// Allocates for a context.
    pub(in crate::driver) fn allocate(&self, context: &Context, bytes: usize) -> Outcome<u64> {
        let address = context.memory.allocate_for(bytes as u64, Reach::Peers);
        let address = address.map_err(|_| exhausted(&context.memory, bytes as u64))?;
        ALLOCATIONS.add(address, Record::new(context.id, self.id()));
        Ok(address)
    }
}
