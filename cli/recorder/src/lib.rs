//! A CUDA driver that hands every call on to the real one, and records or checks it.
//!
//! `cuda-launch trace`, `check` and `record` start a program with this library as its `libcuda.so.1`; the package `cuda-launch-cli` links it as a file
//! of its own, `cuda-launch-recorder`. Variables tell it what to do:
//! `CUDA_LAUNCH_TRACE_DRIVER` is the path of the real library, or `emulator`; `CUDA_LAUNCH_TRACE_FILE` is where the timeline goes, a
//! JSON object in each line, as the trace format of Chrome has them. With `CUDA_LAUNCH_CHECK_FILE` calls are checked instead, with `CUDA_LAUNCH_RECORD_FILE` a launch
//! is written to a file.
//!
//! | file | part |
//! |---|---|
//! | `hooks` | the functions that do more than pass on: launches, copies, waits, ends of contexts |
//! | `per_thread` | the same for programs whose default stream is each thread's own (`_ptsz`, `_ptds`) |
//! | `lookup` | functions that programs ask `cuGetProcAddress` for, as `cudart` does |
//! | `passed_on` | all other exports of a driver: older ABIs, graphics |
//! | `kernel` | names and arguments of kernels |
//! | `timeline` | what happened when, on the host and between two events on a stream |
//! | `turns` | whose turn it is to put work on a stream |
//! | `layer` | the same exports for `check` and `record`: the driver behind them looks at each call |
//! | `check`, `record` | what it does |
//! | `own` | variables, standard error and files of this library in a program that may close them |
//! | `fork` | forked processes |
//! | `runtime` | the last error of the CUDA runtime |
//! | `real` | the driver behind |
//!
//! Functions that programs ask `cuGetProcAddress` for are recorded where they are hooks, and are the driver's own elsewhere.
//!
//! Relies on callers to keep to the contracts of the driver's functions: each export passes its arguments on.
#![allow(unsafe_code)]
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]

mod check;
mod fork;
mod hooks;
mod kernel;
mod layer;
mod lookup;
mod own;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod passed_on;
mod per_thread;
mod real;
mod record;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod runtime;
mod timeline;
mod turns;

use cuda_driver_sys::CUresult;
use cuda_harness::stack;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use passed_on::PASSED_ON;
use real::driver;

/// The address of a function of this library.
pub struct Function(#[allow(dead_code, reason = "only the linker reads it")] *const c_void);

// SAFETY: it has no method that reads the address, which is that of code, and never changes.
unsafe impl Sync for Function {}

macro_rules! exports {
    ($($name:ident($($argument:ident: $type:ty),*) $since:tt;)*) => {
        $(export! { $name($($argument: $type),*) })*

        /// Every function of this library. Who refers to it has them all linked: of a library, a linker takes what is used.
        pub static FUNCTIONS: &[Function] = &[
            $(Function($name as *const c_void),)*
            Function(cuProfilerStart as *const c_void),
            Function(cuProfilerStop as *const c_void),
        ];
    };
}

/// One export: a hook, or what passes its arguments on between two looks at the clock.
macro_rules! export {
    (cuLaunchKernel $($rest:tt)*) => { hooked! { cuLaunchKernel $($rest)* } };
    (cuLaunchKernelEx $($rest:tt)*) => { hooked! { cuLaunchKernelEx $($rest)* } };
    (cuLaunchCooperativeKernel $($rest:tt)*) => { hooked! { cuLaunchCooperativeKernel $($rest)* } };
    (cuGraphLaunch $($rest:tt)*) => { hooked! { cuGraphLaunch $($rest)* } };
    (cuLaunchHostFunc $($rest:tt)*) => { hooked! { cuLaunchHostFunc $($rest)* } };
    (cuMemcpyHtoD_v2 $($rest:tt)*) => { hooked! { cuMemcpyHtoD_v2 $($rest)* } };
    (cuMemcpyDtoH_v2 $($rest:tt)*) => { hooked! { cuMemcpyDtoH_v2 $($rest)* } };
    (cuMemcpyDtoD_v2 $($rest:tt)*) => { hooked! { cuMemcpyDtoD_v2 $($rest)* } };
    (cuMemcpy $($rest:tt)*) => { hooked! { cuMemcpy $($rest)* } };
    (cuMemcpyHtoDAsync_v2 $($rest:tt)*) => { hooked! { cuMemcpyHtoDAsync_v2 $($rest)* } };
    (cuMemcpyDtoHAsync_v2 $($rest:tt)*) => { hooked! { cuMemcpyDtoHAsync_v2 $($rest)* } };
    (cuMemcpyDtoDAsync_v2 $($rest:tt)*) => { hooked! { cuMemcpyDtoDAsync_v2 $($rest)* } };
    (cuMemcpyAsync $($rest:tt)*) => { hooked! { cuMemcpyAsync $($rest)* } };
    (cuMemsetD8Async $($rest:tt)*) => { hooked! { cuMemsetD8Async $($rest)* } };
    (cuMemsetD16Async $($rest:tt)*) => { hooked! { cuMemsetD16Async $($rest)* } };
    (cuMemsetD32Async $($rest:tt)*) => { hooked! { cuMemsetD32Async $($rest)* } };
    (cuStreamSynchronize $($rest:tt)*) => { hooked! { cuStreamSynchronize $($rest)* } };
    (cuEventSynchronize $($rest:tt)*) => { hooked! { cuEventSynchronize $($rest)* } };
    (cuCtxSynchronize $($rest:tt)*) => { hooked! { cuCtxSynchronize $($rest)* } };
    (cuStreamWaitEvent $($rest:tt)*) => { hooked! { cuStreamWaitEvent $($rest)* } };
    (cuCtxDestroy_v2 $($rest:tt)*) => { hooked! { cuCtxDestroy_v2 $($rest)* } };
    (cuDevicePrimaryCtxRelease_v2 $($rest:tt)*) => { hooked! { cuDevicePrimaryCtxRelease_v2 $($rest)* } };
    (cuDevicePrimaryCtxReset_v2 $($rest:tt)*) => { hooked! { cuDevicePrimaryCtxReset_v2 $($rest)* } };
    (cuCtxDetach $($rest:tt)*) => { hooked! { cuCtxDetach $($rest)* } };
    (cuGreenCtxDestroy $($rest:tt)*) => { hooked! { cuGreenCtxDestroy $($rest)* } };
    (cuModuleUnload $($rest:tt)*) => { hooked! { cuModuleUnload $($rest)* } };
    (cuLibraryGetKernel $($rest:tt)*) => { hooked! { cuLibraryGetKernel $($rest)* } };
    (cuLibraryUnload $($rest:tt)*) => { hooked! { cuLibraryUnload $($rest)* } };
    (cuInit $($rest:tt)*) => { hooked! { cuInit $($rest)* } };
    (cuGetProcAddress_v2 $($rest:tt)*) => { always! { cuGetProcAddress_v2 $($rest)* in lookup } };
    // Below: it has no status.
    (cuGetProcAddress_v1 $($rest:tt)*) => {};
    (cuGraphAddDependencies_v1 $($rest:tt)*) => { first! { "cuGraphAddDependencies" cuGraphAddDependencies_v1 $($rest)* } };
    (cuGraphAddKernelNode_v1 $($rest:tt)*) => { first! { "cuGraphAddKernelNode" cuGraphAddKernelNode_v1 $($rest)* } };
    (cuGraphAddNode_v1 $($rest:tt)*) => { first! { "cuGraphAddNode" cuGraphAddNode_v1 $($rest)* } };
    (cuGraphExecKernelNodeSetParams_v1 $($rest:tt)*) => { first! { "cuGraphExecKernelNodeSetParams" cuGraphExecKernelNodeSetParams_v1 $($rest)* } };
    (cuGraphExecUpdate_v1 $($rest:tt)*) => { first! { "cuGraphExecUpdate" cuGraphExecUpdate_v1 $($rest)* } };
    (cuGraphGetEdges_v1 $($rest:tt)*) => { first! { "cuGraphGetEdges" cuGraphGetEdges_v1 $($rest)* } };
    (cuGraphKernelNodeGetParams_v1 $($rest:tt)*) => { first! { "cuGraphKernelNodeGetParams" cuGraphKernelNodeGetParams_v1 $($rest)* } };
    (cuGraphKernelNodeSetParams_v1 $($rest:tt)*) => { first! { "cuGraphKernelNodeSetParams" cuGraphKernelNodeSetParams_v1 $($rest)* } };
    (cuGraphNodeGetDependencies_v1 $($rest:tt)*) => { first! { "cuGraphNodeGetDependencies" cuGraphNodeGetDependencies_v1 $($rest)* } };
    (cuGraphNodeGetDependentNodes_v1 $($rest:tt)*) => { first! { "cuGraphNodeGetDependentNodes" cuGraphNodeGetDependentNodes_v1 $($rest)* } };
    (cuGraphRemoveDependencies_v1 $($rest:tt)*) => { first! { "cuGraphRemoveDependencies" cuGraphRemoveDependencies_v1 $($rest)* } };
    (cuMemAdvise_v1 $($rest:tt)*) => { first! { "cuMemAdvise" cuMemAdvise_v1 $($rest)* } };
    (cuMemPrefetchAsync_v1 $($rest:tt)*) => { first! { "cuMemPrefetchAsync" cuMemPrefetchAsync_v1 $($rest)* } };
    (cuMemcpy3DBatchAsync_v1 $($rest:tt)*) => { first! { "cuMemcpy3DBatchAsync" cuMemcpy3DBatchAsync_v1 $($rest)* } };
    (cuMemcpyBatchAsync_v1 $($rest:tt)*) => { first! { "cuMemcpyBatchAsync" cuMemcpyBatchAsync_v1 $($rest)* } };
    (cuStreamUpdateCaptureDependencies_v1 $($rest:tt)*) => { first! { "cuStreamUpdateCaptureDependencies" cuStreamUpdateCaptureDependencies_v1 $($rest)* } };
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the name is a function of CUDA's headers, whose signature this has; no other function of this library has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name, which gets the same arguments, is this one's: the caller keeps it.
            stack::with_room(&mut || timeline::call(stringify!($name), || unsafe { driver().$name($($argument),*) }))
        }
    };
}

/// The first ABI of a name that has newer ones, which is exported without a number.
macro_rules! first {
    ($symbol:literal $name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", $symbol, "`, as it was first")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the exported name is a function of `cuda.h`, whose signature this has; no other function of this library has the name.
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name, which gets the same arguments, is this one's: the caller keeps it.
            stack::with_room(&mut || timeline::call($symbol, || unsafe { driver().$name($($argument),*) }))
        }
    };
}

/// An export that a function of `hooks` serves, unless calls are checked.
macro_rules! hooked {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the name is a function of CUDA's headers, whose signature this has; no other function of this library has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name, which is the one duty of the hook too, is
            // this one's: the caller keeps it, and either gets the same arguments.
            stack::with_room(&mut || unsafe {
                match layer::is_asked() {
                    true => driver().$name($($argument),*),
                    false => hooks::$name($($argument),*),
                }
            })
        }
    };
}
/// An export that a function of another module serves.
macro_rules! always {
    ($name:ident($($argument:ident: $type:ty),*) in $module:ident) => {
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is a function of CUDA's headers, whose signature this has; no other function of this library has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the one duty of the module's function is the contract of the driver's function of this name,
            // which is this one's: the caller keeps it. It gets the same arguments.
            stack::with_room(&mut || unsafe { $module::$name($($argument),*) })
        }
    };
}
cuda_driver_sys::for_each_function!(exports);

/// What is to be called when the library is loaded.
pub extern "C" fn start() {
    own::start();
    layer::start();
    fork::watch();
}

/// What is to be called when the library is unloaded.
pub extern "C" fn end() {
    layer::end();
}

/// `cuGetProcAddress`, as programs of CUDA 11 know it.
// SAFETY: the exported name is a function of `cuda.h`, whose signature this has; no other function of this library has the name.
#[unsafe(export_name = "cuGetProcAddress")]
pub unsafe extern "C" fn cuGetProcAddress_v1(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuda_driver_sys::cuuint64_t,
) -> CUresult {
    // SAFETY: the contract of the newer function, whose status may be null, is this one's, which the caller keeps.
    unsafe { lookup::cuGetProcAddress_v2(symbol, function, version, flags, null_mut()) }
}

/// A function of the driver that the main header does not have.
fn other(name: &std::ffi::CStr) -> CUresult {
    let mut function = null_mut();
    // SAFETY: the name is a C string, by its type; the place outlives the call; the status may be null.
    let code = unsafe { driver().cuGetProcAddress_v2(name.as_ptr(), &mut function, 12000, 0, null_mut()) };
    if code != CUresult::SUCCESS || function.is_null() {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: not null, as was compared; the two names that this is called with are functions that take nothing and return a code
    // (`cudaProfiler.h`), in a library that stays loaded, as `driver()` is static.
    let function: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(function) };
    function()
}

/// `cuProfilerStart`
// SAFETY: the name is a function of CUDA's headers, whose signature this has; no other function of this library has it.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> CUresult {
    other(c"cuProfilerStart")
}

/// `cuProfilerStop`
// SAFETY: the name is a function of CUDA's headers, whose signature this has; no other function of this library has it.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> CUresult {
    other(c"cuProfilerStop")
}
