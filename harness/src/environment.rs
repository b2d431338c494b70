//! A spy configured by the environment: for programs in other languages, which load a driver library that contains one.

use crate::call::Call;
use crate::error::Error;
use crate::fault::Fault;
use crate::spy::{Spy, SpyOptions};
use cuda_driver_sys::{CUresult, Driver};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Set by the tool: the file that gets the system's number of the log's first error.
const LOG_FAILED: &str = "CUDA_LAUNCH_HARNESS_LOG_FAILED";
const LEAKS: &str = "CUDA_LAUNCH_HARNESS_LEAKS";
const PTX: &str = "CUDA_LAUNCH_EMULATOR_PTX";
const VERSION: &str = "CUDA_LAUNCH_HARNESS_VERSION";
/// The oldest version that is played: 11.4.
const OLDEST: u32 = 11_040;

/// The settings of the variables `CUDA_LAUNCH_HARNESS_*`. `docs/environment.md` lists them.
///
/// ```
/// use cuda_driver_sys::CUresult;
/// use cuda_harness::Environment;
///
/// let variables = [("CUDA_LAUNCH_HARNESS_FAIL", "cuMemAlloc@2=OUT_OF_MEMORY")];
/// let asked = Environment::of(|name| {
///     variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.to_string())
/// })?;
/// let spy = asked.expect("one is set").over(&cuda_emulator::driver())?;
/// let (cuda, mut context, mut memory) = (spy.driver(), std::ptr::null_mut(), 0);
/// unsafe {
///     cuda.cuInit(0);
///     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
///     cuda.cuCtxSetCurrent(context);
///     assert_eq!(cuda.cuMemAlloc(&mut memory, 64), CUresult::SUCCESS);
///     assert_eq!(cuda.cuMemAlloc(&mut 0, 64), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
/// }
/// # unsafe { cuda.cuMemFree(memory); cuda.cuDevicePrimaryCtxRelease(0); }
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[derive(Debug)]
pub struct Environment {
    options: SpyOptions,
    /// As it was written, and its number.
    version: Option<(String, u32)>,
    /// Each as it was written.
    faults: Vec<(String, Fault)>,
    memory: Option<u64>,
    log: Option<PathBuf>,
    log_failed: Option<PathBuf>,
    reports_leaks: bool,
}

impl Environment {
    /// The settings of this process's variables; none if none of them is set.
    ///
    /// # Errors
    ///
    /// [`Error::Variable`] if a value is invalid.
    pub fn read() -> Result<Option<Environment>, Error> {
        Environment::of(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The same for variables from another source.
    ///
    /// # Errors
    ///
    /// [`Error::Variable`] if a value is invalid.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Environment>, Error> {
        let mut is_any = false;
        let mut get = |name: &'static str| {
            let value = variable(name).filter(|value| !value.trim().is_empty());
            // For the other variables these words are ordinary values, or invalid ones.
            let value = value.filter(|value| name != LEAKS || !is_off(value));
            is_any |= value.is_some();
            value.map(|value| (name, value))
        };
        // The record is never read, and would grow as long as the program runs.
        let mut options = SpyOptions::new().keep(0);
        let mut asked_version = None;
        if let Some((name, value)) = get(VERSION) {
            let number = version(&value).ok_or_else(|| wrong(name, &value, "a version, such as 12.4"))?;
            options = options.as_of(number);
            asked_version = Some((value, number));
            // What the user asks of the emulator goes before what drivers of that version read. It refuses invalid ones itself.
            if let Some((major, minor)) = variable(PTX).as_deref().and_then(ptx_version) {
                options = options.newest_ptx(major, minor);
            }
        }
        for function in listed(get("CUDA_LAUNCH_HARNESS_HIDE")) {
            options = options.hide(function);
        }
        let mut faults = Vec::new();
        if let Some((name, value)) = get("CUDA_LAUNCH_HARNESS_FAIL") {
            for text in listed(Some((name, value))) {
                let read = fault(&text).ok_or_else(|| {
                    wrong(
                        name,
                        &text,
                        "a function, which of its calls, and a code, such as cuMemAlloc@2=OUT_OF_MEMORY",
                    )
                })?;
                faults.push((text, read));
            }
        }
        let mut memory = None;
        if let Some((name, value)) = get("CUDA_LAUNCH_HARNESS_MEMORY") {
            memory = Some(bytes(&value).ok_or_else(|| wrong(name, &value, "bytes, such as 512M"))?);
        }
        let log = get("CUDA_LAUNCH_HARNESS_LOG").map(|(_, value)| PathBuf::from(value));
        let reports_leaks = get(LEAKS).is_some();
        let log_failed = variable(LOG_FAILED).map(PathBuf::from);
        let version = asked_version;
        let asked = Environment { options, version, faults, memory, log, log_failed, reports_leaks };
        Ok(is_any.then_some(asked))
    }

    /// The spy, with its faults and its log.
    ///
    /// # Errors
    ///
    /// As for [`SpyOptions::over`]; [`Error::NoSuchFunction`] if a fault names one; [`Error::Variable`] if the log cannot be written, or if the
    /// version is before 11.4 or after that of the driver.
    pub fn over(&self, driver: &Arc<Driver>) -> Result<Spy, Error> {
        self.compare_version(driver)?;
        let mut options = self.options.clone();
        if let Some(path) = &self.log {
            let log = Log::open(path, self.log_failed.clone()).map_err(|error| {
                wrong(
                    "CUDA_LAUNCH_HARNESS_LOG",
                    &path.display().to_string(),
                    &format!("a file that can be written: {error}"),
                )
            })?;
            options = options.listen(move |call| log.write(call));
        }
        let spy = options.over(driver)?;
        for (_, fault) in &self.faults {
            spy.inject(fault.clone())?;
        }
        if let Some(bytes) = self.memory {
            spy.limit_memory(bytes);
        }
        Ok(spy)
    }

    /// A driver cannot play a later version than its own: it would be its own in silence.
    fn compare_version(&self, driver: &Driver) -> Result<(), Error> {
        let newest = driver.version().ok().and_then(|version| u32::try_from(version).ok());
        let (Some((text, number)), Some(newest)) = (&self.version, newest) else { return Ok(()) };
        if (OLDEST..=newest).contains(number) {
            return Ok(());
        }
        let named = |number: u32| format!("{}.{}", number / 1000, number % 1000 / 10);
        Err(wrong(VERSION, text, &format!("a version from {} to {}", named(OLDEST), named(newest))))
    }

    /// The faults that no call has met, each as it was written, with the number of calls that were made of its function: a program that passes
    /// its tests in spite of such a fault has not been tested with it.
    ///
    /// ```
    /// use cuda_harness::Environment;
    ///
    /// let asked = Environment::of(|name| {
    ///     (name == "CUDA_LAUNCH_HARNESS_FAIL").then(|| "cuInit@2=UNKNOWN".to_string())
    /// })?;
    /// let asked = asked.expect("one is set");
    /// let spy = asked.over(&cuda_emulator::driver())?;
    /// let cuda = spy.driver();
    /// unsafe { cuda.cuInit(0) };
    /// assert_eq!(asked.unmet(&spy), [("cuInit@2=UNKNOWN".to_string(), 1)]);
    /// unsafe { cuda.cuInit(0) };
    /// assert_eq!(asked.unmet(&spy), []);
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn unmet(&self, spy: &Spy) -> Vec<(String, usize)> {
        // `over` has injected them in this order, before all others.
        let all = self.faults.iter().zip(spy.injected());
        all.filter(|(_, injected)| injected.hits() == 0)
            .map(|((text, _), injected)| (text.clone(), injected.calls()))
            .collect()
    }

    /// Whether a fault was asked for.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Whether the [ledger](Spy::ledger) is to be reported when the program ends.
    pub fn reports_leaks(&self) -> bool {
        self.reports_leaks
    }
}

/// Where calls are written, each when it ends.
enum Log {
    File {
        file: Mutex<File>,
        path: PathBuf,
        /// Who is told that it is not whole; else standard error is.
        failed: Option<PathBuf>,
        is_told: AtomicBool,
    },
    StandardError,
}

impl Log {
    fn open(path: &Path, failed: Option<PathBuf>) -> std::io::Result<Log> {
        if path.as_os_str() == "-" {
            return Ok(Log::StandardError);
        }
        let file = Mutex::new(File::create(path)?);
        Ok(Log::File { file, path: path.to_owned(), failed, is_told: AtomicBool::new(false) })
    }

    /// The program continues after an error.
    fn write(&self, call: &Call) {
        let line = format!("{call}\n");
        let Log::File { file, path, failed, is_told } = self else {
            let _ = std::io::stderr().write_all(line.as_bytes());
            return;
        };
        let written = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        if let Err(error) = written
            && !is_told.swap(true, Ordering::Relaxed)
        {
            lost(path, failed.as_deref(), &error);
        }
    }
}

/// Tells that the log lacks calls.
#[cold]
fn lost(log: &Path, failed: Option<&Path>, error: &std::io::Error) {
    let number = error.raw_os_error().unwrap_or(0).to_string();
    let is_told = failed.is_some_and(|file| std::fs::write(file, number).is_ok());
    if !is_told {
        let text = format!("cuda-harness: the log {} lacks calls: {error}\n", log.display());
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

#[cold]
fn wrong(name: &'static str, value: &str, wanted: &str) -> Error {
    Error::Variable { name, value: value.to_owned(), wanted: wanted.to_owned() }
}

/// Whether a switch is off, by the words that are commonly used.
fn is_off(value: &str) -> bool {
    ["0", "false", "off", "no"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// The parts between commas.
fn listed(value: Option<(&'static str, String)>) -> Vec<String> {
    let text = value.map(|(_, text)| text).unwrap_or_default();
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `12.4` as 12040.
fn version(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1000 && minor < 100).then(|| major * 1000 + minor * 10)
}

/// `9.4` in its parts.
fn ptx_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `512M` as a number.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => (text.get(..text.len() - 1)?, 1 << 10),
        b'M' => (text.get(..text.len() - 1)?, 1 << 20),
        b'G' => (text.get(..text.len() - 1)?, 1 << 30),
        _ => (text, 1),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}

/// `cuMemAlloc@2=OUT_OF_MEMORY`, `cuLaunchKernel@3..=700`, `*=UNKNOWN`, `cuMemGetInfo=short`, `launch@1!700`: the last is a kernel's fault.
fn fault(text: &str) -> Option<Fault> {
    let (calls, code, is_sticky) = match (text.split_once('='), text.split_once('!')) {
        (Some((calls, code)), _) => (calls, code, false),
        (None, Some((calls, code))) => (calls, code, true),
        (None, None) => return None,
    };
    let (function, number) =
        calls.split_once('@').map_or((calls, None), |(name, number)| (name, Some(number)));
    let fault = match function.trim() {
        "*" => Fault::any(),
        "launch" => Fault::launches(),
        name => Fault::on(name),
    };
    let fault = match number.map(str::trim) {
        None => fault,
        Some(number) => match number.strip_suffix("..") {
            Some(first) => fault.from_nth(counted(first)?),
            None => fault.nth(counted(number)?),
        },
    };
    if code.trim() == "short" && !is_sticky {
        return Some(fault.short());
    }
    let code = result(code.trim())?;
    Some(if is_sticky { fault.sticky(code) } else { fault.answer(code) })
}

/// Calls are counted from 1.
fn counted(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

/// A code other than success, by number or by name, with `CUDA_ERROR_` or without.
fn result(text: &str) -> Option<CUresult> {
    if let Ok(code) = text.parse::<u32>() {
        return Some(CUresult(code)).filter(|code| *code != CUresult::SUCCESS);
    }
    let full = format!("CUDA_ERROR_{}", text.strip_prefix("CUDA_ERROR_").unwrap_or(text));
    (1..1000).map(CUresult).find(|code| code.name() == Some(full.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(variables: &[(&str, &str)]) -> Result<Option<Environment>, Error> {
        Environment::of(|name| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_set_is_no_spy() {
        assert!(asked(&[]).unwrap().is_none());
        assert!(asked(&[("CUDA_LAUNCH_HARNESS_LOG", " ")]).unwrap().is_none());
        for off in ["", " ", "0", "false", "False", " off", "NO"] {
            assert!(asked(&[(LEAKS, off)]).unwrap().is_none(), "{off:?}");
            let other = [(LEAKS, off), ("CUDA_LAUNCH_HARNESS_MEMORY", "1M")];
            assert!(!asked(&other).unwrap().unwrap().reports_leaks(), "{off:?}");
        }
        for on in ["1", "true", "yes", "01"] {
            assert!(asked(&[(LEAKS, on)]).unwrap().unwrap().reports_leaks(), "{on:?}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let wrong = [
            ("CUDA_LAUNCH_HARNESS_VERSION", "new"),
            ("CUDA_LAUNCH_HARNESS_VERSION", "12"),
            ("CUDA_LAUNCH_HARNESS_MEMORY", "much"),
            ("CUDA_LAUNCH_HARNESS_MEMORY", "99999999999G"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "cuInit"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "cuInit@0=1"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "cuInit=0"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "cuInit=NO_SUCH_CODE"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "cuInit@x..=1"),
            ("CUDA_LAUNCH_HARNESS_FAIL", "launch!short"),
        ];
        for (name, value) in wrong {
            let error = asked(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn versions_that_cannot_be_played_are_refused_with_the_limits() {
        let base = cuda_emulator::driver();
        let over = |version: &str| asked(&[(VERSION, version)]).unwrap().unwrap().over(&base);
        for version in ["11.4", "11.8", "13.0"] {
            assert_eq!(
                over(version).unwrap().driver().version(),
                Ok(super::version(version).unwrap() as i32)
            );
        }
        for version in ["10.2", "11.3", "13.1", "14.0"] {
            let error = over(version).unwrap_err().to_string();
            assert!(error.contains(version) && error.contains("a version from 11.4 to 13.0"), "{error}");
        }
    }

    #[test]
    fn numbers_and_names_are_read() {
        assert_eq!(version("11.8"), Some(11_080));
        for text in ["11", "11.8.0", "-1.0", "11.100", "1000.0", "4294967.295", "1.4294967295"] {
            assert_eq!(version(text), None, "{text}");
        }
        assert_eq!((bytes("512M"), bytes("7"), bytes("2 k")), (Some(512 << 20), Some(7), Some(2048)));
        assert_eq!(result("OUT_OF_MEMORY"), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert_eq!(result("CUDA_ERROR_OUT_OF_MEMORY"), result("2"));
        assert!(format!("{:?}", fault("cuMemGetInfo@2=short")).contains("replaced: [\"cu"));
    }
}
