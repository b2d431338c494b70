//! The emulator as `libcuda.so.1`, for programs that load the CUDA driver, or are linked with it.
//!
//! It runs programs that use the driver API (`cuLaunchKernel`, ..) with kernels as PTX. It does not run programs that use
//! NVIDIA's runtime: `<<<>>>` through `libcudart`, CuPy, PyTorch. The runtime asks a driver for undocumented tables, which the
//! emulator does not provide.
//!
//! ```sh
//! cargo build --release -p cuda-emulator-libcuda
//! mkdir -p ~/cuda-emulator
//! ln -s "$PWD/target/release/libemulated_cuda.so" ~/cuda-emulator/libcuda.so.1
//! LD_LIBRARY_PATH=~/cuda-emulator CUDA_LAUNCH_EMULATOR_MEMORY=2G ./program
//! ```
//!
//! Programs ask for `libcuda.so.1`, the name that NVIDIA's driver installs, and cargo calls the file
//! `libemulated_cuda.so` (`libemulated_cuda.dylib`, `emulated_cuda.dll`): hence the link. Put it into a folder of its own, named for the programs that shall use
//! it: in a folder of the system it would stand before a real driver. The library has every function of the header that
//! came with CUDA 13.0 or before, as driver 580 does. The crate `cuda-emulator` says which of them do something and
//! which environment variables it reads.
//!
//! Variables make calls fail, write them down and report what was not given back (`CUDA_LAUNCH_HARNESS_*`, in
//! `docs/environment.md`): the program that is tested need not know.
//!
//! Relies on the emulator's functions to keep to the contracts of the driver's: each export passes its arguments on.
#![allow(unsafe_code)]
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]

mod watch;

use cuda_driver_sys::{CUresult, Driver};
use std::mem::transmute;
use std::sync::{Arc, LazyLock};

static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(watch::driver);

macro_rules! exports {
    ($($name:ident($($argument:ident: $type:ty),*) $since:tt;)*) => {
        $(export! { $since $name($($argument: $type),*) })*
    };
}

/// One export, unless the function came after the driver that is emulated.
macro_rules! export {
    (13010 $($newer:tt)*) => {};
    (13020 $($newer:tt)*) => {};
    (13030 $($newer:tt)*) => {};
    (13040 $($newer:tt)*) => {};
    (13050 $($newer:tt)*) => {};
    ($since:tt cuGetProcAddress_v1 $($rest:tt)*) => { first! { "cuGetProcAddress" cuGetProcAddress_v1 $($rest)* } };
    ($since:tt cuGraphAddDependencies_v1 $($rest:tt)*) => { first! { "cuGraphAddDependencies" cuGraphAddDependencies_v1 $($rest)* } };
    ($since:tt cuGraphAddKernelNode_v1 $($rest:tt)*) => { first! { "cuGraphAddKernelNode" cuGraphAddKernelNode_v1 $($rest)* } };
    ($since:tt cuGraphAddNode_v1 $($rest:tt)*) => { first! { "cuGraphAddNode" cuGraphAddNode_v1 $($rest)* } };
    ($since:tt cuGraphExecKernelNodeSetParams_v1 $($rest:tt)*) => { first! { "cuGraphExecKernelNodeSetParams" cuGraphExecKernelNodeSetParams_v1 $($rest)* } };
    ($since:tt cuGraphExecUpdate_v1 $($rest:tt)*) => { first! { "cuGraphExecUpdate" cuGraphExecUpdate_v1 $($rest)* } };
    ($since:tt cuGraphGetEdges_v1 $($rest:tt)*) => { first! { "cuGraphGetEdges" cuGraphGetEdges_v1 $($rest)* } };
    ($since:tt cuGraphKernelNodeGetParams_v1 $($rest:tt)*) => { first! { "cuGraphKernelNodeGetParams" cuGraphKernelNodeGetParams_v1 $($rest)* } };
    ($since:tt cuGraphKernelNodeSetParams_v1 $($rest:tt)*) => { first! { "cuGraphKernelNodeSetParams" cuGraphKernelNodeSetParams_v1 $($rest)* } };
    ($since:tt cuGraphNodeGetDependencies_v1 $($rest:tt)*) => { first! { "cuGraphNodeGetDependencies" cuGraphNodeGetDependencies_v1 $($rest)* } };
    ($since:tt cuGraphNodeGetDependentNodes_v1 $($rest:tt)*) => { first! { "cuGraphNodeGetDependentNodes" cuGraphNodeGetDependentNodes_v1 $($rest)* } };
    ($since:tt cuGraphRemoveDependencies_v1 $($rest:tt)*) => { first! { "cuGraphRemoveDependencies" cuGraphRemoveDependencies_v1 $($rest)* } };
    ($since:tt cuMemAdvise_v1 $($rest:tt)*) => { first! { "cuMemAdvise" cuMemAdvise_v1 $($rest)* } };
    ($since:tt cuMemPrefetchAsync_v1 $($rest:tt)*) => { first! { "cuMemPrefetchAsync" cuMemPrefetchAsync_v1 $($rest)* } };
    ($since:tt cuMemcpy3DBatchAsync_v1 $($rest:tt)*) => { first! { "cuMemcpy3DBatchAsync" cuMemcpy3DBatchAsync_v1 $($rest)* } };
    ($since:tt cuMemcpyBatchAsync_v1 $($rest:tt)*) => { first! { "cuMemcpyBatchAsync" cuMemcpyBatchAsync_v1 $($rest)* } };
    ($since:tt cuStreamUpdateCaptureDependencies_v1 $($rest:tt)*) => { first! { "cuStreamUpdateCaptureDependencies" cuStreamUpdateCaptureDependencies_v1 $($rest)* } };
    ($since:tt $name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the name is the C function's, and so is the signature.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the caller keeps to the function's documented contract.
            unsafe { DRIVER.$name($($argument),*) }
        }
    };
}

/// The first ABI of a name that has newer ones, which is exported without a number.
macro_rules! first {
    ($symbol:literal $name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", $symbol, "`, as it was first")]
        // SAFETY: the exported name is the C function's, and so is the signature.
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the caller keeps to the function's documented contract.
            unsafe { DRIVER.$name($($argument),*) }
        }
    };
}
cuda_driver_sys::for_each_function!(exports);

/// Calls a function that the main header does not have.
fn other(symbol: &str) -> CUresult {
    let address = cuda_emulator::symbol_address(symbol);
    if address.is_null() {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: the emulator's functions of these names take nothing and return a code.
    let function: extern "C" fn() -> CUresult = unsafe { transmute(address) };
    function()
}

/// `cuProfilerStart`
// SAFETY: the name is the C function's, and so is the signature.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> CUresult {
    other("cuProfilerStart")
}

/// `cuProfilerStop`
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> CUresult {
    other("cuProfilerStop")
}
