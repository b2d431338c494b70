//! The environment variables that change what CUDA does.

use std::path::Path;

/// A relevant environment variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value; for a search path, only the folders that contain a driver library.
    pub value: String,
    /// What it does.
    pub effect: &'static str,
}

/// Names and effects. Of search paths see [`PATHS`].
const KNOWN: &[(&str, &str)] = &[
    ("CUDA_LAUNCH_DRIVER", "chooses the driver: `system`, `emulator` or a library's path"),
    ("CUDA_LAUNCH_KERNEL_DIR", "kernel files are looked for here first"),
    ("CUDA_LAUNCH_NVRTC", "names NVRTC's library, or its folder"),
    ("CUDA_LAUNCH_NVJITLINK", "names nvJitLink's library, or its folder"),
    ("CUDA_LAUNCH_NVVM", "names libNVVM's library, or its folder"),
    ("CUDA_LAUNCH_CACHE_DIR", "where compiled code is cached; empty: nowhere"),
    ("CUDA_LAUNCH_CACHE_BYTES", "maximum size of that cache, in bytes"),
    ("CUDA_LAUNCH_QUIET", "hides the notice that the emulator is used"),
    ("CUDA_LAUNCH_INLINE_WAIT_US", "microseconds that the first poll of a future waits for the work"),
    ("CUDA_LAUNCH_EMULATOR_DEVICES", "how many devices the emulator provides"),
    (
        "CUDA_EMULATOR_DEVICES",
        "how many devices the emulator provides; an alias of CUDA_LAUNCH_EMULATOR_DEVICES",
    ),
    ("CUDA_LAUNCH_EMULATOR_ARCH", "the architecture of the emulator's devices"),
    ("CUDA_LAUNCH_EMULATOR_PTX", "the newest PTX that the emulator reads"),
    ("CUDA_LAUNCH_EMULATOR_MEMORY", "memory of each device of the emulator"),
    ("CUDA_LAUNCH_EMULATOR_WORKERS", "threads of the emulator"),
    ("CUDA_LAUNCH_EMULATOR_CHECK", "what the emulator checks kernels for: `init`, `race`, `barrier`"),
    ("CUDA_LAUNCH_EMULATOR_COVERAGE", "the folder for the coverage of device code"),
    ("CUDA_LAUNCH_EMULATOR_SCHEDULES", "how many orders of warps and blocks each launch is run in"),
    ("CUDA_LAUNCH_EMULATOR_SEED", "the seed of the first of these orders"),
    ("CUDA_LAUNCH_EMULATOR_TIMEOUT", "how many seconds a kernel may run on the emulator"),
    ("CUDA_LAUNCH_EMULATOR_PROGRESS", "whether long kernels on the emulator show their progress"),
    ("CUDA_LAUNCH_HARNESS_FAIL", "calls that the emulator's `libcuda.so.1` makes fail"),
    ("CUDA_LAUNCH_HARNESS_HIDE", "functions that the emulator's `libcuda.so.1` lacks"),
    ("CUDA_LAUNCH_HARNESS_LEAKS", "whether the emulator's `libcuda.so.1` reports leaked objects"),
    ("CUDA_LAUNCH_HARNESS_LOG", "where the emulator's `libcuda.so.1` logs each call"),
    ("CUDA_LAUNCH_HARNESS_MEMORY", "how many bytes the emulator's `libcuda.so.1` lets programs allocate"),
    ("CUDA_LAUNCH_HARNESS_VERSION", "the driver version that the emulator's `libcuda.so.1` reports"),
    ("CUDA_VISIBLE_DEVICES", "which GPUs the driver shows, and their order"),
    ("NVIDIA_VISIBLE_DEVICES", "which GPUs a container's runtime passes in"),
    ("NVIDIA_DRIVER_CAPABILITIES", "which driver libraries a container's runtime passes in"),
    ("CUDA_DEVICE_ORDER", "how devices are numbered"),
    ("CUDA_LAUNCH_BLOCKING", "with 1, every launch waits until the kernel has finished"),
    ("CUDA_DISABLE_PTX_JIT", "with 1, PTX is not compiled: images need code for the device"),
    ("CUDA_FORCE_PTX_JIT", "with 1, PTX is compiled even where there is code for the device"),
    ("CUDA_DISABLE_JIT", "with 1, nothing is compiled at run time"),
    ("CUDA_CACHE_DISABLE", "with 1, compiled PTX is not cached"),
    ("CUDA_CACHE_PATH", "where compiled PTX is cached"),
    ("CUDA_CACHE_MAXSIZE", "maximum size of that cache, in bytes"),
    ("CUDA_MODULE_LOADING", "whether kernels are loaded at their first use"),
    ("CUDA_DEVICE_MAX_CONNECTIONS", "hardware queues for streams"),
    ("CUDA_AUTO_BOOST", "clocks above the base clock"),
    ("CUDA_FORCE_API_VERSION", "the driver acts as an older version"),
    ("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "with 1, a kernel's fault writes a core dump"),
    ("CUDA_COREDUMP_FILE", "where that is written"),
    ("CUDA_LOG_FILE", "where the driver writes its error log"),
    ("CUDA_MPS_PIPE_DIRECTORY", "the process is a client of MPS"),
    ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "share of the multiprocessors under MPS"),
    ("CUDA_INJECTION64_PATH", "a tool is loaded into the process"),
    ("NVTX_INJECTION64_PATH", "a tool receives NVTX ranges"),
    ("NVIDIA_TF32_OVERRIDE", "changes the precision of libraries"),
];

/// Search paths of the system's loader.
const PATHS: &[(&str, &str)] = &[
    ("LD_LIBRARY_PATH", "these of its folders contain a driver library, found before the system's"),
    ("LD_PRELOAD", "these libraries come before all others"),
];

/// Those that are set.
pub(super) fn set() -> Vec<Variable> {
    let plain = KNOWN.iter().filter_map(|(name, effect)| {
        let value = std::env::var_os(name)?.to_string_lossy().into_owned();
        Some(Variable { name, value, effect })
    });
    let paths = PATHS.iter().filter_map(|(name, effect)| {
        let value = std::env::var_os(name)?;
        let hits: Vec<_> = std::env::split_paths(&value).filter(|entry| holds_a_driver(entry)).collect();
        let value: Vec<_> = hits.iter().map(|entry| entry.display().to_string()).collect();
        (!value.is_empty()).then(|| Variable { name, value: value.join(":"), effect })
    });
    plain.chain(paths).collect()
}

/// Whether an entry of a search path is, or is a folder that has, a file that serves as `libcuda`.
fn holds_a_driver(entry: &Path) -> bool {
    let is_driver = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("libcuda.so");
    let named = entry.file_name().is_some_and(is_driver);
    // An empty entry means the current folder.
    let folder = if entry.as_os_str().is_empty() { Path::new(".") } else { entry };
    named || ["libcuda.so.1", "libcuda.so"].iter().any(|name| folder.join(name).exists())
}
