//! The fault of a kernel: after it every call on the context answers at once, and names the launches it may have been.

use cuda_driver_sys::CUresult;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::kernel::Kernel;
use crate::error::{Error, ErrorKind, Faulted, Suspect};

/// Launches that a stream remembers.
const REMEMBERED: usize = 16;

/// The last launches on one stream: what a fault is looked for in.
///
/// Two threads that launch on one stream may lose an entry. It takes a lock to prevent that, and a list of suspects is
/// not worth one on every launch.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    kernels: [AtomicU32; REMEMBERED],
    submitted: AtomicU32,
    /// So many were done when the host last waited.
    done: AtomicU32,
}

impl Launches {
    /// Notes a launch of the kernel with this number.
    #[inline(always)]
    pub(crate) fn note(&self, kernel: u32) {
        let count = self.submitted.load(Ordering::Relaxed);
        self.kernels[count as usize % REMEMBERED].store(kernel, Ordering::Relaxed);
        self.submitted.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// How many were submitted so far.
    pub(super) fn submitted(&self) -> u32 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// The host has seen the end of the first `count`.
    pub(super) fn settle(&self, count: u32) {
        self.done.store(count, Ordering::Relaxed);
    }

    /// The numbers of those that may still be running, the oldest first, and how many more there are that were forgotten.
    fn pending(&self) -> (Vec<u32>, u32) {
        let submitted = self.submitted();
        let pending = submitted.wrapping_sub(self.done.load(Ordering::Relaxed));
        let known = pending.min(REMEMBERED as u32);
        let kernels = (submitted.wrapping_sub(known)..).take(known as usize);
        let kernels = kernels.map(|i| self.kernels[i as usize % REMEMBERED].load(Ordering::Relaxed));
        (kernels.collect(), pending - known)
    }
}

/// What a context knows to tell of a fault.
#[derive(Debug, Default)]
pub(super) struct FaultState {
    fault: OnceLock<Faulted>,
    /// Names of the kernels that are looked up now, by number.
    names: Mutex<BTreeMap<u32, String>>,
    streams: Mutex<Vec<Weak<Launches>>>,
}

static KERNELS: AtomicU32 = AtomicU32::new(0);

impl FaultState {
    /// An error if a kernel of this context faulted.
    #[inline(always)]
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.fault.get() {
            None => Ok(()),
            Some(fault) => Err(again(fault)),
        }
    }

    /// A number for a kernel, and its name for as long as it is looked up.
    pub(super) fn name(&self, kernel: &str) -> u32 {
        let number = KERNELS.fetch_add(1, Ordering::Relaxed);
        locked(&self.names).insert(number, kernel.to_string());
        number
    }

    /// The kernel is gone.
    pub(super) fn forget(&self, kernel: &Kernel) {
        locked(&self.names).remove(&kernel.number);
    }

    /// A stream whose launches are to be named.
    pub(super) fn watch(&self, launches: Weak<Launches>) {
        let mut streams = locked(&self.streams);
        streams.retain(|stream| stream.strong_count() != 0);
        streams.push(launches);
    }

    /// How many launches each stream was given so far.
    pub(super) fn submitted(&self) -> Vec<(Arc<Launches>, u32)> {
        let streams = locked(&self.streams);
        streams.iter().filter_map(Weak::upgrade).map(|stream| (stream.clone(), stream.submitted())).collect()
    }

    /// `call` answered that a kernel faulted: remembers it, and says so.
    #[cold]
    pub(super) fn raise(&self, code: CUresult, call: &'static str) -> Error {
        let fault = self.fault.get_or_init(|| Faulted { code, call, suspects: self.suspects() });
        again(fault)
    }

    fn suspects(&self) -> Vec<Suspect> {
        let names = locked(&self.names);
        let mut suspects = Vec::new();
        for stream in locked(&self.streams).iter().filter_map(Weak::upgrade) {
            let (kernels, more) = stream.pending();
            if more != 0 {
                suspects.push(Suspect::Forgotten(more));
            }
            suspects.extend(kernels.iter().map(|kernel| match names.get(kernel) {
                Some(name) => Suspect::Kernel(name.clone()),
                None => Suspect::Unloaded,
            }));
        }
        suspects
    }
}

#[cold]
fn again(fault: &Faulted) -> Error {
    ErrorKind::Faulted(fault.clone()).into()
}

// Nothing panics while one of these locks is held, and every state behind them is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
