//! [`Hold`]: keeps a stream waiting until a test releases it.
//!
//! Relies on: a driver calls a host function at most once, with the pointer that was passed with it.
#![allow(unsafe_code)] // Passes a C function to a driver.

use crate::error::Error;
use cuda_driver_sys::{CUresult, CUstream, Driver};
use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// The default limit of a hold.
const LIMIT: Duration = Duration::from_secs(15);

const AHEAD: u8 = 0;
const REACHED: u8 = 1;
const LATE: u8 = 2;

/// Keeps a stream waiting until it is released or dropped: for tests of what a program does while work is pending.
///
/// It comes with a function that the stream must call (`cuLaunchHostFunc`), which returns when the hold ends.
///
/// A GPU's driver waits for all work of a context in calls such as `cuModuleLoadData` and `cuMemFree`, and calls all host functions
/// on one thread. A test that makes such a call while it holds a stream would wait forever. So a hold has a limit, 15 seconds by
/// default. Then the stream continues, and the hold reports that when it ends. Two tests that hold streams can wait for each other:
/// run them [`alone`](crate::alone). A first launch of a kernel may load code, and wait for all streams, too.
///
/// With a wrapper that takes closures, such as `cuda-launch`:
///
/// ```text
/// let (hold, wait) = Hold::new();
/// stream.call_host(wait)?;
/// let buffer = DeviceBuffer::from_host(&stream, &numbers)?;
/// assert!(!stream.query()?);
/// hold.release()?;
/// ```
///
/// With a driver's table, [`Hold::on`]. Without a driver, the function waits on any thread:
///
/// ```
/// use cuda_harness::{Hold, wait_until};
///
/// let (hold, wait) = Hold::new();
/// let stream = std::thread::spawn(wait);
/// wait_until("the stream is held", || hold.is_reached())?;
/// assert!(!stream.is_finished());
/// hold.release()?;
/// assert!(stream.join().is_ok());
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[must_use = "the stream goes on when this is dropped"]
pub struct Hold {
    release: Option<Sender<()>>,
    state: Arc<AtomicU8>,
    limit: Duration,
}

impl Hold {
    /// A hold of at most 15 seconds, and the function that waits for its end.
    pub fn new() -> (Hold, impl FnOnce() + Send + 'static) {
        Hold::within(LIMIT)
    }

    /// A hold of at most this time, from when the stream reaches it, and the function that waits for its end.
    pub fn within(limit: Duration) -> (Hold, impl FnOnce() + Send + 'static) {
        let (release, released) = mpsc::channel::<()>();
        let state = Arc::new(AtomicU8::new(AHEAD));
        let held = state.clone();
        let wait = move || {
            held.store(REACHED, Ordering::Relaxed);
            if released.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                held.store(LATE, Ordering::Relaxed);
            }
        };
        (Hold { release: Some(release), state, limit }, wait)
    }

    /// Holds a stream of a driver (`cuLaunchHostFunc`).
    ///
    /// If a kernel faults on the stream before it is reached, the driver never calls the function, and a few bytes are leaked.
    ///
    /// ```
    /// use cuda_driver_sys::CUresult;
    /// use cuda_harness::Hold;
    ///
    /// let cuda = cuda_emulator::driver();
    /// let (mut context, mut stream, mut memory) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    /// unsafe {
    ///     cuda.cuInit(0);
    ///     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
    ///     cuda.cuCtxSetCurrent(context);
    ///     cuda.cuStreamCreate(&mut stream, 1);
    ///     cuda.cuMemAlloc(&mut memory, 64);
    ///     let hold = Hold::on(&cuda, stream)?;
    ///     cuda.cuMemsetD8Async(memory, 7, 64, stream);
    ///     assert_eq!(cuda.cuStreamQuery(stream), CUresult::CUDA_ERROR_NOT_READY);
    ///     hold.release()?;
    ///     assert_eq!(cuda.cuStreamSynchronize(stream), CUresult::SUCCESS);
    /// #   cuda.cuMemFree(memory);
    /// #   cuda.cuStreamDestroy(stream);
    /// #   cuda.cuDevicePrimaryCtxRelease(0);
    /// }
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Call`] if `cuLaunchHostFunc` fails: the stream is not held.
    ///
    /// # Safety
    ///
    /// 1. `stream` is a live stream of this driver, or null for the default stream of the current context.
    pub unsafe fn on(driver: &Driver, stream: CUstream) -> Result<Hold, Error> {
        let (hold, wait) = Hold::new();
        let data = Box::into_raw(Box::new(Box::new(wait) as Waiting));
        // SAFETY: the stream is live by the caller's duty 1; `run` has the type that the function requires, and gets the
        // pointer that it expects, which is valid until `run` takes it back. Nothing else takes it back, except below, where
        // `run` will never be called.
        let code = unsafe { driver.cuLaunchHostFunc(stream, Some(run), data.cast()) };
        if code == CUresult::SUCCESS {
            return Ok(hold);
        }
        // SAFETY: it comes from `Box::into_raw` above, and the driver, which refused the call, never calls `run` with
        // it.
        drop(unsafe { Box::from_raw(data) });
        Err(Error::Call { function: "cuLaunchHostFunc", code })
    }

    /// Whether the stream has reached the hold, so that all work before it is done.
    pub fn is_reached(&self) -> bool {
        self.state.load(Ordering::Relaxed) != AHEAD
    }

    /// Lets the stream continue.
    ///
    /// # Errors
    ///
    /// [`Error::HeldTooLong`] if the stream has already continued, because the limit was exceeded.
    pub fn release(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        match (self.release.take(), self.state.load(Ordering::Relaxed)) {
            (Some(_), LATE) => Err(Error::HeldTooLong { limit: self.limit }),
            _ => Ok(()),
        }
    }
}

type Waiting = Box<dyn FnOnce() + Send>;

unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: it comes from `Box::into_raw` in `Hold::on`, of a box of this type; the driver calls this function once
    // with it.
    let wait = unsafe { Box::from_raw(data.cast::<Waiting>()) };
    // It does not panic; if it did, that could not unwind through the driver.
    drop(catch_unwind(AssertUnwindSafe(wait)));
}

impl Drop for Hold {
    /// Lets the stream continue.
    ///
    /// # Panics
    ///
    /// If the stream has already continued, because the limit was exceeded; not while the thread is panicking.
    fn drop(&mut self) {
        let ended = self.end();
        assert!(ended.is_ok() || thread::panicking(), "{}", Error::HeldTooLong { limit: self.limit });
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("is_reached", &self.is_reached()).finish_non_exhaustive()
    }
}
