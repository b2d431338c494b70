//! Which stream a chain of operations runs on.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::driver::{CudaContext, CudaStream, StreamFlags};
use crate::error::{Error, ErrorKind, OperationError};

/// Chooses a stream for each chain of operations, and for each branch.
///
/// Policies are shared by threads, and no lock is held while one is called.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, SchedulingPolicy, zeroed};
/// use cuda_launch::{CudaContext, CudaStream, Error};
/// use std::sync::Arc;
///
/// /// A new stream for everybody.
/// struct Fresh(CudaContext);
///
/// impl SchedulingPolicy for Fresh {
///     fn next_stream(&self) -> Result<CudaStream, Error> {
///         self.0.new_stream()
///     }
/// }
///
/// let policy: Arc<dyn SchedulingPolicy> = Arc::new(Fresh(CudaContext::new(0)?));
/// assert_eq!(zeroed::<u8>(3).schedule(policy.clone()).sync()?.len(), 3);
/// # Ok::<(), Error>(())
/// ```
pub trait SchedulingPolicy: Send + Sync {
    /// The stream for the next chain or branch, which determines the device that it runs on.
    ///
    /// # Errors
    /// Any reason why the policy cannot provide one. The operation fails with this error.
    fn next_stream(&self) -> Result<CudaStream, Error>;
}

impl<P: SchedulingPolicy + ?Sized> SchedulingPolicy for Arc<P> {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        (**self).next_stream()
    }
}

/// Runs everything on one stream: nothing runs concurrently.
///
/// ```
/// use cuda_launch::CudaContext;
/// use cuda_launch::operation::{SchedulingPolicy, SingleStream};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// assert_eq!(SingleStream::new(&stream).next_stream()?.raw(), stream.raw());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SingleStream(CudaStream);

impl SingleStream {
    /// This stream.
    pub fn new(stream: &CudaStream) -> Self {
        Self(stream.clone())
    }
}

impl SchedulingPolicy for SingleStream {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        Ok(self.0.clone())
    }
}

/// Several streams, used in turn.
///
/// ```
/// use cuda_launch::CudaContext;
/// use cuda_launch::operation::{RoundRobin, SchedulingPolicy};
/// let policy = RoundRobin::new(&CudaContext::new(0)?, 2)?;
/// let (first, second) = (policy.next_stream()?, policy.next_stream()?);
/// assert_ne!(first.raw(), second.raw());
/// assert_eq!(policy.next_stream()?.raw(), first.raw());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub struct RoundRobin {
    streams: Box<[CudaStream]>,
    next: AtomicUsize,
}

impl RoundRobin {
    /// How many streams it makes at most.
    const LIMIT: usize = 1024;

    /// Creates this many streams in this context.
    ///
    /// Driver call: `cuStreamCreateWithPriority` for each.
    ///
    /// # Errors
    /// Zero streams, more than 1,024 ([`OperationError::TooManyStreams`]; a device runs at most 128 kernels at a time), or any error
    /// returned by the driver.
    pub fn new(context: &CudaContext, streams: usize) -> Result<Self, Error> {
        Self::with_priority(context, streams, 0)
    }

    /// The same, with this priority: lower numbers go first. See
    /// [`CudaContext::stream_priorities`](crate::CudaContext::stream_priorities).
    ///
    /// Driver call: `cuStreamCreateWithPriority` for each.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::operation::{RoundRobin, SchedulingPolicy};
    /// let ctx = CudaContext::new(0)?;
    /// let urgent = RoundRobin::with_priority(&ctx, 2, ctx.stream_priorities()?.greatest)?;
    /// assert_eq!(urgent.next_stream()?.priority()?, ctx.stream_priorities()?.greatest);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`RoundRobin::new`].
    pub fn with_priority(context: &CudaContext, streams: usize, priority: i32) -> Result<Self, Error> {
        if streams > Self::LIMIT {
            let error = OperationError::TooManyStreams { count: streams, limit: Self::LIMIT };
            return Err(ErrorKind::from(error).into());
        }
        let streams = (0..streams)
            .map(|_| CudaStream::new(context, StreamFlags::NON_BLOCKING, priority))
            .collect::<Result<Vec<_>, _>>()?;
        Self::of(streams)
    }

    /// These streams, of any contexts.
    ///
    /// # Errors
    /// The list is empty.
    pub fn of(streams: impl IntoIterator<Item = CudaStream>) -> Result<Self, Error> {
        let streams: Box<[CudaStream]> = streams.into_iter().collect();
        if streams.is_empty() {
            return Err(ErrorKind::from(OperationError::NoStreams).into());
        }
        Ok(Self { streams, next: AtomicUsize::new(0) })
    }

    /// The streams.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::operation::RoundRobin;
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(RoundRobin::new(&ctx, 4)?.streams().len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn streams(&self) -> &[CudaStream] {
        &self.streams
    }

    fn next_index(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed) % self.streams.len()
    }

    fn at(&self, index: usize) -> Result<CudaStream, Error> {
        let stream = self.streams.get(index).ok_or_else(|| ErrorKind::from(OperationError::NoStreams))?;
        Ok(stream.clone())
    }
}

impl SchedulingPolicy for RoundRobin {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        self.at(self.next_index())
    }
}

/// Several streams. A thread keeps the stream that it used last if it has seen the end of what it ran there, otherwise it takes the next.
///
/// So operations that a thread awaits or synchronises one after the other run on one stream. Those that use the same memory then need no
/// event to be ordered, and threads share no stream as long as there are enough. Operations that a thread starts before it has seen the end of earlier
/// ones run on other streams, concurrently.
///
/// The default policy ([`device_policy`](super::device_policy)) is of this kind.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, SchedulingPolicy, ThreadAffine, value, with_context};
/// use cuda_launch::CudaContext;
/// use std::sync::Arc;
/// let policy = Arc::new(ThreadAffine::new(&CudaContext::new(0)?, 2)?);
/// let stream = || with_context(|cx| value(cx.stream().map(|stream| stream.raw().addr())));
/// let first = stream().schedule(policy.clone()).sync()??;
/// assert_eq!(stream().schedule(policy.clone()).sync()??, first, "one after the other");
/// let streams = (policy.next_stream()?, policy.next_stream()?);
/// assert_ne!(streams.0.raw(), streams.1.raw(), "for work at the same time");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct ThreadAffine(RoundRobin);

/// What a thread got last from a policy of this kind.
#[derive(Clone, Copy)]
struct Last {
    index: usize,
    /// The stream's identity: another policy has others.
    stream: usize,
    /// Whether the thread has seen the end of what it ran there.
    is_done: bool,
}

thread_local! {
    static LAST: Cell<Last> = const { Cell::new(Last { index: 0, stream: 0, is_done: false }) };
}

/// This thread has seen the end of what it ran on a stream.
#[inline]
pub(super) fn done_on(stream: &CudaStream) {
    let last = LAST.get();
    if last.stream == stream.identity() {
        LAST.set(Last { is_done: true, ..last });
    }
}

impl ThreadAffine {
    /// Creates this many streams in this context.
    ///
    /// Driver call: `cuStreamCreateWithPriority` for each.
    ///
    /// # Errors
    /// Those of [`RoundRobin::new`].
    pub fn new(context: &CudaContext, streams: usize) -> Result<Self, Error> {
        RoundRobin::new(context, streams).map(Self)
    }

    /// These streams, of any contexts.
    ///
    /// # Errors
    /// The list is empty.
    pub fn of(streams: impl IntoIterator<Item = CudaStream>) -> Result<Self, Error> {
        RoundRobin::of(streams).map(Self)
    }

    /// The streams.
    pub fn streams(&self) -> &[CudaStream] {
        self.0.streams()
    }
}

impl SchedulingPolicy for ThreadAffine {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        let last = LAST.get();
        let kept =
            self.0.streams.get(last.index).filter(|stream| last.is_done && stream.identity() == last.stream);
        let (index, stream) = match kept {
            Some(stream) => (last.index, stream.clone()),
            None => {
                let index = self.0.next_index();
                (index, self.0.at(index)?)
            }
        };
        LAST.set(Last { index, stream: stream.identity(), is_done: false });
        Ok(stream)
    }
}

impl fmt::Debug for RoundRobin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundRobin").field("streams", &self.streams.len()).finish_non_exhaustive()
    }
}
