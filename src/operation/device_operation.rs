//! The trait [`DeviceOperation`].

#![allow(unsafe_code)] // Declares `execute`, which is unsafe to call.

use std::sync::Arc;
use std::time::Duration;

use super::boxed::BoxedOperation;
use super::chain::{AndThen, AndThenWithContext, Inspect, Map};
use super::context::{ExecutionContext, Source};
use super::future::DeviceFuture;
use super::graph::OperationGraph;
use super::policy::SchedulingPolicy;
use super::run;
use super::scheduled::Scheduled;
use super::shared::{Shared, Unzip};
use super::timeout::Timeout;
use super::tuple::{First, Last, Tuple};
use crate::driver::{CudaContext, CudaEvent, CudaStream};
use crate::error::Error;

/// A description of work for a device. Nothing happens until it is awaited or synchronised.
///
/// Operations compose: [`map`](Self::map), [`and_then`](Self::and_then) and the like make a *chain*, which runs on one stream;
/// `zip!` and [`all`](super::all()) run their operations on one stream each, and order them where the results are used together.
///
/// # What a closure in a chain sees
/// Closures run while the work is being *submitted*, and see outputs that the device is still working on. That is sound
/// because the memory of this crate is ordered automatically: work on another stream waits, a buffer is freed after its last use, and
/// the host waits before it reads a [`PinnedBuffer`](crate::PinnedBuffer).
///
/// # Implementing it
/// Any type can be an operation; see the example. Implementing is safe; the `unsafe` blocks in your own `execute` must ensure
/// this:
///
/// 1. Safe code may see, use and drop the output as soon as `execute` returns. So memory in it must be ordered automatically (as
///    all memory of this crate is), or wait for the work itself.
/// 2. Everything else that the work uses lives until the work is done: pass it to [`ExecutionContext::keep`], or borrow it, which is
///    the caller's duty 1 below. This includes the case that `execute` panics after it has submitted work.
/// 3. The work is submitted to [`ExecutionContext::stream`], or to streams that this one is made to wait for.
/// 4. If that stream captures ([`graph`](Self::graph)), 2 holds for every replay of the graph: memory that is not tracked, such as
///    memory behind an address passed as a number, must not rely on an output to keep it alive, since any code may drop that.
///
/// ```standalone_crate
/// use cuda_launch::operation::{DeviceOperation, ExecutionContext, allocate};
/// use cuda_launch::{CudaContext, CudaFunction, DeviceBuffer, Error, LaunchConfig, cuda_launch};
///
/// struct Fill { function: CudaFunction, buffer: DeviceBuffer<u32>, value: u32 }
///
/// impl DeviceOperation for Fill {
///     type Output = DeviceBuffer<u32>;
///     unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
///         let len = self.buffer.len() as u32;
///         // SAFETY: 1, 2: fill takes an address, a length and a value, and writes `len` elements; 3, 4: the buffer orders itself;
///         // 5, 6: any bits are a `u32`, and it ends.
///         unsafe {
///             cuda_launch! { function: self.function, stream: cx.stream()?, config: LaunchConfig::for_num_elems(len),
///                            args: [ptr_mut(self.buffer), len, self.value] }
///         }?;
///         Ok(self.buffer)
///     }
/// }
///
/// let ctx = CudaContext::new(0)?;
/// let function = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let filled = allocate(100).and_then(|buffer| Fill { function, buffer, value: 7 }).sync()?;
/// assert_eq!(filled.to_host_vec(&ctx.default_stream())?, [7; 100]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Running one
/// | how | when it returns |
/// |---|---|
/// | `op.await` | when done; any executor, or none ([`DeviceFuture`]); the operation owns everything it uses; a function should return [`impl Awaitable<T>`](super::Awaitable) |
/// | [`op.sync()`](Self::sync), [`op.sync_on(&stream)`](Self::sync_on) | when done; may borrow |
/// | [`scope`](super::scope()) | when everything submitted in it is done; may borrow |
/// | [`op.submit_on(&stream)`](Self::submit_on) | at once, with an event |
/// | [`unsafe op.async_on(&stream)`](Self::async_on) | at once |
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub trait DeviceOperation: Send + Sized {
    /// The type of its output. The device may still be working on the output when closures of a chain see it.
    type Output: Send;

    /// Submits the work to the stream of `cx`; does not wait.
    ///
    /// # Errors
    /// Any error from submitting it; part of the work may have been submitted.
    ///
    /// # Safety
    /// 1. What `self` borrows stays borrowed until the work submitted to the stream of `cx` is done, even if this returns an
    ///    error or panics. In an `execute` of your own that calls another's this is the duty of your caller, if `self` holds
    ///    what the other one borrows.
    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error>;

    /// Turns the output into something else, while the work is being submitted.
    ///
    /// If `f` drops memory that the work still uses, the drop may have to wait for the work: `map(drop)` of pinned memory blocks
    /// the thread that polls. [`ExecutionContext::keep`] keeps a value until the work is done instead.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::zeroed;
    /// assert_eq!(zeroed::<u32>(4).map(|buffer| buffer.len()).sync()?, 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn map<T: Send, F: FnOnce(Self::Output) -> T + Send>(self, f: F) -> Map<Self, F> {
        Map::new(self, f)
    }

    /// Calls `f` with a reference to the output while the work is being submitted.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::value;
    /// assert_eq!(value(1).inspect(|x| println!("{x}")).sync()?, 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn inspect<F: FnOnce(&Self::Output) + Send>(self, f: F) -> Inspect<Self, F> {
        Inspect::new(self, f)
    }

    /// Continues with the operation that `f` makes from the output, on the same stream.
    ///
    /// ```
    /// use cuda_launch::operation::{DeviceOperation, value};
    /// assert_eq!(value(20).and_then(|x| value(x + 1)).map(|x| 2 * x).sync()?, 42);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn and_then<Next: DeviceOperation, F: FnOnce(Self::Output) -> Next + Send>(
        self,
        f: F,
    ) -> AndThen<Self, F> {
        AndThen::new(self, f)
    }

    /// Like [`and_then`](Self::and_then), but also passes the context in which the chain runs.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::value;
    /// let device = value(()).and_then_with_context(|cx, ()| value(cx.device().ok()));
    /// assert_eq!(device.sync()?, Some(0));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn and_then_with_context<Next, F>(self, f: F) -> AndThenWithContext<Self, F>
    where
        Next: DeviceOperation,
        F: FnOnce(&ExecutionContext, Self::Output) -> Next + Send,
    {
        AndThenWithContext::new(self, f)
    }

    /// The output in an `Arc`, for several users.
    ///
    /// ```
    /// use cuda_launch::{DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::zeroed;
    /// use std::sync::Arc;
    /// let weights: Arc<DeviceBuffer<f32>> = zeroed::<f32>(4).arc().sync()?;
    /// assert_eq!(weights.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[allow(clippy::type_complexity)] // A type alias would be less clear.
    fn arc(self) -> Map<Self, fn(Self::Output) -> Arc<Self::Output>>
    where
        Self::Output: Sync,
    {
        Map::new(self, Arc::new)
    }

    /// An operation that can be cloned: it runs once, with the first clone that runs, and all clones return the same output.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::lazy;
    /// let once = lazy(|| println!("once")).shared();
    /// once.clone().sync()?;
    /// once.sync()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn shared(self) -> Shared<Self>
    where
        Self::Output: Sync,
    {
        Shared::new(self)
    }

    /// Hides the type: operations of different types go into one `Vec`, or come out of one `if`.
    ///
    /// A loop that wraps one boxed operation in the next makes a chain, and running or dropping it takes stack for every link, as it
    /// does for boxed iterators: a few hundred bytes each, so 5,000 links can be too many for a thread with a stack of 2 MiB. Run a long chain
    /// in pieces, and put operations that do not need each other's outputs into [`all`](super::all).
    ///
    /// ```
    /// use cuda_launch::operation::{DeviceOperation, lazy, value};
    /// let op = if true { value(1).boxed() } else { lazy(|| 2).boxed() };
    /// assert_eq!(op.sync()?, 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn boxed<'a>(self) -> BoxedOperation<'a, Self::Output>
    where
        Self: 'a,
    {
        BoxedOperation::new(self)
    }

    /// The first part of the output; the rest is dropped.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::value;
    /// assert_eq!(value((1, "two")).first().sync()?, 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn first(self) -> First<Self>
    where
        Self::Output: Tuple,
    {
        First::new(self)
    }

    /// The last part of the output; the rest is dropped.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::value;
    /// assert_eq!(value((1, "two")).last().sync()?, "two");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn last(self) -> Last<Self>
    where
        Self::Output: Tuple,
    {
        Last::new(self)
    }

    /// Splits it into one operation for each part of the output. This operation runs once, when the first of them runs.
    ///
    /// ```
    /// use cuda_launch::operation::{DeviceOperation, value};
    /// let (left, right) = value((1, "two")).unzip();
    /// assert_eq!((right.sync()?, left.sync()?), ("two", 1));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn unzip(self) -> <Self::Output as Unzip<Self>>::Parts
    where
        Self::Output: Unzip<Self>,
    {
        <Self::Output as Unzip<Self>>::unzip(self)
    }

    /// Runs it on a stream of this policy, independent of the stream of the chain around it.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::operation::{DeviceOperation, SingleStream, zeroed};
    /// use std::sync::Arc;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let buffer = zeroed::<u32>(4).schedule(Arc::new(SingleStream::new(&stream))).sync()?;
    /// assert_eq!(buffer.to_host_vec(&stream)?, [0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn schedule(self, policy: Arc<dyn SchedulingPolicy>) -> Scheduled<Self> {
        Scheduled::new(self, Source::Policy(policy))
    }

    /// Runs it on a stream of this device: see [`device_policy`](super::device_policy).
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::zeroed;
    /// assert_eq!(zeroed::<u32>(4).on_device(0).sync()?.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn on_device(self, device: u32) -> Scheduled<Self> {
        Scheduled::new(self, Source::Device(device))
    }

    /// Runs it and waits for it, on a stream of the default device: see [`default_device`](super::default_device).
    ///
    /// It may be called anywhere, even inside an executor, whose thread it then blocks.
    ///
    /// Driver calls: those of the work, then `cuStreamSynchronize`, if a stream was used.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::zeroed;
    /// let buffer = zeroed::<u32>(4).sync()?;
    /// assert_eq!(buffer.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error from submitting the work, and faults of the work.
    fn sync(self) -> Result<Self::Output, Error> {
        run::sync(self, Source::Default)
    }

    /// Runs it on this stream, including its branches, and waits for it.
    ///
    /// Driver calls: those of the work, then `cuStreamSynchronize`, if the stream was used.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceOperation};
    /// use cuda_launch::operation::zeroed;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let buffer = zeroed::<u32>(4).sync_on(&stream)?;
    /// assert_eq!(buffer.to_host_vec(&stream)?, [0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sync`](Self::sync); an error if the stream is being captured.
    fn sync_on(self, stream: &CudaStream) -> Result<Self::Output, Error> {
        stream.refuse_in_capture("cuStreamSynchronize")?;
        run::sync(self, Source::Stream(stream.clone()))
    }

    /// Submits it to this stream and returns the output, on which the device may still be working; does not wait.
    ///
    /// The unsafe form of [`submit_on`](Self::submit_on): no event is recorded, and the operation may borrow. On a stream that captures the
    /// work is recorded.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceOperation};
    /// use cuda_launch::operation::zeroed;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// // SAFETY: 1: the operation that `zeroed` returns borrows nothing.
    /// let buffer = unsafe { zeroed::<u32>(4).async_on(&stream) }?;
    /// assert_eq!(buffer.to_host_vec(&stream)?, [0; 4]); // waits
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error from submitting the work.
    ///
    /// # Safety
    /// 1. What the operation borrows stays borrowed until the work is done, even if this returns an error or panics.
    #[inline(always)]
    unsafe fn async_on(self, stream: &CudaStream) -> Result<Self::Output, Error> {
        // SAFETY: 1: the caller's duty 1, which is the same.
        unsafe { run::submit_only(self, Source::Stream(stream.clone())) }
    }

    /// Submits it to this stream; returns the output, on which the device may still be working, and an event recorded after the work. The
    /// safe form of [`async_on`](Self::async_on).
    ///
    /// Driver calls: those of the work, then `cuEventCreate`, `cuEventRecord`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::operation::{DeviceOperation, zeroed};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let (buffer, event) = zeroed::<u32>(3).submit_on(&stream)?;
    /// event.synchronize()?; // or `other_stream.wait(&event)?`, or another library that takes events
    /// assert_eq!(buffer.len(), 3);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error from submitting the work.
    fn submit_on(self, stream: &CudaStream) -> Result<(Self::Output, CudaEvent), Error>
    where
        Self: 'static,
    {
        // SAFETY: 1: it is `'static` (`Self`), and so borrows nothing that could end.
        let output = unsafe { self.async_on(stream) }?;
        let event = stream.context().new_event()?;
        event.record(stream)?;
        Ok((output, event))
    }

    /// Records it into a graph, to be replayed by one driver call: see [`OperationGraph`]. It does not run.
    ///
    /// The work is recorded in the context of the default device; [`graph_in`](Self::graph_in) names another one.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::memset;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = memset(x, 7.0f32).graph()?;
    /// graph.launch_on(&stream)?;
    /// assert_eq!(graph.into_output().to_host_vec(&stream)?, [7.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_capture_error`] if the operation makes a call that cannot be recorded, such as an allocation; the
    /// error names the call. Otherwise those of [`LaunchPlan::record`](crate::LaunchPlan::record).
    fn graph(self) -> Result<OperationGraph<Self::Output>, Error>
    where
        Self: 'static,
    {
        let context = ExecutionContext::new(Source::Default).context()?.clone();
        self.graph_in(&context)
    }

    /// Like [`graph`](Self::graph), in this context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::memset;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = memset(x, 7.0f32).graph_in(&ctx)?;
    /// graph.replay().sync()?;
    /// assert_eq!(graph.output().to_host_vec(&stream)?, [7.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    fn graph_in(self, context: &CudaContext) -> Result<OperationGraph<Self::Output>, Error>
    where
        Self: 'static,
    {
        OperationGraph::record(self, context)
    }

    /// Limits the time to wait for it: after this time the wait ends with an error ([`Error::is_timed_out`]), and the
    /// work continues.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::zeroed;
    /// use std::time::Duration;
    /// let buffer = zeroed::<u32>(4).timeout(Duration::from_secs(60)).sync()?;
    /// assert_eq!(buffer.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn timeout(self, limit: Duration) -> Timeout<Self>
    where
        Self: 'static,
    {
        Timeout::new(self, limit)
    }

    /// Turns it into a future, which runs the operation on a stream of the default device when it is first polled.
    ///
    /// Operations of this crate can be awaited directly; your own with this method, with [`boxed`](Self::boxed), or
    /// directly if they implement `IntoFuture` ([`Awaitable`](super::Awaitable) shows how).
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::{block_on, value};
    /// fn double(x: u32) -> impl DeviceOperation<Output = u32> {
    ///     value(2 * x)
    /// }
    /// assert_eq!(block_on(async { double(21).future().await })?, 42);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn future(self) -> DeviceFuture<Self>
    where
        Self: 'static,
    {
        DeviceFuture::new(self, Source::Default)
    }
}
