//! Memory pools, and what they count.

use cuda_driver_sys::{CUdevice, CUmemAccess_flags, CUmemoryPool, CUresult};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use super::location::Location;
use super::pool_sharing::Sharing;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, OUT_OF_MEMORY, Outcome};
use crate::driver::handles::Handles;
use crate::driver::logs;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{State, lock};
use crate::memory::ALIGNMENT;

/// A pool. Allocations hold theirs: a pool that is destroyed counts on until the last one is freed.
pub(in crate::driver) struct Pool {
    pub(in crate::driver) handle: usize,
    pub(super) device: CUdevice,
    /// Where its memory shall be, if that is managed memory.
    pub(super) managed: Option<Location>,
    /// Most bytes that may be in use; 0 for no limit but the device's.
    limit: u64,
    /// Whether other processes have its memory, too.
    pub(super) sharing: Sharing,
    pub(super) inner: Mutex<Counts>,
}

/// What a pool counts, and settings that have no effect.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) used: u64,
    pub(super) used_high: u64,
    pub(super) reserved_high: u64,
    pub(super) threshold: u64,
    /// Which of the three ways of reuse are on.
    pub(super) reuse: [c_int; 3],
    /// What other devices may do.
    pub(super) access: Vec<(CUdevice, CUmemAccess_flags)>,
}

impl Counts {
    /// The devices that reach the allocations, one bit each.
    pub(super) fn granted(&self) -> u32 {
        let reach = self.access.iter().filter(|(_, flags)| flags.0 != 0);
        reach.fold(0, |bits, (device, _)| bits | 1 << *device)
    }
}

impl Pool {
    pub(super) fn new(handle: usize, device: CUdevice, limit: u64) -> Arc<Pool> {
        Pool::with(handle, device, limit, Sharing::None)
    }

    /// One whose memory other processes can have, or have.
    pub(super) fn with(handle: usize, device: CUdevice, limit: u64, sharing: Sharing) -> Arc<Pool> {
        let counts = Counts { reuse: [1; 3], ..Counts::default() };
        Arc::new(Pool { handle, device, managed: None, limit, sharing, inner: Mutex::new(counts) })
    }

    /// One of managed memory.
    pub(super) fn of_managed(handle: usize, location: Location, limit: u64) -> Arc<Pool> {
        let counts = Counts { reuse: [1; 3], ..Counts::default() };
        let (device, managed) = (location.counted_by(), Some(location));
        let inner = Mutex::new(counts);
        Arc::new(Pool { handle, device, managed, limit, sharing: Sharing::None, inner })
    }

    /// Counts an allocation, if there is room for it.
    pub(super) fn take(&self, bytes: u64) -> Outcome {
        let mut counts = lock(&self.inner);
        let rounded = bytes.checked_next_multiple_of(ALIGNMENT);
        let used = rounded.and_then(|bytes| counts.used.checked_add(bytes)).ok_or(OUT_OF_MEMORY)?;
        if self.limit != 0 && used > self.limit {
            let (limit, used) = (self.limit, counts.used);
            logs::because(format!(
                "{bytes} bytes were asked for, and the pool has {used} of at most {limit} bytes in use"
            ));
            logs::advise("free memory of the pool, request less, or create it with a larger `maxSize`");
            return Err(OUT_OF_MEMORY);
        }
        counts.used = used;
        counts.used_high = counts.used_high.max(used);
        counts.reserved_high = counts.reserved_high.max(used);
        Ok(())
    }

    /// The opposite.
    pub(in crate::driver) fn give_back(&self, bytes: u64) {
        let mut counts = lock(&self.inner);
        counts.used = counts.used.saturating_sub(bytes.next_multiple_of(ALIGNMENT));
    }
}

/// The pools, and which of them the devices use.
pub(in crate::driver) struct Pools {
    pub(super) handles: Handles<Pool>,
    /// By device, since `cuInit`.
    defaults: Mutex<Vec<Arc<Pool>>>,
    pub(super) current: Mutex<Vec<Arc<Pool>>>,
    /// Those of managed memory, of each location that was asked about.
    managed: Mutex<Vec<AtLocation>>,
}

/// The pools of managed memory that a location has.
struct AtLocation {
    location: Location,
    default: Arc<Pool>,
    current: Arc<Pool>,
}

/// All of them.
pub(in crate::driver) static POOLS: PerSlot<Pools> = per_slot!(Pools::new());

impl Pools {
    /// How many pools there are.
    pub(in crate::driver) fn len(&self) -> usize {
        self.handles.len()
    }

    const fn new() -> Pools {
        Pools {
            handles: Handles::new(8),
            defaults: Mutex::new(Vec::new()),
            current: Mutex::new(Vec::new()),
            managed: Mutex::new(Vec::new()),
        }
    }

    /// Makes one pool for each device, if there are none.
    pub(in crate::driver) fn begin(&self, state: &State) {
        let mut defaults = lock(&self.defaults);
        if defaults.is_empty() {
            let pool = |device| {
                let pool = Pool::new(self.handles.reserve(), device, 0);
                self.handles.insert(pool.handle, Arc::clone(&pool));
                pool
            };
            defaults.extend((0..state.config.devices as CUdevice).map(pool));
            *lock(&self.current) = defaults.clone();
        }
    }

    /// Forgets all of them.
    pub(in crate::driver) fn clear(&self) {
        lock(&self.defaults).clear();
        lock(&self.current).clear();
        lock(&self.managed).clear();
        self.handles.clear();
    }

    pub(super) fn get(&self, pool: CUmemoryPool) -> Outcome<Arc<Pool>> {
        self.handles.get(pool.addr()).ok_or(INVALID_VALUE)
    }

    pub(super) fn default_of(&self, device: CUdevice) -> Outcome<Arc<Pool>> {
        checked(device)?;
        lock(&self.defaults).get(device as usize).cloned().ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    pub(super) fn current_of(&self, device: CUdevice) -> Outcome<Arc<Pool>> {
        checked(device)?;
        lock(&self.current).get(device as usize).cloned().ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    pub(super) fn set_current(&self, device: CUdevice, pool: Arc<Pool>) -> Outcome {
        checked(device)?;
        let mut current = lock(&self.current);
        let place = current
            .get_mut(device as usize)
            .filter(|_| pool.device == device && pool.managed.is_none() && !pool.sharing.is_imported());
        *place.ok_or(INVALID_VALUE)? = pool;
        Ok(())
    }

    /// The default pool of managed memory of a location.
    pub(super) fn managed_default(&self, location: Location) -> Arc<Pool> {
        self.at(location, |found| Arc::clone(&found.default))
    }

    /// The one that it uses.
    pub(super) fn managed_current(&self, location: Location) -> Arc<Pool> {
        self.at(location, |found| Arc::clone(&found.current))
    }

    /// From now on it uses that pool, which has to be one for this location.
    pub(super) fn set_managed_current(&self, location: Location, pool: Arc<Pool>) -> Outcome {
        if pool.managed != Some(location) {
            return Err(INVALID_VALUE);
        }
        self.at(location, |found| found.current = pool);
        Ok(())
    }

    /// The pools of a location, which are made when it is first asked about.
    fn at<T>(&self, location: Location, look: impl FnOnce(&mut AtLocation) -> T) -> T {
        let mut managed = lock(&self.managed);
        if let Some(found) = managed.iter_mut().find(|found| found.location == location) {
            return look(found);
        }
        let default = Pool::of_managed(self.handles.reserve(), location, 0);
        self.handles.insert(default.handle, Arc::clone(&default));
        let mut found = AtLocation { location, current: Arc::clone(&default), default };
        let answer = look(&mut found);
        managed.push(found);
        answer
    }
}
