//! Finds and opens the driver's library: the only user of libloading.
//!
//! Relies on: a library that exports `cuInit` and `cuDriverGetVersion` being a CUDA driver, and on never closing it, so
//! that its functions stay callable for the life of the process.
//!
//! Only exact symbols are looked up, or older names of the same signature (`table::OLDER`). `cuGetProcAddress` is not used where that fails: no driver is known that has a
//! function there but does not export it, and with a version that is not the symbol's own it hands out another ABI.
#![allow(unsafe_code)]

use crate::{CUresult, pfn};
use core::ffi::{CStr, c_void};
use std::error::Error as _;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use libloading::os::unix as os;
#[cfg(windows)]
use libloading::os::windows as os;

/// The names under which this platform's driver installs itself, in the order in which [`Driver::system`] tries them.
/// Empty where there is no CUDA driver.
///
/// `libcuda.so` comes last: where a toolkit is installed, that name may be its link-time stub.
///
/// [`Driver::system`]: crate::Driver::system
pub fn system_names() -> &'static [&'static str] {
    if cfg!(windows) {
        &["nvcuda.dll"]
    } else if cfg!(target_os = "android") {
        &["libcuda.so"]
    } else if cfg!(target_os = "linux") {
        &["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "libcuda.so"]
    } else {
        &[]
    }
}

/// No usable driver: what was tried, and why it failed.
///
/// Its message has one line for each name, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    attempts: Vec<Attempt>,
}

// By hand, as all messages of this crate: everything else waits for it, and would wait for `syn` first.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CUDA driver:\n{}  help: {}", lines(&self.attempts), advice(&self.attempts))
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// Every name tried, in order; empty on a platform without CUDA.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }
}

/// One name under which a driver was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// As passed to the system's loader.
    pub name: PathBuf,
    /// Why it is not usable.
    pub reason: Reason,
}

/// Why a library cannot be used as the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The system cannot load it (it does not exist, is not a library, or needs another library that is missing); with
    /// its message.
    NotLoaded(String),
    /// The library does not have this function, which every driver has.
    NotADriver(&'static str),
    /// The library does not have this function, which every library of the requested kind has; or it is a version that
    /// predates it.
    Lacks(&'static str),
    /// It is the library that the toolkit ships to link against; `cuDriverGetVersion` returns
    /// `CUDA_ERROR_STUB_LIBRARY`.
    Stub,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded(message) => f.write_str(message),
            Self::NotADriver(function) => write!(f, "it is not a CUDA driver: it has no {function}"),
            Self::Lacks(function) => {
                write!(f, "it is another library, or one that is too old: it has no {function}")
            }
            Self::Stub => f.write_str("it is the toolkit's stub library for linking, not a driver"),
        }
    }
}

impl std::error::Error for Reason {}

fn lines(attempts: &[Attempt]) -> String {
    attempts.iter().map(|Attempt { name, reason }| format!("  {}: {reason}\n", name.display())).collect()
}

fn advice(attempts: &[Attempt]) -> &'static str {
    if attempts.is_empty() {
        "there is none for this platform; the crate `cuda-emulator` runs kernels on the CPU"
    } else if attempts.iter().any(|attempt| attempt.reason == Reason::Stub) {
        "remove the toolkit's `stubs` folder from the library search path; the driver comes with the GPU's kernel module"
    } else {
        "install NVIDIA's driver (`nvidia-smi` shows whether it works; in a container the runtime has to pass it in), \
         or name another library"
    }
}

/// A loaded library, which stays loaded.
pub(crate) struct Library(ManuallyDrop<os::Library>);

impl Library {
    /// The address of an exported function, or null.
    pub(crate) fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: the type says only that it is an address, which a symbol of any kind has, and nothing is done with it
        // here.
        let symbol = unsafe { self.0.get::<*const c_void>(name) };
        symbol.map_or(std::ptr::null(), |symbol| symbol.as_raw_ptr().cast_const())
    }
}

/// The first of these libraries that is a driver, and its name.
///
/// # Safety
///
/// 1. Their initialisers are sound.
/// 2. What they export as `cuDriverGetVersion` is that function.
pub(crate) unsafe fn first<P: AsRef<Path>>(
    names: impl IntoIterator<Item = P>,
) -> Result<(Library, PathBuf), LoadError> {
    let mut attempts = Vec::new();
    for name in names {
        let name = name.as_ref().to_path_buf();
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        match unsafe { open(&name) } {
            Ok(library) => return Ok((library, name)),
            Err(reason) => attempts.push(Attempt { reason: without_name(reason, &name), name }),
        }
    }
    Err(LoadError { attempts })
}

/// The reason alone: most messages of the system's loader begin with the name, which an [`Attempt`] has already.
fn without_name(reason: Reason, name: &Path) -> Reason {
    let Reason::NotLoaded(message) = &reason else { return reason };
    let alone = message.strip_prefix(&*name.to_string_lossy()).and_then(|rest| rest.strip_prefix(": "));
    alone.map(|alone| Reason::NotLoaded(alone.to_string())).unwrap_or(reason)
}

/// Loads a library, whatever it is.
///
/// # Safety
///
/// 1. The library's initialisers are sound.
pub(crate) unsafe fn open_any(name: &Path) -> Result<Library, Reason> {
    // SAFETY: 1: the caller's duty 1.
    let library = unsafe { load(name) }.map_err(|error| match error.source() {
        Some(source) => Reason::NotLoaded(source.to_string()),
        None => Reason::NotLoaded(error.to_string()),
    })?;
    Ok(Library(ManuallyDrop::new(library)))
}

/// Loads a library that is not a driver but works with one, such as NCCL, and returns a symbol lookup: an address, or
/// null for a symbol that it does not export. It is never unloaded.
///
/// ```
/// // SAFETY: 1: there is no such library, so that nothing is run.
/// let reason = unsafe { cuda_driver_sys::open_library("/nowhere/libnccl.so.2") }.err();
/// assert!(reason.is_some_and(|reason| reason.to_string().contains("/nowhere/libnccl.so.2")));
/// ```
///
/// # Safety
///
/// 1. Loading the library runs its initialisers: they must be sound.
///
/// # Errors
///
/// [`Reason::NotLoaded`], with the system's message.
pub unsafe fn open_library(
    path: impl AsRef<Path>,
) -> Result<impl Fn(&CStr) -> *const c_void + Send + Sync, Reason> {
    // SAFETY: 1: the caller's duty 1.
    let library = unsafe { open_any(path.as_ref()) }?;
    Ok(move |name: &CStr| library.symbol(name))
}

/// # Safety
///
/// 1. The library's initialisers are sound.
/// 2. What it exports as `cuDriverGetVersion` is that function.
unsafe fn open(name: &Path) -> Result<Library, Reason> {
    // SAFETY: 1: the caller's duty 1.
    let library = unsafe { open_any(name) }?;
    for (symbol, name) in [(c"cuInit", "cuInit"), (c"cuDriverGetVersion", "cuDriverGetVersion")] {
        if library.symbol(symbol).is_null() {
            return Err(Reason::NotADriver(name));
        }
    }
    let address = library.symbol(c"cuDriverGetVersion");
    // SAFETY: the address is not null, and the function of this type, by the caller's duty 2.
    let version = unsafe { std::mem::transmute::<*const c_void, pfn::cuDriverGetVersion>(address) };
    // SAFETY: the function may be called before cuInit; the pointer is good for one c_int during the call.
    match unsafe { version(&mut 0) } {
        CUresult::CUDA_ERROR_STUB_LIBRARY => Err(Reason::Stub),
        _ => Ok(library),
    }
}

/// # Safety
///
/// 1. The library's initialisers are sound.
#[cfg(unix)]
unsafe fn load(name: &Path) -> Result<os::Library, libloading::Error> {
    // SAFETY: the caller's duty 1. The flags are libloading's own choice: lazy and local.
    unsafe { os::Library::open(Some(name), os::RTLD_LAZY | os::RTLD_LOCAL) }
}

/// # Safety
///
/// 1. The library's initialisers are sound.
#[cfg(windows)]
unsafe fn load(name: &Path) -> Result<os::Library, libloading::Error> {
    // A bare name is only sought in the system folder, so that no `nvcuda.dll` planted elsewhere is taken for it. With a
    // folder in the name, that folder is searched for what the library itself needs.
    let flags = match name.components().nth(1) {
        None => os::LOAD_LIBRARY_SEARCH_SYSTEM32,
        Some(_) => os::LOAD_WITH_ALTERED_SEARCH_PATH,
    };
    // SAFETY: the caller's duty 1. The flags only say where libraries are looked for.
    unsafe { os::Library::load_with_flags(name, flags) }
}

/// The file that is mapped where this function is.
pub(crate) fn file_of(function: *const c_void) -> Option<PathBuf> {
    // The kernel's list of what is mapped; elsewhere than on Linux and Android there is no such file.
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let parse = |text| usize::from_str_radix(text, 16).ok();
        let inside = (parse(start)?..parse(end)?).contains(&function.addr());
        inside.then(|| rest.find('/').and_then(|at| rest.get(at..)).map(PathBuf::from)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_says_that_there_is_no_driver_for_this_platform() {
        // SAFETY: 1, 2: there is no library to load.
        let error = unsafe { first::<&str>([]) }.err();
        assert_eq!(error.as_ref().map(|e| e.attempts().len()), Some(0));
        let text = error.map(|e| e.to_string());
        assert_eq!(
            text.as_deref(),
            Some(
                "no CUDA driver:\n  help: there is none for this platform; the crate `cuda-emulator` runs kernels on the CPU"
            )
        );
    }
}
