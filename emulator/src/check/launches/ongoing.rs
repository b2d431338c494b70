//! Work while it runs.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Label, Reach, VectorClock};
use crate::check::{Actor, Checker};

/// What a piece of work accessed, and who in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) reach: Reach,
    /// By the numbers in the runs.
    pub(crate) actors: Vec<Actor>,
}

/// A piece of work that runs; it is over when this is dropped.
pub(crate) struct Ongoing {
    checker: Arc<Checker>,
    number: u64,
    told: AtomicBool,
    heard: AtomicBool,
    /// Whether kernels that depend on it may begin early, and whether it has waited for what it depends on.
    released: AtomicBool,
    waited: AtomicBool,
    touched: Mutex<Touched>,
    finished: bool,
}

impl Ongoing {
    /// Begins, in a lane, behind that past, which then contains it. `None` if races are not checked.
    pub(crate) fn begin(
        checker: &Arc<Checker>,
        past: &mut VectorClock,
        lane: u64,
        label: Label,
    ) -> Option<Ongoing> {
        let number = checker.launches()?.table().begin(past, lane, label);
        let (told, heard, touched) = (AtomicBool::default(), AtomicBool::default(), Mutex::default());
        let (released, waited) = (AtomicBool::default(), AtomicBool::default());
        let (checker, finished) = (Arc::clone(checker), false);
        Some(Ongoing { checker, number, told, heard, released, waited, touched, finished })
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// It may begin before the kernel with that number, which is right before it in its stream, is over.
    pub(crate) fn begin_early(&self, before: u64) {
        self.checker
            .launches()
            .into_iter()
            .for_each(|launches| launches.table().begin_early(self.number, before));
    }

    /// It waits for what it depends on, or lets depend on it begin.
    pub(crate) fn depend(&self, wait: bool) {
        if wait { &self.waited } else { &self.released }.store(true, Relaxed);
    }

    /// It has written what the host may be waiting for: who sees that knows that all before is over.
    pub(crate) fn tell_host(&self) {
        if !self.told.swap(true, Relaxed)
            && let Some(launches) = self.checker.launches()
        {
            let mut table = launches.table();
            let past = table.past_of(self.number);
            table.learn(&past);
        }
    }

    /// It has read what the host may have written.
    pub(crate) fn hear_host(&self) {
        self.heard.store(true, Relaxed);
    }

    /// Whether it has read what the host may have written.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard.load(Relaxed)
    }

    /// What it has accessed.
    pub(crate) fn touch(&self, touched: Touched) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = touched;
    }

    /// It is over. `describe` says where a range of host addresses is: its device address, and in words.
    pub(crate) fn end(mut self, describe: &dyn Fn(u64, u64) -> (u64, String)) {
        let touched = std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        self.finish(touched, describe);
    }

    fn finish(&mut self, Touched { reach, actors }: Touched, describe: &dyn Fn(u64, u64) -> (u64, String)) {
        self.finished = true;
        let Some(launches) = self.checker.launches() else { return };
        let ended = {
            let mut table = launches.table();
            if self.has_heard() {
                table.hear(self.number);
            }
            table.depend(self.number, self.released.load(Relaxed), self.waited.load(Relaxed));
            table.end(self.number, reach, actors, describe)
        };
        ended.findings.into_iter().for_each(|finding| self.checker.add(finding));
        if ended.is_full {
            self.checker.miss();
        }
    }
}

impl Drop for Ongoing {
    /// If it did not come to its end: after a fault.
    fn drop(&mut self) {
        if !self.finished {
            self.finish(Touched::default(), &|address, _| (address, String::new()));
        }
    }
}

impl fmt::Debug for Ongoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ongoing").field("number", &self.number).finish_non_exhaustive()
    }
}
