//! The context in which an operation runs: the stream of its chain.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use super::policy::SchedulingPolicy;
use super::registry;
use crate::driver::{Capture, CudaContext, CudaStream, Keep};
use crate::error::{Error, ErrorKind, RefusedInCapture};
use crate::trace;

/// Where the streams of a chain come from.
#[derive(Clone)]
pub(super) enum Source {
    /// The policy of the task's default device.
    Default,
    /// The policy of a device.
    Device(u32),
    /// A policy.
    Policy(Arc<dyn SchedulingPolicy>),
    /// Always this one.
    Stream(CudaStream),
}

/// A value that work uses and that is not ordered automatically.
pub(super) type Kept = Box<dyn Any + Send>;

/// The context in which a chain of operations runs. It provides the chain's stream, which is chosen on the first request: a chain that
/// uses no device needs no stream, and nothing has to be waited for.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, value, with_context};
/// let same = with_context(|cx| value(cx.stream().map(|stream| stream.raw() as usize).ok()))
///     .and_then_with_context(|cx, first| value(first == cx.stream().map(|stream| stream.raw() as usize).ok()));
/// assert!(same.sync()?, "a chain has one stream");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub struct ExecutionContext {
    source: Source,
    /// Whether the chain uses the only stream of its source.
    fixed: Cell<bool>,
    /// Otherwise, the stream that was chosen for it.
    stream: OnceCell<CudaStream>,
    /// The point in the parent chain at which this branch began: its first work waits for it.
    before: Option<CudaStream>,
    /// The number of [`Branches`] created so far.
    forked: Cell<u32>,
    /// Whether the chain began on a stream of a capture that had already ended: nothing was recorded then.
    late: bool,
    /// Allocated on demand, because few chains need any of it.
    rest: OnceCell<Box<ChainEnd>>,
}

/// What has to be done when a chain ends.
#[derive(Default)]
struct ChainEnd {
    kept: RefCell<Vec<Kept>>,
    /// Streams of branches that have ended and were not joined, with the number of their [`Branches`]. They are stored here so
    /// that a forgotten `Branches` does not lose them.
    open: RefCell<Vec<(u32, CudaStream)>>,
}

impl ExecutionContext {
    #[inline]
    pub(super) fn new(source: Source) -> Self {
        let captured = match &source {
            Source::Stream(stream) => stream.capture().map(|capture| (stream.clone(), capture.has_ended())),
            _ => None,
        };
        // Branches must be forks of it.
        let (stream, late) =
            captured.map_or((OnceCell::new(), false), |(stream, late)| (stream.into(), late));
        Self {
            source,
            fixed: Cell::new(false),
            stream,
            before: None,
            forked: Cell::new(0),
            late,
            rest: OnceCell::new(),
        }
    }

    /// The stream of this chain; work submitted to it runs in the order of the chain.
    ///
    /// The first time, the policy chooses it. Driver calls then: those of the policy; in a branch of a chain that has used its
    /// stream, also `cuEventRecord` there and `cuStreamWaitEvent` here.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::{value, with_context};
    /// let stream = with_context(|cx| value(cx.stream().is_ok()));
    /// assert!(stream.sync()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device cannot be opened, or the policy has no stream.
    #[inline]
    pub fn stream(&self) -> Result<&CudaStream, Error> {
        match self.stream.get() {
            Some(stream) => Ok(stream),
            None => self.first_stream(),
        }
    }

    #[inline]
    fn first_stream(&self) -> Result<&CudaStream, Error> {
        if let (Source::Stream(stream), None) = (&self.source, &self.before) {
            self.fixed.set(true);
            return Ok(stream);
        }
        let stream = match &self.before {
            // Regardless of the policy: only forks of a captured stream can be joined to it.
            Some(before) if before.capture().is_some() => before.fork()?,
            Some(before) => {
                let stream = self.source.next_stream()?;
                stream.after(before)?;
                stream
            }
            None => self.source.next_stream()?,
        };
        Ok(self.stream.get_or_init(|| stream))
    }

    /// The context of the chain's stream, chosen now if it was not before.
    ///
    /// # Errors
    /// Those of [`stream`](Self::stream).
    pub fn context(&self) -> Result<&CudaContext, Error> {
        self.stream().map(CudaStream::context)
    }

    /// The ordinal of the device that the chain runs on.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::{value, with_context};
    /// assert_eq!(with_context(|cx| value(cx.device().ok())).sync()?, Some(0));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`stream`](Self::stream).
    pub fn device(&self) -> Result<u32, Error> {
        self.context().map(CudaContext::ordinal)
    }

    /// Keeps `what` alive until all work of this chain is done, including work that is submitted later. It is then dropped,
    /// possibly on a thread of this crate that drops such values one after another, so a `Drop` that blocks delays the
    /// others.
    ///
    /// For values that the work uses and that are not ordered in another way, such as host memory. If the driver can no longer tell when the
    /// work is done, it is never dropped.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::{value, with_context};
    /// let op = with_context(|cx| {
    ///     cx.keep(vec![1u8; 100]); // until the chain's work is done
    ///     value(())
    /// });
    /// op.sync()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn keep<T: Send + 'static>(&self, what: T) {
        self.rest().kept.borrow_mut().push(Box::new(what));
    }

    /// Runs parts of the work concurrently: see [`Branches`].
    pub fn branches(&self) -> Branches<'_> {
        let before = self.used_stream().or(self.before.as_ref());
        let number = self.forked.get();
        self.forked.set(number.wrapping_add(1));
        Branches { parent: self, number, before }
    }

    fn rest(&self) -> &ChainEnd {
        self.rest.get_or_init(Box::default)
    }

    /// The stream, if it was requested before.
    #[inline]
    pub(super) fn used_stream(&self) -> Option<&CudaStream> {
        match &self.source {
            Source::Stream(stream) if self.fixed.get() => Some(stream),
            _ => self.stream.get(),
        }
    }

    /// The stream of the chain; a chain without one continues on `other`, unless its source names a particular stream.
    fn stream_or(&self, other: &CudaStream) -> &CudaStream {
        match (&self.source, &self.before, self.used_stream()) {
            (_, _, Some(stream)) => stream,
            (Source::Stream(stream), None, None) => {
                self.fixed.set(true);
                stream
            }
            _ => self.stream.get_or_init(|| other.clone()),
        }
    }

    /// Whether there is something to be kept until the work is done.
    #[inline]
    pub(super) fn keeps_something(&self) -> bool {
        self.rest.get().is_some_and(|rest| !rest.kept.borrow().is_empty())
    }

    /// What is to be kept until the work is done.
    pub(super) fn take_kept(&self) -> Vec<Kept> {
        self.rest.get().map(|rest| rest.kept.take()).unwrap_or_default()
    }

    /// Passes what the work needs to the capture, which keeps it. If the capture has already ended, it is dropped here if nothing of
    /// the chain was recorded, and leaked if that is not known.
    #[cold]
    pub(super) fn leave_kept(&self, capture: &Capture) {
        let kept: Vec<Keep> = self.take_kept().into_iter().map(shareable).collect();
        match capture.add_objects(kept) {
            Err(kept) if !self.late => std::mem::forget(kept),
            _ => {}
        }
    }

    /// Makes the chain's stream wait for all branches that have not been joined: those whose [`Branches`] was forgotten. To be
    /// called at the end of a chain, before waiting for the chain's stream.
    #[inline]
    pub(super) fn join_forgotten(&self) {
        if let Some(rest) = self.rest.get() {
            // The error is not reported: if the join fails, the host has waited.
            let _ = self.join_all(rest.open.take());
        }
    }

    fn join_all(&self, branches: Vec<(u32, CudaStream)>) -> Result<(), Error> {
        let (mut result, mut open) = (Ok(()), Unjoined(branches.into()));
        while let Some((_, stream)) = open.0.front().cloned() {
            match self.stream_or(&stream).after(&stream) {
                Ok(()) => drop(open.0.pop_front()),
                Err(error) => {
                    result = Err(error);
                    open.wait_for_first();
                }
            }
        }
        result
    }

    /// Waits for the chain and its branches without a span; whether all is done.
    pub(super) fn wait_untraced(&self) -> bool {
        let open = self.rest.get().map(|rest| rest.open.take()).unwrap_or_default();
        let streams = open.iter().map(|(_, stream)| stream).chain(self.used_stream());
        streams.fold(true, |done, stream| stream.wait_untraced() & done)
    }

    /// Runs `work` in a chain of its own whose streams come from `source`, after the earlier work of this chain and before the
    /// later.
    pub(super) fn elsewhere<R>(&self, source: Source, work: impl FnOnce(&Self) -> R) -> Result<R, Error> {
        let mut branches = self.branches();
        let result = branches.run(source, work);
        branches.join().map(|()| result)
    }
}

/// Parts of the work of a chain that run concurrently, each on its own stream from the chain's policy.
///
/// Work of a branch comes after earlier work of the chain; work that the chain submits after [`join`](Branches::join), or
/// after this value is dropped, comes after all branches. If this value is forgotten, only the end of the chain waits for
/// them. Only branches that use a stream cost anything: an event and a wait at each end.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, value, with_context};
/// use cuda_launch::Error;
/// let op = with_context(|cx| {
///     let mut branches = cx.branches();
///     let left = branches.branch(|cx| cx.stream().cloned());
///     let right = branches.branch(|cx| cx.stream().cloned());
///     value(left.and_then(|left| Ok(left.raw() != right?.raw())))
/// });
/// assert!(op.sync()??, "each branch has a stream");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[must_use = "branches are joined when this is dropped"]
pub struct Branches<'a> {
    parent: &'a ExecutionContext,
    /// Its number among those of the chain.
    number: u32,
    /// Borrowed, so that a forgotten value does not keep a stream alive.
    before: Option<&'a CudaStream>,
}

impl Branches<'_> {
    /// Runs `work` as another branch.
    pub fn branch<R>(&mut self, work: impl FnOnce(&ExecutionContext) -> R) -> R {
        self.run(self.parent.source.clone(), work)
    }

    fn run<R>(&mut self, source: Source, work: impl FnOnce(&ExecutionContext) -> R) -> R {
        let (fixed, forked, before) = (Cell::new(false), Cell::new(0), self.before.cloned());
        let (stream, late, rest) = (OnceCell::new(), self.parent.late, OnceCell::new());
        let cx = ExecutionContext { source, fixed, stream, before, forked, late, rest };
        let branch = Branch { cx, parent: self.parent, number: self.number };
        let result = work(&branch.cx);
        // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust
        // leaks that value.
        drop(branch);
        result
    }

    /// Makes work that the chain submits from now on wait for all branches.
    ///
    /// # Errors
    /// Any error returned by `cuEventRecord` or `cuStreamWaitEvent`; in that case the host has waited for the branches
    /// instead.
    pub fn join(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(rest) = self.parent.rest.get() else { return Ok(()) };
        let own = rest.open.borrow_mut().extract_if(.., |(number, _)| *number == self.number).collect();
        self.parent.join_all(own)
    }
}

impl Drop for Branches<'_> {
    fn drop(&mut self) {
        // Reached after a panic or an error in a branch; if the join fails, the host has waited.
        let _ = trace::contained(|| self.end());
    }
}

/// Branches that the chain's stream does not wait for yet. If a call unwinds, the host waits for those that are left, when this is
/// dropped.
struct Unjoined(VecDeque<(u32, CudaStream)>);

impl Unjoined {
    fn wait_for_first(&mut self) {
        // Captured work runs later, so there is nothing to wait for.
        if let Some((_, stream)) = self.0.pop_front().filter(|(_, stream)| stream.capture().is_none()) {
            stream.wait_untraced();
        }
    }
}

impl Drop for Unjoined {
    fn drop(&mut self) {
        while !self.0.is_empty() {
            self.wait_for_first();
        }
    }
}

/// Adds a stream, unless it is already in the list.
pub(super) fn add(streams: &mut Vec<CudaStream>, stream: Option<&CudaStream>) {
    if let Some(stream) = stream
        && !streams.iter().any(|other| other.identity() == stream.identity())
    {
        streams.push(stream.clone());
    }
}

/// One branch while it runs: when this is dropped, even by a panic, the chain takes over its stream.
struct Branch<'a> {
    cx: ExecutionContext,
    parent: &'a ExecutionContext,
    number: u32,
}

impl Drop for Branch<'_> {
    fn drop(&mut self) {
        trace::contained(|| self.cx.join_forgotten());
        self.tell();
    }
}

impl Branch<'_> {
    /// Passes its stream, and what it keeps, to the chain.
    fn tell(&self) {
        if self.cx.keeps_something() {
            self.parent.rest().kept.borrow_mut().append(&mut self.cx.take_kept());
        }
        let Some(stream) = self.cx.used_stream() else { return };
        let mut open = self.parent.rest().open.borrow_mut();
        let same = |(number, other): &(u32, CudaStream)| {
            *number == self.number && other.identity() == stream.identity()
        };
        if !open.iter().any(same) {
            open.push((self.number, stream.clone()));
        }
    }
}

impl Source {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        let stream = match self {
            Self::Default => registry::current_policy()?.next_stream(),
            Self::Device(device) => registry::policy_of(*device)?.next_stream(),
            Self::Policy(policy) => policy.next_stream(),
            // A caller that names a capturing stream knows that the work runs later.
            Self::Stream(stream) => return Ok(stream.clone()),
        }?;
        if stream.capture().is_some() {
            let help = "the policy gave a stream that is being captured, where work runs later: record operations by `graph`";
            return Err(ErrorKind::RefusedInCapture(RefusedInCapture { call: "an operation", help }).into());
        }
        Ok(stream)
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionContext").field("stream", &self.used_stream()).finish_non_exhaustive()
    }
}

/// Converts it to the form in which a capture keeps values.
fn shareable(kept: Kept) -> Keep {
    Arc::new(Mutex::new(kept))
}
