//! The fault of a kernel: after it every call on the context answers at once, and names the launches it may have been.

use cuda_driver_sys::CUresult;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::kernel::Kernel;
use super::stream::StreamInner;
use crate::error::{Error, ErrorKind, Faulted, Suspect};

/// The last launches on one stream: what a fault is looked for in.
///
/// A ring of numbers of kernels, with a mark where the host last waited. Two threads that launch on one stream may lose an
/// entry: it takes a lock to prevent that, and a list of suspects is not worth one on every launch.
#[derive(Debug)]
pub(crate) struct Launches {
    ring: [AtomicU32; 256],
    next: AtomicU8,
}

/// In the ring: what comes before is done.
const DONE: u32 = u32::MAX;

/// More than these are not worth naming.
const NAMED: usize = 16;

impl Default for Launches {
    fn default() -> Self {
        Self { ring: [const { AtomicU32::new(DONE) }; 256], next: AtomicU8::new(0) }
    }
}

impl Launches {
    /// Notes a launch of the kernel with this number, before it is submitted: then nothing need be kept over the call.
    #[inline(always)]
    pub(crate) fn note(&self, kernel: u32) {
        let next = self.next.load(Ordering::Relaxed);
        self.ring[usize::from(next)].store(kernel, Ordering::Relaxed);
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
    }

    /// The last launch that was noted was refused.
    pub(crate) fn unnote(&self) {
        self.next.store(self.next().wrapping_sub(1), Ordering::Relaxed);
    }

    /// Where the next launch is noted: to be given to [`Launches::settle`] when the host has waited.
    pub(super) fn next(&self) -> u8 {
        self.next.load(Ordering::Relaxed)
    }

    /// The host has seen the end of all launches before `next`.
    pub(super) fn settle(&self, next: u8) {
        self.ring[usize::from(next.wrapping_sub(1))].store(DONE, Ordering::Relaxed);
    }

    /// The numbers of those that may still be running, the oldest first, and whether there may be more.
    fn pending(&self) -> (Vec<u32>, bool) {
        let next = self.next();
        let back =
            (1..=u8::MAX).map(|i| self.ring[usize::from(next.wrapping_sub(i))].load(Ordering::Relaxed));
        let mut kernels: Vec<u32> = back.take_while(|kernel| *kernel != DONE).collect();
        let more = kernels.len() > NAMED;
        kernels.truncate(NAMED);
        kernels.reverse();
        (kernels, more)
    }
}

/// What a context knows to tell of a fault.
#[derive(Debug, Default)]
pub(super) struct FaultState {
    fault: OnceLock<Faulted>,
    /// Names of the kernels that are looked up now, by number.
    names: Mutex<BTreeMap<u32, String>>,
    streams: Mutex<Vec<Weak<StreamInner>>>,
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
    pub(super) fn watch(&self, stream: Weak<StreamInner>) {
        let mut streams = locked(&self.streams);
        streams.retain(|stream| stream.strong_count() != 0);
        streams.push(stream);
    }

    /// Where each stream stands, for [`Launches::settle`].
    pub(super) fn standing(&self) -> Vec<(Arc<StreamInner>, u8)> {
        let streams = locked(&self.streams);
        streams
            .iter()
            .filter_map(Weak::upgrade)
            .map(|stream| (stream.clone(), stream.launches.next()))
            .collect()
    }

    /// `call` answered that a kernel faulted: remembers it, and says so.
    #[cold]
    pub(super) fn raise(&self, code: CUresult, call: &'static str) -> Error {
        // They may be the last handles: a stream's end asks for the fault too, so none is dropped before it is known.
        let streams: Vec<_> = locked(&self.streams).iter().filter_map(Weak::upgrade).collect();
        let fault = self.fault.get_or_init(|| Faulted { code, call, suspects: self.suspects(&streams) });
        again(fault)
    }

    fn suspects(&self, streams: &[Arc<StreamInner>]) -> Vec<Suspect> {
        let names = locked(&self.names);
        let mut suspects = Vec::new();
        for stream in streams {
            let (kernels, more) = stream.launches.pending();
            if more {
                suspects.push(Suspect::Earlier);
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
