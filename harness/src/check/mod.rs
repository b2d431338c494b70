//! Rules for programs that use CUDA: the layer that `cuda-launch check` puts between a program and its driver.
//!
//! [`Check::over`] wraps a driver. It passes every call on, and reports to a listener each call that breaks a
//! [rule](Rule). It reports only certain mistakes; `docs/check.md` lists the rules and their limits.
//!
//! | file | part |
//! |---|---|
//! | `rule`, `allow` | rules and findings; suppressions |
//! | `call` | the inspection of a call |
//! | `state` | the state between calls |
//! | `handles` | the handles that a call uses |
//! | `launch` | a launch |
//! | `cluster`, `cooperative` | why a driver refused a cluster, or a cooperative grid |
//! | `packet`, `limits`, `pointers` | the parts of a launch: argument list, sizes, addresses |
//! | `peers` | memory that the device of a launch cannot access |
//! | `kernel`, `image`, `walk` | information about a kernel: from the driver, and from its PTX |
//! | `sides`, `range` | what calls copy and fill; copies and fills past the end of their memory |
//! | `work`, `order` | the work that calls submit to streams, and how it is ordered |
//! | `clock`, `area` | how much of each stream's work is done; ranges and boxes of memory |
//! | `ends` | objects that remain at the end |
//! | `host` | whether this process has memory at an address |
//! | `graphs` | what the nodes of graphs copy, fill and launch |
//!
//! Relies on: code that passes a call to the check upholds the contract of its function.
#![allow(unsafe_code)]

mod allow;
mod area;
mod call;
mod clock;
mod cluster;
mod cooperative;
mod ends;
mod graphs;
mod handles;
mod host;
mod image;
mod kernel;
mod launch;
mod limits;
mod order;
mod packet;
mod peers;
mod pointers;
mod range;
mod rule;
mod sides;
mod state;
mod walk;
mod work;

pub use allow::Allow;
pub use rule::{Finding, Level, Rule};

use crate::error::Error;
use crate::functions;
use crate::intercept::Layer;
use crate::shims;
use crate::slots::Lease;
use cuda_driver_sys::{CUresult, Driver, FUNCTIONS};
use state::State;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The maximum number of reported findings of one rule in one function and kernel.
const MOST_OF_A_PLACE: usize = 3;

/// A rule, and where it was broken: the function and kernel.
type Broken = (Rule, &'static str, Option<String>);

/// Called with each finding.
type Listener = dyn Fn(&Finding) + Send + Sync;

/// Called with the log line of each call.
type Log = dyn Fn(&str) + Send + Sync;

/// How programs are checked.
#[derive(Default)]
#[must_use = "`over` makes the check"]
pub struct CheckOptions {
    level: Option<Level>,
    allowed: Vec<Allow>,
    refuses: bool,
    log: Option<Box<Log>>,
}

impl CheckOptions {
    /// The default: everything is reported, nothing is refused.
    pub fn new() -> CheckOptions {
        CheckOptions::default()
    }

    /// Reports only findings of this level or worse.
    pub fn level(mut self, level: Level) -> CheckOptions {
        self.level = Some(level);
        self
    }

    /// Suppresses these findings.
    pub fn allow(mut self, allowed: Allow) -> CheckOptions {
        self.allowed.push(allowed);
        self
    }

    /// Launches, copies, fills and nodes of graphs that break a rule of level error return `CUDA_ERROR_INVALID_VALUE`, and do not reach the driver.
    pub fn refuse(mut self) -> CheckOptions {
        self.refuses = true;
        self
    }

    /// Calls `log` with each call when it ends, on its thread: number, name, arguments, and the result if it is an
    /// error.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> CheckOptions {
        self.log = Some(Box::new(log));
        self
    }

    /// Creates the check.
    ///
    /// # Errors
    ///
    /// [`Error::NoSlot`] if 16 spies and checks are alive, and none is dropped within a minute.
    pub fn over(
        self,
        driver: &Arc<Driver>,
        listener: impl Fn(&Finding) + Send + Sync + 'static,
    ) -> Result<Check, Error> {
        let lease = Lease::take(Duration::from_secs(60))?;
        let inner = Arc::new(Inner {
            base: driver.clone(),
            slot: lease.slot(),
            has: FUNCTIONS.iter().map(|function| driver.has(function.name())).collect(),
            options: self,
            listener: Box::new(listener),
            state: Mutex::new(State::default()),
            told: Mutex::default(),
            is_off: AtomicBool::new(false),
            has_several_devices: OnceLock::new(),
        });
        lease.give(inner.clone());
        let driver = shims::driver(lease, &inner.has);
        Ok(Check { inner, driver })
    }
}

/// A driver in front of another that inspects each call.
pub struct Check {
    inner: Arc<Inner>,
    driver: Arc<Driver>,
}

impl Check {
    /// A check that reports everything.
    ///
    /// # Errors
    ///
    /// As for [`CheckOptions::over`].
    pub fn over(
        driver: &Arc<Driver>,
        listener: impl Fn(&Finding) + Send + Sync + 'static,
    ) -> Result<Check, Error> {
        CheckOptions::new().over(driver, listener)
    }

    /// The driver whose calls are checked.
    pub fn driver(&self) -> Arc<Driver> {
        self.driver.clone()
    }

    /// Makes a call that is checked like a call of the function with that symbol: for functions that the bindings do not declare.
    ///
    /// # Safety
    ///
    /// 1. `words` are the arguments of a call of that function, whose contract the caller upholds, and `call` makes the
    ///    call.
    pub unsafe fn seen(&self, name: &str, words: &[u64], call: &mut dyn FnMut() -> CUresult) -> CUresult {
        match functions::named(name) {
            // SAFETY: 1: the caller's duty 1.
            Some(function) => unsafe { self.inner.call(function, words, &mut |_| call()) },
            None => call(),
        }
    }

    /// To be called at the end of the program. Reports objects that were not released, open captures and failed calls. Returns the number
    /// of calls; `None` if the check was [switched off](Self::switch_off).
    pub fn end(&self) -> Option<usize> {
        if self.inner.is_off.load(Ordering::Acquire) {
            return None;
        }
        self.inner.end();
        Some(self.inner.lock().count)
    }

    /// Whether the program uses the CUDA runtime; false if the check was [switched off](Self::switch_off).
    pub fn is_runtime(&self) -> bool {
        // In a forked process, the lock may be held forever, by a thread that exists only in the parent.
        !self.inner.is_off.load(Ordering::Acquire) && self.inner.lock().is_runtime
    }

    /// Tells the check that the runtime still has this error at the end of the program, under this name: it was not taken with
    /// `cudaGetLastError`. Errors that both the runtime and the driver have are the same numbers.
    pub fn runtime_error(&self, code: CUresult, name: String) {
        self.inner.lock().runtime_error = Some((code, name));
    }

    /// The number of findings, by rule, that were not reported because there were too many of the rule in a function
    /// and kernel.
    pub fn suppressed(&self) -> BTreeMap<Rule, usize> {
        let told = self.inner.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut suppressed = BTreeMap::new();
        for ((rule, ..), times) in told.iter().filter(|(_, times)| **times > MOST_OF_A_PLACE) {
            *suppressed.entry(*rule).or_default() += times - MOST_OF_A_PLACE;
        }
        suppressed
    }

    /// From now on calls are only passed on. After a `fork`, a driver that the parent used cannot be used in the child.
    pub fn switch_off(&self) {
        self.inner.is_off.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").finish_non_exhaustive()
    }
}

/// The state of a check, for its shims.
struct Inner {
    base: Arc<Driver>,
    slot: usize,
    has: Vec<bool>,
    options: CheckOptions,
    listener: Box<Listener>,
    state: Mutex<State>,
    /// How often each rule was broken in each function and kernel.
    told: Mutex<HashMap<Broken, usize>>,
    is_off: AtomicBool,
    /// Whether the driver has more than one device.
    has_several_devices: OnceLock<bool>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is to be reported.
    fn is_wanted(&self, finding: &Finding) -> bool {
        self.options.level.is_none_or(|level| finding.rule.level() >= level)
            && !self.options.allowed.iter().any(|allowed| allowed.covers(finding))
    }

    fn tell(&self, finding: &Finding) {
        let place = (finding.rule, finding.function, finding.kernel.clone());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let times = told.entry(place).or_default();
        *times += 1;
        if *times <= MOST_OF_A_PLACE {
            drop(told);
            (self.listener)(finding);
        }
    }
}
