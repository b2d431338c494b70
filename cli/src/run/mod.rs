//! `cuda-launch run FILE KERNEL`.

mod argument;
mod bench;
mod by_variable;
mod check;
mod counted;
mod data;
mod device;
mod findings;
mod global;
mod interrupt;
mod launch;
mod npy;
mod progress;
mod report;
mod roof;
mod roofline;
mod schedules;
mod shape;

use cuda_emulator::{Architecture, OneOrderReason};
use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::{Exit, Failure};
use crate::files;
use crate::kernel_file::File;
use crate::number;
use crate::output::Outcome;
use argument::Argument;
use global::Global;
use launch::{Fault, Finished, Launcher};
use roofline::Roofline;
use schedules::Extent;

pub(crate) use counted::counted;
pub(crate) use device::DeviceOptions;

/// Elements of an output that are shown without `--print`.
const SHOWN: usize = 32;

/// How an argument is written.
const ARGUMENTS: &str = "\
Arguments, in the order of the kernel's parameters:
  TYPE:VALUE            a number; TYPE:1,2,3 an array by value
  hex:00ff              bytes by value
  in:TYPE:DATA          memory that the kernel reads
  inout:TYPE:DATA       memory that it reads and writes, shown afterwards
  out:TYPE:COUNT        memory that it writes, zeroed first (not with
                        --check), shown afterwards
  TYPE[] for TYPE       two parameters: the address, and the length as a u64
TYPE is one of u8 i8 u16 i16 u32 i32 u64 i64 u128 f16 bf16 f32 f64.
DATA is @FILE (.npy, .txt, or raw bytes), 1,2,3, START..END, or COUNT*VALUE.
An inout or out may end in @FILE to be saved there: out:f32:1024@sum.npy

Variables, by their names in the file:
  --global NAME=DATA            elements of its own type, if PTX says it
  --global NAME=TYPE:DATA       elements; also NAME=hex:00ff
  --global NAME=inout:TYPE:DATA shown afterwards; NAME=out:TYPE is only shown

Example:
  cuda-launch run vecadd.ptx vecadd --arg in:f32[]:0..1024 \\
      --arg in:f32[]:1024*0.5 --arg out:f32[]:1024@sum.npy
";

#[derive(clap::Args)]
#[command(after_help = format!("{ARGUMENTS}\n{}", crate::failure::CODES))]
pub(crate) struct Arguments {
    /// A PTX, cubin or fatbin; or .cu, .ll, .bc, .ltoir
    file: PathBuf,
    /// Its name, mangled or as in the source
    kernel: String,
    /// Blocks, as X, X,Y or X,Y,Z [default: one thread per element]
    #[arg(long)]
    grid: Option<shape::Shape>,
    /// Threads per block [default: 256, or what the kernel asks for]
    #[arg(long)]
    block: Option<shape::Shape>,
    /// Bytes of dynamic shared memory
    #[arg(long, default_value_t = 0, value_parser = number::shared_bytes)]
    shared: u32,
    /// Blocks per cluster
    #[arg(long)]
    cluster: Option<shape::Shape>,
    /// Launch cooperatively: all blocks are resident at once
    #[arg(long)]
    cooperative: bool,
    /// An argument; repeat for each parameter; see below
    #[arg(long = "arg", value_name = "SPEC")]
    arguments: Vec<Argument>,
    /// A `__constant__` or `__device__` variable to set or show; see below
    #[arg(long = "global", value_name = "NAME=SPEC")]
    globals: Vec<Global>,
    /// Elements to show per output [default: 32]
    #[arg(long, value_name = "N", value_parser = number::whole::<usize>)]
    print: Option<usize>,
    /// Run on the emulator and report faults, races, and uninitialised memory that is read or shown
    #[arg(long)]
    check: bool,
    /// Run on the emulator under this many orders of warps and blocks, and report results that
    /// depend on the order (docs/schedules.md)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    schedules: Option<u32>,
    /// The seed of the first order [default: 1]; without --schedules, run only that order
    #[arg(long, value_name = "S", value_parser = number::whole::<u64>)]
    seed: Option<u64>,
    /// Time this many launches [default: 30]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "30")]
    bench: Option<u32>,
    /// With --bench: count one launch on the emulator, and place the kernel in the GPU's roofline
    #[arg(long)]
    roofline: bool,
    /// Run on an emulated device of this architecture, such as sm_80
    #[arg(long)]
    arch: Option<Architecture>,
    #[command(flatten)]
    place: DeviceOptions,
}

impl Arguments {
    /// The place, on the emulator if `what` or the architecture needs it, whose devices have that architecture.
    fn place(&self, what: Option<&str>) -> Result<DeviceOptions, Failure> {
        if let Some(architecture) = self.arch {
            // An error if a driver was called before; this program has called none.
            cuda_emulator::set_architectures([architecture]);
        }
        match what.or(self.arch.map(|_| "--arch")) {
            Some(what) => self.place.on_emulator(what),
            None => Ok(self.place.clone()),
        }
    }

    /// Refuses to write over the kernel file.
    pub(crate) fn keeps(&self, output: &std::path::Path) -> Result<(), Failure> {
        files::keep(&self.file, output, "the kernel file")
    }
}

/// Everything that can be checked and read before a driver is called.
struct Prepared<'a> {
    file: File,
    inputs: Vec<data::Input<'a>>,
    variables: Vec<global::Variable>,
    config: cuda_launch::LaunchConfig,
}

impl<'a> Prepared<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        let file = File::read(&arguments.file)?;
        let kernel = file.kernel(&arguments.kernel)?;
        let inputs = arguments.arguments.iter().map(data::Input::load).collect::<Result<Vec<_>, _>>()?;
        argument::compare(&inputs, kernel)?;
        let variables = global::load(&arguments.globals, &file)?;
        let config = shape::config(arguments, kernel, &inputs)?;
        data::try_to_save(arguments, &variables)?;
        Ok(Self { file, inputs, variables, config })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.check && arguments.bench.is_some() {
        return Err(Failure::usage("--check and --bench exclude each other: give one of them"));
    }
    if arguments.roofline && arguments.bench.is_none() {
        return Err(Failure::usage("--roofline needs the time of a launch: add --bench"));
    }
    let schedules = schedules::asked(arguments);
    if schedules.is_some() && arguments.bench.is_some() {
        return Err(Failure::usage("--schedules and --bench exclude each other: give one of them"));
    }
    let Prepared { file, inputs, variables, config } = Prepared::new(arguments)?;
    let kernel = file.kernel(&arguments.kernel)?;
    let place = arguments.place(match (arguments.check, schedules) {
        (true, _) => Some("--check"),
        (false, Some(_)) => Some("--schedules"),
        (false, None) => None,
    })?;
    cuda_emulator::show_progress();
    if arguments.check {
        check::start();
    }
    if let Some(schedules) = schedules {
        schedules::start(schedules);
    }
    let context = place.context()?;
    let launcher = Launcher::new(&context, &file, kernel, config, arguments, variables)?;
    let is_long = arguments.check || schedules.is_some();
    if is_long {
        interrupt::catch();
    }
    let (finished, checked, timed) = if arguments.check {
        let (finished, found) = check::run(&launcher, &inputs)?;
        (finished, Some(found), None)
    } else if let Some(times) = arguments.bench {
        let (finished, mut timed) = bench::run(&launcher, &inputs, times)?;
        if arguments.roofline && matches!(finished, Finished::Outputs(_)) {
            let count = || counted::again(arguments, &file, kernel, &inputs, &launcher);
            timed.roofline = Some(Roofline::of(&launcher.context, &file, &timed, count));
        }
        (finished, None, Some(timed))
    } else {
        (launcher.once(&inputs, launch::Fill::Zero)?, None, None)
    };
    let interrupted = is_long && interrupt::came();
    let finished = match finished {
        Finished::Outputs(_) if interrupted => Finished::Fault(Fault::by_signal()),
        finished => finished,
    };
    if let Finished::Outputs(outputs) = &finished {
        data::save(&inputs, &launcher.variables, outputs)?;
    }
    let (mut text, mut json) = report::answer(
        &launcher,
        &inputs,
        &finished,
        checked.as_ref(),
        timed.as_ref(),
        arguments.print.unwrap_or(SHOWN),
    );
    let mut wrong = matches!(finished, Finished::Fault(_)) || checked.is_some_and(|found| found.count() > 0);
    let is_ours = Arc::ptr_eq(context.driver(), &cuda_emulator::driver());
    let mut not_run = false;
    if let Some(schedules) = schedules {
        let differences = cuda_emulator::take_differences();
        if interrupted || matches!(finished, Finished::Outputs(_)) {
            let (launches, done) = (if arguments.check { 2 } else { 1 }, cuda_emulator::orders_run());
            let one_order = schedules::one_order(&kernel.name);
            text +=
                &schedules::text(Extent { schedules, launches, interrupted, done, one_order }, &differences);
            json["differences"] = schedules::json(&differences);
            json["one_order"] = one_order.map(OneOrderReason::name).into();
            not_run = one_order.is_some();
        }
        wrong |= !differences.is_empty();
    } else if is_ours {
        wrong |= by_variable::add_differences(&mut text, &mut json);
    }
    // What kernels have allocated is theirs until the context ends.
    drop((launcher, context));
    if !arguments.check && is_ours {
        wrong |= by_variable::add_findings(&mut text, &mut json);
    }
    let mut outcome = Outcome::new(text, json);
    if wrong {
        outcome.exit = Exit::Found;
    } else if not_run {
        outcome.exit = Exit::Driver;
    }
    Ok(outcome)
}
