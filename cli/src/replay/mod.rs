//! `cuda-launch replay FILE`: repeats a recorded launch, on the emulator with all checks or on a GPU, and compares the
//! results.

mod device;
mod report;
mod textures;

use cuda_harness::record::Recording;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};
use crate::files;
use crate::output::Outcome;
use crate::run::DeviceOptions;
use device::Device;

/// Bytes of a recording that are read.
const LARGEST: u64 = 16 << 30;

/// A GPU's driver allocates memory in units of this many bytes.
const UNIT: u64 = 512;

/// The end of `--help`.
const NOTES: &str = "\
On the emulator the kernel needs PTX in the image, and is checked for accesses
outside its memory, races, uninitialised reads and divergent barriers. Memory is
placed at its recorded addresses, so that pointers in it stay valid. If that is
not possible, the pointers among the arguments are adjusted, and the output says
so; --relocate adjusts those in memory, too. An access past the end of an
allocation is found unless another one begins there, as is common on a GPU:
--apart separates them.
Variables of the module have their recorded values, and are compared, too.
Exit code 1: the kernel faulted, a check found something, or memory differs from
the recording.";

#[derive(clap::Args)]
#[command(after_help = format!("{NOTES}\n\n{}", crate::failure::CODES))]
pub(crate) struct Arguments {
    /// A file written by `cuda-launch record`
    file: PathBuf,
    /// If memory cannot be placed at its recorded address, also adjust words in
    /// memory that look like pointers
    #[arg(long)]
    relocate: bool,
    /// Separate the allocations, on the emulator, so that all accesses past their
    /// ends are found; adjusts pointers as --relocate does
    #[arg(long)]
    apart: bool,
    /// system, emulator, or the path of a libcuda
    #[arg(long, default_value = "emulator")]
    driver: String,
    /// Ordinal of the device
    #[arg(long, default_value_t = 0)]
    device: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let recording = read(&arguments.file)?;
    let place = DeviceOptions::of(&arguments.driver, arguments.device);
    if arguments.apart && !place.is_emulator() {
        return Err(Failure::usage("--apart is for the emulator: a GPU's driver places memory side by side"));
    }
    if place.is_emulator() {
        cuda_emulator::show_progress();
        cuda_emulator::set_checks(cuda_emulator::Checks::KERNELS);
    }
    let device = Device::open(&place, &recording, arguments.apart)?;
    let replayed = device.replay(&recording, arguments.relocate || arguments.apart);
    let replayed = replayed.map_err(|failure| failure.about(&arguments.file))?;
    let findings = if place.is_emulator() { cuda_emulator::take_findings() } else { Default::default() };
    let adjacent = if arguments.apart { 0 } else { adjacent(&recording) };
    let mut outcome = report::outcome(&recording, &replayed, &findings, &place, adjacent);
    if !replayed.is_as_recorded() || !findings.list.is_empty() {
        outcome.exit = Exit::Found;
    }
    Ok(outcome)
}

/// The number of allocations that begin where another ends.
fn adjacent(recording: &Recording) -> usize {
    let regions: Vec<_> = recording.regions.iter().filter(|region| region.variable.is_none()).collect();
    let ends: HashSet<u64> = regions
        .iter()
        .filter_map(|region| region.address.checked_add(region.bytes)?.checked_next_multiple_of(UNIT))
        .collect();
    regions.iter().filter(|region| ends.contains(&region.address)).count()
}

/// Reads a file completely, and checks it.
pub(crate) fn read(path: &Path) -> Result<Recording, Failure> {
    let bytes = files::read(path, LARGEST, "recordings")?;
    Recording::read(&bytes).map_err(|error| Failure::new(Exit::File, error.to_string()).about(path))
}
