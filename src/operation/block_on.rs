//! The smallest executor: one future, one thread.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Wakes a parked thread. Calls of `block_on` may be nested, and a thread has only one park token, so each wait keeps its own
/// flag.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for a future on this thread: for programs without an executor.
///
/// For a single operation prefer [`sync`](super::DeviceOperation::sync), which needs no event.
///
/// ```
/// use cuda_launch::operation::{block_on, zeroed};
/// let buffers = block_on(async {
///     let first = zeroed::<u8>(3).await?;
///     Ok::<_, cuda_launch::Error>((first, zeroed::<u8>(4).await?))
/// })?;
/// assert_eq!((buffers.0.len(), buffers.1.len()), (3, 4));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(unpark.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => {
                while !unpark.woken.swap(false, Ordering::Acquire) {
                    thread::park();
                }
            }
        }
    }
}
