//! Memory on the device, the launch, and its outputs.

#![allow(unsafe_code)] // Launching a kernel with the arguments that the command line gives.

use cuda_launch::event::EventFlags;
use cuda_launch::{
    CudaContext, CudaFunction, CudaModule, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchBuilder,
    LaunchConfig,
};

use super::Arguments;
use super::argument::{Direction, Form};
use super::data::Input;
use super::global::Variable;
use crate::failure::Failure;
use crate::image::volume;
use crate::kernel_file::File;
use crate::model::Kernel;

/// A kernel that is ready to be launched.
pub(crate) struct Launcher {
    pub(crate) context: CudaContext,
    pub(crate) function: CudaFunction,
    pub(crate) config: LaunchConfig,
    pub(crate) variables: Vec<Variable>,
    module: CudaModule,
    stream: CudaStream,
    cluster: Option<(u32, u32, u32)>,
    cooperative: bool,
}

/// The initial contents of an output's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Zero,
    /// This byte everywhere, which the emulator treats as never written.
    Unwritten(u8),
}

/// The outputs of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// The contents of each argument's memory; nothing for values.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// The bytes of each variable; `None` for one that is only set.
    pub(crate) variables: Vec<Vec<u8>>,
}

/// How a launch ended.
pub(crate) enum Finished {
    Outputs(Outputs),
    /// The kernel was stopped, for the reason that the emulator or the driver reports.
    Fault(Fault),
}

/// Why a kernel was stopped.
pub(crate) struct Fault {
    pub(crate) message: String,
    /// The emulator's report with the position.
    pub(crate) report: Option<std::sync::Arc<cuda_emulator::Fault>>,
}

impl Fault {
    /// A signal, such as that of ^C, has ended the kernel.
    pub(super) fn by_signal() -> Self {
        Self { message: "interrupted by a signal: no output is shown or saved".to_owned(), report: None }
    }
}

/// An argument on the device.
enum DeviceArgument<'a> {
    Value(&'a [u8]),
    Memory { buffer: DeviceBuffer<u8>, written: bool, length: Option<u64> },
}

impl Launcher {
    pub(super) fn new(
        context: &CudaContext,
        file: &File,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: &Arguments,
        variables: Vec<Variable>,
    ) -> Result<Self, Failure> {
        let module = file.load(context)?;
        let function = module.load_function(&kernel.name)?;
        variables.iter().try_for_each(|variable| variable.check(&module))?;
        let cluster = arguments.cluster.map(super::shape::Shape::tuple);
        opt_in(context, &function, config, cluster)?;
        Ok(Self {
            context: context.clone(),
            function,
            config,
            variables,
            module,
            stream: context.new_stream()?,
            cluster,
            cooperative: arguments.cooperative,
        })
    }

    /// Runs the kernel once on fresh memory.
    pub(crate) fn once(&self, inputs: &[Input<'_>], fill: Fill) -> Result<Finished, Failure> {
        Ok(self.once_at(inputs, fill)?.0)
    }

    /// The same, with the address of each argument's memory.
    pub(super) fn once_at(
        &self,
        inputs: &[Input<'_>],
        fill: Fill,
    ) -> Result<(Finished, Vec<Option<u64>>), Failure> {
        let mut held = self.hold(inputs, fill)?;
        let address = |argument: &DeviceArgument<'_>| match argument {
            DeviceArgument::Memory { buffer, .. } => Some(buffer.as_device_ptr().addr()),
            DeviceArgument::Value(_) => None,
        };
        let addresses = held.iter().map(address).collect();
        let finished = match self.launch(&mut held).and_then(|()| self.outputs(&held)) {
            Ok(outputs) => Finished::Outputs(outputs),
            Err(error) => fault(error)?,
        };
        Ok((finished, addresses))
    }

    /// Runs it again and again on the same memory: milliseconds of each, measured by events.
    pub(super) fn times(
        &self,
        inputs: &[Input<'_>],
        count: u32,
        mut done: impl FnMut(u32),
    ) -> Result<(Finished, Vec<f32>), Failure> {
        /// Launches that the clock does not see: code is loaded, caches fill.
        const WARM: u32 = 3;
        let mut held = self.hold(inputs, Fill::Zero)?;
        let mut times = Vec::new();
        for index in 0..WARM + count {
            match self.timed(&mut held) {
                Ok(time) if index >= WARM => {
                    times.push(time);
                    done(index - WARM + 1);
                }
                Ok(_) => {}
                Err(error) => return Ok((fault(error)?, times)),
            }
        }
        Ok((Finished::Outputs(self.outputs(&held)?), times))
    }

    /// The arguments on the device; variables are set.
    fn hold<'a>(&self, inputs: &'a [Input<'_>], fill: Fill) -> Result<Vec<DeviceArgument<'a>>, Failure> {
        for variable in &self.variables {
            variable.set(&self.module, &self.stream)?;
        }
        let hold = |input: &'a Input<'_>| -> Result<DeviceArgument<'a>, Failure> {
            let Form::Memory { direction, scalar, with_length, .. } = &input.argument.form else {
                let (text, size) = (&input.argument.text, input.bytes.len());
                let odd = || {
                    Failure::usage(format!(
                        "argument `{text}`: a value of {size} bytes cannot be passed on the command line; 1 to 16 bytes can, and multiples of 8 up to 256"
                    ))
                };
                return is_passable(size).then_some(DeviceArgument::Value(&input.bytes)).ok_or_else(odd);
            };
            let buffer = match (direction, fill) {
                (Direction::Out, Fill::Unwritten(byte)) => self.unwritten(byte, input.bytes.len())?,
                _ => DeviceBuffer::from_host(&self.stream, &input.bytes)?,
            };
            let length = with_length.then(|| (input.bytes.len() / scalar.size()) as u64);
            Ok(DeviceArgument::Memory { buffer, written: *direction != Direction::In, length })
        };
        inputs.iter().map(hold).collect()
    }

    /// Memory filled with one byte, which the emulator treats as never written.
    fn unwritten(&self, byte: u8, bytes: usize) -> Result<DeviceBuffer<u8>, Error> {
        let buffer = DeviceBuffer::from_host(&self.stream, &vec![byte; bytes])?;
        self.stream.synchronize()?;
        cuda_emulator::forget_written(buffer.as_device_ptr().addr(), bytes as u64);
        Ok(buffer)
    }

    fn builder<'a>(&'a self, held: &'a mut [DeviceArgument<'_>]) -> LaunchBuilder<'a, 'static> {
        let mut builder = self.stream.launch_builder(&self.function);
        for argument in held {
            match argument {
                DeviceArgument::Value(bytes) => pass(&mut builder, bytes),
                DeviceArgument::Memory { buffer, written, length } => {
                    if *written {
                        builder.arg(buffer);
                    } else {
                        builder.arg(&*buffer);
                    }
                    if let Some(length) = length {
                        builder.arg(&*length);
                    }
                }
            }
        }
        if let Some(cluster) = self.cluster {
            builder.cluster_dim(cluster);
        }
        builder.cooperative(self.cooperative);
        builder
    }

    fn launch(&self, held: &mut [DeviceArgument<'_>]) -> Result<(), Error> {
        let mut builder = self.builder(held);
        // SAFETY: 1, 2, 6: the user of the command line is responsible for the kernel and its use of these arguments,
        // whose number and sizes are checked; 3, 4: the builder borrows and orders the buffers, which no other code
        // uses before the wait below; 5: they contain bytes, for which any value is valid.
        unsafe { builder.launch(self.config) }?;
        self.stream.synchronize()
    }

    fn timed(&self, held: &mut [DeviceArgument<'_>]) -> Result<f32, Error> {
        let mut builder = self.builder(held);
        builder.record_kernel_launch(EventFlags::empty());
        // SAFETY: 1 to 6: as in `launch`: the same builder, of the same buffers, and a wait.
        let times = unsafe { builder.launch(self.config) }?;
        self.stream.synchronize()?;
        times.map_or(Ok(0.0), |(start, end)| start.elapsed_ms(&end))
    }

    fn outputs(&self, held: &[DeviceArgument<'_>]) -> Result<Outputs, Error> {
        let read = |argument: &DeviceArgument<'_>| match argument {
            DeviceArgument::Memory { buffer, written: true, .. } => self.stream.clone_dtoh(buffer),
            _ => Ok(Vec::new()),
        };
        let arguments = held.iter().map(read).collect::<Result<_, _>>()?;
        let variables = self.variables.iter().map(|variable| variable.get(&self.module, &self.stream));
        Ok(Outputs { arguments, variables: variables.collect::<Result<_, _>>()? })
    }
}

/// Enables features that a kernel only gets on request: large dynamic shared memory, and clusters of more than 8 blocks. Values
/// over the limits of the device are left to the launch, whose error names the limits.
fn opt_in(
    context: &CudaContext,
    function: &CudaFunction,
    config: LaunchConfig,
    cluster: Option<(u32, u32, u32)>,
) -> Result<(), Error> {
    let limits = context.limits();
    let wanted = config.shared_mem_bytes;
    let fits = wanted.saturating_add(function.static_shared_memory()) <= limits.max_shared_memory_optin;
    if fits && wanted > function.max_dynamic_shared_memory() {
        function.set_max_dynamic_shared_memory(wanted)?;
    }
    let large = |(x, y, z)| volume([x, y, z]) > 8;
    if limits.cluster_launch && cluster.or(function.required_cluster()).is_some_and(large) {
        function.set_non_portable_cluster_size_allowed(true)?;
    }
    Ok(())
}

/// A kernel that was stopped is a result; every other error is a failure.
fn fault(error: Error) -> Result<Finished, Failure> {
    let report = cuda_emulator::last_fault();
    if report.is_none() && !error.is_sticky() && !matches!(error.kind(), ErrorKind::Faulted(_)) {
        return Err(error.into());
    }
    let message = report.as_ref().map_or_else(|| error.to_string(), |report| report.to_string());
    Ok(Finished::Fault(Fault { message, report }))
}

/// The sizes that a value on the command line may have, in one list for both uses.
macro_rules! sizes {
    ($use:ident) => {
        $use!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 20 21 22 24 26 27 28 30 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96
            100 104 108 112 116 120 124 128 136 144 152 160 168 176 184 192 200 208 216 224 232 240 248 256 512 1024 2048 4096)
    };
}

fn is_passable(size: usize) -> bool {
    macro_rules! any {
        ($($size:literal)*) => { matches!(size, $($size)|*) };
    }
    sizes!(any)
}

/// Passes a value with the number of bytes in `bytes`, if [`is_passable`].
fn pass<'a>(builder: &mut LaunchBuilder<'a, 'static>, bytes: &'a [u8]) {
    macro_rules! each {
        ($($size:literal)*) => {
            match bytes.len() {
                $($size => if let Ok(value) = <&[u8; $size]>::try_from(bytes) { builder.byval(value); },)*
                _ => {}
            }
        };
    }
    sizes!(each);
}
