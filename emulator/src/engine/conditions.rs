//! The values of the handles of conditional graph nodes, which kernels set with `cudaGraphSetConditional`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

static VALUES: Mutex<BTreeMap<u64, u32>> = Mutex::new(BTreeMap::new());

fn values() -> MutexGuard<'static, BTreeMap<u64, u32>> {
    VALUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the value of a handle.
pub(crate) fn set(handle: u64, value: u32) {
    values().insert(handle, value);
}

/// The value of a handle; 0 if it was never set.
pub(crate) fn get(handle: u64) -> u32 {
    values().get(&handle).copied().unwrap_or(0)
}

/// Forgets a destroyed handle.
pub(crate) fn forget(handle: u64) {
    values().remove(&handle);
}
