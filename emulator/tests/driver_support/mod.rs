//! What the tests of the driver share.
//!
//! Relies on the emulator not to dereference handles and on each test for the pointers it passes.
#![allow(unsafe_code, dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

pub mod graphs;

use cuda_driver_sys::*;
use std::ffi::{CString, c_void};
use std::process::{Command, Output};
use std::ptr::{null, null_mut};
use std::sync::{Arc, mpsc};

/// Kernels that the tests need, each named for what it does.
pub const KERNELS: &str = include_str!("kernels.ptx");

/// Whether the tests ask the system's driver, as `CUDA_LAUNCH_DRIVER=system` says.
pub fn on_system() -> bool {
    std::env::var("CUDA_LAUNCH_DRIVER").as_deref() == Ok("system")
}

/// The driver, not initialised.
pub fn driver() -> Arc<Driver> {
    if on_system() { Arc::new(Driver::system().unwrap()) } else { cuda_emulator::driver() }
}

/// The driver, initialised.
pub fn cuda() -> Arc<Driver> {
    let cuda = driver();
    ok(unsafe { cuda.cuInit(0) });
    cuda
}

/// The driver with the primary context current on this thread.
pub fn with_context() -> (Arc<Driver>, CUcontext) {
    let cuda = cuda();
    let mut context = null_mut();
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    (cuda, context)
}

/// The driver with a context of this test's own current on this thread: tests run side by side, and the legacy stream
/// of a context that they share would make them wait for each other.
pub fn with_own_context() -> (Arc<Driver>, CUcontext) {
    let cuda = cuda();
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    (cuda, context)
}

#[track_caller]
pub fn ok(code: CUresult) {
    assert_eq!(code, CUresult::SUCCESS);
}

/// Loads PTX.
pub fn load(cuda: &Driver, ptx: &str) -> CUmodule {
    let mut module = null_mut();
    let text = CString::new(ptx).unwrap();
    ok(unsafe { cuda.cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    module
}

/// A kernel of a module.
#[track_caller]
pub fn function(cuda: &Driver, module: CUmodule, name: &str) -> CUfunction {
    let mut function = null_mut();
    let name = CString::new(name).unwrap();
    ok(unsafe { cuda.cuModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

pub fn alloc(cuda: &Driver, bytes: usize) -> CUdeviceptr {
    let mut address = 0;
    ok(unsafe { cuda.cuMemAlloc(&mut address, bytes) });
    address
}

pub fn stream(cuda: &Driver, flags: u32) -> CUstream {
    let mut stream = null_mut();
    ok(unsafe { cuda.cuStreamCreate(&mut stream, flags) });
    stream
}

pub fn event(cuda: &Driver, flags: u32) -> CUevent {
    let mut event = null_mut();
    ok(unsafe { cuda.cuEventCreate(&mut event, flags) });
    event
}

/// A launch of one block of one thread.
pub fn launch(
    cuda: &Driver,
    function: CUfunction,
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> CUresult {
    launch_as(cuda, function, [1; 3], [1; 3], 0, stream, arguments.as_mut_ptr(), null_mut())
}

/// Any launch.
#[allow(clippy::too_many_arguments)]
pub fn launch_as(
    cuda: &Driver,
    function: CUfunction,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    stream: CUstream,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    unsafe { cuda.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra) }
}

/// The address of a value, as an argument.
pub fn argument<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Keeps a stream busy until it is dropped or released.
pub struct Busy(Option<mpsc::Sender<()>>);

impl Busy {
    pub fn new(cuda: &Driver, stream: CUstream) -> Busy {
        unsafe extern "C" fn wait(data: *mut c_void) {
            let release = unsafe { Box::from_raw(data.cast::<mpsc::Receiver<()>>()) };
            let _ = release.recv();
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let data = Box::into_raw(Box::new(receiver));
        ok(unsafe { cuda.cuLaunchHostFunc(stream, Some(wait), data.cast()) });
        Busy(Some(sender))
    }

    pub fn release(&mut self) {
        self.0.take();
    }
}

/// Calls a closure when the stream gets there.
pub fn host_function(cuda: &Driver, stream: CUstream, call: impl FnOnce() + Send + 'static) -> CUresult {
    unsafe extern "C" fn run(data: *mut c_void) {
        let call = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
        call();
    }
    let data: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(call));
    unsafe { cuda.cuLaunchHostFunc(stream, Some(run), Box::into_raw(data).cast()) }
}

/// Calls a closure with the status when the stream gets there.
pub fn callback(cuda: &Driver, stream: CUstream, call: impl FnOnce(CUresult) + Send + 'static) -> CUresult {
    unsafe extern "C" fn run(_: CUstream, status: CUresult, data: *mut c_void) {
        let call = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce(CUresult) + Send>>()) };
        call(status);
    }
    let data: Box<Box<dyn FnOnce(CUresult) + Send>> = Box::new(Box::new(call));
    unsafe { cuda.cuStreamAddCallback(stream, Some(run), Box::into_raw(data).cast(), 0) }
}

/// Runs one test of this binary in a process of its own, with variables set.
pub fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// A device buffer's bytes.
pub fn read(cuda: &Driver, address: CUdeviceptr, bytes: usize) -> Vec<u8> {
    let mut host = vec![0xee; bytes];
    ok(unsafe { cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), address, bytes) });
    host
}

pub fn write(cuda: &Driver, address: CUdeviceptr, bytes: &[u8]) {
    ok(unsafe { cuda.cuMemcpyHtoD(address, bytes.as_ptr().cast(), bytes.len()) });
}

/// Loads an image with both JIT logs; the code, the error log and the info log.
pub fn load_with_logs(cuda: &Driver, image: *const c_void) -> (CUresult, String, String) {
    let (mut error, mut info) = (vec![0_u8; 4096], vec![0_u8; 4096]);
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    ];
    let size = std::ptr::without_provenance_mut::<c_void>(4096);
    let mut values = [error.as_mut_ptr().cast(), size, info.as_mut_ptr().cast(), size];
    let mut module = null_mut();
    let code =
        unsafe { cuda.cuModuleLoadDataEx(&mut module, image, 4, options.as_mut_ptr(), values.as_mut_ptr()) };
    let text =
        |bytes: &[u8], length: *mut c_void| String::from_utf8(bytes[..length.addr()].to_vec()).unwrap();
    (code, text(&error, values[1]), text(&info, values[3]))
}

/// Nothing.
pub const NOTHING: *const c_void = null();
