//! Launches that the emulator counts.

use cuda_emulator::{Architecture, KernelProfile};
use std::path::PathBuf;

use super::data::{self, Input};
use super::launch::{Fill, Finished, Launcher};
use super::{Arguments, DeviceOptions, Prepared, interrupt, report, schedules};
use crate::failure::Failure;
use crate::kernel_file::File;
use crate::model::Kernel;

/// The counts of a kernel.
pub(crate) struct Counted {
    /// The kernel file.
    pub(crate) file: PathBuf,
    /// The kernel and the device.
    pub(crate) heading: String,
    /// The compute capability of the device.
    pub(crate) capability: (u32, u32),
    /// Why it was stopped, if it was.
    pub(crate) fault: Option<String>,
    /// The address of each argument's memory; nothing for values.
    pub(crate) addresses: Vec<Option<u64>>,
    /// `None` if it did not begin.
    pub(crate) profile: Option<KernelProfile>,
}

/// Runs the kernel once on the emulator, which counts what it does; saves outputs.
pub(crate) fn counted(arguments: &Arguments) -> Result<Counted, Failure> {
    let is_shown = arguments.print.is_some() || arguments.bench.is_some() || arguments.roofline;
    if arguments.check || is_shown || schedules::asked(arguments).is_some() {
        return Err(Failure::usage(
            "--check, --print, --schedules, --seed, --bench and --roofline belong to `cuda-launch run`",
        ));
    }
    let prepared = Prepared::new(arguments)?;
    let place = arguments.place(Some("profile"))?;
    cuda_emulator::show_progress();
    // An error if a driver was called before; this program has called none.
    cuda_emulator::set_profile();
    let context = place.context()?;
    let Prepared { file, inputs, variables, config } = prepared;
    let kernel = file.kernel(&arguments.kernel)?;
    let launcher = Launcher::new(&context, &file, kernel, config, arguments, variables)?;
    let Launch { finished, addresses, profile } = once(&launcher, &inputs)?;
    let fault = match finished {
        Finished::Outputs(_) if interrupt::came() => Some(
            "interrupted by a signal: the counts are those up to then, and no output was saved".to_owned(),
        ),
        Finished::Outputs(outputs) => {
            data::save(&inputs, &launcher.variables, &outputs)?;
            None
        }
        Finished::Fault(fault) => Some(fault.message),
    };
    let (file, heading) = (arguments.file.clone(), report::heading(&launcher).0);
    let capability = context.device().compute_capability()?;
    Ok(Counted { file, heading, capability, fault, addresses, profile })
}

/// Repeats on the emulator what another device has run, and counts it.
pub(super) fn again(
    arguments: &Arguments,
    file: &File,
    kernel: &Kernel,
    inputs: &[Input<'_>],
    other: &Launcher,
) -> Result<Launch, Failure> {
    // The code that the file has for this architecture, if the emulator has it.
    let (major, minor) = other.context.device().compute_capability()?;
    if let Ok(architecture) = format!("{major}{minor}").parse::<Architecture>() {
        cuda_emulator::set_architectures([architecture]);
    }
    cuda_emulator::set_profile();
    let context = DeviceOptions::of("emulator", 0).context()?;
    let launcher = Launcher::new(&context, file, kernel, other.config, arguments, other.variables.clone())?;
    once(&launcher, inputs)
}

/// A launch that was counted.
pub(super) struct Launch {
    pub(super) finished: Finished,
    pub(super) addresses: Vec<Option<u64>>,
    /// `None` if it did not begin.
    pub(super) profile: Option<KernelProfile>,
}

fn once(launcher: &Launcher, inputs: &[Input<'_>]) -> Result<Launch, Failure> {
    interrupt::catch();
    let (finished, addresses) = launcher.once_at(inputs, Fill::Zero)?;
    Ok(Launch { finished, addresses, profile: cuda_emulator::take_profiles().pop() })
}
