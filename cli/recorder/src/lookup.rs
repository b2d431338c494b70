//! `cuGetProcAddress`: functions that programs, or `cudart` for them, look up by name are recorded too.
//!
//! A name means the function of the newest ABI that is not newer than the version asked for, and with a flag the one whose NULL
//! stream is the thread's own (since CUDA 7.0, where there is one).

#![allow(unsafe_code)] // Passes on its caller's arguments, and returns addresses of functions of this library.
#![allow(clippy::missing_safety_doc, reason = "a C function")]

use cuda_driver_sys::*;
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::layer;
use crate::per_thread::*;
use crate::real::driver;

/// Flag that selects the functions for the thread's own default stream.
const PER_THREAD: cuuint64_t =
    CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.0 as cuuint64_t;
/// The first version that has such functions.
const PER_THREAD_SINCE: c_int = 7000;

/// The version since which a name means this export, the export, and the one for the thread's own stream.
struct StandIn {
    since: c_int,
    plain: *mut c_void,
    per_thread: Option<*mut c_void>,
}

macro_rules! stand_ins {
    ($($asked:literal $since:literal $name:ident $($per_thread:ident)?;)*) => {
        fn stand_in(asked: &str) -> Option<StandIn> {
            Some(match asked {
                $($asked => StandIn {
                    since: $since,
                    plain: crate::$name as *mut c_void,
                    per_thread: stand_ins!(@ $($per_thread)?),
                },)*
                _ => return None,
            })
        }
    };
    (@) => { None };
    (@ $per_thread:ident) => { Some($per_thread as *mut c_void) };
}
stand_ins! {
    "cuLaunchKernel" 4000 cuLaunchKernel cuLaunchKernel_ptsz;
    "cuLaunchKernelEx" 11060 cuLaunchKernelEx cuLaunchKernelEx_ptsz;
    "cuLaunchCooperativeKernel" 9000 cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz;
    "cuGraphLaunch" 10000 cuGraphLaunch cuGraphLaunch_ptsz;
    "cuLaunchHostFunc" 10000 cuLaunchHostFunc cuLaunchHostFunc_ptsz;
    "cuMemcpyHtoD" 3020 cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds;
    "cuMemcpyDtoH" 3020 cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds;
    "cuMemcpyDtoD" 3020 cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds;
    "cuMemcpy" 4000 cuMemcpy cuMemcpy_ptds;
    "cuMemcpyHtoDAsync" 3020 cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz;
    "cuMemcpyDtoHAsync" 3020 cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz;
    "cuMemcpyDtoDAsync" 3020 cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz;
    "cuMemcpyAsync" 4000 cuMemcpyAsync cuMemcpyAsync_ptsz;
    "cuMemsetD8Async" 3020 cuMemsetD8Async cuMemsetD8Async_ptsz;
    "cuMemsetD16Async" 3020 cuMemsetD16Async cuMemsetD16Async_ptsz;
    "cuMemsetD32Async" 3020 cuMemsetD32Async cuMemsetD32Async_ptsz;
    "cuStreamSynchronize" 2000 cuStreamSynchronize cuStreamSynchronize_ptsz;
    "cuStreamWaitEvent" 3020 cuStreamWaitEvent cuStreamWaitEvent_ptsz;
    "cuEventSynchronize" 2000 cuEventSynchronize;
    "cuCtxSynchronize" 2000 cuCtxSynchronize;
    "cuCtxDestroy" 4000 cuCtxDestroy_v2;
    "cuDevicePrimaryCtxRelease" 11000 cuDevicePrimaryCtxRelease_v2;
    "cuDevicePrimaryCtxReset" 11000 cuDevicePrimaryCtxReset_v2;
    "cuCtxDetach" 2000 cuCtxDetach;
    "cuGreenCtxDestroy" 12040 cuGreenCtxDestroy;
    "cuModuleUnload" 2000 cuModuleUnload;
    "cuLibraryGetKernel" 12000 cuLibraryGetKernel;
    "cuLibraryUnload" 12000 cuLibraryUnload;
    "cuInit" 2000 cuInit;
    "cuGetProcAddress" 12000 cuGetProcAddress_v2;
}

/// An ABI with different parameters, which the name means in newer programs.
struct Newer {
    since: c_int,
    symbol: &'static str,
    export: *mut c_void,
    /// Whether there is also one for the thread's own stream, which is passed on.
    has_own: bool,
}

/// The ABI that replaced the one in a row of `stand_ins`, in drivers that have it; a negative version asks for the
/// newest.
fn newer(asked: &str) -> Option<Newer> {
    Some(match asked {
        "cuCtxSynchronize" => Newer {
            since: 13_000,
            symbol: "cuCtxSynchronize_v2",
            export: crate::cuCtxSynchronize_v2 as *mut c_void,
            has_own: false,
        },
        "cuLaunchHostFunc" => Newer {
            since: 13_010,
            symbol: "cuLaunchHostFunc_v2",
            export: crate::cuLaunchHostFunc_v2 as *mut c_void,
            has_own: true,
        },
        _ => return None,
    })
}

/// A function whose NULL stream is the thread's own.
struct Own {
    since: c_int,
    /// The function that does the same on an explicit stream.
    plain: &'static str,
    export: *mut c_void,
}

macro_rules! own_forms {
    ($($symbol:ident($($argument:ident: $type:ty),*) $since:literal $name:literal $default:ident $how:ident $plain:ident;)*) => {
        /// All such functions of that name in the header, except for older ABIs that no current function replaces, and those of graphics
        /// APIs. If `per_thread` has no function for a row, this does not compile.
        fn own_forms(asked: &str) -> Vec<Own> {
            let mut found = Vec::new();
            $(own_form!($default $how found asked $symbol $since $name $plain);)*
            found
        }

        /// Whether there is no function of that name whose NULL stream is the thread's own. For a name that the header does not have, this
        /// is unknown.
        fn has_no_own(asked: &str) -> bool {
            let rows = [$(($name, matches!(stringify!($default).as_bytes(), b"per_thread"))),*];
            let mut of_it = rows.iter().filter(|(name, _)| *name == asked).peekable();
            of_it.peek().is_some() && of_it.all(|(_, is_own)| !is_own)
        }
    };
}
macro_rules! own_form {
    (per_thread same $found:ident $asked:ident $symbol:ident $since:literal $name:literal $plain:ident) => {
        if $asked == $name {
            $found.push(Own { since: $since, plain: stringify!($plain), export: $symbol as *mut c_void });
        }
    };
    ($($row:tt)*) => {};
}
cuda_driver_sys::for_each_export!(own_forms);

/// The newest ABI that is not newer than requested and that the driver has.
fn newest(forms: Vec<Own>, is_new: impl Fn(c_int) -> bool) -> Option<*mut c_void> {
    let known = forms.into_iter().filter(|own| is_new(own.since) && driver().has(own.plain));
    known.max_by_key(|own| own.since).map(|own| own.export)
}

/// The export that replaces the requested function, if there is one.
fn export(asked: &str, version: c_int, flags: cuuint64_t) -> Option<*mut c_void> {
    if asked == "cuGetProcAddress" && (11030..12000).contains(&version) {
        return Some(crate::cuGetProcAddress_v1 as *mut c_void);
    }
    // A negative version means any.
    let is_new = |since: c_int| version < 0 || version >= since;
    let own = flags & PER_THREAD != 0 && is_new(PER_THREAD_SINCE);
    // The first ABI, which had no mode.
    if asked == "cuStreamBeginCapture" && (10_000..10_010).contains(&version) && layer::is_asked() {
        let first = if own { cuStreamBeginCapture_ptsz } else { cuStreamBeginCapture };
        return Some(first as *mut c_void);
    }
    if own && layer::is_asked() {
        let forms = own_forms(asked);
        if !forms.is_empty() {
            return newest(forms, is_new);
        }
    }
    if let Some(newer) = newer(asked).filter(|newer| is_new(newer.since) && driver().has(newer.symbol)) {
        return (!own || !newer.has_own).then_some(newer.export);
    }
    let found = stand_in(asked)?;
    if !is_new(found.since) {
        return ending(asked);
    }
    Some(found.per_thread.filter(|_| own).unwrap_or(found.plain))
}

/// The first ABI of a function that destroys a context. These are intercepted too, because events and kernels are
/// destroyed with their context.
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ending(asked: &str) -> Option<*mut c_void> {
    crate::passed_on::ending(asked)
}

/// On other platforms there is no recorder: a library with these exports is built only for the platforms above.
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn ending(_: &str) -> Option<*mut c_void> {
    None
}

/// The only duty is the contract of the driver's function.
pub(crate) unsafe fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    let asked = if symbol.is_null() {
        None
    } else {
        // SAFETY: checked to be not null, so by the function's contract a string that ends with a NUL and is neither written nor freed
        // during the call. Its text is not used after the call.
        unsafe { CStr::from_ptr(symbol) }.to_str().ok()
    };
    let own = asked.and_then(|asked| export(asked, version, flags));
    // A replacement calls the plain function, so the driver must have that. A function without a per-thread form is the same with the
    // flag and without it, but the driver of the checks returns its own function only without the flag.
    let is_plain = own.is_some() || layer::is_asked() && asked.is_some_and(has_no_own);
    let wanted = if is_plain { flags & !PER_THREAD } else { flags };
    // SAFETY: the only duty, as in the module documentation of `hooks`: the arguments are the program's own except for the flags, for
    // which the driver requires nothing: it returns an error for flags that it does not know.
    let code = unsafe { driver().cuGetProcAddress_v2(symbol, function, version, wanted, status) };
    if let Some(own) = own.filter(|_| code == CUresult::SUCCESS && !function.is_null()) {
        // SAFETY: checked to be not null, so by the function's contract an aligned output for a pointer, which no other thread
        // uses during the call; the driver has initialised it, because the call succeeded. The function that is written there
        // has the signature of the symbol that it replaces: each row of `stand_ins` and of the header's own list names both,
        // `since` and `newer` determine its ABI, `ending` has the first ABI's own name, and `export` has two more, chosen by
        // version.
        unsafe {
            if !(*function).is_null() {
                *function = own;
            }
        }
    }
    code
}
