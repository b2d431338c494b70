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
//! it: in a folder of the system it would stand before a real driver. The library exports every symbol that driver 580 has for the public
//! headers (`exports.txt` lists them with those that came later): older ABIs, and functions whose NULL stream is the calling thread's own
//! (`_ptsz`, `_ptds`), included. Of what the library of 580.159.04 for x86-64 exports beside these, it lacks `cuMemGetAttribute`,
//! `cuMemGetAttribute_v2` and `cuEGLApiInit`, which no header declares, and the eight functions of debuggers (`cudbg*`); `cuEventCreateFromEGLSync`,
//! which a header declares, is not in that one. The crate `cuda-emulator` says which of them do something and which environment variables it reads;
//! the others return `CUDA_ERROR_NOT_SUPPORTED` and say so once.
//!
//! Variables make calls fail, write them down and report what was not given back (`CUDA_LAUNCH_HARNESS_*`, in
//! `docs/environment.md`): the program that is tested need not know.
//!
//! Relies on the emulator's functions to keep to the contracts of the driver's: each export passes its arguments on.
#![allow(unsafe_code)]
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]

mod found;
mod watch;

use cuda_driver_sys::{CU_STREAM_PER_THREAD, CUlaunchConfig, CUresult, CUstream, Driver};
use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(watch::driver);

macro_rules! exports {
    ($($symbol:ident($($argument:ident: $type:ty),*) $since:tt $name:literal $default:ident $how:ident $target:ident;)*) => {
        $(export! { $since $default $how $target $symbol($($argument: $type),*) })*

        /// The export of that symbol; null for others.
        fn own_address(symbol: &str) -> *const c_void {
            match symbol {
                $(stringify!($symbol) => own! { $since $symbol },)*
                _ => std::ptr::null(),
            }
        }
    };
}

/// One export, unless the function came after the driver that is emulated.
macro_rules! export {
    (13010 $($newer:tt)*) => {};
    (13020 $($newer:tt)*) => {};
    (13030 $($newer:tt)*) => {};
    (13040 $($newer:tt)*) => {};
    (13050 $($newer:tt)*) => {};
    ($since:tt $default:ident $how:ident $target:ident $symbol:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($symbol), "`")]
        #[allow(clippy::too_many_arguments, reason = "a C function")]
        // SAFETY: the name is the C function's, so is the signature, and no other function of this library has the
        // name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the function of this name is kept by the caller; what `body!` calls has the same,
            // and gets the caller's arguments, but for a NULL stream of a per-thread form the handle that says what it
            // means.
            default! { $default ($($argument),*) body! { $how $target $symbol($($argument),*) } }
        }
    };
}

/// What NULL means in a function.
macro_rules! default {
    (legacy ($($argument:ident),*) $($body:tt)*) => { $($body)* };
    (per_thread ($($argument:ident),*) $($body:tt)*) => {{
        // By name, for who watches; in other structures NULL stays, which the emulator takes for it meanwhile.
        $(
            let mut room = None;
            // SAFETY: 1: the caller keeps the contract of the function, as said at the export.
            let $argument = unsafe { own_stream($argument, &mut room) };
        )*
        cuda_emulator::on_own_stream(|| $($body)*)
    }};
}

/// The thread's own stream for a NULL stream, also for that of a launch's configuration, of which there is a copy then in `room`; all
/// other arguments as they are. What it answers is good as long as `room`.
///
/// # Safety
///
/// 1. It is an argument of a function of the driver, whose contract is kept.
unsafe fn own_stream<T: Copy + 'static>(argument: T, room: &mut Option<CUlaunchConfig>) -> T {
    let asked: &dyn Any = &argument;
    let own: &dyn Any = if asked.downcast_ref().is_some_and(|stream: &CUstream| stream.is_null()) {
        &CU_STREAM_PER_THREAD
    } else if let Some(config) = asked.downcast_ref::<*const CUlaunchConfig>()
        // SAFETY: null, or the address of an aligned configuration with all members set, which nobody writes during the call:
        // duty 1. The reference is used for the copy alone.
        && let Some(config) = unsafe { config.as_ref() }.filter(|config| config.hStream.is_null())
    {
        &std::ptr::from_ref(room.insert(CUlaunchConfig { hStream: CU_STREAM_PER_THREAD, ..*config }))
    } else {
        return argument;
    };
    own.downcast_ref().copied().unwrap_or(argument)
}

/// What an export does.
macro_rules! body {
    (same cuGetProcAddress_v1 $symbol:ident($($argument:ident),*)) => {
        // SAFETY: 1: the contract of this function, which the caller keeps, as said at the export, with the caller's
        // arguments.
        unsafe { found::get_proc_address_v1($($argument),*) }
    };
    (same cuGetProcAddress_v2 $symbol:ident($($argument:ident),*)) => {
        // SAFETY: 1: the contract of this function, which the caller keeps, as said at the export, with the caller's
        // arguments.
        unsafe { found::get_proc_address($($argument),*) }
    };
    (same $target:ident $symbol:ident($($argument:ident),*)) => {
        // SAFETY: this function has the contract of the driver's function, which the caller upholds, as stated at the
        // export; the arguments are the caller's, except that a NULL stream is `CU_STREAM_PER_THREAD` in a per-thread
        // form.
        unsafe { DRIVER.$target($($argument),*) }
    };
    (adapted $target:ident $symbol:ident($($argument:ident),*)) => {
        // SAFETY: its contract is NVIDIA's documentation of this function, as stated at its head, which the caller
        // upholds, as stated at the export; the arguments are the caller's, except that a NULL stream is
        // `CU_STREAM_PER_THREAD` in a per-thread form; and all handles belong to this one driver.
        unsafe { cuda_emulator::older_abi::$target(&DRIVER $(, $argument)*) }
    };
    (refused $target:ident $symbol:ident()) => {
        cuda_emulator::refuse_export(stringify!($symbol), stringify!($target))
    };
}

/// The address of an export, if it is one.
macro_rules! own {
    (13010 $symbol:ident) => {
        std::ptr::null()
    };
    (13020 $symbol:ident) => {
        std::ptr::null()
    };
    (13030 $symbol:ident) => {
        std::ptr::null()
    };
    (13040 $symbol:ident) => {
        std::ptr::null()
    };
    (13050 $symbol:ident) => {
        std::ptr::null()
    };
    ($since:tt $symbol:ident) => {
        $symbol as *const c_void
    };
}
cuda_driver_sys::for_each_export!(exports);
