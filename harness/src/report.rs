//! The findings of a search for failures.

use crate::ledger::Ledger;
use cuda_driver_sys::CUresult;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What [`every_failure`](crate::every_failure) tried and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) calls: usize,
    pub(crate) sites: usize,
    pub(crate) missed: usize,
    pub(crate) functions: BTreeSet<&'static str>,
    pub(crate) swallowed: BTreeMap<&'static str, usize>,
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// How many driver calls the program makes if nothing fails.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// How many failures were injected: calls, codes, and once or from then on.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// How many failures were not injected because the run made fewer calls than the program does if nothing fails.
    pub fn missed(&self) -> usize {
        self.missed
    }

    /// The functions that failed.
    pub fn functions(&self) -> &BTreeSet<&'static str> {
        &self.functions
    }

    /// The functions after whose failure the program still ended without an error, and how often: either it has an alternative, or it does not
    /// check the result.
    pub fn swallowed(&self) -> &BTreeMap<&'static str, usize> {
        &self.swallowed
    }

    /// The findings, in the order of the calls.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Panics if there are findings, and lists them.
    ///
    /// # Panics
    ///
    /// If there is a finding.
    #[track_caller]
    #[allow(clippy::panic, reason = "it is an assertion")]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }
}

/// How much was tried, and one line for each finding.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sites, functions) = (self.sites, self.functions.len());
        writeln!(f, "{} calls; {sites} failures injected into {functions} functions", self.calls)?;
        if self.missed != 0 {
            writeln!(f, "{} more were not injected: those runs made fewer calls", self.missed)?;
        }
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

/// A failure that was injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub(crate) function: &'static str,
    pub(crate) number: usize,
    pub(crate) code: CUresult,
    pub(crate) is_lasting: bool,
}

impl Site {
    /// The function that failed.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Which of the program's calls it was, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The code that it returned.
    pub fn code(&self) -> CUresult {
        self.code
    }

    /// Whether an error with this code, or without one, may come from this failure: for the check of
    /// [`run_checked`](crate::EveryFailure::run_checked), which rejects errors that are about something else.
    ///
    /// ```
    /// use cuda_driver_sys::{CUresult, Driver};
    /// use cuda_harness::EveryFailure;
    /// use std::sync::Arc;
    ///
    /// // It takes any failure for a driver that is too old.
    /// const OLD: CUresult = CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    /// let program = |cuda: Arc<Driver>| cuda.version().map(drop).map_err(|_| format!("{OLD:?}"));
    /// let report = EveryFailure::new()
    ///     .codes(&[CUresult::CUDA_ERROR_UNKNOWN])
    ///     .run_checked(&cuda_emulator::driver(), program, |site, result| match result {
    ///         // With an error type that has a code: `site.explains(error.code())`.
    ///         Err(_) if !site.explains(Some(OLD)) => Err("another error".into()),
    ///         _ => Ok(()),
    ///     })?;
    /// assert_eq!(report.findings().len(), 2);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn explains(&self, code: Option<CUresult>) -> bool {
        code.is_none_or(|code| code == self.code)
    }

    /// Whether all later calls failed, too.
    pub fn is_lasting(&self) -> bool {
        self.is_lasting
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasting = if self.is_lasting { ", and every later call too" } else { "" };
        write!(f, "call {}, {}, returns {:?}{lasting}", self.number, self.function, self.code)
    }
}

/// Something that a program did after a failure, or without one.
#[derive(Clone, Debug)]
pub struct Finding {
    pub(crate) site: Option<Site>,
    pub(crate) what: What,
}

impl Finding {
    /// The failure; none if the program does this although nothing fails.
    pub fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    /// What it did.
    pub fn what(&self) -> &What {
        &self.what
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site {
            Some(site) => write!(f, "{site}: {}", self.what),
            None => write!(f, "nothing fails: {}", self.what),
        }
    }
}

/// What a program did wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// It panicked, with this message.
    Panics(String),
    /// It did not end in time: the call in progress, or the last one that it made.
    Hangs(Option<String>),
    /// It did not release what it created, or used an object after it was destroyed.
    Leaves(Ledger),
    /// After a fault that made the context unusable, it made these calls, which can only fail.
    CallsAfterFault(Vec<&'static str>),
    /// It ends with this error although nothing fails.
    FailsAnyway(String),
    /// No call failed: it makes none through its driver, or there are no codes.
    NothingTested,
    /// What the check of [`run_checked`](crate::EveryFailure::run_checked) rejected.
    Objection(String),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Panics(message) => write!(f, "it panics: {message}"),
            What::Hangs(Some(call)) => write!(f, "it does not end; its last call is {call}"),
            What::Hangs(None) => f.write_str("it does not end; it made no call"),
            What::Leaves(ledger) => write!(f, "it leaks or misuses objects:\n{ledger}"),
            What::CallsAfterFault(names) => write!(f, "it calls {names:?} after the fault"),
            What::FailsAnyway(error) => write!(f, "it ends with an error: {error}"),
            What::NothingTested => f.write_str("no failure was injected, so nothing was tested"),
            What::Objection(text) => f.write_str(text),
        }
    }
}
