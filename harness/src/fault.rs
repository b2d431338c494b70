//! Faults: calls that return something other than the driver's result.

use crate::call::Call;
use crate::error::Error;
use crate::functions;
use crate::short;
use cuda_driver_sys::CUresult;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Which calls fail, and how.
///
/// The calls are those [of one function](Fault::on), [all](Fault::any) or [launches](Fault::launches); of these the
/// [n-th](Fault::nth) or all [from the n-th](Fault::from_nth) on; and optionally those that [meet a condition](Fault::when). It has no effect before
/// [`Spy::inject`](crate::Spy::inject).
///
/// A call that fails is not passed on to the driver, with exceptions: calls that release something (`cuMemFree`, `cuStreamDestroy`,
/// `cuModuleUnload`, `cuStreamEndCapture`, ..) do their work, and return the error, as on a driver whose earlier work failed.
/// A sticky code (`CUresult::is_sticky`) tells the caller that the work is over, so `cu*Synchronize`, `cuStreamQuery` and `cuEventQuery` return
/// one only after they have waited for it.
///
/// ```
/// use cuda_driver_sys::CUresult;
/// use cuda_harness::{Fault, Spy};
///
/// let spy = Spy::over(&cuda_emulator::driver())?;
/// let cuda = spy.driver();
/// let no_memory = spy.inject(Fault::on("cuMemAlloc").nth(2).answer(CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
///
/// let (mut context, mut a, mut b) = (std::ptr::null_mut(), 0, 0);
/// unsafe {
///     cuda.cuInit(0);
///     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
///     cuda.cuCtxSetCurrent(context);
///     assert_eq!(cuda.cuMemAlloc(&mut a, 1024), CUresult::SUCCESS);
///     assert_eq!(cuda.cuMemAlloc(&mut b, 1024), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
///     cuda.cuMemFree(a);
///     cuda.cuDevicePrimaryCtxRelease(0);
/// }
/// assert_eq!(no_memory.hits(), 1);
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "nothing fails before `Spy::inject`"]
pub struct Fault {
    target: Target,
    first: usize,
    last: usize,
    when: Option<Arc<Predicate>>,
    answer: Option<CUresult>,
    delay: Duration,
    sticky: Option<CUresult>,
    is_done: bool,
    /// The functions whose results are replaced: none, [`short::SHORT`] or [`short::MALFORMED`].
    replaced: &'static [&'static str],
}

type Predicate = dyn Fn(&Call) -> bool + Send + Sync;

#[derive(Clone, Debug)]
enum Target {
    Any,
    Launches,
    Function(String),
}

impl Fault {
    fn of(target: Target) -> Fault {
        Fault {
            target,
            first: 1,
            last: usize::MAX,
            when: None,
            answer: None,
            delay: Duration::ZERO,
            sticky: None,
            is_done: false,
            replaced: &[],
        }
    }

    /// All calls of a function, by symbol (`cuMemAlloc_v2`) or by the header's name (`cuMemAlloc`).
    pub fn on(function: impl Into<String>) -> Fault {
        Fault::of(Target::Function(function.into()))
    }

    /// All calls.
    pub fn any() -> Fault {
        Fault::of(Target::Any)
    }

    /// All calls that launch a kernel or a graph.
    pub fn launches() -> Fault {
        Fault::of(Target::Launches)
    }

    /// Only the n-th of these calls since the fault was injected, counted from 1.
    pub fn nth(self, n: usize) -> Fault {
        Fault { first: n, last: n, ..self }
    }

    /// Only the n-th of these calls, counted from 1, and those after it.
    pub fn from_nth(self, n: usize) -> Fault {
        Fault { first: n, last: usize::MAX, ..self }
    }

    /// Only calls for which the predicate is true. It sees a call that has no result yet; calls for which it is false are not counted.
    ///
    /// It may query the spy and call the driver; it is not asked about the calls that it makes itself. If it panics, the call proceeds as if it had returned false, and
    /// [`Spy::panics`](crate::Spy::panics) has the message: a panic cannot unwind through a C function.
    pub fn when(self, predicate: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Fault {
        Fault { when: Some(Arc::new(predicate)), ..self }
    }

    /// The error that the calls return. Without this, [`delay`](Self::delay), [`sticky`](Self::sticky) and [`short`](Self::short) it is
    /// `CUDA_ERROR_UNKNOWN`. [`Spy::inject`](crate::Spy::inject) refuses `CUDA_SUCCESS`: a call that was not made must not return success.
    pub fn answer(self, code: CUresult) -> Fault {
        Fault { answer: Some(code), ..self }
    }

    /// The calls are delayed by this time.
    pub fn delay(self, time: Duration) -> Fault {
        Fault { delay: time, ..self }
    }

    /// The driver makes the call, and the result is replaced afterwards: an object that the call created is lost.
    pub fn done_all_the_same(self) -> Fault {
        Fault { is_done: true, ..self }
    }

    /// The calls succeed but return less than they could, as a driver may on another machine or at another time:
    ///
    /// | call | returns |
    /// |---|---|
    /// | `cuDeviceGetCount` | one device fewer |
    /// | `cuGetProcAddress_v2` | a null pointer, and `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND` |
    /// | `cuMemGetInfo` | no free memory |
    /// | `cuOccupancyMaxActiveBlocksPerMultiprocessor`, also `WithFlags` | no block |
    ///
    /// With [all calls](Fault::any), it applies to those in this table. A call that the driver refuses remains refused. Results that
    /// contradict the driver's documentation are [`malformed`](Self::malformed).
    ///
    /// ```
    /// use cuda_harness::{Fault, Spy};
    ///
    /// let spy = Spy::over(&cuda_emulator::driver())?;
    /// spy.inject(Fault::on("cuDeviceGetCount").short())?;
    /// let (cuda, mut count) = (spy.driver(), 9);
    /// unsafe { cuda.cuInit(0) };
    /// unsafe { cuda.cuDeviceGetCount(&mut count) };
    /// assert_eq!(count, 0);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn short(self) -> Fault {
        Fault { replaced: short::SHORT, ..self }
    }

    /// The calls succeed, and their results contradict the driver's documentation:
    ///
    /// | call | returns |
    /// |---|---|
    /// | `cuDeviceGetName` | a name that fills the buffer, without a NUL at its end |
    /// | `cuGetErrorName`, `cuGetErrorString` | a null pointer |
    /// | `cuLinkComplete` | a null pointer, and 0 bytes |
    ///
    /// With [all calls](Fault::any), it applies to those in this table. A call that the driver refuses remains refused.
    ///
    /// ```
    /// use cuda_harness::{Fault, Spy};
    ///
    /// let spy = Spy::over(&cuda_emulator::driver())?;
    /// // SAFETY: 1: the name below is not read beyond its buffer.
    /// spy.inject(unsafe { Fault::on("cuDeviceGetName").malformed() })?;
    /// let (cuda, mut name) = (spy.driver(), [0_u8; 8]);
    /// unsafe { cuda.cuInit(0) };
    /// unsafe { cuda.cuDeviceGetName(name.as_mut_ptr().cast(), 8, 0) };
    /// assert_eq!(name, [b'x'; 8]);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// 1. The code that makes these calls on the spy's driver checks the results itself: it neither looks for the end of a name beyond its
    ///    buffer nor reads at a null pointer.
    #[allow(unsafe_code)] // The function has a duty for its caller, but does nothing unsafe itself.
    pub unsafe fn malformed(self) -> Fault {
        Fault { replaced: short::MALFORMED, ..self }
    }

    /// The calls succeed, and every later call returns this error: the kernel that was launched has faulted. As with a driver, that
    /// includes calls that free, which do their work, and calls that wait; only those that need no context (`cuDeviceGetAttribute`,
    /// `cuCtxGetCurrent`, `cuGetErrorName`, ..) keep working.
    pub fn sticky(self, code: CUresult) -> Fault {
        Fault { sticky: Some(code), ..self }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("target", &self.target)
            .field("calls", &(self.first..=self.last))
            .field("answer", &self.answer)
            .field("sticky", &self.sticky)
            .field("replaced", &self.replaced)
            .finish_non_exhaustive()
    }
}

/// A fault that was injected into a spy.
#[derive(Clone, Debug)]
pub struct Injected(pub(crate) Arc<Active>);

impl Injected {
    /// How many calls it has affected.
    pub fn hits(&self) -> usize {
        self.0.hits.load(Ordering::Acquire)
    }

    /// How many calls it has looked at: those that its function, and its predicate if it has one, select.
    pub fn calls(&self) -> usize {
        self.0.seen.load(Ordering::Acquire)
    }

    /// Removes it: it affects no more calls. A sticky fault that has occurred remains.
    pub fn lift(&self) {
        self.0.is_lifted.store(true, Ordering::Release);
    }
}

/// A fault, and how often it was evaluated.
#[derive(Debug)]
pub(crate) struct Active {
    fault: Fault,
    seen: AtomicUsize,
    hits: AtomicUsize,
    is_lifted: AtomicBool,
}

/// The effect of the faults on a call.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// The result in place of the driver's.
    pub(crate) answer: Option<CUresult>,
    /// Whether the driver makes the call although the result is replaced.
    pub(crate) is_done: bool,
    pub(crate) delay: Duration,
    /// The driver's result is replaced by a short or malformed one.
    pub(crate) is_replaced: bool,
    /// The result of all later calls.
    pub(crate) sticky: Option<CUresult>,
    /// The messages of predicates that panicked.
    pub(crate) panics: Vec<String>,
}

impl Active {
    pub(crate) fn new(mut fault: Fault) -> Result<Active, Error> {
        if let Target::Function(name) = &mut fault.target {
            match functions::named(name) {
                Some(function) => *name = function.name.to_owned(),
                None => return Err(Error::NoSuchFunction { name: name.clone() }),
            }
            if !fault.replaced.is_empty() && !fault.replaced.contains(&name.as_str()) {
                return Err(Error::NoShortAnswer { name: name.clone(), known: fault.replaced });
            }
        }
        if fault.first == 0 {
            return Err(Error::CallZero);
        }
        if [fault.answer, fault.sticky].contains(&Some(CUresult::SUCCESS)) {
            return Err(Error::SuccessIsNoFault);
        }
        let is_timely = fault.delay.is_zero() && fault.sticky.is_none();
        if fault.answer.is_none() && is_timely && fault.replaced.is_empty() {
            fault.answer = Some(CUresult::CUDA_ERROR_UNKNOWN);
        }
        Ok(Active {
            fault,
            seen: AtomicUsize::new(0),
            hits: AtomicUsize::new(0),
            is_lifted: AtomicBool::new(false),
        })
    }

    /// Whether it applies to this call.
    fn meets(&self, call: &Call, panics: &mut Vec<String>) -> bool {
        let is_target = match &self.fault.target {
            Target::Any => true,
            Target::Launches => call.is_launch,
            Target::Function(name) => call.name == name,
        };
        let is_met =
            is_target && (self.fault.replaced.is_empty() || self.fault.replaced.contains(&call.name));
        if !is_met || self.is_lifted.load(Ordering::Acquire) {
            return false;
        }
        if let Some(when) = &self.fault.when {
            let Some(_asked) = Asked::begin(self) else { return false };
            match catch_unwind(AssertUnwindSafe(|| when(call))) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(panic) => {
                    panics.push(format!("call {}, {}: {}", call.number, call.name, message(&*panic)));
                    return false;
                }
            }
        }
        let number = self.seen.fetch_add(1, Ordering::AcqRel) + 1;
        let meets = (self.fault.first..=self.fault.last).contains(&number);
        if meets {
            self.hits.fetch_add(1, Ordering::AcqRel);
        }
        meets
    }
}

thread_local! {
    /// The faults whose predicates are running on this thread.
    static ASKED: RefCell<Vec<*const Active>> = const { RefCell::new(Vec::new()) };
}

/// Exists while a predicate runs: a call that it makes does not evaluate it again, which would not terminate.
struct Asked;

impl Asked {
    /// `None` if it is already running on this thread.
    fn begin(active: &Active) -> Option<Asked> {
        let begin = |asked: &RefCell<Vec<_>>| {
            let mut asked = asked.borrow_mut();
            let is_new = !asked.contains(&std::ptr::from_ref(active));
            is_new.then(|| asked.push(active)).map(|()| Asked)
        };
        // A thread that ends may make calls after its thread-locals were destroyed.
        ASKED.try_with(begin).unwrap_or_else(|_| Some(Asked))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = ASKED.try_with(|asked| asked.borrow_mut().pop());
    }
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a message",
    }
}

/// Evaluates the faults for a call. The first with a result decides, but all of them see the call.
pub(crate) fn judge(faults: &[Arc<Active>], call: &Call) -> Verdict {
    let mut verdict = Verdict::default();
    for active in faults {
        if !active.meets(call, &mut verdict.panics) {
            continue;
        }
        let fault = &active.fault;
        verdict.delay = verdict.delay.saturating_add(fault.delay);
        verdict.sticky = verdict.sticky.or(fault.sticky);
        verdict.is_replaced |= !fault.replaced.is_empty();
        if verdict.answer.is_none() {
            verdict.answer = fault.answer;
            verdict.is_done = fault.is_done;
        }
    }
    verdict
}
