//! Exports that are passed on to the driver, neither recorded nor checked.
//!
//! These are older ABIs, graphics functions, and their forms for a thread's own default stream. Libraries look some of them up with
//! `dlsym` and fail without them: cuBLASLt needs `cuCtxPushCurrent`, which current headers do not declare. Their parameters are not known
//! here, so each export is a jump, which leaves all arguments where the caller has put them.
//!
//! Relies on callers to uphold the contract of the driver's function of that name, to which the export jumps, and on the calling
//! conventions of C on Linux, which determine the registers of arguments.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "C names")]

use cuda_driver_sys::CUresult;
use std::arch::naked_asm;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{Function, fork, kernel, layer, real, timeline};

/// Looks a symbol up in the driver's library.
type Lookup = dyn Fn(&CStr) -> *const c_void + Send + Sync;

static SYMBOLS: LazyLock<Option<Box<Lookup>>> = LazyLock::new(|| {
    let path = real::path();
    if path == "emulator" {
        return Some(Box::new(|name| cuda_emulator::symbol_address(name.to_str().unwrap_or_default())));
    }
    // SAFETY: 1: whoever set the variable guarantees that the file is a CUDA driver, which may be loaded.
    let symbols = unsafe { cuda_driver_sys::open_library(path) }.ok()?;
    Some(Box::new(symbols))
});

macro_rules! passed_on {
    ($($name:ident)*) => {
        /// The index of each function in the lists below.
        #[derive(Clone, Copy)]
        #[repr(u16)]
        enum Place { $($name,)* }

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The addresses of the driver's functions that have been called so far.
        static FOUND: [AtomicPtr<c_void>; NAMES.len()] = [const { AtomicPtr::new(null_mut()) }; NAMES.len()];

        /// All of them, so that the linker keeps them.
        pub static PASSED_ON: &[Function] = &[$(Function(exports::$name as *const c_void)),*];

        mod exports {
            use super::{Place, go, naked_asm};
            $(jump! { $name })*
        }
    };
}

/// Loads the index of the function into a register that does not carry an argument.
macro_rules! jump {
    ($name:ident) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[unsafe(naked)]
        // SAFETY: the exported name is that of the driver's function, which the jump reaches with all arguments where the caller has put
        // them; no other function of this library has the name, or the linker would report it.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov eax, {place}", "jmp {go}", place = const Place::$name as u32, go = sym go);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov w9, {place}", "b {go}", place = const Place::$name as u32, go = sym go);
        }
    };
}

/// Jumps to the driver's function, with the argument registers and the stack unchanged.
///
/// # Safety
/// 1. One of `exports` jumps to it, with its index in `NAMES` in `eax` (`w9`), and with the registers and the stack as its caller left
///    them.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn go() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        // Together with the return address this is a multiple of 16.
        "sub rsp, 136",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, eax",
        "call {address}",
        "mov r11, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "jmp r11",
        address = sym address,
    )
}

/// The same.
///
/// # Safety
/// 1. As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn go() {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!", "mov x29, sp",
        "stp x0, x1, [sp, #-16]!", "stp x2, x3, [sp, #-16]!", "stp x4, x5, [sp, #-16]!", "stp x6, x7, [sp, #-16]!",
        "stp q0, q1, [sp, #-32]!", "stp q2, q3, [sp, #-32]!", "stp q4, q5, [sp, #-32]!", "stp q6, q7, [sp, #-32]!",
        "str x8, [sp, #-16]!",
        "mov w0, w9",
        "bl {address}",
        "mov x10, x0",
        "ldr x8, [sp], #16",
        "ldp q6, q7, [sp], #32", "ldp q4, q5, [sp], #32", "ldp q2, q3, [sp], #32", "ldp q0, q1, [sp], #32",
        "ldp x6, x7, [sp], #16", "ldp x4, x5, [sp], #16", "ldp x2, x3, [sp], #16", "ldp x0, x1, [sp], #16",
        "ldp x29, x30, [sp], #16",
        "br x10",
        address = sym address,
    )
}

/// Functions of the first ABI that destroy a context, and with it events and kernels. Programs of CUDA 3 and 10 link against them, or
/// request them with an old version.
const ENDING: &[&str] = &["cuCtxDestroy", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset"];

/// The export of such a function.
pub(crate) fn ending(name: &str) -> Option<*mut c_void> {
    let place = NAMES.iter().position(|own| *own == name).filter(|_| ENDING.contains(&name))?;
    PASSED_ON.get(place).map(|Function(address)| address.cast_mut())
}

/// The address of the driver's function; if the driver lacks it, of one that returns an error.
extern "C" fn address(place: u32) -> *const c_void {
    let place = place as usize;
    let (Some(found), Some(name)) = (FOUND.get(place), NAMES.get(place)) else {
        return missing as *const c_void;
    };
    // `go` calls this function for every call of an export, so each of these is seen.
    if ENDING.contains(name) && !layer::is_asked() {
        timeline::close(timeline::Ending::Any);
        kernel::forget();
    }
    let known = found.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // Another thread of the parent may have been in the middle of this initialisation.
    if fork::is_child() {
        return missing as *const c_void;
    }
    let own = CString::new(*name).ok().zip(SYMBOLS.as_ref()).map(|(name, symbols)| symbols(&name));
    let own = own.filter(|own| !own.is_null()).unwrap_or(missing as *const c_void);
    found.store(own.cast_mut(), Ordering::Relaxed);
    own
}

/// It has no parameters: in the calling conventions of C the caller removes its own arguments, and this function
/// ignores them.
extern "C" fn missing() -> CUresult {
    CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER
}

passed_on! {
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor cuCtxCreate cuCtxCreate_v2
    cuCtxDestroy cuCtxPopCurrent cuCtxPushCurrent cuDeviceGetUuid cuDevicePrimaryCtxRelease
    cuDevicePrimaryCtxReset cuDevicePrimaryCtxSetFlags cuDeviceTotalMem cuEGLStreamConsumerAcquireFrame
    cuEGLStreamConsumerConnect cuEGLStreamConsumerConnectWithFlags cuEGLStreamConsumerDisconnect
    cuEGLStreamConsumerReleaseFrame cuEGLStreamProducerConnect cuEGLStreamProducerDisconnect
    cuEGLStreamProducerPresentFrame cuEGLStreamProducerReturnFrame cuEventCreateFromEGLSync
    cuEventDestroy cuEventElapsedTime cuGLCtxCreate cuGLCtxCreate_v2 cuGLGetDevices cuGLGetDevices_v2
    cuGLInit cuGLMapBufferObject cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2
    cuGLMapBufferObjectAsync_v2_ptsz cuGLMapBufferObject_v2 cuGLMapBufferObject_v2_ptds
    cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags cuGLUnmapBufferObject
    cuGLUnmapBufferObjectAsync cuGLUnregisterBufferObject cuGraphInstantiate cuGraphInstantiate_v2
    cuGraphicsEGLRegisterImage cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage
    cuGraphicsResourceGetMappedEglFrame cuGraphicsResourceGetMappedPointer cuGraphicsResourceSetMapFlags
    cuGraphicsVDPAURegisterOutputSurface cuGraphicsVDPAURegisterVideoSurface cuIpcOpenMemHandle
    cuLinkAddData cuLinkAddFile cuLinkCreate cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemFree
    cuMemGetAddressRange cuMemGetInfo cuMemHostGetDevicePointer cuMemHostRegister cuMemcpy2D
    cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpyAtoA cuMemcpyAtoD
    cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH
    cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD cuMemcpyHtoDAsync cuMemsetD16
    cuMemsetD2D16 cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8 cuModuleGetGlobal
    cuProfilerInitialize cuStreamBatchMemOp cuStreamBatchMemOp_ptsz cuStreamDestroy
    cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz cuStreamWaitValue32 cuStreamWaitValue32_ptsz
    cuStreamWaitValue64 cuStreamWaitValue64_ptsz cuStreamWriteValue32 cuStreamWriteValue32_ptsz
    cuStreamWriteValue64 cuStreamWriteValue64_ptsz cuTexRefGetAddress cuTexRefSetAddress
    cuTexRefSetAddress2D cuTexRefSetAddress2D_v2 cuVDPAUCtxCreate cuVDPAUCtxCreate_v2 cuVDPAUGetDevice
}
