//! Operations that are recorded once and replayed.

#![allow(unsafe_code)] // Runs an operation on a stream that captures; forwards `set`.

use std::future::IntoFuture;

use super::context::{ExecutionContext, Source};
use super::device_operation::DeviceOperation;
use super::future::DeviceFuture;
use super::run;
use crate::driver::{CudaContext, CudaStream};
use crate::error::Error;
use crate::graph::LaunchPlan;
use crate::launch::ByValue;
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut, PitchedBuffer};

/// An operation that was recorded once, to be replayed with one driver call: the result of [`DeviceOperation::graph`].
///
/// Branches of the operation are branches of the graph. Its output is that of the recorded operation; each replay works on the
/// buffers in it, whose contents are undefined before the first replay. Inputs are changed by copying into buffers, or by
/// [`set`](Self::set) if a launch names its arguments. Dropping it does not wait.
///
/// On an H200, awaiting a replay of a hundred small kernels takes 0.31 of the time of launching them; 0.33 to 0.38 once kernels
/// have run on a second stream of the process, which slows the replay itself: `docs/performance.md`.
///
/// ```standalone_crate
/// use cuda_launch::operation::{DeviceOperation, block_on, value};
/// use cuda_launch::{AsyncKernelLaunch, CudaContext, DeviceBuffer, LaunchConfig};
/// # use cuda_launch::operation::OwnedKernelLaunch;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// // SAFETY: 1: fill takes an address, a length and a value, writes any `u32` to the 100 elements of the buffer, in
/// // each replay, and ends; 2: the buffer is passed as memory.
/// let op = unsafe {
///     OwnedKernelLaunch::new(buffer, move |buffer| {
///         let mut launch = AsyncKernelLaunch::new(fill);
///         launch.ptr_mut(buffer).value(&100u32).named("value", &7u32);
///         launch.set_launch_config(LaunchConfig::for_num_elems(100));
///         Ok(launch)
///     })
/// };
/// let mut graph = op.graph()?;
/// graph.replay().sync()?;
/// assert_eq!(graph.output().to_host_vec(&stream)?, [7; 100]);
/// // SAFETY: 1: fill only writes the value, and any bits are a valid `u32`.
/// unsafe { graph.set("value", 8u32) }?;
/// block_on(graph.replay())?;
/// assert_eq!(graph.into_output().to_host_vec(&stream)?, [8; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct OperationGraph<T> {
    plan: LaunchPlan,
    output: T,
}

impl<T> OperationGraph<T> {
    pub(super) fn record<Op>(op: Op, context: &CudaContext) -> Result<Self, Error>
    where
        Op: DeviceOperation<Output = T> + 'static,
    {
        let mut output = None;
        let plan = LaunchPlan::record(context, |stream| {
            // SAFETY: 1: the operation is `'static` (`Op`), so everything that it borrows lives forever; what it owns is kept by the
            // chain, and then by the capture.
            let (result, chain) = unsafe { run::submit(op, Source::Stream(stream.clone())) };
            // Dropped here, so that the capture takes over what the chain keeps.
            drop(chain);
            output = Some(result?);
            Ok(())
        })?;
        // There is an output: the closure was called and returned no error.
        let lost = || crate::error::ErrorKind::from(crate::error::OperationError::Finished);
        Ok(Self { plan, output: output.ok_or_else(lost)? })
    }

    /// Replays the work on `stream`, after all work submitted to it so far and after earlier replays; does not wait.
    ///
    /// Driver calls: those of [`LaunchPlan::launch`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::memset;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = memset(x, 7.0f32).graph()?;
    /// graph.launch_on(&stream)?;
    /// assert_eq!(graph.output().to_host_vec(&stream)?, [7.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn launch_on(&mut self, stream: &CudaStream) -> Result<(), Error> {
        self.plan.launch(stream)
    }

    /// A replay as an operation without output. It can be awaited although it borrows: the graph keeps alive what it uses until it is
    /// done.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::{block_on, memset};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = memset(x, 7.0f32).graph()?;
    /// block_on(graph.replay())?;
    /// assert_eq!(graph.output().to_host_vec(&stream)?, [7.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn replay(&mut self) -> Replay<'_> {
        Replay(&mut self.plan)
    }

    /// The output of the recorded operation.
    pub fn output(&self) -> &T {
        &self.output
    }

    /// The output, mutable: copies into its buffers are ordered against replays.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::memset;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = memset(x, 7.0f32).graph()?;
    /// graph.output_mut().copy_from_host(&stream, &[1.0; 4])?; // before the next replay
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn output_mut(&mut self) -> &mut T {
        &mut self.output
    }

    /// Drops the graph and returns the output. Running replays are not waited for; buffers are ordered after them.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
    /// use cuda_launch::operation::memset;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let buffer = memset(x, 7.0f32).graph()?.into_output();
    /// assert_eq!(buffer.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn into_output(self) -> T {
        let Self { plan, output } = self;
        // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust
        // leaks that value.
        drop(plan);
        output
    }

    /// The recorded launches, whose named arguments can be set.
    pub fn plan(&self) -> &LaunchPlan {
        &self.plan
    }

    /// Sets a value by name, from the next replay on; see [`LaunchPlan::set`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this value, too.
    pub unsafe fn set<V: DeviceCopy>(&mut self, name: &str, value: V) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set(name, value) }
    }

    /// Sets a value that was passed as `byval` by name; see [`LaunchPlan::set_byval`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_byval`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this value, too.
    pub unsafe fn set_byval<V: ByValue>(&mut self, name: &str, value: V) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_byval(name, value) }
    }

    /// Sets memory that the kernel reads, by name; see [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_slice<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = E> + ?Sized),
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_slice(name, memory) }
    }

    /// Sets memory that the kernel writes, by name; see [`LaunchPlan::set_slice_mut`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_slice_mut`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_slice_mut<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = E> + ?Sized),
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_slice_mut(name, memory) }
    }

    /// Sets the address of memory that the kernel reads, by name; see [`LaunchPlan::set_ptr`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_ptr`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_ptr<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = E> + ?Sized),
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_ptr(name, memory) }
    }

    /// Sets the address of memory that the kernel writes, by name; see [`LaunchPlan::set_ptr_mut`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_ptr_mut`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_ptr_mut<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = E> + ?Sized),
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_ptr_mut(name, memory) }
    }

    /// Sets rows that the kernel reads, by name; see [`LaunchPlan::set_pitched`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_pitched`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_pitched<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &PitchedBuffer<E>,
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_pitched(name, memory) }
    }

    /// Sets rows that the kernel writes, by name; see [`LaunchPlan::set_pitched_mut`].
    ///
    /// # Errors
    /// Those of [`LaunchPlan::set_pitched_mut`].
    ///
    /// # Safety
    /// 1. The duties of each launch with this name hold for this memory, too.
    pub unsafe fn set_pitched_mut<E: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut PitchedBuffer<E>,
    ) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.plan.set_pitched_mut(name, memory) }
    }
}

/// The result of [`OperationGraph::replay`].
#[derive(Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Replay<'a>(&'a mut LaunchPlan);

impl DeviceOperation for Replay<'_> {
    type Output = ();

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<(), Error> {
        self.0.launch(cx.stream()?)
    }
}

impl<'a> IntoFuture for Replay<'a> {
    type Output = Result<(), Error>;
    type IntoFuture = DeviceFuture<Self>;

    fn into_future(self) -> DeviceFuture<Self> {
        // SAFETY: 1: it borrows only the plan, which is not accessed after `execute` has returned. The executable graph
        // keeps what its launches use until they are done, even if the plan is dropped before.
        unsafe { DeviceFuture::borrowing(self) }
    }
}
