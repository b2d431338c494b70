//! Enables profiling, by the program or the environment; and writes the coverage report at the end of the process.
#![allow(unsafe_code)]
// Relies on: the C library's `atexit`, which calls a function without parameters and result at the end of the
// process.

use std::collections::HashMap;
use std::ffi::c_int;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::{report, slot, state};
use crate::profile::{KernelProfile, Profiler, lcov};
use crate::tool_report::ToolReport;

/// Whether the program requested it.
static ASKED: OnceLock<()> = OnceLock::new();
/// The collector of the coverage of the process and all its instances.
static COVERAGE: OnceLock<Coverage> = OnceLock::new();

/// The coverage of a process.
struct Coverage {
    /// The folder for the report.
    folder: PathBuf,
    /// The process: a forked child writes none.
    process: u32,
    profiler: Arc<Profiler>,
}

unsafe extern "C" {
    /// Of the C library: `int atexit(void (*)(void))`.
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// From the first `cuInit` on, counts what kernels do, for [`take_profiles`]. Returns false, without effect, if the emulator is already
/// initialised or this was called before.
///
/// Counted kernels are many times slower.
pub fn set_profile() -> bool {
    state::get().is_none() && ASKED.set(()).is_ok()
}

/// The counts of kernels that have ended since the last call, by kernel in the order of their first launches.
///
/// ```
/// use cuda_emulator::{driver, set_profile, take_profiles};
/// # use std::ptr::{from_mut, null_mut};
///
/// assert!(set_profile());
/// let cuda = driver();
/// let ptx = c".version 8.0 .target sm_90 .address_size 64
///     .visible .entry fill(.param .u64 p) {
///         .reg .b64 %a; .reg .b32 %i;
///         ld.param.u64 %a, [p]; mov.u32 %i, %tid.x;
///         mad.wide.u32 %a, %i, 64, %a;
///         st.global.u32 [%a], %i; ret; }";
/// # let (mut context, mut module, mut fill, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
/// // .. `fill` is loaded from it, and runs on one block of 32 threads.
/// # unsafe {
/// #     cuda.cuInit(0);
/// #     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
/// #     cuda.cuCtxSetCurrent(context);
/// #     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast());
/// #     cuda.cuModuleGetFunction(&mut fill, module, c"fill".as_ptr());
/// #     cuda.cuMemAlloc(&mut memory, 32 * 64);
/// #     let mut parameters = [from_mut(&mut memory).cast()];
/// #     cuda.cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut());
/// #     cuda.cuCtxSynchronize();
/// # }
/// let profiles = take_profiles();
/// let store = profiles[0].instructions.iter().find(|instruction| instruction.ptx_line == 6).unwrap().counts;
/// // Each thread writes to a separate sector, although four sectors would suffice.
/// assert_eq!((store.warps, store.threads_on), (1, 32));
/// assert_eq!((store.global_sectors, store.global_sectors_ideal), (32, 4));
/// ```
pub fn take_profiles() -> Vec<KernelProfile> {
    state::get().and_then(|state| state.profiler.clone()).map(|profiler| profiler.take()).unwrap_or_default()
}

/// Who counts.
pub(super) fn profiler(config: &Config) -> Option<Arc<Profiler>> {
    let asked = || slot::current() == slot::PROCESS && ASKED.get().is_some();
    let Some(folder) = &config.coverage else { return asked().then(Arc::default) };
    let coverage = COVERAGE.get_or_init(|| {
        // SAFETY: declared as in C. The function has the required type, does not unwind (a panic in `extern "C"` aborts the process), and
        // is loaded when it is called: at the end of the process, or before its library is unloaded, because `atexit` registers it for that
        // library.
        unsafe { atexit(at_exit) };
        Coverage { folder: folder.clone(), process: std::process::id(), profiler: Arc::default() }
    });
    Some(Arc::new(Profiler::covering(Arc::clone(&coverage.profiler))))
}

/// Called at the end of the process.
extern "C" fn at_exit() {
    let Some(Coverage { folder, process, profiler }) = COVERAGE.get() else { return };
    if *process == std::process::id()
        && let Err(error) = write(folder, &profiler.peek())
    {
        report::line(format_args!("coverage: {}: {error}", folder.display()));
        ToolReport::LostCoverage.send();
    }
}

/// The path, from the root, of the folder for reports, which exists from now on: whether files can be written there, only writing one tells.
pub(super) fn ready(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let folder = fs::canonicalize(folder)?;
    let file = folder.join(format!("{}.info", std::process::id()));
    fs::write(&file, "")?;
    // Another instance of this process may have removed it.
    let _ = fs::remove_file(file);
    Ok(folder)
}

/// Writes the report of this process: `PROGRAM-PID.info`. Modules without `.loc` are reported by the lines of their PTX, which is written
/// beside it.
fn write(folder: &Path, kernels: &[KernelProfile]) -> io::Result<()> {
    if kernels.is_empty() {
        return Ok(());
    }
    let mut names: HashMap<&str, String> = HashMap::new();
    for kernel in kernels {
        let mut hasher = DefaultHasher::new();
        kernel.text.hash(&mut hasher);
        let path = folder.join(format!("{:016x}.ptx", hasher.finish()));
        names.insert(&kernel.text, path.display().to_string());
    }
    let text = lcov(kernels, |text| names.get(text).cloned());
    for (ptx, path) in names.iter().filter(|(_, path)| text.contains(path.as_str())) {
        fs::write(path, ptx)?;
    }
    let program = std::env::current_exe().ok();
    let stem =
        program.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned();
    fs::write(folder.join(format!("{stem}-{}.info", std::process::id())), text)
}
