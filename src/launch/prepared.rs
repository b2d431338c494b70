//! A launch that was checked once and is submitted many times.

#![allow(unsafe_code)] // Submitting it; its caller vouches for what cannot be checked.

use cuda_driver_sys::CUlaunchConfig;
use std::any::type_name;
use std::ffi::c_void;
use std::sync::Arc;

use super::args::{Memory, ParameterType};
use super::check;
use super::launch_arguments::LaunchArguments;
use super::lent::BorrowedHandle;
use super::named::{PassedMemory, memory_word, no_such_argument};
use super::node::KernelNode;
use super::record::Report;
use super::site::ByValue;
use super::submit::submit_given;
use super::timed::{LaunchTimes, submit_timed};
use crate::driver::{CudaContext, CudaStream, EventFlags, Kernel, NamedArgument, StreamQueue, TimingEvent};
use crate::error::Error;
use crate::memory::{Allocation, DeviceCopy, DeviceSlice, DeviceSliceMut, PitchedBuffer};
use crate::ordering::Submission;

/// A launch that was checked once, to be submitted many times: from [`LaunchBuilder::prepare`](crate::LaunchBuilder::prepare),
/// or made from a `KernelNode` (feature `graph`).
///
/// It owns the bytes of its arguments and a share of their memory, so nothing stays borrowed, and it may go to another
/// thread. An argument that was passed as `named("alpha", &2.0f32)` can be set by that name between launches. Each launch is
/// ordered against other uses of the memory, as every launch is.
///
/// For many launches in one driver call see `LaunchPlan` (feature `graph`).
///
/// ```standalone_crate
/// use cuda_launch::{CudaContext, LaunchConfig};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let mut x = stream.alloc_zeros::<u32>(100)?;
/// let mut launch = stream.launch_builder(&fill)
///     .arg(&mut x).arg(&100u32).named("value", &7u32)
///     .prepare(LaunchConfig::for_num_elems(100))?;
/// for value in [1u32, 2, 3] {
///     launch.set("value", value)?;
///     // SAFETY: 1: fill takes a pointer, a count and a value, writes any `u32` to so many elements, and ends; the
///     // launch keeps and orders `x`; 2: no other thread uses it.
///     unsafe { launch.launch_on(&stream) }?;
///     assert_eq!(stream.clone_dtoh(&x)?, [value; 100]);
/// }
/// assert!(launch.set("value", 1.0f32).unwrap_err().is_plan_error());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PreparedLaunch<'event> {
    node: KernelNode<'event>,
    timed: Option<EventFlags>,
    /// Named arguments whose memory was set: index among the named ones, and among the node's memory.
    set: Vec<(usize, usize)>,
    /// Two arguments have the same name.
    repeated: bool,
    /// It has attributes, or is timed, or its kernel has rules beyond the limits.
    special: bool,
}

impl<'event> PreparedLaunch<'event> {
    pub(super) fn new(node: KernelNode<'event>, timed: Option<EventFlags>) -> Self {
        let names: Vec<&str> = node.named.iter().map(|named| named.name.as_str()).collect();
        let repeated = names.iter().enumerate().any(|(index, name)| names[..index].contains(name));
        let rules = node.function.kernel().has_special_rules();
        let special = timed.is_some() || !node.attributes.is_empty() || rules;
        Self { node, timed, set: Vec::new(), repeated, special }
    }

    /// Submits the launch to `stream`, with the arguments as they are now.
    ///
    /// Returns the events of
    /// [`record_kernel_launch`](crate::LaunchBuilder::record_kernel_launch), if requested. Driver calls as
    /// [`LaunchBuilder::launch`](crate::LaunchBuilder::launch).
    ///
    /// # Errors
    /// As [`LaunchBuilder::launch`](crate::LaunchBuilder::launch); nothing was launched.
    ///
    /// # Safety
    /// 1. The duties 1 to 6 of [`LaunchBuilder::launch`](crate::LaunchBuilder::launch), with the arguments as they are now.
    /// 2. The launch does not borrow its memory, so the compiler cannot check this: while this call runs, no other thread
    ///    submits work with the same memory to a stream, unless all of that work only reads.
    #[inline(always)]
    pub unsafe fn launch_on(&mut self, stream: &CudaStream) -> Result<LaunchTimes, Error> {
        let params = self.node.arguments.kernel_params();
        let node = &self.node;
        if self.special {
            // SAFETY: 1: the caller's duties 1 and 2.
            let times = unsafe { Prepared::<true> { params, node }.launch(self.timed, stream) }?;
            return Ok(times.map(|times| *times));
        }
        let given = Prepared::<false> { params, node };
        // SAFETY: 1: the caller's duties 1 and 2; the node has the function, which is loaded as long as its handle is there
        // (`CudaFunction::module`).
        unsafe {
            submit_given(
                BorrowedHandle::new(node.function.shared_kernel()),
                stream,
                node.config,
                &[],
                &[],
                given,
            )
        }?;
        Ok(None)
    }

    /// Sets a value by name, from the next launch on; its type must not change. No driver call.
    ///
    /// # Errors
    /// [`Error::is_plan_error`]: no argument has this name (the message lists the names), or the value has another type. Nothing
    /// is changed then.
    #[inline(always)]
    pub fn set<T: DeviceCopy>(&mut self, name: &str, value: T) -> Result<(), Error> {
        self.set_copy(name, &value)
    }

    /// Sets any `Copy` value that borrows nothing, passed as `byval`, by name. Otherwise like [`PreparedLaunch::set`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set`].
    #[inline(always)]
    pub fn set_byval<T: ByValue>(&mut self, name: &str, value: T) -> Result<(), Error> {
        self.set_copy(name, &value)
    }

    /// Sets memory that the kernel only reads, passed as `slice`, by name, from the next launch on. No driver call.
    ///
    /// The launch keeps the memory alive, and also the memory that it was prepared with.
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set`]; the memory belongs to another context.
    pub fn set_slice<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::slice(memory.parts(), false))
    }

    /// Sets memory that the kernel may write, passed as `slice_mut`. Otherwise like [`PreparedLaunch::set_slice`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set_slice`].
    pub fn set_slice_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::slice(memory.parts_mut(), true))
    }

    /// Sets the address of memory that the kernel only reads, passed as `ptr` or as `&x` of a buffer. Otherwise like [`PreparedLaunch::set_slice`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set_slice`].
    pub fn set_ptr<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &(impl DeviceSlice<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::pointer(memory.parts(), false))
    }

    /// Sets the address of memory that the kernel may write, passed as `ptr_mut` or as `&mut x` of a buffer. Otherwise like
    /// [`PreparedLaunch::set_slice`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set_slice`].
    pub fn set_ptr_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::pointer(memory.parts_mut(), true))
    }

    /// Sets rows that the kernel only reads, passed as `pitched`. Otherwise like [`PreparedLaunch::set_slice`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set_slice`].
    pub fn set_pitched<T: DeviceCopy>(&mut self, name: &str, memory: &PitchedBuffer<T>) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::rows(memory.row_parts(), false))
    }

    /// Sets rows that the kernel may write, passed as `pitched_mut`. Otherwise like [`PreparedLaunch::set_slice`].
    ///
    /// # Errors
    /// As for [`PreparedLaunch::set_slice`].
    pub fn set_pitched_mut<T: DeviceCopy>(
        &mut self,
        name: &str,
        memory: &mut PitchedBuffer<T>,
    ) -> Result<(), Error> {
        self.set_memory::<T>(name, PassedMemory::rows(memory.row_parts(), true))
    }

    #[inline(always)]
    fn set_copy<T: Copy>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let node = &mut self.node;
        // The fast path: at most one argument has this name, so no list of positions is needed and nothing has to be
        // undone.
        if !self.repeated
            && let Some(named) = node.named.iter().find(|named| named.name == name)
            && named.takes_value::<T>()
        {
            // SAFETY: 1: it is one of the node's `named`, of `arguments`, and `takes_value` said yes to `T` above.
            unsafe { named.put_value(&mut node.arguments, value) };
            return Ok(());
        }
        self.set_copies(name, value)
    }

    /// The same if several arguments may have the name, or none of this type has it.
    #[cold]
    #[inline(never)]
    fn set_copies<T: Copy>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        for index in self.places(name, NamedArgument::takes_value::<T>, || type_name::<T>().into())? {
            if let Some(named) = self.node.named.get(index) {
                // SAFETY: 1: it is one of the node's `named`, of `arguments`, and `places` gave only indices that `takes_value` said yes
                // to.
                unsafe { named.put_value(&mut self.node.arguments, value) };
            }
        }
        Ok(())
    }

    fn set_memory<T: DeviceCopy>(&mut self, name: &str, memory: PassedMemory<'_>) -> Result<(), Error> {
        self.node.function.context().same_context(memory.allocation.context(), "the memory", "the launch")?;
        let fits = |named: &NamedArgument| named.takes_memory::<T>(memory.word);
        // As in `set_copy`.
        let mut all = self.node.named.iter().enumerate();
        if !self.repeated
            && let Some((index, named)) = all.find(|(_, named)| named.name == name)
            && fits(named)
        {
            // SAFETY: 1: it is one of the node's `named`, of `arguments`, and `takes_memory` said yes to `T` above.
            unsafe { named.put_memory(&mut self.node.arguments, memory) };
            self.keep(index, (memory.allocation.clone(), memory.word.is_written()));
            return Ok(());
        }
        for index in self.places(name, fits, || memory_word::<T>(memory.word))? {
            let Some(named) = self.node.named.get(index) else { continue };
            // SAFETY: 1: it is one of the node's `named`, of `arguments`, and `places` gave only indices that `takes_memory` said yes to.
            unsafe { named.put_memory(&mut self.node.arguments, memory) };
            self.keep(index, (memory.allocation.clone(), memory.word.is_written()));
        }
        Ok(())
    }

    /// Keeps the memory that a named argument has now, in place of what was set before.
    fn keep(&mut self, index: usize, memory: (Arc<Allocation>, bool)) {
        let place = self.set.iter().find(|(set, _)| *set == index).map(|(_, place)| *place);
        match place.and_then(|place| self.node.memory.get_mut(place)) {
            Some(kept) => *kept = memory,
            None => {
                self.set.push((index, self.node.memory.len()));
                self.node.memory.push(memory);
            }
        }
    }

    /// The arguments of this name, by index, if all of them fit.
    fn places(
        &self,
        name: &str,
        fits: impl Fn(&NamedArgument) -> bool,
        given: impl FnOnce() -> String,
    ) -> Result<Vec<usize>, Error> {
        let all = || self.node.named.iter().enumerate().filter(|(_, named)| named.name == name);
        let places: Vec<usize> = all().map(|(index, _)| index).collect();
        match all().find(|(_, named)| !fits(named)) {
            _ if places.is_empty() => Err(no_such_argument(name, &self.names())),
            Some((_, named)) => Err(named.refuse(self.node.function.name(), given())),
            None => Ok(places),
        }
    }

    /// The names of the arguments that can be set, in the order of the arguments.
    pub fn names(&self) -> Vec<&str> {
        self.node.named.iter().map(|named| named.name.as_str()).collect()
    }

    /// The kernel with its arguments as they are now: a clone of it can become a node of a graph.
    pub fn node(&self) -> &KernelNode<'event> {
        &self.node
    }
}

impl<'event> From<KernelNode<'event>> for PreparedLaunch<'event> {
    fn from(node: KernelNode<'event>) -> Self {
        Self::new(node, None)
    }
}

/// The arguments of a prepared launch: the pointers to them, and the node that owns them. `SPECIAL` is [`PreparedLaunch::special`] as a
/// constant.
#[derive(Clone, Copy)]
struct Prepared<'l, const SPECIAL: bool> {
    params: *mut *mut c_void,
    node: &'l KernelNode<'l>,
}

impl Prepared<'_, true> {
    /// Submits the launch with its attributes, between two events if flags for them were given. The events are boxed, so that launches
    /// without them do not reserve and copy space for them.
    ///
    /// # Safety
    /// 1. The duties of [`PreparedLaunch::launch_on`].
    #[inline(never)]
    unsafe fn launch(
        self,
        timed: Option<EventFlags>,
        stream: &CudaStream,
    ) -> Result<Option<Box<(TimingEvent, TimingEvent)>>, Error> {
        let (kernel, attributes) = (self.node.function.kernel(), self.node.attributes.as_slice());
        // SAFETY: 1: the caller's duty 1; the node has the function, which is loaded as long as its handle is there
        // (`CudaFunction::module`).
        let times = unsafe { submit_timed(timed, kernel, stream, self.node.config, &[], attributes, self) }?;
        Ok(times.map(Box::new))
    }
}

/// What is kept with them: memory, and the names.
#[derive(Clone, Copy)]
struct NodeArguments<'l>(&'l KernelNode<'l>);

// SAFETY: 1: `KernelNode::checked` copied the bytes of each type, and `kernel_params` points at the copies, which the node keeps.
unsafe impl<'l, const SPECIAL: bool> LaunchArguments<'l> for Prepared<'l, SPECIAL> {
    type Memory = NodeArguments<'l>;
    type Packet = *mut *mut c_void;
    type Types = &'l [&'static ParameterType];

    #[inline(always)]
    fn memory(self) -> NodeArguments<'l> {
        NodeArguments(self.node)
    }

    #[inline(always)]
    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool {
        // The types were compared when the launch was prepared, and whether the kernel has further rules is in `SPECIAL`.
        // `KernelNode::checked` compared the dimensions with the kernel's limits. None of this changes later, except the limit on
        // shared memory, which is compared here.
        queue.is_warm_for(kernel)
            && (!SPECIAL || !kernel.has_special_rules())
            && check::within_shared(kernel, config)
    }

    #[inline(always)]
    fn types(self) -> Self::Types {
        &self.node.types
    }

    #[inline(always)]
    fn packet(self) -> *mut *mut c_void {
        self.params
    }

    #[inline(always)]
    fn kernel_params(packet: &mut *mut *mut c_void) -> *mut *mut c_void {
        *packet
    }
}

impl Memory for NodeArguments<'_> {
    /// One by one: most launches have few, and the compiler would otherwise process them in pairs.
    #[inline(always)]
    fn is_ready(&self, key: impl FnOnce() -> u64) -> bool {
        let key = key();
        for (allocation, written) in &self.0.memory {
            if allocation.accesses().word(*written) & key != key {
                return false;
            }
        }
        true
    }

    fn words(&self) -> u64 {
        let words = self.0.memory.iter().map(|(allocation, written)| allocation.accesses().word(*written));
        words.fold(u64::MAX, |all, word| all & word)
    }

    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        let mut contexts = self.0.memory.iter().map(|(allocation, _)| allocation.context());
        contexts.find(|own| !own.is_same(context))
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        self.0.memory.iter().try_for_each(|(allocation, written)| allocation.note(launch, *written))
    }

    fn report(&self, report: &mut Report) {
        self.0.memory.iter().for_each(|(allocation, written)| report.memory(allocation, *written));
        self.0.named.iter().for_each(|named| report.named(named.clone()));
    }
}
