//! A driver that takes its time: the next call of a thread that submits work sleeps first, where the thread asks for it. So other
//! threads come between what the crate does before the call and what it does after it, on any machine. And one that tells whether host
//! memory is unregistered, or a pool or an array destroyed, too early: a driver may wait then, and nobody would see it otherwise.

#![allow(unsafe_code)] // Forwards C functions.
#![allow(clippy::too_many_arguments)]

use cuda_launch::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUfunction, CUgraphExec, CUlaunchConfig,
    CUmemoryPool, CUmipmappedArray, CUresult, CUstream, Driver, pfn,
};
use cuda_launch::{CudaStream, Error};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

static BASE: OnceLock<Arc<Driver>> = OnceLock::new();

thread_local! {
    /// Microseconds that the next call of this thread that submits work sleeps.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// How slow the next submission of a thread is, in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// So long its stream is busy with something else: whoever does not wait for it is too early.
    pub(crate) busy: u64,
    /// So long the driver takes.
    pub(crate) pause: u64,
}

impl Pace {
    /// This thread gives work to the stream next.
    pub(crate) fn set(self, stream: &CudaStream) -> Result<(), Error> {
        if self.busy > 0 {
            stream.call_host(move || thread::sleep(Duration::from_micros(self.busy)))?;
        }
        NEXT.set(self.pause);
        Ok(())
    }
}

/// Whether work has ended.
type Ended = Arc<AtomicBool>;

/// What must have ended before the next call that unregisters host memory, which is 0 here, or that destroys the object with this handle.
static LENT: Mutex<Vec<(usize, Ended)>> = Mutex::new(Vec::new());
static EARLY: Mutex<Option<&str>> = Mutex::new(None);

/// What the stream is given until now, and what is done before that, must have ended when this pool or array is destroyed.
pub(crate) fn ends_before(handle: usize, stream: &CudaStream, busy: u64) -> Result<(), Error> {
    let ended = Ended::default();
    LENT.lock().unwrap().push((handle, ended.clone()));
    stream.call_host(move || {
        thread::sleep(Duration::from_micros(busy));
        ended.store(true, Ordering::SeqCst);
    })
}

/// The same for host memory that is unregistered next.
pub(crate) fn ends_before_unregister(stream: &CudaStream, busy: u64) -> Result<(), Error> {
    ends_before(0, stream, busy)
}

/// Panics if it had not.
pub(crate) fn nothing_ended_early() {
    assert_eq!(EARLY.lock().unwrap().take(), None);
}

fn ends(what: usize, early: &'static str) {
    let mut lent = LENT.lock().unwrap();
    if lent.extract_if(.., |(of, _)| *of == what).any(|(_, ended)| !ended.load(Ordering::SeqCst)) {
        *EARLY.lock().unwrap() = Some(early);
    }
}

#[allow(non_snake_case)]
unsafe extern "C" fn cuMemHostUnregister(start: *mut c_void) -> CUresult {
    ends(0, "memory comes back before the copies have ended");
    // SAFETY: it stands for this function: its caller meets the duties for just this argument.
    unsafe { BASE.get().unwrap().cuMemHostUnregister(start) }
}

#[allow(non_snake_case)]
unsafe extern "C" fn cuMemPoolDestroy(pool: CUmemoryPool) -> CUresult {
    ends(pool.addr(), "a pool ends before the work with its memory");
    // SAFETY: it stands for this function: its caller meets the duties for just this argument.
    unsafe { BASE.get().unwrap().cuMemPoolDestroy(pool) }
}

#[allow(non_snake_case)]
unsafe extern "C" fn cuArrayDestroy(array: CUarray) -> CUresult {
    ends(array.addr(), "an array ends before the work with it");
    // SAFETY: as above.
    unsafe { BASE.get().unwrap().cuArrayDestroy(array) }
}

#[allow(non_snake_case)]
unsafe extern "C" fn cuMipmappedArrayDestroy(array: CUmipmappedArray) -> CUresult {
    ends(array.addr(), "a mipmapped array ends before the work with it");
    // SAFETY: as above.
    unsafe { BASE.get().unwrap().cuMipmappedArrayDestroy(array) }
}

/// This driver, whose submissions can be made to sleep.
pub(crate) fn driver(base: Arc<Driver>) -> Arc<Driver> {
    let base = BASE.get_or_init(|| base);
    let lookup = |name: &CStr| {
        let name = name.to_str().unwrap();
        let (fast, slow) = (base.address(name), slow(name));
        if fast.is_null() || slow.is_null() { fast } else { slow }
    };
    // SAFETY: 1: the base's own functions, and those of `slow`, whose signatures `pfn` checks and which call them; 2: `BASE`
    // keeps the base.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

macro_rules! slow {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        #[allow(non_snake_case)]
        mod functions {
            use super::*;
            $(pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                thread::sleep(Duration::from_micros(NEXT.take()));
                // SAFETY: it stands for this function: its caller meets the duties for just these arguments.
                unsafe { BASE.get().unwrap().$name($($argument),*) }
            })*
        }

        fn slow(name: &str) -> *const c_void {
            match name {
                "cuMemHostUnregister" => {
                    let function: pfn::cuMemHostUnregister = cuMemHostUnregister;
                    function as *const c_void
                }
                "cuMemPoolDestroy" => {
                    let function: pfn::cuMemPoolDestroy = cuMemPoolDestroy;
                    function as *const c_void
                }
                "cuArrayDestroy" => {
                    let function: pfn::cuArrayDestroy = cuArrayDestroy;
                    function as *const c_void
                }
                "cuMipmappedArrayDestroy" => {
                    let function: pfn::cuMipmappedArrayDestroy = cuMipmappedArrayDestroy;
                    function as *const c_void
                }
                $(stringify!($name) => {
                    let function: pfn::$name = functions::$name;
                    function as *const c_void
                })*
                _ => std::ptr::null(),
            }
        }
    };
}

slow! {
    cuMemsetD8Async(target: CUdeviceptr, value: u8, len: usize, stream: CUstream);
    cuMemsetD32Async(target: CUdeviceptr, value: u32, len: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemsetD2D32Async(target: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(target: *mut c_void, source: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyHtoDAsync_v2(target: CUdeviceptr, source: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream);
    cuLaunchKernel(f: CUfunction, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    cuLaunchKernelEx(config: *const CUlaunchConfig, f: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
}
