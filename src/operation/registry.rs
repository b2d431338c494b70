//! The devices of the process, each with a pool of streams: the default for operations.
//!
//! One slot per device, filled once and never emptied. No lock is held while a device is opened, and the only thread-local
//! state is the device that a task has chosen.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use super::policy::ThreadAffine;
use crate::driver::{CudaContext, CudaStream, StreamFlags};
use crate::error::{Error, ErrorKind, OperationError};

/// Streams of a device that operations share: threads that await operations at the same time are faster on streams of their own.
const STREAMS: usize = 8;

/// More devices than any machine has.
const DEVICES: usize = 64;

static POOLS: [OnceLock<Arc<ThreadAffine>>; DEVICES] = [const { OnceLock::new() }; DEVICES];
static DEFAULT: AtomicU32 = AtomicU32::new(0);
/// The arguments of [`init_device_contexts`].
static INITIALISED: OnceLock<Initialised> = OnceLock::new();

#[derive(Clone, Copy, Debug)]
struct Initialised {
    default: u32,
    count: u32,
}

thread_local! {
    /// The device of the task that is polled on this thread now.
    static TASK: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Opens the first `count` devices, each with a pool of 8 streams, and makes `default` the device that operations run on.
///
/// These streams and the legacy default stream wait for each other
/// ([`CudaContext::default_stream`](crate::CudaContext::default_stream)), so work on untracked addresses comes after
/// earlier work on that stream. Streams of your own policy need not.
///
/// Call it once per process. A program that never calls it uses device 0, and opens any other device on first use.
///
/// Driver calls: those of [`CudaContext::new`] and [`CudaStream::new`], for each device.
///
/// ```
/// use cuda_launch::operation::{default_device, init_device_contexts};
/// init_device_contexts(0, 1)?;
/// assert_eq!(default_device(), 0);
/// assert!(init_device_contexts(0, 1).is_err(), "once; nothing was changed");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// It was called before, `default` is not among the devices, or a device cannot be opened. In the last two cases the
/// default is unchanged, the process counts as not initialised, and pools of devices that were opened stay open.
pub fn init_device_contexts(default: u32, count: u32) -> Result<(), Error> {
    already()?;
    if default >= count {
        return Err(no_such_device(default, count));
    }
    (0..count).try_for_each(|device| policy_of(device).map(drop))?;
    match INITIALISED.set(Initialised { default, count }) {
        Ok(()) => set_default_device(default),
        // Another thread was first.
        Err(_) => already(),
    }
}

/// An error if the process was initialised.
fn already() -> Result<(), Error> {
    match INITIALISED.get() {
        None => Ok(()),
        Some(&Initialised { default, count }) => {
            Err(ErrorKind::from(OperationError::AlreadyInitialised { default, count }).into())
        }
    }
}

/// The device that operations run on: that of the task ([`with_device`], [`task_on_device`]), otherwise that of the process.
///
/// ```
/// use cuda_launch::operation::default_device;
/// assert_eq!(default_device(), 0);
/// ```
pub fn default_device() -> u32 {
    TASK.get().unwrap_or_else(|| DEFAULT.load(Ordering::Relaxed))
}

/// Makes `device` the device that operations of the process run on, unless a task has chosen another.
///
/// ```
/// use cuda_launch::operation::set_default_device;
/// set_default_device(0)?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// The device does not exist, or [`init_device_contexts`] was called with fewer devices and this one was not in use before.
pub fn set_default_device(device: u32) -> Result<(), Error> {
    policy_of(device)?;
    DEFAULT.store(device, Ordering::Relaxed);
    Ok(())
}

/// Calls `f` with `device` as the default device of everything that it runs on this thread; calls can be nested.
///
/// ```
/// use cuda_launch::operation::{default_device, with_device};
/// assert_eq!(with_device(1, || (default_device(), with_device(2, default_device))), (1, 2));
/// assert_eq!(default_device(), 0);
/// ```
pub fn with_device<R>(device: u32, f: impl FnOnce() -> R) -> R {
    /// Restores the previous value, even after a panic.
    struct Restore(Option<u32>);
    impl Drop for Restore {
        fn drop(&mut self) {
            TASK.set(self.0);
        }
    }
    let _restore = Restore(TASK.replace(Some(device)));
    f()
}

/// A future with `device` as its default device whenever it is polled, on any thread: a default for one task.
///
/// ```
/// use cuda_launch::operation::{block_on, default_device, task_on_device};
/// assert_eq!(block_on(task_on_device(3, async { default_device() })), 3);
/// ```
pub fn task_on_device<F: Future>(device: u32, task: F) -> TaskOnDevice<F> {
    TaskOnDevice { device, task: Box::pin(task) }
}

/// The result of [`task_on_device`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct TaskOnDevice<F> {
    device: u32,
    task: Pin<Box<F>>,
}

impl<F: Future> Future for TaskOnDevice<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        with_device(self.device, || self.task.as_mut().poll(cx))
    }
}

/// The pool of a device, opened now if it was not before: what [`on_device`](super::DeviceOperation::on_device) runs on.
///
/// ```
/// use cuda_launch::operation::device_policy;
/// let pool = device_policy(0)?;
/// assert_eq!(pool.streams().len(), 8);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// [`init_device_contexts`] was called with fewer devices, and this one was not in use before; the device cannot be opened.
pub fn device_policy(device: u32) -> Result<Arc<ThreadAffine>, Error> {
    policy_of(device).cloned()
}

/// The context that operations on this device run in: for modules and buffers that they use.
///
/// ```
/// use cuda_launch::operation::device_context;
/// assert_eq!(device_context(0)?.ordinal(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// Those of [`device_policy`].
pub fn device_context(device: u32) -> Result<CudaContext, Error> {
    let first = policy_of(device)?.streams().first();
    first
        .map(|stream| stream.context().clone())
        .ok_or_else(|| ErrorKind::from(OperationError::NoStreams).into())
}

/// The pool of the default device.
pub(super) fn current_policy() -> Result<&'static Arc<ThreadAffine>, Error> {
    policy_of(default_device())
}

pub(super) fn policy_of(device: u32) -> Result<&'static Arc<ThreadAffine>, Error> {
    let slot = POOLS.get(device as usize).ok_or_else(|| no_such_device(device, DEVICES as u32))?;
    match slot.get() {
        Some(pool) => Ok(pool),
        None => open(device, slot),
    }
}

#[cold]
fn open(
    device: u32,
    slot: &'static OnceLock<Arc<ThreadAffine>>,
) -> Result<&'static Arc<ThreadAffine>, Error> {
    if let Some(&Initialised { count, .. }) = INITIALISED.get() {
        return Err(no_such_device(device, count));
    }
    // Two threads may both do this; the pool of one of them is dropped.
    let context = CudaContext::new(device)?;
    let stream = |_| CudaStream::new(&context, StreamFlags::empty(), 0);
    let pool = ThreadAffine::of((0..STREAMS).map(stream).collect::<Result<Vec<_>, _>>()?)?;
    Ok(slot.get_or_init(|| Arc::new(pool)))
}

fn no_such_device(device: u32, count: u32) -> Error {
    ErrorKind::from(OperationError::NoSuchDevice { device, count }).into()
}
