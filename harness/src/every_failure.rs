//! Runs a program once for each driver call that it makes and each way in which that call can fail.

use crate::call::Call;
use crate::error::Error;
use crate::fault::{Fault, message};
use crate::report::{Finding, Report, Site, What};
use crate::spy::{Spy, SpyOptions};
use cuda_driver_sys::{CUresult, Driver};
use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The codes that calls return by default. None is sticky: a driver keeps working after it. The last is a code that
/// no header has.
pub const CODES: [CUresult; 5] = [
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    CUresult::CUDA_ERROR_INVALID_HANDLE,
    CUresult::CUDA_ERROR_UNKNOWN,
    CUresult(12345),
];

/// Runs `program` repeatedly: each of its driver calls fails, once or from then on, with each of [`CODES`]. In every run, a correct
/// program ends with or without an error, does not panic, and releases everything that it created.
///
/// The program takes its driver from the argument, and runs on a separate thread. The report lists the findings;
/// use [`Report::assert_clean`] in a test. [`EveryFailure`] has the options.
///
/// ```
/// use cuda_driver_sys::{CUresult, Driver};
/// use cuda_harness::EveryFailure;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// /// Leaks the first buffer if there is no memory for the second.
/// fn two_buffers(cuda: Arc<Driver>) -> Result<(), String> {
///     let ok = |code| if code == CUresult::SUCCESS { Ok(()) } else { Err(format!("{code:?}")) };
///     let (mut context, mut a, mut b) = (std::ptr::null_mut(), 0, 0);
///     unsafe {
///         ok(cuda.cuInit(0))?;
///         ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0))?;
///         let result = (|| {
///             ok(cuda.cuCtxSetCurrent(context))?;
///             ok(cuda.cuMemAlloc(&mut a, 1024))?;
///             ok(cuda.cuMemAlloc(&mut b, 1024))?;
///             ok(cuda.cuMemFree(a)).and(ok(cuda.cuMemFree(b)))
///         })();
///         cuda.cuDevicePrimaryCtxRelease(0);
///         result
///     }
/// }
///
/// // No other thread releases anything, so there is nothing to wait for.
/// let how = EveryFailure::new().codes(&[CUresult::CUDA_ERROR_OUT_OF_MEMORY]).patience(Duration::ZERO);
/// let report = how.run(&cuda_emulator::driver(), two_buffers)?;
/// // Each of 8 calls, once and from then on.
/// assert_eq!((report.calls(), report.sites(), report.findings().len()), (8, 16, 2));
/// let first = &report.findings()[0];
/// assert_eq!(first.site().map(|site| site.function()), Some("cuMemAlloc_v2"));
/// assert!(first.to_string().contains("live: memory#"), "{first}");
/// # Ok::<(), cuda_harness::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::NoSlot`] if no spy can be created.
pub fn every_failure<E: Display + Send + 'static>(
    base: &Arc<Driver>,
    program: impl Fn(Arc<Driver>) -> Result<(), E> + Send + Sync + 'static,
) -> Result<Report, Error> {
    EveryFailure::new().run(base, program)
}

type Settle = dyn Fn(&Arc<Driver>) + Send + Sync;

/// The options of [`every_failure`].
#[derive(Clone)]
#[must_use = "`run` does it"]
pub struct EveryFailure {
    codes: Vec<CUresult>,
    limit: Duration,
    patience: Duration,
    most: usize,
    quiet_after_fault: bool,
    settle: Option<Arc<Settle>>,
    spy: SpyOptions,
}

impl Default for EveryFailure {
    fn default() -> EveryFailure {
        EveryFailure {
            codes: CODES.to_vec(),
            limit: Duration::from_secs(60),
            patience: Duration::from_secs(20),
            most: 10,
            quiet_after_fault: false,
            settle: None,
            spy: SpyOptions::new(),
        }
    }
}

impl EveryFailure {
    /// The defaults of [`every_failure`].
    pub fn new() -> EveryFailure {
        EveryFailure::default()
    }

    /// The codes that calls return, instead of [`CODES`]. After a sticky code (`CUresult::is_sticky`), all later calls return it, too.
    pub fn codes(mut self, codes: &[CUresult]) -> EveryFailure {
        self.codes = codes.to_vec();
        self
    }

    /// A run that takes longer counts as hanging; a minute by default. If such a run does not end even when its calls no longer fail, the
    /// search ends there, and its thread is leaked.
    pub fn limit(mut self, time: Duration) -> EveryFailure {
        self.limit = time;
        self
    }

    /// How long it waits, after a run, for objects that other threads still release; 20 seconds by default. After the first
    /// unsuccessful wait, it waits only a twentieth of that.
    pub fn patience(mut self, time: Duration) -> EveryFailure {
        self.patience = time;
        self
    }

    /// The search ends after this many findings; 10 by default.
    pub fn most_findings(mut self, count: usize) -> EveryFailure {
        self.most = count;
        self
    }

    /// After a sticky code, a call that needs a context, and neither releases nor waits for anything, is a finding: it can only fail.
    pub fn quiet_after_fault(mut self) -> EveryFailure {
        self.quiet_after_fault = true;
        self
    }

    /// Called after each run, on its thread, when no call fails any more: for work that a program defers to a later call.
    pub fn settle(mut self, settle: impl Fn(&Arc<Driver>) + Send + Sync + 'static) -> EveryFailure {
        self.settle = Some(Arc::new(settle));
        self
    }

    /// How the spy is created: as a driver that lacks functions, or with backtraces. It keeps all calls, whatever the options say.
    pub fn spy(mut self, options: SpyOptions) -> EveryFailure {
        self.spy = options.keep(usize::MAX);
        self
    }

    /// Runs the program as [`every_failure`] does.
    ///
    /// # Errors
    ///
    /// [`Error::NoSlot`] if no spy can be created; [`Error::NoSuchFunction`] if the spy is to hide one that does not exist.
    pub fn run<E: Display + Send + 'static>(
        &self,
        base: &Arc<Driver>,
        program: impl Fn(Arc<Driver>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Report, Error> {
        self.run_checked(base, program, |_, _| Ok(()))
    }

    /// As [`run`](Self::run), but each run of the program has its own driver, which `base` creates: leaks and faults of one run
    /// do not affect another. For an emulator per run, use `cuda_emulator::Instance`.
    ///
    /// ```
    /// use cuda_driver_sys::Driver;
    /// use cuda_emulator::Instance;
    /// use cuda_harness::EveryFailure;
    /// use std::sync::Arc;
    ///
    /// let program = |cuda: Arc<Driver>| cuda.version().map(drop).map_err(|code| format!("{code:?}"));
    /// let instance = || Instance::new().expect("one of 16").driver();
    /// let report = EveryFailure::new().run_fresh(instance, program)?;
    /// assert_eq!(report.sites(), 10);
    /// report.assert_clean();
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_fresh<E: Display + Send + 'static>(
        &self,
        base: impl Fn() -> Arc<Driver>,
        program: impl Fn(Arc<Driver>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Report, Error> {
        let spy = || self.spy.over(&base()).map(Arc::new);
        let check = |_: &Site, _: Result<(), &E>| Ok(());
        Search { how: self, spy, program: Arc::new(program), check, leaks: Cell::new(false) }.run()
    }

    /// As [`run`](Self::run); after each run in which a call failed, `check` gets the call and the program's result. Whatever it
    /// rejects is a finding.
    ///
    /// ```
    /// use cuda_driver_sys::{CUresult, Driver};
    /// use cuda_harness::EveryFailure;
    /// use std::sync::Arc;
    ///
    /// // Treats every failure as a driver that is too old.
    /// let program = |cuda: Arc<Driver>| cuda.version().map(|_| ()).map_err(|_| "the driver is too old");
    /// let report = EveryFailure::new()
    ///     .codes(&[CUresult::CUDA_ERROR_UNKNOWN])
    ///     .run_checked(&cuda_emulator::driver(), program, |_, result| match result {
    ///         Err(text) if text.contains("too old") => Err("the error is about something else".into()),
    ///         _ => Ok(()),
    ///     })?;
    /// assert_eq!(report.findings().len(), 2);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_checked<E: Display + Send + 'static>(
        &self,
        base: &Arc<Driver>,
        program: impl Fn(Arc<Driver>) -> Result<(), E> + Send + Sync + 'static,
        check: impl Fn(&Site, Result<(), &E>) -> Result<(), String>,
    ) -> Result<Report, Error> {
        let only = Arc::new(self.spy.over(base)?);
        let (spy, program) = (|| Ok(only.clone()), Arc::new(program));
        Search { how: self, spy, program, check, leaks: Cell::new(false) }.run()
    }
}

struct Search<'how, S, P, C> {
    how: &'how EveryFailure,
    /// The spy for the next run.
    spy: S,
    program: Arc<P>,
    check: C,
    /// Whether a run has leaked something.
    leaks: Cell<bool>,
}

/// The outcome of one run.
struct Run<E> {
    findings: Vec<What>,
    /// The program's result; `None` if it panicked or did not end.
    result: Option<Result<(), E>>,
    /// The number of its calls.
    calls: usize,
    /// Whether its thread is still running.
    is_lost: bool,
}

impl<E, S, P, C> Search<'_, S, P, C>
where
    E: Display + Send + 'static,
    S: Fn() -> Result<Arc<Spy>, Error>,
    P: Fn(Arc<Driver>) -> Result<(), E> + Send + Sync + 'static,
    C: Fn(&Site, Result<(), &E>) -> Result<(), String>,
{
    fn run(self) -> Result<Report, Error> {
        let mut report = Report::default();
        // Objects that a driver creates at first use exist after the first run.
        for _ in 0..2 {
            let run = self.once(&(self.spy)()?);
            report.calls = run.calls;
            let failed =
                run.result.and_then(|result| result.err()).map(|error| What::FailsAnyway(error.to_string()));
            let what: Vec<_> = run.findings.into_iter().chain(failed).collect();
            if !what.is_empty() {
                report.findings = what.into_iter().map(|what| Finding { site: None, what }).collect();
                return Ok(report);
            }
        }
        for number in 1..=report.calls {
            for code in &self.how.codes {
                // A sticky code always affects all later calls.
                let ways: &[bool] = if code.is_sticky() { &[true] } else { &[false, true] };
                for is_lasting in ways {
                    let goes_on = self.site(number, *code, *is_lasting, &mut report)?;
                    if !goes_on || report.findings.len() >= self.how.most {
                        return Ok(report);
                    }
                }
            }
        }
        if report.sites == 0 {
            report.findings.push(Finding { site: None, what: What::NothingTested });
        }
        Ok(report)
    }

    /// One run with a failure; whether the search continues.
    fn site(
        &self,
        number: usize,
        code: CUresult,
        is_lasting: bool,
        report: &mut Report,
    ) -> Result<bool, Error> {
        let fault = match (code.is_sticky(), is_lasting) {
            (true, _) => Fault::any().nth(number).sticky(code),
            (false, true) => Fault::any().from_nth(number),
            (false, false) => Fault::any().nth(number),
        };
        let spy = (self.spy)()?;
        let injected = spy.inject(fault.answer(code))?;
        let mut run = self.once(&spy);
        let calls = spy.calls();
        let met = calls.iter().find(|call| call.is_injected());
        let Some(met) = met.filter(|_| injected.hits() > 0) else {
            // This run made fewer calls.
            report.missed += 1;
            let findings = run.findings.into_iter().map(|what| Finding { site: None, what });
            report.findings.extend(findings);
            return Ok(!run.is_lost);
        };
        let site = Site { function: met.name(), number, code, is_lasting };
        report.sites += 1;
        report.functions.insert(met.name());
        if let Some(result) = &run.result {
            let objection = (self.check)(&site, result.as_ref().map(|_| ())).err();
            run.findings.extend(objection.map(What::Objection));
        }
        if matches!(run.result, Some(Ok(()))) && run.findings.is_empty() {
            *report.swallowed.entry(met.name()).or_default() += 1;
        }
        if code.is_sticky() && self.how.quiet_after_fault {
            let late = calls.filter(|call| call.number() > met.number() && is_idle(call));
            run.findings.extend((!late.is_empty()).then(|| What::CallsAfterFault(late.names())));
        }
        let findings = run.findings.into_iter().map(|what| Finding { site: Some(site.clone()), what });
        report.findings.extend(findings);
        Ok(!run.is_lost)
    }

    /// Runs the program once, and removes the faults.
    fn once(&self, spy: &Arc<Spy>) -> Run<E> {
        spy.clear();
        let before = spy.ledger();
        let (sender, ended) = mpsc::channel();
        let (own, program, settle) = (spy.clone(), self.program.clone(), self.how.settle.clone());
        let thread = thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| program(own.driver())));
            let result = result.map_err(|panic| message(&*panic).to_owned());
            // The receiver is gone if the run was abandoned.
            let _ = sender.send((result, own.calls().len()));
            own.heal();
            let settled = catch_unwind(AssertUnwindSafe(|| settle.inspect(|settle| settle(&own.driver()))));
            settled.err().map(|panic| message(&*panic).to_owned())
        });
        let mut findings = Vec::new();
        let mut answer = ended.recv_timeout(self.how.limit);
        if matches!(answer, Err(RecvTimeoutError::Timeout)) {
            findings.push(What::Hangs(last_call(spy)));
            spy.heal();
            answer = ended.recv_timeout(self.how.limit);
        }
        let (result, calls) = match answer {
            Ok((Ok(result), calls)) => (Some(result), calls),
            Ok((Err(panic), calls)) => {
                findings.push(What::Panics(panic));
                (None, calls)
            }
            // The thread has ended without a result, because dropping the panic's payload panicked in turn; see
            // below.
            Err(RecvTimeoutError::Disconnected) => {
                spy.heal();
                (None, spy.calls().len())
            }
            Err(RecvTimeoutError::Timeout) => {
                return Run { findings, result: None, calls: 0, is_lost: true };
            }
        };
        // `settle` is code of the caller, and may take long.
        match thread.join() {
            Ok(None) => {}
            Ok(Some(panic)) => findings.push(What::Panics(panic)),
            Err(panic) => findings.push(What::Panics(message(&*panic).to_owned())),
        }
        findings.extend(self.left(spy, &before));
        Run { findings, result, calls, is_lost: false }
    }

    /// What the run leaked or misused.
    fn left(&self, spy: &Spy, before: &crate::ledger::Ledger) -> Option<What> {
        let start = Instant::now();
        loop {
            let left = spy.ledger().since(before);
            let patience = if self.leaks.get() { self.how.patience / 20 } else { self.how.patience };
            if left.live().is_empty() || start.elapsed() >= patience {
                self.leaks.set(self.leaks.get() || !left.live().is_empty());
                return (!left.is_clean()).then_some(What::Leaves(left));
            }
            // Other threads may still release it.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The call that does not end, or the last one that did.
fn last_call(spy: &Spy) -> Option<String> {
    let calls = spy.calls();
    let open = calls.iter().rev().find(|call| call.answer().is_none());
    open.or(calls.last()).map(|call| call.to_string())
}

/// Whether a call after a fault is pointless: it releases nothing, waits for nothing, and needs the context.
fn is_idle(call: &Call) -> bool {
    let function = crate::functions::named(call.name());
    let is_needed = function.is_none_or(|function| function.gives_back || function.survives);
    !is_needed && !call.name().contains("Synchronize")
}
