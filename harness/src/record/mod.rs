//! Writes one launch into a file, with the memory that its arguments reach: the layer that `cuda-launch record` puts between a program and its
//! driver, and the file that `cuda-launch replay` reads.
//!
//! | file | part |
//! |---|---|
//! | `layer` | what happens in a call |
//! | `image` | the bytes of what the program loads |
//! | `reach` | the memory of a launch |
//! | `symbols` | the variables of an image |
//! | `format`, `hash` | the file |

mod format;
mod hash;
mod image;
mod layer;
mod reach;
mod symbols;

pub use format::{ATTRIBUTE, Contents, FormatError, Recording, Region};

use crate::error::Error;
use crate::shims;
use crate::slots::Lease;
use cuda_driver_sys::{Driver, FUNCTIONS};
use layer::State;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// It begins, of the kernel with that name. Another event follows when it is done, unless the process ends before that.
    Begun(String),
    /// It is recorded.
    Recorded(Box<Recording>),
    /// It was made but cannot be recorded: why, and what to do.
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

    /// How often each kernel was launched, by name.
    pub fn launches(&self) -> BTreeMap<String, usize> {
        if self.inner.is_off.load(Ordering::Acquire) {
            return BTreeMap::new();
        }
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner).launches.clone()
    }
}

impl Record {
    /// How many launches of the requested kernel were captured into graphs, and so not counted.
    pub fn captured(&self) -> usize {
        if self.inner.is_off.load(Ordering::Acquire) {
            return 0;
        }
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner).captured
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
}
