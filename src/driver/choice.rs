//! Which driver is used when the program names none.

use cuda_driver_sys::{CUresult, Driver, LoadError, Reason, process};
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::host_call;
use crate::error::{DriverError, Error, ErrorKind, ForkError, NoDriver, check, log};

/// Chooses the default driver: `system`, `emulator`, or the path of a library.
pub(crate) const VARIABLE: &str = "CUDA_LAUNCH_DRIVER";

/// Set, to anything: no line about the emulator.
#[cfg(feature = "emulator")]
const QUIET: &str = "CUDA_LAUNCH_QUIET";

static CHOSEN: Mutex<Option<Arc<Driver>>> = Mutex::new(None);

/// The driver that [`CudaContext::new`](crate::CudaContext::new) uses; the first success is cached for the process.
///
/// The variable `CUDA_LAUNCH_DRIVER` decides: `system` is the installed libcuda, `emulator` the CPU driver (feature
/// `emulator`), anything else the path of a library. If it is unset, the system's driver is used if it has a device,
/// otherwise the emulator if it is compiled into the program; a line on
/// standard error then says so, unless `CUDA_LAUNCH_QUIET` is set.
///
/// Driver calls, once: `cuInit`, `cuDeviceGetCount`.
///
/// # Errors
/// [`ErrorKind::NoDriver`] with everything that was tried.
///
/// ```
/// let driver = cuda_launch::default_driver()?;
/// assert!(driver.has("cuLaunchKernelEx"));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn default_driver() -> Result<Arc<Driver>, Error> {
    // A panic cannot happen while the lock is held; a poisoned lock would still hold a whole value.
    let mut chosen = CHOSEN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(driver) = &*chosen {
        return Ok(driver.clone());
    }
    let driver = choose(std::env::var_os(VARIABLE).as_deref())?;
    *chosen = Some(driver.clone());
    Ok(driver)
}

/// Makes `driver` the [default driver](default_driver) of the process, whatever `CUDA_LAUNCH_DRIVER` says. In a test, this is how the calls
/// of code that opens its own contexts go through a spy of `cuda-harness`, or to an emulator of the test's. No driver call.
///
/// # Errors
/// The driver that is given, if there is a default driver already: contexts may use it.
///
/// ```
/// use cuda_launch::{CudaContext, set_default_driver};
///
/// let spy = cuda_harness::Spy::over(&cuda_emulator::driver())?;
/// assert!(set_default_driver(spy.driver()).is_ok());
///
/// CudaContext::new(0)?;
/// assert_eq!(spy.count("cuDevicePrimaryCtxRetain"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_default_driver(driver: Arc<Driver>) -> Result<(), Arc<Driver>> {
    let mut chosen = CHOSEN.lock().unwrap_or_else(|e| e.into_inner());
    match &*chosen {
        Some(_) => Err(driver),
        None => {
            *chosen = Some(driver);
            Ok(())
        }
    }
}

pub(crate) fn choose(wish: Option<&OsStr>) -> Result<Arc<Driver>, Error> {
    match wish {
        None => automatic(),
        Some(empty) if empty.is_empty() => automatic(),
        Some(system) if system == "system" => Ok(Arc::new(Driver::system()?)),
        Some(name) if name == "emulator" => emulator().ok_or_else(|| {
            let reason =
                format!("{VARIABLE} is `emulator`: this program was built without feature `emulator`");
            ErrorKind::NoDriver(NoDriver { tried: vec![reason], help: NoDriver::INSTALL }).into()
        }),
        Some(path) => {
            // SAFETY: 1, 2: the variable names what the process loads, as `LD_PRELOAD` does: who sets the environment of a process can run
            // any code in it, and names a CUDA driver here.
            #[allow(unsafe_code)]
            let opened = unsafe { Driver::open(path) };
            opened.map(Arc::new).map_err(|error| misnamed(path, &error))
        }
    }
}

/// The variable may name a library that is not there, or have a typo in one of its words.
fn misnamed(path: &OsStr, error: &LoadError) -> Error {
    let text = format!(
        "{VARIABLE} is {path:?}, which is neither `system` nor `emulator`, nor a library that is a driver:{}",
        attempts(error)
    );
    ErrorKind::NoDriver(NoDriver { tried: vec![text], help: "correct the variable, or unset it" }).into()
}

/// The system's driver if it has a device, else the emulator.
fn automatic() -> Result<Arc<Driver>, Error> {
    let (why, found) = match Driver::system() {
        Ok(driver) => match device_count(&driver) {
            Ok(n) if n > 0 => return Ok(Arc::new(driver)),
            Ok(_) => ("the driver finds no device", "the system's driver has no device".to_string()),
            Err(e) => ("the driver does not start", format!("the system's driver: {e}")),
        },
        Err(e) => ("no NVIDIA driver is installed", not_loaded(&e)),
    };
    if let Some(emulator) = emulator() {
        announce(why);
        return Ok(emulator);
    }

    let tried = vec![found, "the emulator: this program was built without feature `emulator`".into()];
    Err(ErrorKind::NoDriver(NoDriver { tried, help: NoDriver::INSTALL }).into())
}

/// The names that were tried. What to do is said once, at the end, if it is the usual.
fn not_loaded(error: &LoadError) -> String {
    if error.attempts().iter().any(|attempt| attempt.reason == Reason::Stub) {
        return error.to_string();
    }
    format!("the system's driver:{}", attempts(error))
}

/// What was tried, each on a line.
#[cold]
fn attempts(error: &LoadError) -> String {
    let mut lines = String::new();
    for tried in error.attempts() {
        lines.push_str(&format!("\n  {}: {}", tried.name.display(), tried.reason));
    }
    lines
}

/// Reports on standard error that the emulator is used: one dependency with that feature decides for the whole program. In a test
/// the harness captures the line.
#[cfg(feature = "emulator")]
fn announce(why: &str) {
    if std::env::var_os(QUIET).is_some() {
        return;
    }
    eprintln!(
        "cuda-launch: using the CPU emulator, because {why}; set {VARIABLE}=system to get an error instead, {QUIET}=1 to hide this line"
    );
}

#[cfg(not(feature = "emulator"))]
fn announce(_: &str) {}

#[cfg(feature = "emulator")]
#[allow(clippy::unnecessary_wraps)] // the other build has none
pub(crate) fn emulator() -> Option<Arc<Driver>> {
    Some(cuda_emulator::driver())
}

#[cfg(not(feature = "emulator"))]
pub(crate) fn emulator() -> Option<Arc<Driver>> {
    None
}

/// Initialises `driver` and counts its devices.
pub(crate) fn device_count(driver: &Driver) -> Result<i32, Error> {
    let mut count = 0;
    initialise(driver)?;
    // SAFETY: the driver was initialised above; `count` is a local, which outlives the call.
    #[allow(unsafe_code)]
    let code = unsafe { driver.cuDeviceGetCount(&mut count) };
    check(code, "cuDeviceGetCount", String::new)?;
    Ok(count)
}

/// `cuInit(0)`; repeating it is harmless and quick.
pub(crate) fn initialise(driver: &Driver) -> Result<(), Error> {
    host_call::refuse("cuInit")?;
    // SAFETY: cuInit takes no pointer and no handle; its flags must be 0.
    #[allow(unsafe_code)]
    let code: CUresult = unsafe { driver.cuInit(0) };
    let (parent, child) = (INITIALISED.load(Ordering::Relaxed), process::id());
    match code {
        CUresult::SUCCESS => INITIALISED.store(child, Ordering::Relaxed),
        CUresult::CUDA_ERROR_NOT_INITIALIZED if parent != 0 && parent != child => {
            return Err(ErrorKind::Forked(ForkError { call: "cuInit", parent, child }).into());
        }
        _ => {}
    }
    if code == CUresult::CUDA_ERROR_INVALID_VALUE {
        // Only the emulator's, of a variable, which its log names. No other driver is asked for its log before it is initialised.
        return Err(DriverError::of(
            log::of_call(driver, "cuInit", code),
            "cuInit",
            code,
            String::new(),
            None,
            None,
        ));
    }
    check(code, "cuInit", String::new)
}

/// Whether this process was forked from the one that initialised a driver. There a lock that another thread of the parent held at the fork
/// is held for ever, so that code which reaches such a lock without a call that returns an error asks first.
pub(super) fn is_child() -> bool {
    let parent = INITIALISED.load(Ordering::Relaxed);
    parent != 0 && parent != process::id()
}

/// The process that initialised a driver last; 0 for none.
static INITIALISED: AtomicU32 = AtomicU32::new(0);
