//! A driver of Rust functions that launch nothing: it answers enough for a launch, counts what is called, and copies the
//! packet that it is given. Works under Miri, and costs next to nothing in a benchmark.

#![allow(unsafe_code, dead_code, unreachable_pub)] // A table of C functions; each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::sys::{self, CUresult, Driver, pfn};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const OK: CUresult = CUresult::SUCCESS;

type Meanwhile = Option<Box<dyn FnOnce()>>;

/// What the calls of this thread did. Tests run on a thread each, so they do not disturb each other.
#[derive(Default)]
pub struct Log {
    /// Calls since the last [`reset`], without `cuCtxGetCurrent`.
    pub calls: Cell<usize>,
    /// `cuCtxGetCurrent`.
    pub queries: Cell<usize>,
    /// Calls that order or end work, and the streams they were asked of.
    pub marks: RefCell<Vec<(&'static str, usize)>>,
    /// Streams made so far.
    streams: Cell<usize>,
    /// `cuLaunchKernelEx` among them.
    pub launches: Cell<usize>,
    /// The bytes behind each pointer of the last packet, by the sizes set with [`expect_parameters`].
    pub packet: RefCell<Vec<Vec<u8>>>,
    /// Ids of the attributes of the last launch.
    pub attributes: RefCell<Vec<u32>>,
    /// The last launch's grid, block and shared memory.
    pub config: Cell<[u32; 7]>,
    /// What the next call that submits work does first.
    meanwhile: RefCell<Meanwhile>,
    /// What the next `cuEventRecord` does first.
    recording: RefCell<Meanwhile>,
    sizes: RefCell<Vec<usize>>,
    current: Cell<usize>,
    answer: Cell<u32>,
    /// Where this is not current, if it is not 0.
    answers_without: Cell<usize>,
    version: Cell<i32>,
    /// The threads per block that each function allows.
    pub threads: Cell<i32>,
}

thread_local! {
    pub static LOG: Log = Log { version: Cell::new(13000), threads: Cell::new(1024), ..Log::default() };
}

/// The sizes that `cuFuncGetParamInfo` tells from now on, for functions looked up later.
pub fn expect_parameters(sizes: &[usize]) {
    LOG.with(|log| *log.sizes.borrow_mut() = sizes.to_vec());
}

/// The next call of this thread that submits work, or waits for the context, runs `meanwhile` before the driver has taken it.
pub fn during_next_submission(meanwhile: impl FnOnce() + 'static) {
    LOG.with(|log| *log.meanwhile.borrow_mut() = Some(Box::new(meanwhile)));
}

/// The next `cuEventRecord` of this thread runs `meanwhile` before the driver has taken it, as where the stream is full.
pub fn during_next_record(meanwhile: impl FnOnce() + 'static) {
    LOG.with(|log| *log.recording.borrow_mut() = Some(Box::new(meanwhile)));
}

/// Counts a call that submits work.
fn submission() {
    count();
    run_meanwhile();
}

fn run_meanwhile() {
    let meanwhile = LOG.with(|log| log.meanwhile.borrow_mut().take());
    meanwhile.into_iter().for_each(|meanwhile| meanwhile());
}

/// The code that `cuLaunchKernelEx` answers from now on.
pub fn answer(code: CUresult) {
    LOG.with(|log| {
        log.answer.set(code.0);
        log.answers_without.set(0);
    });
}

/// The same as long as the context with this handle is not current.
pub fn answer_unless_current(code: CUresult, context: usize) {
    answer(code);
    LOG.with(|log| log.answers_without.set(context));
}

/// Forgets what was counted.
pub fn reset() {
    LOG.with(|log| {
        log.calls.set(0);
        log.launches.set(0);
        log.queries.set(0);
        log.marks.borrow_mut().clear();
    });
}

/// What ordered or ended work since the last [`reset`], each with its stream: `record` and `wait` of events, `free`,
/// `destroy`, and `idle` for `cuCtxSynchronize`.
pub fn marks() -> Vec<(&'static str, usize)> {
    LOG.with(|log| log.marks.borrow().clone())
}

/// `(calls, launches)` since the last [`reset`].
pub fn counted() -> (usize, usize) {
    LOG.with(|log| (log.calls.get(), log.launches.get()))
}

/// The table. Functions in `hidden` are missing from it.
pub fn driver(hidden: &'static [&'static str]) -> Arc<Driver> {
    driver_of_version(13000, hidden)
}

/// The table of a driver that says it is this version.
pub fn driver_of_version(version: i32, hidden: &'static [&'static str]) -> Arc<Driver> {
    LOG.with(|log| log.version.set(version));
    // SAFETY: 1: `lookup` gives each name a function of its signature, which `pfn` checks, or null; it does what a launch needs of
    // the documented behaviour; 2: they are functions of this program.
    Arc::new(unsafe {
        Driver::from_lookup(
            |name| if hidden.contains(&name.to_str().unwrap()) { ptr::null() } else { lookup(name) },
        )
    })
}

macro_rules! table {
    ($($name:ident = $function:expr;)*) => {
        pub fn lookup(name: &CStr) -> *const c_void {
            match name.to_str().unwrap() {
                $(stringify!($name) => {
                    let function: pfn::$name = $function;
                    function as *const c_void
                })*
                _ => ptr::null(),
            }
        }
    };
}

fn count() {
    LOG.with(|log| log.calls.set(log.calls.get() + 1));
}

/// Counts the call and writes `value` to `out`.
///
/// # Safety
/// 1. `out` is the output of a driver's function, as its caller passed it: this crate, with a place that outlives the call.
unsafe fn give<T>(out: *mut T, value: T) -> CUresult {
    count();
    // SAFETY: the caller's duty 1.
    unsafe { out.write(value) };
    OK
}

fn handle<T>(n: usize) -> *mut T {
    ptr::without_provenance_mut(n)
}

table! {
    cuInit = init;
    cuDriverGetVersion = version;
    cuDeviceGet = device_get;
    cuDeviceGetAttribute = device_attribute;
    cuDeviceGetCount = device_count;
    cuDevicePrimaryCtxRetain = retain;
    cuDevicePrimaryCtxRelease_v2 = release;
    cuCtxGetCurrent = get_current;
    cuCtxSetCurrent = set_current;
    cuCtxSynchronize = ctx_synchronize;
    cuMemcpyDtoDAsync_v2 = dtod;
    cuMemcpyPeerAsync = peer;
    cuStreamCreateWithPriority = stream_create;
    cuStreamSynchronize = stream_synchronize;
    cuStreamQuery = stream_query;
    cuEventQuery = event_query;
    cuStreamDestroy_v2 = stream_destroy;
    cuEventCreate = event_create;
    cuEventDestroy_v2 = event_destroy;
    cuModuleLoadDataEx = module_load;
    cuModuleUnload = module_unload;
    cuModuleGetFunction = get_function;
    cuFuncGetAttribute = func_attribute;
    cuFuncSetAttribute = func_set_attribute;
    cuFuncGetParamInfo = param_info;
    cuEventRecord = event_record;
    cuStreamWaitEvent = stream_wait_event;
    cuMemAllocAsync = mem_alloc_async;
    cuMemFreeAsync = mem_free_async;
    cuMemAlloc_v2 = mem_alloc;
    cuMemFree_v2 = mem_free;
    cuMemsetD8Async = memset;
    cuMemcpyHtoDAsync_v2 = htod;
    cuMemcpyDtoHAsync_v2 = dtoh;
    cuLaunchKernelEx = launch_ex;
    cuLaunchKernel = launch;
}

unsafe extern "C" fn init(_: c_uint) -> CUresult {
    OK
}

unsafe extern "C" fn version(out: *mut c_int) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, LOG.with(|log| log.version.get())) }
}

unsafe extern "C" fn device_get(out: *mut sys::CUdevice, ordinal: c_int) -> CUresult {
    // SAFETY: 1: it is this function's output.
    if ordinal < 2 { unsafe { give(out, ordinal) } } else { CUresult::CUDA_ERROR_INVALID_DEVICE }
}

unsafe extern "C" fn device_count(out: *mut c_int) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, 2) }
}

unsafe extern "C" fn device_attribute(
    out: *mut c_int,
    which: sys::CUdevice_attribute,
    _: sys::CUdevice,
) -> CUresult {
    use sys::CUdevice_attribute as A;
    let value = match which {
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        | A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
        | A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => 1024,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => 64,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => i32::MAX,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y | A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => 65535,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 49152,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 232_448,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
        A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 132,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        _ => 1,
    };
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, value) }
}

/// Device 0 has context 0x1000, device 1 has 0x2000.
unsafe extern "C" fn retain(out: *mut sys::CUcontext, device: sys::CUdevice) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, handle(0x1000 * (device as usize + 1))) }
}

unsafe extern "C" fn release(_: sys::CUdevice) -> CUresult {
    count();
    OK
}

unsafe extern "C" fn get_current(out: *mut sys::CUcontext) -> CUresult {
    LOG.with(|log| log.queries.set(log.queries.get() + 1));
    // SAFETY: `cuCtxGetCurrent`, which this stands for, is given a place for a handle, which outlives the call.
    unsafe { out.write(handle(LOG.with(|log| log.current.get()))) };
    OK
}

unsafe extern "C" fn set_current(context: sys::CUcontext) -> CUresult {
    count();
    LOG.with(|log| log.current.set(context.addr()));
    OK
}

unsafe extern "C" fn ctx_synchronize() -> CUresult {
    run_meanwhile();
    mark("idle", ptr::null_mut())
}

unsafe extern "C" fn stream_create(out: *mut sys::CUstream, _: c_uint, _: c_int) -> CUresult {
    let number = LOG.with(|log| log.streams.replace(log.streams.get() + 1));
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, handle(0x5000 + number)) }
}

fn mark(what: &'static str, stream: sys::CUstream) -> CUresult {
    count();
    LOG.with(|log| log.marks.borrow_mut().push((what, stream.addr())));
    OK
}

unsafe extern "C" fn event_record(_: sys::CUevent, stream: sys::CUstream) -> CUresult {
    let meanwhile = LOG.with(|log| log.recording.borrow_mut().take());
    meanwhile.into_iter().for_each(|meanwhile| meanwhile());
    mark("record", stream)
}

unsafe extern "C" fn stream_wait_event(stream: sys::CUstream, _: sys::CUevent, _: c_uint) -> CUresult {
    mark("wait", stream)
}

/// Another one for each allocation, so that tests of packets tell buffers apart.
fn fresh_address() -> sys::CUdeviceptr {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    0x3000_0000_0000 + (COUNT.fetch_add(1, Ordering::Relaxed) << 36)
}

unsafe extern "C" fn mem_alloc_async(out: *mut sys::CUdeviceptr, _: usize, _: sys::CUstream) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, fresh_address()) }
}

unsafe extern "C" fn mem_free_async(_: sys::CUdeviceptr, stream: sys::CUstream) -> CUresult {
    mark("free", stream)
}

unsafe extern "C" fn stream_synchronize(_: sys::CUstream) -> CUresult {
    count();
    OK
}

/// What `cuStreamQuery` and `cuEventQuery` answer, on all threads: a thread of the crate asks.
static PROGRESS: AtomicU32 = AtomicU32::new(OK.0);

/// What those who ask for the progress of work are told from now on, on all threads.
pub fn progress(code: CUresult) {
    PROGRESS.store(code.0, Ordering::SeqCst);
}

unsafe extern "C" fn stream_query(_: sys::CUstream) -> CUresult {
    count();
    CUresult(PROGRESS.load(Ordering::SeqCst))
}

unsafe extern "C" fn event_query(_: sys::CUevent) -> CUresult {
    count();
    CUresult(PROGRESS.load(Ordering::SeqCst))
}

unsafe extern "C" fn stream_destroy(stream: sys::CUstream) -> CUresult {
    mark("destroy", stream)
}

unsafe extern "C" fn event_create(out: *mut sys::CUevent, _: c_uint) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, handle(0x6000)) }
}

unsafe extern "C" fn event_destroy(_: sys::CUevent) -> CUresult {
    count();
    OK
}

unsafe extern "C" fn module_load(
    out: *mut sys::CUmodule,
    _: *const c_void,
    _: c_uint,
    _: *mut sys::CUjit_option,
    _: *mut *mut c_void,
) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, handle(0x7000)) }
}

unsafe extern "C" fn module_unload(_: sys::CUmodule) -> CUresult {
    count();
    OK
}

unsafe extern "C" fn get_function(
    out: *mut sys::CUfunction,
    _: sys::CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: by the contract of `cuModuleGetFunction`, which this stands for, the name is text that ends in NUL.
    if unsafe { CStr::from_ptr(name) }.to_bytes() == b"missing" {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, handle(0x8000)) }
}

unsafe extern "C" fn func_attribute(
    out: *mut c_int,
    which: sys::CUfunction_attribute,
    _: sys::CUfunction,
) -> CUresult {
    use sys::CUfunction_attribute as A;
    let value = match which {
        A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => LOG.with(|log| log.threads.get()),
        A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => 49152,
        A::CU_FUNC_ATTRIBUTE_NUM_REGS => 32,
        _ => 0,
    };
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, value) }
}

unsafe extern "C" fn func_set_attribute(
    _: sys::CUfunction,
    _: sys::CUfunction_attribute,
    _: c_int,
) -> CUresult {
    count();
    OK
}

unsafe extern "C" fn param_info(
    _: sys::CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    let found = LOG.with(|log| log.sizes.borrow().get(index).copied());
    let Some(bytes) = found else { return CUresult::CUDA_ERROR_INVALID_VALUE };
    // SAFETY: 1: they are this function's outputs.
    unsafe {
        let _ = give(offset, 0);
        give(size, bytes)
    }
}

unsafe extern "C" fn mem_alloc(out: *mut sys::CUdeviceptr, _: usize) -> CUresult {
    // SAFETY: 1: it is this function's output.
    unsafe { give(out, fresh_address()) }
}

unsafe extern "C" fn mem_free(_: sys::CUdeviceptr) -> CUresult {
    count();
    OK
}

unsafe extern "C" fn memset(_: sys::CUdeviceptr, _: u8, _: usize, _: sys::CUstream) -> CUresult {
    submission();
    OK
}

unsafe extern "C" fn htod(_: sys::CUdeviceptr, _: *const c_void, _: usize, _: sys::CUstream) -> CUresult {
    submission();
    OK
}

unsafe extern "C" fn dtod(_: sys::CUdeviceptr, _: sys::CUdeviceptr, _: usize, _: sys::CUstream) -> CUresult {
    submission();
    OK
}

unsafe extern "C" fn peer(
    _: sys::CUdeviceptr,
    _: sys::CUcontext,
    _: sys::CUdeviceptr,
    _: sys::CUcontext,
    _: usize,
    _: sys::CUstream,
) -> CUresult {
    submission();
    OK
}

unsafe extern "C" fn dtoh(out: *mut c_void, _: sys::CUdeviceptr, bytes: usize, _: sys::CUstream) -> CUresult {
    count();
    // SAFETY: by the contract of `cuMemcpyDtoHAsync`, which this stands for, `out` is good for writes of `bytes` bytes.
    unsafe { ptr::write_bytes(out.cast::<u8>(), 0, bytes) };
    OK
}

/// Copies the packet by the sizes that were told: what a driver does, so that Miri sees it.
unsafe extern "C" fn launch_ex(
    config: *const sys::CUlaunchConfig,
    _: sys::CUfunction,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    assert!(extra.is_null());
    LOG.with(|log| {
        log.calls.set(log.calls.get() + 1);
        log.launches.set(log.launches.get() + 1);
        // SAFETY: by the contract of `cuLaunchKernelEx`, which this stands for, `config` is aligned, set, and has
        // `numAttrs` attributes, and `params` has a pointer for each parameter that `cuFuncGetParamInfo` tells, `sizes`
        // here. Of `copy`: 1: each goes to that many bytes, set or padding, which nobody writes during the call;
        // `bytes` is new.
        unsafe {
            let c = &*config;
            log.config.set([
                c.gridDimX,
                c.gridDimY,
                c.gridDimZ,
                c.blockDimX,
                c.blockDimY,
                c.blockDimZ,
                c.sharedMemBytes,
            ]);
            *log.attributes.borrow_mut() = (0..c.numAttrs as usize).map(|i| (*c.attrs.add(i)).id.0).collect();
            let copy = |(i, &size): (usize, &usize)| {
                let mut bytes = vec![0u8; size];
                cuda_emulator::memory::passed::copy((*params.add(i)).cast::<u8>(), &mut bytes);
                bytes
            };
            *log.packet.borrow_mut() = log.sizes.borrow().iter().enumerate().map(copy).collect();
        }
        let without = log.answers_without.get();
        if without != 0 && without == log.current.get() { OK } else { CUresult(log.answer.get()) }
    })
}

#[allow(clippy::too_many_arguments)] // the driver's
unsafe extern "C" fn launch(
    _: sys::CUfunction,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: sys::CUstream,
    _: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    OK
}
