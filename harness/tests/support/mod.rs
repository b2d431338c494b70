//! A program over `cuda_driver_sys`, for spies to watch.

#![allow(unsafe_code, dead_code, unreachable_pub)] // Calls of C functions with what they ask for; each test needs a part of it.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::{CUcontext, CUevent, CUfunction, CUmodule, CUresult, CUstream, Driver};
use cuda_harness::Spy;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// `fill(out, n, value)`
pub const FILL: &str = include_str!("../../../examples/kernels/fill.ptx");

/// A spy over the emulator.
pub fn spy() -> Spy {
    Spy::over(&cuda_emulator::driver()).unwrap()
}

/// A code as a result.
pub fn ok(code: CUresult) -> Result<(), CUresult> {
    if code == CUresult::SUCCESS { Ok(()) } else { Err(code) }
}

/// A driver with a context that is current, until it is dropped.
pub struct Cuda {
    pub driver: Arc<Driver>,
    pub context: CUcontext,
}

// SAFETY: `Driver` may be sent and shared. A CUcontext may be used from every thread: of what a driver makes, its
// documents except graphs alone ("Graph object thread safety").
unsafe impl Send for Cuda {}
// SAFETY: as for `Send`: a shared one gives the driver, which may be shared, and the handle, which nothing here
// follows.
unsafe impl Sync for Cuda {}

impl Cuda {
    pub fn new(driver: Arc<Driver>) -> Cuda {
        let mut context = null_mut();
        unsafe {
            ok(driver.cuInit(0)).unwrap();
            ok(driver.cuDevicePrimaryCtxRetain(&mut context, 0)).unwrap();
            ok(driver.cuCtxSetCurrent(context)).unwrap();
        }
        Cuda { driver, context }
    }

    pub fn make_current(&self) {
        ok(unsafe { self.driver.cuCtxSetCurrent(self.context) }).unwrap();
    }

    pub fn stream(&self) -> CUstream {
        let mut stream = null_mut();
        ok(unsafe { self.driver.cuStreamCreate(&mut stream, 1) }).unwrap();
        stream
    }

    pub fn event(&self) -> CUevent {
        let mut event = null_mut();
        ok(unsafe { self.driver.cuEventCreate(&mut event, 0) }).unwrap();
        event
    }

    pub fn alloc(&self, bytes: usize) -> Result<u64, CUresult> {
        let mut memory = 0;
        ok(unsafe { self.driver.cuMemAlloc(&mut memory, bytes) })?;
        Ok(memory)
    }

    pub fn load(&self, image: &str) -> CUmodule {
        let (image, mut module) = (CString::new(image).unwrap(), null_mut());
        ok(unsafe { self.driver.cuModuleLoadData(&mut module, image.as_ptr().cast()) }).unwrap();
        module
    }

    pub fn function(&self, module: CUmodule, name: &str) -> CUfunction {
        let (name, mut function) = (CString::new(name).unwrap(), null_mut());
        ok(unsafe { self.driver.cuModuleGetFunction(&mut function, module, name.as_ptr()) }).unwrap();
        function
    }

    /// Launches `fill` with 64 threads.
    pub fn fill(
        &self,
        function: CUfunction,
        stream: CUstream,
        out: u64,
        n: u32,
        value: u32,
    ) -> Result<(), CUresult> {
        let (mut out, mut n, mut value) = (out, n, value);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut out).cast(), (&raw mut n).cast(), (&raw mut value).cast()];
        let driver = &self.driver;
        ok(unsafe {
            driver.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut())
        })
    }

    /// A program that makes a bit of everything, and gives it back.
    pub fn program(&self) -> Result<Vec<u32>, CUresult> {
        let (stream, event) = (self.stream(), self.event());
        let module = self.load(FILL);
        let fill = self.function(module, "fill");
        let memory = self.alloc(256)?;
        let mut result = vec![0u32; 64];
        unsafe {
            self.fill(fill, stream, memory, 64, 7)?;
            ok(self.driver.cuEventRecord(event, stream))?;
            ok(self.driver.cuMemcpyDtoHAsync(result.as_mut_ptr().cast(), memory, 256, stream))?;
            ok(self.driver.cuStreamSynchronize(stream))?;
            ok(self.driver.cuMemFree(memory))?;
            ok(self.driver.cuEventDestroy(event))?;
            ok(self.driver.cuModuleUnload(module))?;
            ok(self.driver.cuStreamDestroy(stream))?;
        }
        Ok(result)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        let _ = unsafe { self.driver.cuDevicePrimaryCtxRelease(0) };
    }
}
