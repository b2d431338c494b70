//! Pools that were current ones of a device: what is allocated from no pool by name keeps the one that it came from.
//!
//! An allocation looks afterwards whether any pool of this crate has ever been made current ([`POOL_OF`]); if so, it asks the driver which
//! pool the memory is of, and keeps that. Only such memory is in danger that the last handle overtakes in between. So a pool that was
//! current is first made so no more, and is then destroyed only if none of its memory is in use, and nobody has asked for it in vain.

#![allow(unsafe_code)] // Calls of the driver with a live pool, a device that it named and outputs that outlive the call.

use cuda_driver_sys::{CUmemPool_attribute, CUmemoryPool, CUpointer_attribute, CUresult};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::PoolInner;
use crate::driver::{CudaContext, OwnLock};
use crate::error::Error;
use crate::memory::allocation::{POOL_OF, Pool};

/// A pool that has been current, until it is destroyed.
struct Known {
    raw: usize,
    driver: usize,
    pool: Weak<PoolInner>,
    /// Whether there is memory of it that could not keep it: then it is never destroyed.
    stays: bool,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
/// One thread at a time changes which pools are current, so that the end of one takes no other's place away.
static CHANGE: OwnLock<()> = OwnLock::new(());

fn known() -> MutexGuard<'static, Vec<Known>> {
    // Nothing panics while it is locked.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What no other pool has: two drivers may have pools of the same number.
fn numbers(pool: &PoolInner) -> (usize, usize) {
    (pool.raw.addr(), Arc::as_ptr(pool.context.driver()).addr())
}

/// Makes a pool current. What is allocated from now on keeps it.
pub(super) fn make_current(pool: &Arc<PoolInner>) -> Result<(), Error> {
    let _change = CHANGE.lock("cuDeviceSetMemPool")?;
    if pool.owned && !pool.was_current.swap(true, Ordering::Relaxed) {
        let (raw, driver) = numbers(pool);
        known().push(Known { raw, driver, pool: Arc::downgrade(pool), stays: false });
        // Before the driver knows: who gets memory of the pool sees this.
        POOL_OF.get_or_init(|| pool_of);
    }
    let device = pool.context.raw_device();
    // SAFETY: the pool lives as long as this value (`PoolInner::raw`); before it is destroyed `leave` makes the default one current.
    pool.context.call("cuDeviceSetMemPool", String::new, |driver| unsafe {
        driver.cuDeviceSetMemPool(device, pool.raw)
    })
}

/// A share in the pool that memory which was just allocated is of; none for pools that this crate does not destroy.
fn pool_of(address: u64, context: &CudaContext) -> Option<Arc<dyn Pool>> {
    let (raw, driver) = (ask(address, context), Arc::as_ptr(context.driver()).addr());
    let mut known = known();
    // Two tables may be of one driver, so that those of others count, too.
    known.sort_by_key(|known| known.driver != driver);
    for known in known.iter_mut().filter(|known| raw.is_none_or(|raw| known.raw == raw.addr())) {
        match known.pool.upgrade().filter(|_| raw.is_some()) {
            Some(pool) => return Some(pool),
            None => known.stays = true,
        }
    }
    None
}

/// The pool that the memory is of; `None` if the driver does not say.
fn ask(address: u64, context: &CudaContext) -> Option<CUmemoryPool> {
    context.bind().ok()?;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    let mut raw: CUmemoryPool = null_mut();
    // SAFETY: the output is a local of the attribute's type, and outlives the call; the driver checks the address.
    let code = unsafe { context.driver().cuPointerGetAttribute((&raw mut raw).cast(), attribute, address) };
    (code == CUresult::SUCCESS).then_some(raw)
}

/// Makes the default pool current in the place of this one, whose last handle is gone.
pub(super) fn leave(pool: &PoolInner) -> Result<(), Error> {
    if !pool.was_current.load(Ordering::Relaxed) {
        return Ok(());
    }
    let _change = CHANGE.lock("cuDeviceSetMemPool")?;
    let device = pool.context.raw_device();
    let (mut current, mut default) = (null_mut(), null_mut());
    // After a fault the driver does not answer, and nothing can be allocated.
    let _ = pool.context.give_back_untraced("cuDeviceSetMemPool", |driver| {
        // SAFETY: the driver named the device; the outputs are locals, which outlive the calls; the default pool never ends.
        unsafe {
            let code = driver.cuDeviceGetMemPool(&mut current, device);
            if code != CUresult::SUCCESS || current != pool.raw {
                return code;
            }
            match driver.cuDeviceGetDefaultMemPool(&mut default, device) {
                CUresult::SUCCESS => driver.cuDeviceSetMemPool(device, default),
                code => code,
            }
        }
    });
    Ok(())
}

/// Whether there is memory of the pool that does not keep it, so that it must not be destroyed; after [`leave`]. If not, it is forgotten.
pub(super) fn stays(pool: &PoolInner) -> bool {
    if !pool.was_current.load(Ordering::Relaxed) {
        return false;
    }
    let (mut used, attribute) = (0_u64, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    // After a fault the driver does not answer, and nothing uses it.
    let _ = pool.context.give_back_untraced("cuMemPoolGetAttribute", |driver| {
        // SAFETY: the pool lives as long as this value (`PoolInner::raw`); the output is a local of the attribute's type, and outlives the
        // call.
        unsafe { driver.cuMemPoolGetAttribute(pool.raw, attribute, (&raw mut used).cast()) }
    });
    let mut known = known();
    let this = |known: &Known| (known.raw, known.driver) == numbers(pool);
    let stays = used != 0 || known.iter().any(|known| this(known) && known.stays);
    if !stays {
        known.retain(|known| !this(known));
    }
    stays
}
