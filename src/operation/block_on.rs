//! The smallest executor: one future, one thread.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread: for programs without an executor.
///
/// An operation alone is better [synchronised](super::DeviceOperation::sync), which needs no event.
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
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
