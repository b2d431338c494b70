//! What is wrong with this machine's CUDA, in one call that never fails.

mod advice;
mod display;
mod machine;
mod variables;

use cuda_driver_sys::{CUresult, Driver};
use std::path::PathBuf;
use std::sync::Arc;

use crate::driver::{CudaDevice, choice};
use crate::error::{Error, ErrorKind, LoadError};
pub use machine::KernelModule;
pub use variables::Variable;

/// What [`doctor`] found. Print it.
///
/// ```
/// let found = cuda_launch::diagnostics::doctor();
/// println!("{found}");
/// if found.serving().is_none() {
///     // The program goes on without CUDA, and can say why.
///     assert!(!found.advice.is_empty());
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Doctor {
    /// Every driver that was tried, in order: the one that `CUDA_LAUNCH_DRIVER` names, the system's, the emulator.
    pub drivers: Vec<DriverReport>,
    /// NVIDIA's kernel module, if it is loaded. Known only on Linux.
    pub kernel_module: Option<KernelModule>,
    /// The relevant environment variables that are set.
    pub variables: Vec<Variable>,
    /// What is wrong and what to do, one line each; empty if all is well.
    pub advice: Vec<String>,
}

impl Doctor {
    /// The driver for programs that name none: the one of [`default_driver`](crate::default_driver).
    pub fn serving(&self) -> Option<&DriverReport> {
        self.drivers.iter().find(|driver| driver.serves)
    }
}

/// One driver that was tried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DriverReport {
    /// What was tried: a library's name or path, `system` if no name led to a library, or `emulator`.
    pub name: String,
    /// Why it was tried.
    pub source: DriverSource,
    /// The file that was loaded.
    pub file: Option<PathBuf>,
    /// The version in that file's name, such as `580.159.04`: that of the driver package that it comes from.
    pub library_version: Option<String>,
    /// The newest CUDA version that it supports, in the format of `cuDriverGetVersion`: 13000 is 13.0. It is what
    /// `nvidia-smi` shows as "CUDA Version", and says nothing about an installed toolkit.
    pub cuda_version: Option<u32>,
    /// Its devices.
    pub devices: Vec<DeviceReport>,
    /// Why it cannot be used, with every name that was tried.
    pub problem: Option<String>,
    /// The driver's result code for that, if it got that far.
    pub code: Option<CUresult>,
    /// It is the toolkit's stub library for linking.
    pub is_stub: bool,
    /// Programs that name no driver get this one.
    pub serves: bool,
}

/// Why a driver was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverSource {
    /// The variable `CUDA_LAUNCH_DRIVER` names its path.
    Variable,
    /// It is the driver of this machine.
    System,
    /// It is compiled into the program.
    Emulator,
}

/// One device of a driver. What the driver does not report is empty or zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeviceReport {
    /// Its number.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Compute capability, for example `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// The size of its memory, in bytes.
    pub memory: usize,
    /// Its UUID, as `CUDA_VISIBLE_DEVICES` takes it.
    pub uuid: String,
    /// Its PCI address.
    pub pci_bus_id: String,
}

/// Inspects this machine: which driver library loads and from where, its version and the kernel module's, the devices,
/// the relevant variables, everything that was tried, and what to do about any problems.
///
/// It works with nothing installed, never fails and never panics. It creates no context, so it changes nothing on a
/// device.
///
/// Driver calls, on each driver that loads: `cuInit`, `cuDriverGetVersion`, and those of [`CudaDevice`] for the name,
/// memory, UUID, address and compute capability.
///
/// ```
/// let found = cuda_launch::diagnostics::doctor();
/// let serving = found.serving().expect("the emulator is compiled in");
/// assert!(!serving.devices.is_empty());
/// ```
pub fn doctor() -> Doctor {
    let set = std::env::var_os(choice::VARIABLE).filter(|wish| !wish.is_empty());
    let wish = set.as_ref().map(|wish| wish.to_string_lossy());
    let mut drivers = Vec::new();
    if let (Some(path), Some(name)) = (&set, &wish)
        && !matches!(&**name, "system" | "emulator")
    {
        drivers.push(examine(name, DriverSource::Variable, choice::choose(Some(path))));
    }
    drivers.push(examine("system", DriverSource::System, choice::choose(Some("system".as_ref()))));
    if let Some(emulator) = choice::emulator() {
        drivers.push(examine("emulator", DriverSource::Emulator, Ok(emulator)));
    }
    mark(&mut drivers, wish.as_deref());
    let mut found = Doctor {
        drivers,
        kernel_module: machine::kernel_module(),
        variables: variables::set(),
        advice: Vec::new(),
    };
    found.advice = advice::advice(&found, wish.as_deref());
    #[cfg(feature = "emulator")]
    if !cuda_emulator::OPTIMISED && found.serving().is_some_and(|d| d.source == DriverSource::Emulator) {
        found.advice.push(cuda_emulator::ADVICE.into());
    }
    found
}

/// Marks the one that [`default_driver`](crate::default_driver) takes.
fn mark(drivers: &mut [DriverReport], wish: Option<&str>) {
    let chosen = |driver: &&mut DriverReport| match wish {
        Some("system") => driver.source == DriverSource::System,
        Some("emulator") => driver.source == DriverSource::Emulator,
        Some(_) => driver.source == DriverSource::Variable,
        None => !driver.devices.is_empty() || driver.source == DriverSource::Emulator,
    };
    if let Some(driver) = drivers.iter_mut().find(chosen) {
        driver.serves = driver.problem.is_none();
    }
}

fn examine(name: &str, source: DriverSource, loaded: Result<Arc<Driver>, Error>) -> DriverReport {
    let mut report = DriverReport {
        name: name.into(),
        source,
        file: None,
        library_version: None,
        cuda_version: None,
        devices: Vec::new(),
        problem: None,
        code: None,
        is_stub: false,
        serves: false,
    };
    match loaded {
        Ok(driver) => {
            // The emulator's functions are in the program itself.
            if source != DriverSource::Emulator {
                report.name = driver.origin().to_string();
                report.file = driver.file();
                report.library_version = report.file.as_deref().and_then(machine::library_version);
            }
            report.cuda_version = driver.version().ok().and_then(|version| u32::try_from(version).ok());
            match CudaDevice::all_of(&driver) {
                Ok(devices) if devices.is_empty() => report.problem = Some("it has no device".into()),
                Ok(devices) => report.devices = devices.iter().map(describe).collect(),
                Err(error) => report.fail(&error),
            }
        }
        Err(error) => report.fail(&error),
    }
    report
}

impl DriverReport {
    fn fail(&mut self, error: &Error) {
        let stub = |load: &LoadError| {
            load.attempts().iter().any(|attempt| attempt.reason == cuda_driver_sys::Reason::Stub)
        };
        self.code = error.code();
        self.is_stub = match error.kind() {
            ErrorKind::Load(load) => stub(load),
            _ => error.code() == Some(CUresult::CUDA_ERROR_STUB_LIBRARY),
        };
        self.problem = Some(match error.kind() {
            // What to do is said once, at the end.
            ErrorKind::Driver(e) => format!("{} returned {:?}", e.call, e.code),
            ErrorKind::Load(load) => {
                let line = |a: &cuda_driver_sys::Attempt| format!("{}: {}", a.name.display(), a.reason);
                let lines: Vec<_> = load.attempts().iter().map(line).collect();
                if lines.is_empty() { "there is none for this platform".into() } else { lines.join("\n") }
            }
            _ => error.to_string(),
        });
    }
}

fn describe(device: &CudaDevice) -> DeviceReport {
    DeviceReport {
        ordinal: device.ordinal(),
        name: device.name().unwrap_or_default(),
        compute_capability: device.compute_capability().unwrap_or_default(),
        memory: device.total_memory().unwrap_or_default(),
        uuid: device.uuid().map(|uuid| uuid.to_string()).unwrap_or_default(),
        pci_bus_id: device.pci_bus_id().unwrap_or_default(),
    }
}
