//! A CUDA driver that hands every call on to the real one, and records or checks it.
//!
//! `cuda-launch trace`, `check` and `record` start a program with this library as its `libcuda.so.1`; the package `cuda-launch-cli` links
//! it as a separate file, `cuda-launch-recorder`. Variables tell it what to do: `CUDA_LAUNCH_TRACE_DRIVER` is the path of the real library,
//! or `emulator`; `CUDA_LAUNCH_TRACE_FILE` is the file for the timeline, with a JSON object of Chrome's trace format in each line. With
//! `CUDA_LAUNCH_CHECK_FILE` calls are checked instead; with `CUDA_LAUNCH_RECORD_FILE` one launch is written to a file.
//!
//! | file | part |
//! |---|---|
//! | `hooks` | the functions that do more than pass on: launches, copies, waits, destruction of contexts |
//! | `per_thread` | the same for programs whose default stream is each thread's own (`_ptsz`, `_ptds`) |
//! | `lookup` | functions that programs look up with `cuGetProcAddress`, as `cudart` does |
//! | `passed_on` | all other exports of a driver: older ABIs, graphics |
//! | `kernel` | names and arguments of kernels |
//! | `timeline` | what happened when, on the host and between two events on a stream |
//! | `turns` | whose turn it is to put work on a stream |
//! | `layer` | the same exports for `check` and `record`: the driver behind them inspects each call |
//! | `check`, `record` | the inspection for each command |
//! | `own` | variables, standard error and files of this library in a program that may close them |
//! | `fork` | forked processes |
//! | `runtime` | the last error of the CUDA runtime |
//! | `real` | the driver behind the exports |
//!
//! Functions that programs look up with `cuGetProcAddress` are recorded if they are hooks; the others are the driver's own.
//!
//! Relies on callers to uphold the contracts of the driver's functions: each export passes its arguments on.
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
mod written;

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

// SAFETY: it has no method that reads the address, which is the address of code and never changes.
unsafe impl Sync for Function {}

macro_rules! exports {
    ($($name:ident($($argument:ident: $type:ty),*) $since:tt;)*) => {
        $(export! { $name($($argument: $type),*) })*

        /// Every function of this library. A program that refers to this list links them all; otherwise a linker takes only
        /// what is used.
        pub static FUNCTIONS: &[Function] = &[
            $(Function($name as *const c_void),)*
            Function(cuProfilerStart as *const c_void),
            Function(cuProfilerStop as *const c_void),
        ];
    };
}

/// One export: a hook, or a function that passes its arguments on and reads the clock before and after.
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
    // Defined below, because it has no status parameter.
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
        // SAFETY: the name is that of a function of CUDA's headers with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name is also that of this function, so the caller upholds it; the
            // arguments are the same.
            stack::with_room(&mut || timeline::call(stringify!($name), || unsafe { driver().$name($($argument),*) }))
        }
    };
}

/// The first ABI of a name that has newer ABIs; it is exported without a number.
macro_rules! first {
    ($symbol:literal $name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", $symbol, "`, as it was first")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the exported name is that of a function of `cuda.h` with this signature; no other function of this library has the
        // name.
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name is also that of this function, so the caller upholds it; the
            // arguments are the same.
            stack::with_room(&mut || timeline::call($symbol, || unsafe { driver().$name($($argument),*) }))
        }
    };
}

/// An export that a function of `hooks` serves, unless calls are checked.
macro_rules! hooked {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the name is that of a function of CUDA's headers with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the driver's function of this name is the only duty of the hook and also the
            // contract of this function, so the caller upholds it; either function gets the same arguments.
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
        // SAFETY: the name is that of a function of CUDA's headers with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the only duty of the module's function is the contract of the driver's function of this name,
            // which is also that of this function, so the caller upholds it; the arguments are the same.
            stack::with_room(&mut || unsafe { $module::$name($($argument),*) })
        }
    };
}
cuda_driver_sys::for_each_function!(exports);

/// To be called when the library is loaded.
pub extern "C" fn start() {
    own::start();
    layer::start();
    fork::watch();
}

/// To be called when the library is unloaded.
pub extern "C" fn end() {
    layer::end();
}

/// `cuGetProcAddress` with the signature that programs of CUDA 11 use.
// SAFETY: the exported name is that of a function of `cuda.h` with this signature; no other function of this library has the
// name.
#[unsafe(export_name = "cuGetProcAddress")]
pub unsafe extern "C" fn cuGetProcAddress_v1(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuda_driver_sys::cuuint64_t,
) -> CUresult {
    // SAFETY: the contract of the newer function, whose status may be null, is that of this one, and the caller
    // upholds it.
    unsafe { lookup::cuGetProcAddress_v2(symbol, function, version, flags, null_mut()) }
}

/// Calls a function of the driver that the main header does not declare.
fn other(name: &std::ffi::CStr) -> CUresult {
    let mut function = null_mut();
    // SAFETY: the name is a C string, by its type; the output outlives the call; the status may be null.
    let code = unsafe { driver().cuGetProcAddress_v2(name.as_ptr(), &mut function, 12000, 0, null_mut()) };
    if code != CUresult::SUCCESS || function.is_null() {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: not null, as was checked; both names that this is called with are those of functions without parameters that
    // return a code (`cudaProfiler.h`), in a library that stays loaded, because `driver()` is static.
    let function: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(function) };
    function()
}

/// `cuProfilerStart`
// SAFETY: the name is that of a function of CUDA's headers with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> CUresult {
    other(c"cuProfilerStart")
}

/// `cuProfilerStop`
// SAFETY: the name is that of a function of CUDA's headers with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> CUresult {
    other(c"cuProfilerStop")
}
