//! Writes one launch into a file, with the memory that its arguments reach: the layer that `cuda-launch record` puts between a program and its
//! driver, and the file that `cuda-launch replay` reads.
//!
//! | file | part |
//! |---|---|
//! | `layer` | what happens in a call |
//! | `image` | the bytes of what the program loads |
//! | `reach` | the memory of a launch |
//! | `symbols` | the variables of an image |
//! | `textures` | those among the arguments |
//! | `format`, `hash` | the file |

mod format;
mod hash;
mod image;
mod layer;
mod reach;
mod symbols;
mod textures;

pub use format::{ATTRIBUTE, Contents, FormatError, Recording, Region, SAMPLING, Texture};

use crate::error::Error;
use crate::shims;
use crate::slots::Lease;
use cuda_driver_sys::{Driver, FUNCTIONS};
use layer::State;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Images that are larger are not kept.
const LARGEST_IMAGE: usize = 256 << 20;

/// Which launch to record, and how much memory it may reach.
#[derive(Clone, Debug)]
#[must_use = "`over` makes the recorder"]
pub struct RecordOptions {
    kernel: String,
    nth: usize,
    limit: u64,
}

/// The outcome for the requested launch.
#[derive(Debug)]
pub enum Event {
    /// It begins, with these inputs: the recording is [unfinished](Recording::is_unfinished). Another event follows when it is done,
    /// unless the process ends before that.
    Begun(Arc<Recording>),
    /// It is recorded.
    Recorded(Box<Recording>),
    /// It cannot be recorded, or its outputs if it has begun: why, and what to do.
    Failed(String),
}

impl RecordOptions {
    /// The `nth` launch, from 1, of kernels with that name as the driver knows it, in which `*` matches any text.
    pub fn new(kernel: impl Into<String>, nth: usize) -> RecordOptions {
        RecordOptions { kernel: kernel.into(), nth, limit: 1 << 30 }
    }

    /// The launch is not recorded if it reaches more bytes than these.
    pub fn limit(mut self, bytes: u64) -> RecordOptions {
        self.limit = bytes;
        self
    }

    /// Creates the recorder.
    ///
    /// # Errors
    ///
    /// [`Error::NoSlot`] if 16 spies, checks and recorders are alive, and none is dropped within a minute.
    pub fn over(
        self,
        driver: &Arc<Driver>,
        listener: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Record, Error> {
        let lease = Lease::take(Duration::from_secs(60))?;
        let inner = Arc::new(Inner {
            base: driver.clone(),
            slot: lease.slot(),
            has: FUNCTIONS.iter().map(|function| driver.has(function.name())).collect(),
            options: self,
            listener: Box::new(listener),
            state: Mutex::new(State::default()),
            is_off: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
        });
        lease.give(inner.clone());
        let driver = shims::driver(lease, &inner.has);
        Ok(Record { inner, driver })
    }
}

/// A driver in front of another that records one launch.
pub struct Record {
    inner: Arc<Inner>,
    driver: Arc<Driver>,
}

impl Record {
    /// The driver whose launches are observed.
    pub fn driver(&self) -> Arc<Driver> {
        self.driver.clone()
    }

    /// From now on calls are only passed on, and no launch is counted. In a forked process another thread of the parent may have had the lock.
    pub fn switch_off(&self) {
        self.inner.is_off.store(true, Ordering::Release);
    }

    /// How often each kernel was launched, by name. Nothing while the recorded launch is under way.
    pub fn launches(&self) -> BTreeMap<String, usize> {
        self.inner.state().map(|state| state.launches.clone()).unwrap_or_default()
    }

    /// How many launches of the requested kernel were captured into graphs, and so not counted.
    pub fn captured(&self) -> usize {
        self.inner.state().map_or(0, |state| state.captured)
    }

    /// Whether the recorded launch is under way: a process may end meanwhile, on another thread.
    pub fn is_busy(&self) -> bool {
        self.inner.is_busy.load(Ordering::Acquire)
    }
}

impl Inner {
    /// What is remembered, unless a launch that may never end has it.
    fn state(&self) -> Option<MutexGuard<'_, State>> {
        loop {
            if self.is_off.load(Ordering::Acquire) || self.is_busy.load(Ordering::Acquire) {
                return None;
            }
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").finish_non_exhaustive()
    }
}

/// What a recorder is, for its shims.
struct Inner {
    base: Arc<Driver>,
    slot: usize,
    has: Vec<bool>,
    options: RecordOptions,
    listener: Box<dyn Fn(Event) + Send + Sync>,
    state: Mutex<State>,
    is_off: AtomicBool,
    /// Whether the launch that is recorded is under way, and the lock held for as long.
    is_busy: AtomicBool,
}
