//! Settings from the environment.

use std::ffi::c_int;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use super::{profile, report, state};
use crate::architecture::Architecture;
use crate::check::Checks;
use crate::engine::is_version;
use crate::schedule::Schedules;
use crate::tool_report;

/// The emulator's own variables, read once, by the first `cuInit`; an instance may have other values.
#[derive(Clone)]
pub(super) struct Config {
    /// Devices: `CUDA_LAUNCH_EMULATOR_DEVICES`, or its older name `CUDA_EMULATOR_DEVICES`, 0 to 8; 1 if both are unset.
    pub(super) devices: u32,
    /// Architectures: `CUDA_LAUNCH_EMULATOR_ARCH`, of each device its own, or one for all. More devices than these begin anew.
    pub(super) architectures: Vec<Architecture>,
    /// Bytes of each device: `CUDA_LAUNCH_EMULATOR_MEMORY`, or half of the machine's, at most 16 GiB, over all.
    pub(super) memory: u64,
    /// Threads that run the blocks of a kernel: `CUDA_LAUNCH_EMULATOR_WORKERS`, or one for each core.
    pub(super) workers: usize,
    /// What kernels are checked for: `CUDA_LAUNCH_EMULATOR_CHECK`, a list of `init`, `race`, `barrier`, `leak` and
    /// `all`; nothing if it is unset.
    pub(super) checks: Checks,
    /// Where the coverage of device code is written when the process ends: `CUDA_LAUNCH_EMULATOR_COVERAGE`, a folder, from the root.
    pub(super) coverage: Option<PathBuf>,
    /// Whether findings are printed as well as stored: if the variable requested the checks.
    pub(super) prints: bool,
    /// How long a kernel may run: `CUDA_LAUNCH_EMULATOR_TIMEOUT`, in seconds; no limit if it is unset.
    pub(super) time_limit: Option<Duration>,
    /// Whether long-running kernels show their progress: `CUDA_LAUNCH_EMULATOR_PROGRESS`, set to anything.
    pub(super) progress: bool,
    /// Under which orders launches are run again: `CUDA_LAUNCH_EMULATOR_SCHEDULES`, how many, and `CUDA_LAUNCH_EMULATOR_SEED`, the first seed.
    pub(super) schedules: Option<Schedules>,
    /// Whether differences are printed as well as stored: if a variable requested them.
    pub(super) prints_differences: bool,
    /// The version that `cuDriverGetVersion` returns; later functions are missing.
    pub(super) version: c_int,
    /// The newest PTX that is read: `CUDA_LAUNCH_EMULATOR_PTX`, or what a driver of that version reads.
    pub(super) newest_ptx: Option<(u32, u32)>,
    /// What is wrong with variables without which a test would pass that should fail: `cuInit` fails.
    pub(super) invalid: Vec<String>,
}

/// CUDA 13.0, like driver 580: later functions are missing.
pub(super) const DRIVER_VERSION: c_int = 13000;
const GIB: u64 = 1 << 30;
/// The largest number of emulated devices.
pub(super) const MOST_DEVICES: u32 = 8;

impl Config {
    pub(super) fn from_environment() -> Config {
        let config = Config::of_devices(None, ASKED_ARCHITECTURES.get().map(Vec::as_slice), None);
        Config { time_limit: ASKED.get().copied().or(config.time_limit), ..config }
    }

    /// The architecture of each device.
    pub(super) fn architectures(&self) -> impl Iterator<Item = Architecture> {
        self.architectures.iter().copied().cycle().take(self.devices as usize)
    }

    /// A configuration with this many devices of these architectures, at least one, each with this many bytes of memory; everything else, and
    /// whatever is `None`, comes from the environment.
    pub(super) fn of_devices(
        devices: Option<u32>,
        architectures: Option<&[Architecture]>,
        memory: Option<u64>,
    ) -> Config {
        tool_report::file();
        let mut invalid = Vec::new();
        let count = |text: &str| text.parse().ok().filter(|count| *count <= MOST_DEVICES);
        let variable_of_devices = |name| optional(name, "a number from 0 to 8", count);
        let is_explicit = devices.is_some();
        let devices = devices
            .or_else(|| variable_of_devices("CUDA_LAUNCH_EMULATOR_DEVICES"))
            .or_else(|| variable_of_devices("CUDA_EMULATOR_DEVICES"));
        let architectures = match architectures {
            Some(architectures) => architectures.to_vec(),
            None => architectures_for(devices, is_explicit, &mut invalid),
        };
        let devices = devices.unwrap_or(architectures.len() as u32);
        Config {
            devices,
            architectures,
            memory: memory
                .or_else(|| {
                    optional("CUDA_LAUNCH_EMULATOR_MEMORY", "bytes, such as 4096, 64K, 512M or 2G", bytes)
                })
                .unwrap_or_else(|| default_memory() / u64::from(devices.max(1))),
            workers: optional("CUDA_LAUNCH_EMULATOR_WORKERS", "a number from 1 on", |text| {
                text.parse::<NonZero<usize>>().ok()
            })
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZero::get),
            checks: required(CHECK, Checks::parse, &mut invalid).unwrap_or_default(),
            coverage: coverage(&mut invalid),
            prints: true,
            time_limit: required(TIMEOUT, seconds, &mut invalid),
            progress: std::env::var_os("CUDA_LAUNCH_EMULATOR_PROGRESS").is_some(),
            schedules: schedules(&mut invalid),
            prints_differences: true,
            version: DRIVER_VERSION,
            newest_ptx: required(PTX, ptx_version, &mut invalid),
            invalid,
        }
    }
}

/// The architectures for that many devices. If a variable says how many, a list has to agree; an instance that has said it takes of a
/// list what it needs.
fn architectures_for(
    devices: Option<u32>,
    is_explicit: bool,
    invalid: &mut Vec<String>,
) -> Vec<Architecture> {
    let agrees = |all: &Vec<Architecture>| {
        is_explicit || all.len() == 1 || devices.is_none_or(|devices| devices as usize == all.len())
    };
    let list = |text: &str| architectures(text).filter(agrees);
    required(ARCH, list, invalid).unwrap_or_else(|| vec![Architecture::default()])
}

/// `sm_80`, `80`, or a list with an architecture for each device.
fn architectures(text: &str) -> Option<Vec<Architecture>> {
    let all: Vec<_> = text.split(',').map(|name| name.trim().parse().ok()).collect::<Option<_>>()?;
    (all.len() <= MOST_DEVICES as usize).then_some(all)
}

/// A version of PTX that exists: `9.4`.
fn ptx_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    is_version(version.0, version.1).then_some(version)
}

/// The number of orders and the first seed; a seed alone selects a single order.
fn schedules(invalid: &mut Vec<String>) -> Option<Schedules> {
    let count = required(SCHEDULES, |text| text.parse::<u32>().ok(), invalid);
    let seed = required(SEED, |text| text.parse::<u64>().ok(), invalid);
    let count = count.or(seed.map(|_| 1)).filter(|count| *count > 0)?;
    let schedules = Schedules::new(count);
    Some(seed.map_or(schedules, |seed| schedules.seed(seed)))
}

/// The folder for reports, if they can be written.
fn coverage(invalid: &mut Vec<String>) -> Option<PathBuf> {
    let (name, valid) =
        ("CUDA_LAUNCH_EMULATOR_COVERAGE", "a folder that exists or can be created, and that can be written");
    let folder = PathBuf::from(std::env::var_os(name).filter(|folder| !folder.is_empty())?);
    let wrong = |error: &std::io::Error| {
        let what = format!("{name}={} is invalid ({error})", folder.display());
        keep(&Wrong { what, valid: format!("valid: {valid}") }, invalid);
    };
    profile::ready(&folder).inspect_err(wrong).ok()
}

/// A variable, and its valid values.
type Variable = (&'static str, &'static str);

/// Those that must not be ignored.
const ARCH: Variable = (
    "CUDA_LAUNCH_EMULATOR_ARCH",
    "one of sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120, or a list of them, of each device its own: at most 8, and as many as \
     CUDA_LAUNCH_EMULATOR_DEVICES if that is set",
);
const PTX: Variable = ("CUDA_LAUNCH_EMULATOR_PTX", "a version of PTX, such as 9.4");
const CHECK: Variable = ("CUDA_LAUNCH_EMULATOR_CHECK", "a list of init, race, barrier, leak, all, none");
const TIMEOUT: Variable = ("CUDA_LAUNCH_EMULATOR_TIMEOUT", "seconds, such as 10 or 0.5");
const SCHEDULES: Variable = ("CUDA_LAUNCH_EMULATOR_SCHEDULES", "a number of orders, such as 50");
const SEED: Variable = ("CUDA_LAUNCH_EMULATOR_SEED", "the number of an order, such as 17");

/// The value of a variable; an invalid one is what is wrong with it.
fn read<T>((name, valid): (&str, &str), parse: impl FnOnce(&str) -> Option<T>) -> Option<Result<T, Wrong>> {
    let text = std::env::var_os(name)?;
    let text = text.to_string_lossy();
    let wrong = || Wrong { what: format!("{name}={text} is invalid"), valid: format!("valid: {valid}") };
    Some(parse(text.trim()).ok_or_else(wrong))
}

/// A variable with an invalid value.
struct Wrong {
    what: String,
    valid: String,
}

/// A variable that only says on what kernels run: an invalid value is ignored.
fn optional<T>(name: &str, valid: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let tell = |Wrong { what, valid }: &Wrong| report::line(format_args!("{what} and is ignored; {valid}"));
    read((name, valid), parse)?.inspect_err(tell).ok()
}

/// A variable that makes tests fail. They would pass if an invalid value was ignored.
fn required<T>(
    variable: Variable,
    parse: impl FnOnce(&str) -> Option<T>,
    invalid: &mut Vec<String>,
) -> Option<T> {
    read(variable, parse)?.inspect_err(|wrong| keep(wrong, invalid)).ok()
}

fn keep(Wrong { what, valid }: &Wrong, invalid: &mut Vec<String>) {
    report::line(format_args!("{what} and cuInit fails; {valid}"));
    invalid.push(format!("{what}; {valid}"));
}

/// `4096`, `64K`, `512M`, `2G` (powers of 1024); at least one byte.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().last()? {
        (end, 'k' | 'K') => (&text[..end], 1 << 10),
        (end, 'm' | 'M') => (&text[..end], 1 << 20),
        (end, 'g' | 'G') => (&text[..end], GIB),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// `10`, `0.5`: more than nothing.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// What the program requested of the process's driver.
static ASKED: OnceLock<Duration> = OnceLock::new();

/// From the first `cuInit` on, a kernel that runs for longer than `limit` is stopped: it has faulted with
/// `CUDA_ERROR_LAUNCH_TIMEOUT`, as where a GPU's driver watches over kernels, and the report says where its threads stood.
/// `CUDA_LAUNCH_EMULATOR_TIMEOUT` then has no effect. Returns false, without effect, if the emulator is already initialised or this was
/// called before.
///
/// ```
/// use std::time::Duration;
///
/// assert!(cuda_emulator::set_time_limit(Duration::from_secs(60)));
/// assert!(!cuda_emulator::set_time_limit(Duration::from_secs(1)), "once for a process");
/// ```
pub fn set_time_limit(limit: Duration) -> bool {
    state::get().is_none() && ASKED.set(limit).is_ok()
}

/// What the program requested of the process's devices.
static ASKED_ARCHITECTURES: OnceLock<Vec<Architecture>> = OnceLock::new();

/// From the first `cuInit` on, the devices of the process's driver have these architectures: each its own, or of one architecture all.
/// `CUDA_LAUNCH_EMULATOR_ARCH` then has no effect. There are as many devices as architectures, or as `CUDA_LAUNCH_EMULATOR_DEVICES` says: the
/// first ones, or from the first on again. Returns false, without effect, if the emulator is already initialised, this was called before, or there is no
/// architecture or more than 8.
///
/// ```
/// use cuda_emulator::{Architecture, set_architectures};
///
/// assert!(set_architectures([Architecture::Sm86]));
/// assert!(!set_architectures([Architecture::Sm75]), "once for a process");
/// ```
pub fn set_architectures(each: impl IntoIterator<Item = Architecture>) -> bool {
    let each: Vec<_> = each.into_iter().take(MOST_DEVICES as usize + 1).collect();
    let fits = (1..=MOST_DEVICES as usize).contains(&each.len());
    fits && state::get().is_none() && ASKED_ARCHITECTURES.set(each).is_ok()
}

fn default_memory() -> u64 {
    // Miri has no such file.
    let text = if cfg!(miri) { None } else { std::fs::read_to_string("/proc/meminfo").ok() };
    let machine = text.and_then(|text| total(&text));
    machine.map_or(4 * GIB, |bytes| (bytes / 2).clamp(64 << 20, 16 * GIB))
}

/// Bytes in the line `MemTotal: 12345 kB`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("64K"), Some(64 << 10));
        assert_eq!(bytes("512m"), Some(512 << 20));
        assert_eq!(bytes("2G"), Some(2 * GIB));
        for wrong in ["", "0", "G", "2T", "-1", "99999999999G", "1.5G"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lists_of_architectures() {
        assert_eq!(architectures("86"), Some(vec![Architecture::Sm86]));
        assert_eq!(architectures("sm_75, 120"), Some(vec![Architecture::Sm75, Architecture::Sm120]));
        for wrong in ["", "sm_90a", "90,", "90,,80", "90;80", "7.5", "75,75,75,75,75,75,75,75,75"] {
            assert_eq!(architectures(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_of_ptx() {
        assert_eq!(ptx_version("9.4"), Some((9, 4)));
        for wrong in ["", "9", "9.9", "10.0", "9.4.1", "-1.0", "8.9"] {
            assert_eq!(ptx_version(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds("10"), Some(Duration::from_secs(10)));
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "inf", "NaN", "1s"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn memory_of_the_machine() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total("nothing"), None);
    }
}
