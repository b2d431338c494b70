//! The list of findings: one per place in the code, bounded.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::launches::Launches;
use super::{Checks, Finding};

/// The maximum number of reported places in the code; findings at other places are only counted.
const MOST: usize = 100;

type Sink = Box<dyn Fn(&Finding) + Send + Sync>;

/// What has been found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// One per place in the code, in the order in which they were found.
    pub list: Vec<Finding>,
    /// The number of findings at places that are not in the list because it is full.
    pub left_out: u64,
    /// Whether a launch accessed more memory than is checked for races (64 MiB, or 16 MiB where bytes are accessed
    /// individually), or there was more unordered work than is compared (4,096 launches, copies and fills, or 4 Mi ranges of bytes in them),
    /// or there were too many races between launches before it was certain that nothing orders them (100 pairs of places in the code, 4,096
    /// races at each).
    pub incomplete: bool,
}

/// The enabled checks and their findings.
pub struct Checker {
    checks: Checks,
    sink: Option<Sink>,
    found: Mutex<Findings>,
    /// What the host has launched, if it is checked for races.
    launches: Option<Launches>,
}

impl Checker {
    /// Nothing found yet.
    pub fn new(checks: Checks) -> Checker {
        let launches = checks.races.then(Launches::default);
        Checker { checks, sink: None, found: Mutex::default(), launches }
    }

    /// The same, calling `sink` with the first finding at each place.
    pub fn with_sink(checks: Checks, sink: impl Fn(&Finding) + Send + Sync + 'static) -> Checker {
        Checker { sink: Some(Box::new(sink)), ..Checker::new(checks) }
    }

    /// The findings so far.
    pub(crate) fn peek(&self) -> Vec<Finding> {
        self.lock().list.clone()
    }

    /// The enabled checks.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// What the host has launched, if it is checked for races.
    pub(crate) fn launches(&self) -> Option<&Launches> {
        self.launches.as_ref()
    }

    /// The findings since the last call.
    pub fn take(&self) -> Findings {
        std::mem::take(&mut *self.lock())
    }

    /// Adds a finding of a launch.
    pub(crate) fn add(&self, finding: Finding) {
        let mut found = self.lock();
        if let Some(known) = found.list.iter_mut().find(|known| is_same_place(known, &finding)) {
            known.times = known.times.saturating_add(finding.times);
        } else if found.list.len() == MOST {
            found.left_out = found.left_out.saturating_add(finding.times);
        } else {
            found.list.push(finding.clone());
            drop(found);
            if let Some(sink) = &self.sink {
                sink(&finding);
            }
        }
    }

    /// Records that some accesses of a launch were not checked.
    pub(crate) fn miss(&self) {
        self.lock().incomplete = true;
    }

    fn lock(&self) -> MutexGuard<'_, Findings> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same_place(a: &Finding, b: &Finding) -> bool {
    let lines = |finding: &Finding| {
        let (mine, other) =
            (finding.access.ptx_line, finding.other.as_ref().map_or(0, |other| other.ptx_line));
        (mine.min(other), mine.max(other))
    };
    // Copies have no lines: each range counts by itself.
    let range = |finding: &Finding| {
        let bytes = finding.bytes.as_ref().filter(|_| lines(finding) == (0, 0));
        bytes.map(|bytes| (bytes.address, bytes.count))
    };
    let elsewhere = |finding: &Finding| finding.other.as_ref().and_then(|other| other.kernel.clone());
    (a.kind, &a.kernel, lines(a), range(a)) == (b.kind, &b.kernel, lines(b), range(b))
        && elsewhere(a) == elsewhere(b)
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("checks", &self.checks).finish_non_exhaustive()
    }
}
