//! The launch builder: arguments are added one by one, and the borrow checker knows which of them are written.

#![allow(unsafe_code)] // Submitting a launch: its caller vouches for what cannot be checked.

pub(crate) mod argument;

use super::attributes::Attribute;
use super::config::{Dim3, LaunchConfig};
use super::inline_vec::InlineVec;
use super::lent::BorrowedHandle;
use super::node::KernelNode;
use super::prepared::PreparedLaunch;
use super::site::{AttributeList, ByValue, byval, pitched, pitched_mut, ptr, ptr_mut, slice, slice_mut};
use super::submit::submit_given;
use super::timed::{LaunchTimes, submit_timed};
use crate::driver::{CudaFunction, CudaStream, EventFlags};
use crate::error::Error;
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut, PitchedBuffer};
use argument::{Arguments, BuilderArgument};

/// A launch that is assembled argument by argument, from [`CudaStream::launch_builder`].
///
/// It borrows its arguments as long as it is used: a buffer passed as `&x` is read, as `&mut x` written, so that one launch cannot
/// have both of the same memory. Packet, checks and stream order are those of [`cuda_launch!`](crate::cuda_launch): a launch is
/// one driver call, and allocates nothing with up to 16 parameters and 4 attributes. The number of parameters is limited only by
/// the kernel.
///
/// Every method returns the builder, for use in one statement or several:
///
/// ```standalone_crate
/// use cuda_launch::{CudaContext, LaunchConfig};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let saxpy = ctx.load_module(include_str!("../../../examples/kernels/saxpy.ptx"))?.load_function("saxpy")?;
/// let x = stream.clone_htod(&[1.0f32; 100])?;
/// let mut y = stream.clone_htod(&[3.0f32; 100])?;
/// // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats, and writes only the second; 3,
/// // 4: the builder borrows and orders the buffers; 5: any bits are an `f32`; 6: it ends.
/// unsafe {
///     stream.launch_builder(&saxpy)
///         .arg(&100u32).arg(&2.0f32).arg(&x).arg(&mut y)
///         .launch(LaunchConfig::for_num_elems(100))
/// }?;
/// assert_eq!(stream.clone_dtoh(&y)?, [5.0; 100]);
///
/// let factor = 0.5f32;
/// let mut builder = stream.launch_builder(&saxpy);
/// builder.arg(&100u32).arg(&factor);
/// builder.arg(&x).arg(&mut y);
/// for _ in 0..4 {
///     // SAFETY: 1 to 6: as above; each launch has the same arguments.
///     unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
/// }
/// assert_eq!(stream.clone_dtoh(&y)?, [7.0; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until `launch`"]
pub struct LaunchBuilder<'a, 'event> {
    stream: &'a CudaStream,
    function: &'a CudaFunction,
    arguments: Arguments<'a>,
    /// Whether any of the following fields is set.
    special: bool,
    cluster: Option<Dim3>,
    cooperative: bool,
    attributes: InlineVec<Attribute<'event>, (), 4>,
    timed: Option<EventFlags>,
}

impl CudaStream {
    /// Begins a launch of `function` on this stream. No driver call.
    #[inline(always)]
    pub fn launch_builder<'a, 'event>(&'a self, function: &'a CudaFunction) -> LaunchBuilder<'a, 'event> {
        LaunchBuilder {
            stream: self,
            function,
            arguments: Arguments::new(),
            special: false,
            cluster: None,
            cooperative: false,
            attributes: InlineVec::new(),
            timed: None,
        }
    }
}

impl<'a, 'event> LaunchBuilder<'a, 'event> {
    /// The stream of the launch.
    #[cfg(feature = "emulator")]
    pub(super) fn stream(&self) -> &'a CudaStream {
        self.stream
    }

    /// The next argument: memory by its address, a value as it is. [`BuilderArgument`] says what it may be.
    #[inline(always)]
    pub fn arg<Kind>(&mut self, argument: impl BuilderArgument<'a, Kind>) -> &mut Self {
        argument.append_to(&mut self.arguments);
        self
    }

    /// The next argument under a name, by which it can be set later in what is made from this launch: a prepared
    /// [`PreparedLaunch`](crate::launch::PreparedLaunch), a `LaunchPlan`, or a graph of operations. An argument of size 0 is
    /// not a parameter, and its name is dropped.
    pub fn named<Kind>(&mut self, name: &'a str, argument: impl BuilderArgument<'a, Kind>) -> &mut Self {
        self.arguments.named(name, |list| argument.append_to(list));
        self
    }

    /// Two parameters of 8 bytes: device address and length in elements of memory that the kernel reads.
    #[inline(always)]
    pub fn slice<S: DeviceSlice + ?Sized>(&mut self, memory: &'a S) -> &mut Self {
        self.arg(slice(memory))
    }

    /// Two parameters of 8 bytes: device address and length in elements of memory that the kernel may write.
    #[inline(always)]
    pub fn slice_mut<S: DeviceSliceMut + ?Sized>(&mut self, memory: &'a mut S) -> &mut Self {
        self.arg(slice_mut(memory))
    }

    /// Two parameters of 8 bytes: device address and pitch in bytes of rows that the kernel reads.
    #[inline(always)]
    pub fn pitched<T: DeviceCopy>(&mut self, memory: &'a PitchedBuffer<T>) -> &mut Self {
        self.arg(pitched(memory))
    }

    /// Two parameters of 8 bytes: device address and pitch in bytes of rows that the kernel may write.
    #[inline(always)]
    pub fn pitched_mut<T: DeviceCopy>(&mut self, memory: &'a mut PitchedBuffer<T>) -> &mut Self {
        self.arg(pitched_mut(memory))
    }

    /// One parameter of 8 bytes: the device address of memory that the kernel reads.
    #[inline(always)]
    pub fn ptr<S: DeviceSlice + ?Sized>(&mut self, memory: &'a S) -> &mut Self {
        self.arg(ptr(memory))
    }

    /// One parameter of 8 bytes: the device address of memory that the kernel may write.
    #[inline(always)]
    pub fn ptr_mut<S: DeviceSliceMut + ?Sized>(&mut self, memory: &'a mut S) -> &mut Self {
        self.arg(ptr_mut(memory))
    }

    /// One parameter: a plain value; none if its size is 0.
    #[inline(always)]
    pub fn value<T: DeviceCopy>(&mut self, value: &'a T) -> &mut Self {
        self.arg(super::site::value(value))
    }

    /// One parameter of the size of `value`, which is of any `Copy` type that borrows nothing, such as a closure or a struct of
    /// another crate; none if the size is 0. What its bytes mean to the kernel is not compared.
    #[inline(always)]
    pub fn byval<T: ByValue>(&mut self, value: &'a T) -> &mut Self {
        self.arg(byval(value))
    }

    /// Like [`byval`](Self::byval), for a value that may hold references, for machines whose devices can access host memory.
    ///
    /// The memory that the references point to is neither kept alive nor ordered: for it, duties 2 to 4 are the caller's, as in
    /// [`cuda_launch!`](crate::cuda_launch), until the kernel is done, and as long as anything replays the launch.
    #[inline(always)]
    pub fn byval_borrowed<T: Copy + 'a>(&mut self, value: &'a T) -> &mut Self {
        self.arguments.pass_bits(value);
        self
    }

    /// Blocks of a cluster along x, y, z.
    pub fn cluster_dim(&mut self, blocks: Dim3) -> &mut Self {
        (self.cluster, self.special) = (Some(blocks), true);
        self
    }

    /// Whether all blocks must run at once, and may therefore wait for each other.
    pub fn cooperative(&mut self, yes: bool) -> &mut Self {
        (self.cooperative, self.special) = (yes, true);
        self
    }

    /// Adds a launch attribute.
    pub fn attribute(&mut self, attribute: Attribute<'event>) -> &mut Self {
        self.attributes.push(attribute, ());
        self.special = true;
        self
    }

    /// Adds launch attributes: an array, `Vec` or slice of them.
    pub fn attributes(&mut self, attributes: impl AttributeList<'event>) -> &mut Self {
        attributes.attribute_list().iter().fold(self, |builder, attribute| builder.attribute(*attribute))
    }

    /// Makes the launch record two events with these flags, one before and one after the kernel, and return them.
    pub fn record_kernel_launch(&mut self, flags: EventFlags) -> &mut Self {
        (self.timed, self.special) = (Some(flags), true);
        self
    }

    /// Checks the launch and submits it.
    ///
    /// Returns the two events that [`record_kernel_launch`](Self::record_kernel_launch) requested, which
    /// [`TimingEvent::elapsed_ms`](crate::event::TimingEvent::elapsed_ms) compares once the second is done. The first is recorded
    /// after the waits for other streams.
    ///
    /// The builder is not changed: a second launch has the same arguments and attributes.
    ///
    /// Driver calls: those of [`cuda_launch!`](crate::cuda_launch); with events, also `cuEventCreate` and `cuEventRecord` twice
    /// each.
    ///
    /// # Errors
    /// Those of [`cuda_launch!`](crate::cuda_launch), and then nothing was launched. Launching a kernel that has parameters
    /// without any arguments is such an error. With events also: any error returned by the driver, or the stream is being
    /// captured ([`Error::is_refused_in_capture`](Error::is_refused_in_capture)).
    ///
    /// # Safety
    /// Checked for you: number and sizes of the arguments, the dimensions, contexts, that what is borrowed lives during the
    /// call, that no argument is written that another one reads or writes. Yours:
    /// 1. Types: each argument is what the kernel expects of that parameter. Two arguments of the same size that are swapped, or a struct
    ///    with other fields of the same size, are not detected; an integer for a float, or the reverse, only if the image says so
    ///    (PTX with `.f32`, `.u64`).
    /// 2. Bounds: with these arguments and dimensions the kernel accesses only memory that it is passed, or that its module
    ///    owns, and only inside it; it writes only what it was given as `&mut`, by [`slice_mut`](Self::slice_mut), [`pitched_mut`](Self::pitched_mut) or
    ///    [`ptr_mut`](Self::ptr_mut).
    /// 3. Lifetime: memory that the kernel uses stays allocated until it is done. The end of a
    ///    [`DeviceBuffer`](crate::DeviceBuffer) of the stream's context is ordered after it; memory from elsewhere may not be.
    /// 4. Aliasing: until it is done, nothing else writes what the kernel reads, or uses what it writes. Buffers and views among
    ///    the arguments are ordered for you, addresses passed as plain values are not.
    /// 5. Validity: the kernel writes only valid values of a buffer's element type into it.
    /// 6. Termination: the kernel terminates, and its blocks do not wait for each other unless the launch is cooperative.
    #[doc(alias = "cuLaunchKernelEx")]
    pub unsafe fn launch(&mut self, config: LaunchConfig) -> Result<LaunchTimes, Error> {
        if self.special {
            // SAFETY: 1: the caller's duties 1 to 6.
            return unsafe { self.launch_with(config, self.cooperative) };
        }
        let kernel = BorrowedHandle::new(self.function.shared_kernel());
        // SAFETY: 1: the caller's duties 1 to 6; the builder borrows the function, which is loaded as long as its handle is there
        // (`CudaFunction::module`).
        unsafe { submit_given(kernel, self.stream, config, &[], &[], &self.arguments) }?;
        Ok(None)
    }

    /// The same as a cooperative launch, regardless of [`cooperative`](Self::cooperative).
    ///
    /// # Errors
    /// As [`launch`](Self::launch); `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE` for more blocks than fit at once.
    ///
    /// # Safety
    /// 1. The duties 1 to 6 of [`launch`](Self::launch).
    #[doc(alias = "cuLaunchCooperativeKernel")]
    pub unsafe fn launch_cooperative(&mut self, config: LaunchConfig) -> Result<LaunchTimes, Error> {
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.launch_with(config, true) }
    }

    /// Checks the launch and returns it as a [`PreparedLaunch`], which can be submitted many times.
    ///
    /// The bytes of the arguments are copied, and the memory is kept alive, so that nothing stays borrowed. The result is not tied to
    /// the builder's stream. No driver call, except to compose an error message.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, load_kernel_module};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let fill = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
    /// let mut builder = stream.launch_builder(&fill);
    /// builder.arg(&mut x).arg(&100u32).named("value", &7u32);
    /// let mut launch = builder.prepare(LaunchConfig::for_num_elems(100))?;
    /// for value in 0..10u32 {
    ///     launch.set("value", value)?;
    ///     // SAFETY: 1: fill takes an address, a count and a value, writes that many numbers, and ends; 2: on one thread.
    ///     unsafe { launch.launch_on(&stream) }?;
    /// }
    /// assert_eq!(x.to_host_vec(&stream)?, [9; 100]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those errors of [`launch`](Self::launch) that a check finds before the driver is called.
    pub fn prepare(&mut self, config: LaunchConfig) -> Result<PreparedLaunch<'event>, Error> {
        let attributes = [&*self.fields(self.cooperative), self.attributes.as_slice()].concat();
        let node = KernelNode::checked(self.function, config, attributes, &self.arguments)?;
        Ok(PreparedLaunch::new(node, self.timed))
    }

    /// # Safety
    /// 1. The duties 1 to 6 of [`launch`](Self::launch).
    #[cold]
    #[inline(never)]
    unsafe fn launch_with(&self, config: LaunchConfig, cooperative: bool) -> Result<LaunchTimes, Error> {
        let fields = self.fields(cooperative);
        let (kernel, attributes) = (self.function.kernel(), self.attributes.as_slice());
        // SAFETY: 1: the caller's duty 1; the builder borrows the function, which is loaded as long as its handle is there
        // (`CudaFunction::module`).
        unsafe { submit_timed(self.timed, kernel, self.stream, config, &fields, attributes, &self.arguments) }
    }

    /// The attributes set by [`cluster_dim`](Self::cluster_dim) and [`cooperative`](Self::cooperative).
    fn fields(&self, cooperative: bool) -> Vec<Attribute<'event>> {
        let cluster = self.cluster.map(Attribute::cluster_dimension);
        cluster.into_iter().chain(cooperative.then(|| Attribute::cooperative(true))).collect()
    }
}
