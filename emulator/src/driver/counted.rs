//! Launches that are profiled because their thread requested it.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::state::lock;
use crate::profile::{KernelProfile, Profiler};

/// The number of calls of [`profile`] in progress: if it is zero, launches need no further check.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The scope that counts this thread's launches.
    static HERE: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

/// A call of [`profile`].
#[derive(Default)]
struct Scope {
    profiler: Profiler,
    /// The amount of submitted work that is not done.
    open: Mutex<usize>,
    done: Condvar,
}

/// Work whose kernels are counted, until it is dropped.
pub(super) struct Counted(Arc<Scope>);

impl Deref for Counted {
    type Target = Profiler;

    fn deref(&self) -> &Profiler {
        &self.0.profiler
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        *lock(&self.0.open) += 1;
        Counted(Arc::clone(&self.0))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *lock(&self.0.open) -= 1;
        self.0.done.notify_all();
    }
}

/// The profiler of this thread's launches, if there is one.
pub(super) fn counted() -> Option<Counted> {
    if CALLS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    // A thread that ends may still submit work, which is not counted.
    let scope = HERE.try_with(|here| here.borrow().clone()).ok().flatten()?;
    *lock(&scope.open) += 1;
    Some(Counted(scope))
}

/// Makes that scope count this thread's launches until this is dropped.
struct Entered(Option<Arc<Scope>>);

impl Entered {
    fn new(scope: &Arc<Scope>) -> Entered {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Entered(HERE.replace(Some(Arc::clone(scope))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.set(self.0.take());
        CALLS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts what the kernels do that `work` launches on this thread, by kernel in the order in which they ended. Other launches are
/// unaffected. Returns what `work` returns, when these launches are done.
///
/// Any way to launch is counted: single launches, graphs, and what a library calls, on the process's emulator and on any
/// [`Instance`](crate::Instance). Launches by other threads are not, nor those that `work` only captures. Of nested calls, the inner
/// one counts. [`take_profiles`](crate::take_profiles) gets the counts, too, where [`set_profile`](crate::set_profile) was called. Counted kernels
/// are many times slower, and a kernel is decoded again when it is first counted.
///
/// ```
/// use cuda_emulator::{driver, profile};
/// # use std::ptr::{from_mut, null_mut};
///
/// let cuda = driver();
/// let ptx = c".version 8.0 .target sm_90 .address_size 64
///     .visible .entry fill(.param .u64 p) {
///         .reg .b64 %a; .reg .b32 %i;
///         ld.param.u64 %a, [p]; mov.u32 %i, %tid.x;
///         mad.wide.u32 %a, %i, 64, %a;
///         st.global.u32 [%a], %i; ret; }";
/// # let (mut context, mut module, mut fill, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
/// // .. `fill` is loaded from it, and runs on one block of 32 threads.
/// # unsafe {
/// #     cuda.cuInit(0);
/// #     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
/// #     cuda.cuCtxSetCurrent(context);
/// #     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast());
/// #     cuda.cuModuleGetFunction(&mut fill, module, c"fill".as_ptr());
/// #     cuda.cuMemAlloc(&mut memory, 32 * 64);
/// # }
/// # let mut parameters = [from_mut(&mut memory).cast()];
/// # let mut launch = || unsafe { cuda.cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()) };
/// let (code, kernels) = profile(|| launch())?;
/// assert_eq!(code.0, 0);
/// // Each thread writes to a separate sector, although four sectors would suffice.
/// let total = kernels[0].total();
/// assert_eq!((total.global_sectors, total.global_sectors_ideal), (32, 4));
/// let lines = kernels[0].lines();
/// let store = lines.last().expect("the line of `st.global`");
/// assert_eq!((store.line, store.counts.global_requests), (6, 1));
/// # Ok::<(), cuda_emulator::ProfileError>(())
/// ```
///
/// # Errors
/// [`ProfileError::NoKernel`] if no kernel was counted: `work` launched none on this thread, or on another driver than this emulator.
/// What `work` did has happened all the same.
///
/// # Deadlocks
/// If a launch waits for something that this thread does only after `work`, the call does not return.
pub fn profile<R>(work: impl FnOnce() -> R) -> Result<(R, Vec<KernelProfile>), ProfileError> {
    let scope = Arc::<Scope>::default();
    let entered = Entered::new(&scope);
    let result = work();
    drop(entered);
    let open = lock(&scope.open);
    drop(scope.done.wait_while(open, |open| *open > 0).unwrap_or_else(PoisonError::into_inner));
    let kernels = scope.profiler.take();
    if kernels.is_empty() {
        return Err(ProfileError::NoKernel);
    }
    Ok((result, kernels))
}

/// Why there is no [`profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileError {
    /// No kernel ran on the emulator.
    NoKernel,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no kernel of the emulator was counted: the work launched none on this thread, or on another driver, such as a GPU's \
             (`CUDA_LAUNCH_DRIVER=emulator` chooses the emulator in programs that use cuda-launch)",
        )
    }
}

impl Error for ProfileError {}
