//! What launches do, counted by the emulator.

#![allow(unsafe_code)] // A launch, for which its caller vouches.

use cuda_emulator::KernelProfile;

use super::builder::LaunchBuilder;
use super::config::LaunchConfig;
use crate::driver::CudaContext;
use crate::error::{Error, ErrorKind, NotEmulated};

/// Counts what the kernels do that `work` launches on this thread, in whatever way: macros, builders, typed modules, prepared launches,
/// plans, graphs, operations. Returns what `work` returns, and a profile for each kernel, in the order in which they ended.
///
/// It waits for these launches. Counted kernels are many times slower; other launches are unaffected. [`cuda_emulator::profile`] says what exactly is
/// counted. Driver calls: `cuDeviceGetName`.
///
/// ```
/// # use cuda_launch::sys::{CUresult, Driver};
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch, emulator, load_kernel_module};
/// # let ctx = CudaContext::with_driver(&cuda_emulator::driver(), 0)?;
/// let stream = ctx.new_stream()?;
/// let module = load_kernel_module(&ctx, "strided_copy")?;
/// let from = stream.clone_htod(&[1.0f32; 4000])?;
/// let mut to = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let (_, kernels) = emulator::profile(&ctx, || {
///     // SAFETY: 1, 2: strided_copy takes two pointers, a count and a stride, and reads that many floats so far apart; 3, 4: `from` and `to`
///     // are ordered; 5: it writes floats; 6: it ends.
///     unsafe {
///         cuda_launch! {
///             kernel: strided_copy, module: module, stream: stream, config: LaunchConfig::for_num_elems(1000),
///             args: [ptr_mut(to), ptr(from), 1000u32, 4u32],
///         }
///     }
/// })?;
/// // Each thread reads every fourth float: four times as many sectors as needed.
/// let load = kernels[0].instructions.iter().find(|one| &*one.name == "ld.global.f32").expect("it loads");
/// assert_eq!((load.counts.global_sectors, load.counts.global_sectors_ideal), (500, 125));
/// println!("{}", kernels[0]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotEmulated`] for a context of another driver, before anything is launched, and if `work` launched nothing that the
/// emulator counts. Any error returned by `work`, or by the driver.
pub fn profile<R>(
    context: &CudaContext,
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<(R, Vec<KernelProfile>), Error> {
    let device = context.device_name()?;
    if !device.contains("emulator") {
        return Err(ErrorKind::from(NotEmulated { device }).into());
    }
    match cuda_emulator::profile(work) {
        Ok((result, kernels)) => Ok((result?, kernels)),
        Err(_) => Err(ErrorKind::from(NotEmulated { device }).into()),
    }
}

impl LaunchBuilder<'_, '_> {
    /// Checks the launch, submits it, waits for it, and returns what each line of the kernel did, counted by the emulator.
    ///
    /// The result is that of [`launch`](Self::launch): the kernel runs once. [`emulator::profile`](crate::emulator::profile) is the
    /// same for other ways to launch. Driver calls: those of [`launch`](Self::launch), `cuDeviceGetName`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, load_kernel_module};
    /// # let ctx = CudaContext::with_driver(&cuda_emulator::driver(), 0)?;
    /// let stream = ctx.new_stream()?;
    /// let fill = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 1000)?;
    /// let mut builder = stream.launch_builder(&fill);
    /// builder.arg(&mut x).arg(&1000u32).arg(&7u32);
    /// // SAFETY: 1, 2: fill takes an address, a count and a value, and writes that many numbers; 3, 4: the builder borrows them; 5: any
    /// // bits are a `u32`; 6: it ends.
    /// let profile = unsafe { builder.profile(LaunchConfig::for_num_elems(1000)) }?;
    /// // 4,000 bytes are 125 sectors of 32.
    /// assert_eq!(profile.total().global_sectors, 125);
    /// for line in profile.lines() {
    ///     println!("line {}: {} times by {} threads", line.line, line.counts.warps, line.counts.threads_on);
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch), and [`ErrorKind::NotEmulated`] on another driver than the emulator, before anything is launched, or
    /// if the stream captures.
    ///
    /// # Safety
    /// 1. The duties 1 to 6 of [`launch`](Self::launch).
    pub unsafe fn profile(&mut self, config: LaunchConfig) -> Result<KernelProfile, Error> {
        let stream = self.stream();
        let launched = profile(stream.context(), || {
            // SAFETY: 1: the caller's duty 1.
            unsafe { self.launch(config) }
        });
        let (_, mut kernels) = launched?;
        stream.synchronize()?;
        let device = || stream.context().device_name();
        kernels.pop().map_or_else(|| Err(ErrorKind::from(NotEmulated { device: device()? }).into()), Ok)
    }
}
