//! Options of an instance.

use std::ffi::c_int;
use std::time::Duration;

use super::{Instance, InstanceError};
use crate::architecture::Architecture;
use crate::check::Checks;
use crate::driver::config::{Config, DRIVER_VERSION, MOST_DEVICES};
use crate::driver::slot::INSTANCES;
use crate::driver::slot_use::Lease;
use crate::engine::is_version;
use crate::schedule::Schedules;

/// The oldest version that can be played: `cuGetProcAddress`, and the names of today, are of 11.3.
const OLDEST_VERSION: u32 = 11_030;
/// The newest: functions that came later are not there.
const NEWEST_VERSION: u32 = DRIVER_VERSION as u32;

/// How an [`Instance`] is created. Options that are not set are taken from the environment, as for [`driver`](crate::driver).
///
/// ```
/// use cuda_emulator::InstanceOptions;
///
/// // Two devices of 16 MiB, and the functions of CUDA 12.0.
/// let instance = InstanceOptions::new().devices(2).memory(16 << 20).as_of(12_000).start()?;
/// let cuda = instance.driver();
/// let (mut count, mut bytes) = (0, 0);
/// unsafe {
///     cuda.cuInit(0);
///     cuda.cuDeviceGetCount(&mut count);
///     cuda.cuDeviceTotalMem(&mut bytes, 1);
/// }
/// assert_eq!((count, bytes), (2, 16 << 20));
/// assert_eq!(cuda.version(), Ok(12_000));
/// assert!(!cuda.has("cuFuncGetParamInfo"));
/// # Ok::<(), cuda_emulator::InstanceError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "`start` makes the instance"]
pub struct InstanceOptions {
    devices: Option<u32>,
    architectures: Option<Vec<Architecture>>,
    memory: Option<u64>,
    workers: Option<usize>,
    checks: Option<Checks>,
    time_limit: Option<Duration>,
    schedules: Option<Schedules>,
    version: u32,
    newest_ptx: Option<(u32, u32)>,
    patience: Duration,
}

impl Default for InstanceOptions {
    fn default() -> InstanceOptions {
        InstanceOptions {
            devices: None,
            architectures: None,
            memory: None,
            workers: None,
            checks: None,
            time_limit: None,
            schedules: None,
            version: NEWEST_VERSION,
            newest_ptx: None,
            patience: Duration::from_secs(60),
        }
    }
}

impl InstanceOptions {
    /// Options from the environment.
    pub fn new() -> InstanceOptions {
        InstanceOptions::default()
    }

    /// The number of devices, at most 8. With 0, `cuInit` returns `CUDA_ERROR_NO_DEVICE`.
    pub fn devices(mut self, count: u32) -> InstanceOptions {
        self.devices = Some(count);
        self
    }

    /// The architecture of all devices: what code runs on them, their limits and attributes. `sm_90` by default, an H200's.
    pub fn architecture(self, architecture: Architecture) -> InstanceOptions {
        self.architectures([architecture])
    }

    /// An architecture for each device. As many as [`devices`](Self::devices), or if that is not set, as many devices as these; one is
    /// for all devices.
    ///
    /// ```
    /// use cuda_emulator::{Architecture, InstanceOptions};
    ///
    /// let instance = InstanceOptions::new().architectures([Architecture::Sm75, Architecture::Sm120]).start()?;
    /// let (cuda, mut major, mut minor) = (instance.driver(), 0, 0);
    /// unsafe {
    ///     cuda.cuInit(0);
    ///     cuda.cuDeviceComputeCapability(&mut major, &mut minor, 1);
    /// }
    /// assert_eq!((major, minor), (12, 0));
    /// # Ok::<(), cuda_emulator::InstanceError>(())
    /// ```
    pub fn architectures(mut self, each: impl IntoIterator<Item = Architecture>) -> InstanceOptions {
        self.architectures = Some(each.into_iter().collect());
        self
    }

    /// The memory of each device, in bytes.
    pub fn memory(mut self, bytes: u64) -> InstanceOptions {
        self.memory = Some(bytes);
        self
    }

    /// Threads that run the blocks of a kernel, at least one. With one, a kernel always runs in the same order.
    pub fn workers(mut self, count: usize) -> InstanceOptions {
        self.workers = Some(count.max(1));
        self
    }

    /// What kernels are checked for besides faults; [`Instance::take_findings`] returns the findings.
    pub fn checks(mut self, checks: Checks) -> InstanceOptions {
        self.checks = Some(checks);
        self
    }

    /// How long a kernel may run. One that runs longer is stopped, and faults with `CUDA_ERROR_LAUNCH_TIMEOUT`.
    pub fn time_limit(mut self, limit: Duration) -> InstanceOptions {
        self.time_limit = Some(limit);
        self
    }

    /// Runs each launch under these orders of its warps and blocks in addition to the ordinary one;
    /// [`Instance::take_differences`] returns the differences, and [`Instance::take_one_order`] the kernels that can only run in the ordinary one.
    ///
    /// ```
    /// use cuda_emulator::{InstanceOptions, Schedules};
    ///
    /// let instance = InstanceOptions::new().schedules(Schedules::new(30)).start()?;
    /// // .. launches, by `instance.driver()`; then:
    /// for difference in instance.take_differences() {
    ///     panic!("{difference}");
    /// }
    /// for kernel in instance.take_one_order() {
    ///     println!("{kernel}"); // of these no difference was looked for
    /// }
    /// # Ok::<(), cuda_emulator::InstanceError>(())
    /// ```
    pub fn schedules(mut self, schedules: Schedules) -> InstanceOptions {
        self.schedules = Some(schedules);
        self
    }

    /// The driver reports this version (`12_040` is 12.4) and has only the functions of that version; 13.0 by default.
    ///
    /// It does not know what came later: attributes of devices, pointers and launches, limits, options of the compiler, formats of arrays and
    /// flags are `CUDA_ERROR_INVALID_VALUE`. PTX that came later is `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`: 11.8 reads `.version` 7.8, 12.0 reads 8.0, 12.4 reads 8.4 and 13.0 reads 9.0.
    pub fn as_of(mut self, version: u32) -> InstanceOptions {
        self.version = version;
        self
    }

    /// The newest PTX that is read, major and minor, instead of that of the version: PTX after 9.0, which drivers after 580 read, up to 9.5.
    /// Instructions that the emulator lacks are refused by name all the same.
    ///
    /// ```
    /// use cuda_emulator::InstanceOptions;
    ///
    /// let instance = InstanceOptions::new().newest_ptx(9, 4).start()?;
    /// # Ok::<(), cuda_emulator::InstanceError>(())
    /// ```
    pub fn newest_ptx(mut self, major: u32, minor: u32) -> InstanceOptions {
        self.newest_ptx = Some((major, minor));
        self
    }

    /// How long [`start`](Self::start) waits while the maximum number of instances are alive; a minute by default.
    pub fn patience(mut self, time: Duration) -> InstanceOptions {
        self.patience = time;
        self
    }

    /// Creates the instance.
    ///
    /// # Errors
    ///
    /// [`InstanceError::Devices`], [`InstanceError::Architectures`], [`InstanceError::Version`] and [`InstanceError::Ptx`] for values that are
    /// not supported; [`InstanceError::NoSlot`] if the maximum number of instances, 16, are alive for longer than the [patience](Self::patience).
    pub fn start(&self) -> Result<Instance, InstanceError> {
        if let Some(asked) = self.devices.filter(|devices| *devices > MOST_DEVICES) {
            return Err(InstanceError::Devices { asked, most: MOST_DEVICES });
        }
        if let Some(architectures) = self.architectures.as_ref().map(Vec::len) {
            let most = MOST_DEVICES as usize;
            let agrees = self.devices.is_none_or(|devices| devices as usize == architectures);
            if architectures == 0 || architectures > most || architectures > 1 && !agrees {
                return Err(InstanceError::Architectures {
                    asked: architectures,
                    devices: self.devices,
                    most,
                });
            }
        }
        if let Some((major, minor)) = self.newest_ptx.filter(|(major, minor)| !is_version(*major, *minor)) {
            return Err(InstanceError::Ptx { major, minor });
        }
        if !(OLDEST_VERSION..=NEWEST_VERSION).contains(&self.version) {
            let (oldest, newest) = (OLDEST_VERSION, NEWEST_VERSION);
            return Err(InstanceError::Version { asked: self.version, oldest, newest });
        }
        let lease = Lease::take(self.patience)
            .ok_or(InstanceError::NoSlot { slots: INSTANCES, waited: self.patience })?;
        Ok(Instance::on(lease, self.config()))
    }

    fn config(&self) -> Config {
        // One architecture leaves the number of devices to the environment.
        let several = self.architectures.as_ref().map(|each| each.len() as u32).filter(|count| *count > 1);
        let environment =
            Config::of_devices(self.devices.or(several), self.architectures.as_deref(), self.memory);
        Config {
            workers: self.workers.unwrap_or(environment.workers),
            checks: self.checks.unwrap_or(environment.checks),
            prints: self.checks.is_none(),
            time_limit: self.time_limit.or(environment.time_limit),
            schedules: self.schedules.or(environment.schedules),
            prints_differences: self.schedules.is_none(),
            version: self.version as c_int,
            newest_ptx: self.newest_ptx.or(environment.newest_ptx),
            ..environment
        }
    }
}
