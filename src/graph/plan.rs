//! Launch plans: a sequence of launches recorded once and replayed, with arguments set by name in between.

#![allow(unsafe_code)] // Overwriting argument bytes of a known size, and telling the driver of the new ones.

use cuda_driver_sys::CUDA_KERNEL_NODE_PARAMS;
use std::any::type_name;
use std::collections::HashMap;

use super::capture::CaptureMode;
use super::exec::{GraphExec, InstantiateFlags};
use super::graph::CudaGraph;
use super::node::{GraphNode, Share, lock};
use crate::driver::{CudaContext, CudaStream, NamedArgument, RecordedLaunch, older};
use crate::error::{Error, ErrorKind, GraphError};
use crate::launch::ByValue;
use crate::launch::named::{PassedMemory, memory_word, no_such_argument};
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut, PitchedBuffer};

/// Launches that were recorded once, to be replayed with one driver call.
///
/// An argument recorded as `named("alpha", 2.0f32)` can be set by that name between replays; `slice`, `slice_mut`, `ptr`
/// and `ptr_mut` can be named, too. A name that several launches share is set for all of them. A replay passes the
/// arguments that were set since the last one to the driver, and then launches everything.
///
/// ```standalone_crate
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, LaunchPlan, cuda_launch};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// let mut plan = LaunchPlan::record(&ctx, |stream| {
///     // SAFETY: 1, 2: fill takes an address, a length and a value, and writes 100 elements; 3, 4: the plan keeps and orders the buffer;
///     // 5, 6: any bits are a `u32`, and it ends.
///     unsafe {
///         cuda_launch! { kernel: fill, module: module, stream: stream, config: LaunchConfig::for_num_elems(100),
///                        args: [ptr_mut(x), 100u32, named("value", 7u32)] }
///     }
/// })?;
/// plan.launch(&stream)?;
/// assert_eq!(x.to_host_vec(&stream)?, [7; 100]);
/// // SAFETY: 1: all that fill does with the value is to write it, and any bits are a `u32`.
/// unsafe { plan.set("value", 8u32) }?;
/// plan.launch(&stream)?;
/// assert_eq!(x.to_host_vec(&stream)?, [8; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct LaunchPlan {
    exec: GraphExec,
    launches: Vec<Planned>,
    /// Each name's arguments: launch, and index among the named ones.
    names: HashMap<String, Vec<(usize, usize)>>,
    /// Launches whose arguments the driver does not know yet.
    dirty: Vec<usize>,
}

/// A launch with named arguments.
#[derive(Debug)]
struct Planned {
    launch: RecordedLaunch,
    node: GraphNode,
    dirty: bool,
    /// Memory that took the place of what was recorded, by index among the named arguments.
    memory: HashMap<usize, Share>,
}

impl LaunchPlan {
    /// Records the launches that `record` makes on the stream that it is given, and any other work that it submits
    /// there: see [`CudaGraph::capture`].
    ///
    /// The duties of each `unsafe` in `record` hold for every replay.
    ///
    /// Driver calls: those of [`CudaGraph::capture`] and [`CudaGraph::instantiate`]; for each launch with named arguments
    /// `cuStreamGetCaptureInfo_v3`, or `cuStreamGetCaptureInfo_v2` before CUDA 12.3.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchPlan};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut plan = LaunchPlan::record(&ctx, |stream| x.view_mut().set_zero(stream))?;
    /// plan.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`CudaGraph::capture`] and [`CudaGraph::instantiate`].
    pub fn record(
        context: &CudaContext,
        record: impl FnOnce(&CudaStream) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (graph, launches) = CudaGraph::capture_launches(context, CaptureMode::ThreadLocal, record)?;
        let exec = graph.instantiate(InstantiateFlags::empty())?;
        let table = lock(&graph.table);
        let mut names: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        let planned = launches.into_iter().enumerate().map(|(index, launch)| {
            for (argument, named) in launch.named.iter().enumerate() {
                names.entry(named.name.clone()).or_default().push((index, argument));
            }
            let lost = || GraphError::RemovedNode { node: format!("the launch of {}", launch.kernel) };
            let node = table.find(launch.node).ok_or_else(|| ErrorKind::from(lost()))?;
            Ok(Planned { launch, node, dirty: false, memory: HashMap::new() })
        });
        let launches = planned.collect::<Result<_, Error>>()?;
        drop(table);
        Ok(Self { exec, launches, names, dirty: Vec::new() })
    }

    /// Sets a value by name, from the next replay on; it must be of the type that was recorded. No driver call.
    ///
    /// # Errors
    /// [`Error::is_plan_error`]: no argument has this name (the message lists the names), or the value has another type. Nothing
    /// is changed then.
    ///
    /// # Safety
    /// 1. The duties of each [`cuda_launch!`](crate::cuda_launch) with this name hold for this value, too.
    pub unsafe fn set<T: DeviceCopy>(&mut self, name: &str, value: T) -> Result<(), Error> {
        self.set_copy(name, &value)
    }

    /// Sets any `Copy` value that borrows nothing, recorded as `byval`, by name. Otherwise like [`LaunchPlan::set`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set`].
    pub unsafe fn set_byval<T: ByValue>(&mut self, name: &str, value: T) -> Result<(), Error> {
        self.set_copy(name, &value)
    }

    /// Sets memory that the kernel only reads, recorded as `slice`, by name, from the next replay on. No driver call.
    ///
    /// The plan keeps the memory alive, and also the memory that it replaces.
    ///
    /// # Errors
    /// As for [`LaunchPlan::set`]; the memory belongs to another context.
    ///
    /// # Safety
    /// 1. The duties of each [`cuda_launch!`](crate::cuda_launch) with this name hold for this memory, too.
    pub unsafe fn set_slice<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::slice(memory.parts(), false))
    }

    /// Sets memory that the kernel may write, recorded as `slice_mut`. Otherwise like [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set_slice`].
    pub unsafe fn set_slice_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::slice(memory.parts_mut(), true))
    }

    /// Sets the address of memory that the kernel only reads, recorded as `ptr`. Otherwise like [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set_slice`].
    pub unsafe fn set_ptr<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::pointer(memory.parts(), false))
    }

    /// Sets the address of memory that the kernel may write, recorded as `ptr_mut`. Otherwise like
    /// [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set_slice`].
    pub unsafe fn set_ptr_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::pointer(memory.parts_mut(), true))
    }

    /// Sets rows that the kernel only reads, recorded as `pitched`. Otherwise like [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set_slice`].
    pub unsafe fn set_pitched<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &PitchedBuffer<T>,
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::rows(memory.row_parts(), false))
    }

    /// Sets rows that the kernel may write, recorded as `pitched_mut`. Otherwise like [`LaunchPlan::set_slice`].
    ///
    /// # Errors
    /// As for [`LaunchPlan::set_slice`].
    ///
    /// # Safety
    /// 1. As duty 1 of [`LaunchPlan::set_slice`].
    pub unsafe fn set_pitched_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut PitchedBuffer<T>,
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::rows(memory.row_parts(), true))
    }

    fn set_copy<T: Copy>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let fits = NamedArgument::takes_value::<T>;
        for (launch, argument) in self.places(name, fits, || type_name::<T>().into())? {
            let Some(planned) = self.launches.get_mut(launch) else { continue };
            let Some(named) = planned.launch.named.get(argument) else { continue };
            // SAFETY: 1: it is one of the arguments of this launch, and `places` compared the type of each argument
            // with this name.
            unsafe { named.put_value(&mut planned.launch.arguments, value) };
            self.mark(launch);
        }
        Ok(())
    }

    fn set_memory<T: DeviceCopy>(&mut self, name: &str, memory: PassedMemory<'_>) -> Result<(), Error> {
        self.exec.context().same_context(memory.allocation.context(), "the memory", "the plan")?;
        let fits = |named: &NamedArgument| named.takes_memory::<T>(memory.word);
        for (launch, argument) in self.places(name, fits, || memory_word::<T>(memory.word))? {
            let Some(planned) = self.launches.get_mut(launch) else { continue };
            let Some(named) = planned.launch.named.get(argument) else { continue };
            // SAFETY: 1: it is one of the arguments of this launch, and `places` compared the type of each argument
            // with this name.
            unsafe { named.put_memory(&mut planned.launch.arguments, memory) };
            let mut share = Share::default();
            share.add_memory(memory.allocation, memory.word.is_written());
            planned.memory.insert(argument, share);
            let mut all = Share::default();
            planned.memory.values().for_each(|share| all.extend(share));
            self.exec.replace_share(planned.node, all);
            self.mark(launch);
        }
        Ok(())
    }

    /// Replays everything on `stream`, after all work submitted to the stream so far and after earlier replays.
    ///
    /// Driver calls: `cuGraphExecKernelNodeSetParams_v2` for each launch with an argument set since the last replay, then those
    /// of [`GraphExec::launch`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchPlan};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut plan = LaunchPlan::record(&ctx, |stream| x.view_mut().set_zero(stream))?;
    /// for _ in 0..3 {
    ///     plan.launch(&stream)?; // one driver call
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn launch(&mut self, stream: &CudaStream) -> Result<(), Error> {
        while let Some(&index) = self.dirty.last() {
            if let Some(planned) = self.launches.get_mut(index) {
                planned.tell(&self.exec)?;
                planned.dirty = false;
            }
            self.dirty.pop();
        }
        self.exec.launch(stream)
    }

    /// The names of the arguments that can be set, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The executable graph behind the plan.
    pub fn exec(&self) -> &GraphExec {
        &self.exec
    }

    /// Waits for the last replay; see [`GraphExec::synchronize`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchPlan};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut plan = LaunchPlan::record(&ctx, |stream| x.view_mut().set_zero(stream))?;
    /// plan.launch(&stream)?;
    /// plan.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.exec.synchronize()
    }

    /// Where the arguments of this name are, if all of them fit.
    fn places(
        &self,
        name: &str,
        fits: impl Fn(&NamedArgument) -> bool,
        given: impl FnOnce() -> String,
    ) -> Result<Vec<(usize, usize)>, Error> {
        let Some(places) = self.names.get(name) else { return Err(no_such_argument(name, &self.names())) };
        let named = |&(launch, argument): &(usize, usize)| {
            let launch = &self.launches.get(launch)?.launch;
            Some((&launch.kernel, launch.named.get(argument)?))
        };
        match places.iter().filter_map(named).find(|(_, named)| !fits(named)) {
            None => Ok(places.clone()),
            Some((kernel, named)) => Err(named.refuse(kernel, given())),
        }
    }

    /// Marks the launch as changed: the executable graph must be updated before the next replay.
    fn mark(&mut self, launch: usize) {
        if let Some(planned) = self.launches.get_mut(launch).filter(|planned| !planned.dirty) {
            planned.dirty = true;
            self.dirty.push(launch);
        }
    }
}

impl Planned {
    /// Tells the driver of the arguments.
    fn tell(&mut self, exec: &GraphExec) -> Result<(), Error> {
        let launch = &mut self.launch;
        let packet = launch.arguments.kernel_params();
        let params = CUDA_KERNEL_NODE_PARAMS { kernelParams: packet, ..launch.params };
        let (kernel, node) = (&launch.kernel, launch.node);
        exec.context().call(
            "cuGraphExecKernelNodeSetParams",
            || kernel.clone(),
            // SAFETY: 1: the executable graph is owned by `exec`, and borrowed from the plan as its only use. The node lives as long as
            // its graph, whose family `exec` keeps: only a `CudaGraph` could remove it, and the only one ended in `record`. Function and
            // packet are those of the recorded launch, with values of the same sizes; `exec` keeps the module and all memory that was
            // set. What the kernel does with them is the duty of `record`'s and `set`'s callers.
            |driver| unsafe { older::set_kernel_node(driver, exec.raw(), node, &params) },
        )
    }
}
