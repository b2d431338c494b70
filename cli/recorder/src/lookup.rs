//! `cuGetProcAddress`: what programs, and `cudart` for them, ask for by name is recorded too.
//!
//! A name means the function of the newest ABI that is not newer than the version asked for, and with a flag the one whose NULL
//! stream is the thread's own (since CUDA 7.0, where there is one).

#![allow(unsafe_code)] // Passes on what its caller gave, and hands out functions of this library by their addresses.
#![allow(clippy::missing_safety_doc, reason = "a C function")]

use cuda_driver_sys::*;
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::layer;
use crate::per_thread::*;
use crate::real::driver;

/// Flag of those who want the functions of the thread's own default stream.
const PER_THREAD: cuuint64_t =
    CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.0 as cuuint64_t;
/// The first version that has them.
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

/// An ABI with other parameters, which the name means in newer programs.
struct Newer {
    since: c_int,
    symbol: &'static str,
    export: *mut c_void,
    /// Whether there is another one for the thread's own stream, which is passed on.
    has_own: bool,
}

/// What came after a row of `stand_ins`, where a driver has it; a negative version means the newest that there is.
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

macro_rules! checked {
    ($($asked:literal $since:literal $name:ident;)*) => {
        /// What else orders work on a thread's own stream, which checks have to know: since which version, and the export.
        fn checked(asked: &str) -> Option<(c_int, *mut c_void)> {
            Some(match asked {
                $($asked => ($since, $name as *mut c_void),)*
                _ => return None,
            })
        }
    };
}
checked! {
    "cuMemsetD8" 3020 cuMemsetD8_v2_ptds;
    "cuMemsetD16" 3020 cuMemsetD16_v2_ptds;
    "cuMemsetD32" 3020 cuMemsetD32_v2_ptds;
    "cuMemsetD2D8Async" 3020 cuMemsetD2D8Async_ptsz;
    "cuMemsetD2D16Async" 3020 cuMemsetD2D16Async_ptsz;
    "cuMemsetD2D32Async" 3020 cuMemsetD2D32Async_ptsz;
    "cuMemcpy2DAsync" 3020 cuMemcpy2DAsync_v2_ptsz;
    "cuMemcpy3DAsync" 3020 cuMemcpy3DAsync_v2_ptsz;
    "cuMemcpyPeerAsync" 4000 cuMemcpyPeerAsync_ptsz;
    "cuMemcpy2D" 3020 cuMemcpy2D_v2_ptds;
    "cuMemcpy3D" 3020 cuMemcpy3D_v2_ptds;
    "cuMemcpyPeer" 4000 cuMemcpyPeer_ptds;
    "cuMemcpy3DPeer" 4000 cuMemcpy3DPeer_ptds;
    "cuMemcpy3DPeerAsync" 4000 cuMemcpy3DPeerAsync_ptsz;
    "cuMemcpyHtoA" 3020 cuMemcpyHtoA_v2_ptds;
    "cuMemcpyAtoH" 3020 cuMemcpyAtoH_v2_ptds;
    "cuMemcpyHtoAAsync" 3020 cuMemcpyHtoAAsync_v2_ptsz;
    "cuMemcpyAtoHAsync" 3020 cuMemcpyAtoHAsync_v2_ptsz;
    "cuMemcpyWithAttributesAsync" 13020 cuMemcpyWithAttributesAsync_ptsz;
    "cuMemcpy3DWithAttributesAsync" 13020 cuMemcpy3DWithAttributesAsync_ptsz;
    "cuMemsetD2D8" 3020 cuMemsetD2D8_v2_ptds;
    "cuMemsetD2D16" 3020 cuMemsetD2D16_v2_ptds;
    "cuMemsetD2D32" 3020 cuMemsetD2D32_v2_ptds;
    "cuMemAllocAsync" 11020 cuMemAllocAsync_ptsz;
    "cuMemAllocFromPoolAsync" 11020 cuMemAllocFromPoolAsync_ptsz;
    "cuMemFreeAsync" 11020 cuMemFreeAsync_ptsz;
    "cuEventRecord" 2000 cuEventRecord_ptsz;
    "cuEventRecordWithFlags" 11010 cuEventRecordWithFlags_ptsz;
    "cuStreamQuery" 2000 cuStreamQuery_ptsz;
    "cuStreamAddCallback" 5000 cuStreamAddCallback_ptsz;
    "cuStreamAttachMemAsync" 6000 cuStreamAttachMemAsync_ptsz;
    "cuStreamBeginCapture" 10010 cuStreamBeginCapture_v2_ptsz;
    "cuStreamBeginCaptureToCig" 13010 cuStreamBeginCaptureToCig_ptsz;
    "cuStreamBeginCaptureToGraph" 12030 cuStreamBeginCaptureToGraph_ptsz;
    "cuStreamBeginRecaptureToGraph" 13030 cuStreamBeginRecaptureToGraph_ptsz;
    "cuStreamEndCapture" 10000 cuStreamEndCapture_ptsz;
    "cuStreamEndCaptureToCig" 13010 cuStreamEndCaptureToCig_ptsz;
    "cuStreamIsCapturing" 10000 cuStreamIsCapturing_ptsz;
    "cuStreamWaitValue32" 11070 cuStreamWaitValue32_v2_ptsz;
    "cuStreamWaitValue64" 11070 cuStreamWaitValue64_v2_ptsz;
    "cuStreamWriteValue32" 11070 cuStreamWriteValue32_v2_ptsz;
    "cuStreamWriteValue64" 11070 cuStreamWriteValue64_v2_ptsz;
    "cuStreamBatchMemOp" 11070 cuStreamBatchMemOp_v2_ptsz;
}

/// Whether there may be a function of that name whose NULL stream is the thread's own.
fn may_have_own(asked: &str) -> bool {
    let starts = ["cuMemcpy", "cuMemset", "cuStream", "cuEventRecord", "cuLaunch", "cuGraphics"];
    let lacks = ["cuStreamCreate", "cuStreamDestroy"];
    asked.contains("Async")
        || ["cuGraphUpload", "cuGraphInstantiateWithParams"].contains(&asked)
        || starts.iter().any(|start| asked.starts_with(start))
            && !lacks.iter().any(|start| asked.starts_with(start))
}

/// The export that stands in for what is asked, if there is one.
fn export(asked: &str, version: c_int, flags: cuuint64_t) -> Option<*mut c_void> {
    if asked == "cuGetProcAddress" && (11030..12000).contains(&version) {
        return Some(crate::cuGetProcAddress_v1 as *mut c_void);
    }
    // A negative version is any.
    let is_new = |since: c_int| version < 0 || version >= since;
    let own = flags & PER_THREAD != 0 && is_new(PER_THREAD_SINCE);
    // The first ABI, which had no mode.
    if asked == "cuStreamBeginCapture" && (10_000..10_010).contains(&version) && layer::is_asked() {
        let first = if own { cuStreamBeginCapture_ptsz } else { cuStreamBeginCapture };
        return Some(first as *mut c_void);
    }
    // Their first ABI, which is older, is the driver's own.
    let second = match asked {
        "cuMemcpyBatchAsync" => Some(("cuMemcpyBatchAsync_v2", cuMemcpyBatchAsync_v2_ptsz as *mut c_void)),
        "cuMemcpy3DBatchAsync" => {
            Some(("cuMemcpy3DBatchAsync_v2", cuMemcpy3DBatchAsync_v2_ptsz as *mut c_void))
        }
        _ => None,
    };
    if let Some((symbol, export)) = second {
        return (own && layer::is_asked() && is_new(13_000) && driver().has(symbol)).then_some(export);
    }
    if own
        && layer::is_asked()
        && let Some((_, export)) = checked(asked).filter(|(since, _)| is_new(*since))
    {
        return Some(export);
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

/// The first ABI of what ends a context: it is to be seen too, as events and kernels go with a context.
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ending(asked: &str) -> Option<*mut c_void> {
    crate::passed_on::ending(asked)
}

/// Elsewhere there is no recorder: a library with these exports is made on the platforms above alone.
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn ending(_: &str) -> Option<*mut c_void> {
    None
}

/// The one duty is that of the driver's function.
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
        // SAFETY: not null, as was compared; the function's contract has it a string that ends with a NUL, which nobody writes or frees during
        // the call. Its text is used before that returns.
        unsafe { CStr::from_ptr(symbol) }.to_str().ok()
    };
    let own = asked.and_then(|asked| export(asked, version, flags));
    // What stands in calls the plain function, which the driver shall have. A function that has no other is the same with the flag and
    // without, but checks hand out their own only without.
    let is_plain = own.is_some() || layer::is_asked() && asked.is_some_and(|asked| !may_have_own(asked));
    let wanted = if is_plain { flags & !PER_THREAD } else { flags };
    // SAFETY: the one duty, which the head of `hooks` has too: the arguments are the program's own, but for the flags, and for these the
    // driver asks for nothing: any others than those it knows it answers with an error.
    let code = unsafe { driver().cuGetProcAddress_v2(symbol, function, version, wanted, status) };
    if let Some(own) = own.filter(|_| code == CUresult::SUCCESS && !function.is_null()) {
        // SAFETY: not null, as was compared, so by the function's contract an aligned place for a pointer, which no
        // other thread uses during the call; the driver has initialised it, as it succeeded. What is put there has the
        // signature of the symbol that is replaced: each row of `stand_ins` and `checked` names both, `since` and
        // `newer` tell its ABI, `ending` has the first ABI's own name, and `export` has four more, chosen by version.
        unsafe {
            if !(*function).is_null() {
                *function = own;
            }
        }
    }
    code
}
