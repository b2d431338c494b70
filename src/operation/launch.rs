//! Kernel launches as operations.

#![allow(unsafe_code)] // Submitting launches: the caller that created the operation vouches for what cannot be checked.

use std::borrow::Cow;
use std::future::IntoFuture;

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use super::future::DeviceFuture;
use super::typed::{BuildLaunch, TypedLaunch};
use crate::driver::CudaFunction;
use crate::error::{Error, ErrorKind, OperationError};
use crate::launch::site::AttributeList;
use crate::launch::stored::{Store, StoredArguments};
use crate::launch::{Attribute, Dim3, LaunchConfig};
use crate::memory::DeviceCopy;

/// A kernel launch that is described now and submitted later, on the stream of its chain.
///
/// Values are copied into it; memory is borrowed, and ordered as in [`cuda_launch!`](crate::cuda_launch), whose checks and packet
/// it shares. Up to 16 parameters and 256 bytes of values need no heap allocation.
///
/// Describing one is safe. What the kernel does cannot be checked, so [`execute`](Self::execute), for an operation of your
/// own, and [`into_operation`](Self::into_operation) are `unsafe`. [`OwnedKernelLaunch`] owns its memory and returns it.
///
/// Arguments use the words of the [builder](crate::LaunchBuilder): [`slice`](Self::slice), [`ptr`](Self::ptr),
/// [`value`](Self::value), [`byval`](Self::byval), [`named`](Self::named).
///
/// ```standalone_crate
/// use cuda_launch::operation::DeviceOperation;
/// use cuda_launch::{AsyncKernelLaunch, CudaContext, DeviceBuffer, LaunchConfig};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let saxpy = ctx.load_module(include_str!("../../examples/kernels/saxpy.ptx"))?.load_function("saxpy")?;
/// let x = DeviceBuffer::from_host(&stream, &[1.0f32; 100])?;
/// let mut y = DeviceBuffer::from_host(&stream, &[3.0f32; 100])?;
/// let mut launch = AsyncKernelLaunch::new(&saxpy);
/// launch.value(&100u32).value(&2.0f32).ptr(&x).ptr_mut(&mut y);
/// launch.set_launch_config(LaunchConfig::for_num_elems(100));
/// // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats; 3, 4: buffers are ordered; 5, 6: any bits
/// // are an `f32`, and it ends.
/// unsafe { launch.into_operation() }.sync()?;
/// assert_eq!(y.to_host_vec(&stream)?, [5.0; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is launched until it is executed"]
pub struct AsyncKernelLaunch<'a> {
    /// If looking up the kernel failed, the error is returned when the launch is submitted.
    function: Result<Cow<'a, CudaFunction>, Error>,
    /// Whether the arguments include addresses of memory that is not kept alive.
    raw: bool,
    config: Option<LaunchConfig>,
    pub(super) arguments: StoredArguments<'a>,
    attributes: Vec<Attribute<'a>>,
}

impl<'a> AsyncKernelLaunch<'a> {
    /// A launch of this kernel, without arguments. No driver call.
    ///
    /// Given a `&CudaFunction`, it borrows it, which needs no write to a shared reference count; given a `CudaFunction`, such as
    /// a clone, it owns it and can outlive the caller's handle.
    #[inline]
    pub fn new(function: impl Into<Cow<'a, CudaFunction>>) -> Self {
        Self {
            function: Ok(function.into()),
            raw: false,
            config: None,
            arguments: StoredArguments::new(),
            attributes: Vec::new(),
        }
    }

    /// Like [`value`](Self::value), for a value that is passed by value.
    #[inline]
    pub fn push_arg<T: DeviceCopy>(&mut self, value: T) -> &mut Self {
        self.value(&value)
    }

    /// One parameter of 8 bytes: a device address as a number. Accesses of the kernel through it are not tracked, so a graph
    /// rejects the launch.
    ///
    /// # Safety
    /// 1. The memory lives until the work is done. This holds for a [`DeviceBuffer`](crate::DeviceBuffer) whose address was taken,
    ///    if the work is on a stream of its context. Memory of another context or library must order its own release: an
    ///    [`OwnedKernelLaunch`] passes it on, and it may be dropped, when the work is submitted.
    /// 2. Until then nothing else writes what the kernel reads, or uses what it writes, except work that is ordered against it: work
    ///    of the same chain, and of chains that wait for it.
    #[inline]
    pub unsafe fn push_device_ptr(&mut self, address: cuda_driver_sys::CUdeviceptr) -> &mut Self {
        self.arguments.value(address);
        self.raw = true;
        self
    }

    /// Sets grid, block and dynamic shared memory, which every launch needs.
    #[inline]
    pub fn set_launch_config(&mut self, config: LaunchConfig) -> &mut Self {
        self.config = Some(config);
        self
    }

    /// Blocks of a cluster along x, y, z.
    pub fn cluster_dim(&mut self, blocks: Dim3) -> &mut Self {
        self.attribute(Attribute::cluster_dimension(blocks))
    }

    /// Whether all blocks must run at once, and may therefore wait for each other.
    pub fn cooperative(&mut self, yes: bool) -> &mut Self {
        self.attribute(Attribute::cooperative(yes))
    }

    /// Adds a launch attribute.
    pub fn attribute(&mut self, attribute: Attribute<'a>) -> &mut Self {
        self.attributes.push(attribute);
        self
    }

    /// Adds launch attributes: an array, `Vec` or slice of them.
    pub fn attributes(&mut self, attributes: impl AttributeList<'a>) -> &mut Self {
        self.attributes.extend_from_slice(attributes.attribute_list());
        self
    }

    /// Checks the launch and submits it to the stream of `cx`; does not wait. For an `execute` of your own.
    ///
    /// Driver calls: those of [`cuda_launch!`](crate::cuda_launch).
    ///
    /// # Errors
    /// An error if no configuration was set; otherwise those of [`cuda_launch!`](crate::cuda_launch).
    ///
    /// # Safety
    /// 1. The duties of [`cuda_launch!`](crate::cuda_launch).
    #[inline(always)]
    pub unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<(), Error> {
        // SAFETY: 1: the caller's duty 1, which is the same.
        unsafe { self.submit(cx) }
    }

    /// Like [`execute`](Self::execute), by reference, because the launch is large.
    ///
    /// # Safety
    /// 1. As duty 1 of [`execute`](Self::execute).
    #[inline]
    unsafe fn submit(&mut self, cx: &ExecutionContext) -> Result<(), Error> {
        let function = match &self.function {
            Ok(function) => function,
            Err(_) => return self.not_found(),
        };
        let Some(config) = self.config else { return Err(no_config(function)) };
        let stream = cx.stream()?;
        if self.raw && stream.capture().is_some() {
            return Err(not_kept(function));
        }
        // SAFETY: 1: the caller's duty 1; the function keeps its module loaded.
        unsafe { self.arguments.launch(function.shared_kernel(), stream, config, &self.attributes) }?;
        if let Cow::Owned(function) = function
            && function.is_last_handle()
        {
            // Unloading a module waits for the device.
            cx.keep(function.clone());
        }
        Ok(())
    }

    /// Takes the error of looking up the kernel; it is returned once.
    #[cold]
    fn not_found(&mut self) -> Result<(), Error> {
        let told = Err(ErrorKind::from(OperationError::Finished).into());
        std::mem::replace(&mut self.function, told).map(drop)
    }

    /// The launch as an operation without output.
    ///
    /// It can be awaited although it borrows: memory that is passed as such is ordered automatically, even if the future is dropped and
    /// the borrow ends before the kernel has.
    ///
    /// # Safety
    /// 1. The duties of [`cuda_launch!`](crate::cuda_launch), whenever the operation runs, and in each replay of a graph of it.
    #[inline(always)]
    pub unsafe fn into_operation(self) -> KernelLaunch<'a> {
        KernelLaunch(self)
    }
}

#[cold]
fn no_config(function: &CudaFunction) -> Error {
    ErrorKind::from(OperationError::NoLaunchConfig { kernel: function.name().to_string() }).into()
}

#[cold]
fn not_kept(function: &CudaFunction) -> Error {
    ErrorKind::from(OperationError::RawAddress { kernel: function.name().to_string() }).into()
}

/// A kernel launch as an operation: what [`AsyncKernelLaunch::into_operation`] and
/// [`cuda_launch_async!`](crate::cuda_launch_async) make.
#[derive(Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct KernelLaunch<'a>(AsyncKernelLaunch<'a>);

impl DeviceOperation for KernelLaunch<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<(), Error> {
        // SAFETY: 1: `into_operation` or `of` created the operation, and its caller promised this, by duty 1, for whenever
        // the operation runs.
        unsafe { self.0.submit(cx) }
    }
}

impl<'a> IntoFuture for KernelLaunch<'a> {
    type Output = Result<(), Error>;
    type IntoFuture = DeviceFuture<Self>;

    fn into_future(self) -> DeviceFuture<Self> {
        // SAFETY: 1: a launch borrows memory, whose access is recorded and whose release is ordered; objects, whose
        // release waits for their context; events, which the driver keeps until they are recorded; and names and a
        // `DeviceNode`, which are not accessed after `execute` has returned. That memory behind addresses passed as
        // numbers, or behind references in a value, lives long enough is duty 1 of `into_operation` and `of`.
        unsafe { DeviceFuture::borrowing(self) }
    }
}

impl<'a> KernelLaunch<'a> {
    /// The function behind [`cuda_launch_async!`](crate::cuda_launch_async).
    ///
    /// # Safety
    /// 1. As duty 1 of [`AsyncKernelLaunch::into_operation`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn of(
        function: Result<CudaFunction, Error>,
        config: LaunchConfig,
        fields: &[Attribute<'a>],
        attributes: &[Attribute<'a>],
        arguments: impl Store<'a>,
    ) -> Self {
        let mut list = Vec::new();
        if !fields.is_empty() || !attributes.is_empty() {
            list = [fields, attributes].concat();
        }
        let stored = StoredArguments::new();
        let mut launch = AsyncKernelLaunch {
            function: function.map(Cow::Owned),
            raw: false,
            config: Some(config),
            arguments: stored,
            attributes: list,
        };
        arguments.store(&mut launch.arguments);
        Self(launch)
    }
}

/// A launch that owns what it uses, and returns it when done: it can be spawned and stored.
///
/// ```standalone_crate
/// use cuda_launch::operation::{DeviceOperation, OwnedKernelLaunch};
/// use cuda_launch::{AsyncKernelLaunch, CudaContext, DeviceBuffer, LaunchConfig};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// // SAFETY: 1: fill takes an address, a length and a value, writes any `u32` to the 100 elements of the buffer, and
/// // ends; 2: the buffer is passed as memory.
/// let op = unsafe {
///     OwnedKernelLaunch::new(buffer, move |buffer| {
///         let mut launch = AsyncKernelLaunch::new(fill);
///         launch.ptr_mut(buffer).value(&100u32).value(&7u32);
///         launch.set_launch_config(LaunchConfig::for_num_elems(100));
///         Ok(launch)
///     })
/// };
/// let buffer = op.sync()?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [7; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Methods of typed modules make an `OwnedKernelLaunch<(A, B, C)>` of the buffers they take.
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct OwnedKernelLaunch<R, F = TypedLaunch<R>> {
    pub(super) resources: R,
    pub(super) launch: F,
}

impl<R, F> OwnedKernelLaunch<R, F>
where
    R: Send,
    F: for<'r> FnOnce(&'r mut R) -> Result<AsyncKernelLaunch<'r>, Error> + Send,
{
    /// The launch that `launch` describes; it owns `resources` and returns them when done.
    ///
    /// # Safety
    /// 1. The duties of [`cuda_launch!`](crate::cuda_launch) for the launch, whenever the operation runs.
    /// 2. `resources` go to the next operation, and may be dropped, as soon as the launch is submitted. What the kernel uses of
    ///    them is passed as memory, which is ordered, or orders its own release otherwise.
    pub unsafe fn new(resources: R, launch: F) -> Self {
        Self { resources, launch }
    }
}

impl<R, F> DeviceOperation for OwnedKernelLaunch<R, F>
where
    R: Send,
    F: BuildLaunch<R>,
{
    type Output = R;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<R, Error> {
        // SAFETY: 1: `new` or `typed` created the operation. Its caller promised this, by duty 1, for whenever the
        // operation runs, and, by duty 2 of `new`, that what the kernel uses of `resources`, which are passed on, is
        // passed as memory, which is ordered, or orders its own release otherwise.
        unsafe { self.launch.describe(&mut self.resources)?.execute(cx) }?;
        Ok(self.resources)
    }
}
