//! What a profiler records.

#![allow(unsafe_code)] // Calls two functions that the driver hands out by name: they take nothing.

use cuda_driver_sys::CUresult;
use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

use super::context::CudaContext;
use super::{host_call, older};
use crate::error::Error;
use crate::trace;

/// A section of the program that a profiler records, from [`Profiler::start`] until this is dropped.
///
/// It has an effect under a profiler that waits for it (`nsys profile -c cudaProfilerApi`,
/// `ncu --profile-from-start off`); without one, nothing happens. There is one recording for the whole process: starts
/// are not counted, so the first end stops it.
///
/// ```
/// use cuda_launch::diagnostics::Profiler;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let recording = Profiler::start(&ctx)?;
/// // the launches to look at
/// recording.stop()?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped"]
#[doc(alias = "cuProfilerStart")]
pub struct Profiler {
    context: CudaContext,
    running: bool,
}

impl Profiler {
    /// Starts a recording.
    ///
    /// Driver calls: `cuGetProcAddress`, `cuProfilerStart`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn start(context: &CudaContext) -> Result<Self, Error> {
        call(context, "cuProfilerStart", c"cuProfilerStart")?;
        Ok(Self { context: context.clone(), running: true })
    }

    /// Stops the recording, and reports any error.
    ///
    /// Work that is still running is recorded until it ends: wait for it first if that matters.
    ///
    /// Driver calls: `cuGetProcAddress`, `cuProfilerStop`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuProfilerStop")]
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        if !self.running {
            return Ok(());
        }
        // Still running: the drop that follows passes it on.
        host_call::refuse("cuProfilerStop")?;
        self.running = false;
        call(&self.context, "cuProfilerStop", c"cuProfilerStop")
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if self.running && host_call::is_running() {
            let rest = Self { context: self.context.clone(), running: std::mem::take(&mut self.running) };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `stop` tells.
        let _ = trace::contained(|| self.end());
    }
}

/// Calls a function of the profiler's header, which the table of the driver does not have.
fn call(context: &CudaContext, call: &'static str, name: &CStr) -> Result<(), Error> {
    let (mut found, version) = (null_mut(), i32::try_from(context.driver_version()).unwrap_or(i32::MAX));
    let asked = || format!("{name:?}");
    // SAFETY: 1: the name is a `CStr`, which ends with a NUL; it and the output outlive the call; the flags are 0, which
    // `get_proc_address` passes.
    context.call("cuGetProcAddress", asked, |driver| unsafe {
        older::get_proc_address(driver, name, &mut found, version)
    })?;
    // SAFETY: the driver found the pointer under the name of `cuProfilerStart` or `cuProfilerStop`, the only two that callers pass: both
    // take nothing and return a code, since CUDA 4.0. An `Option` of a function has the size of a pointer, and null becomes `None`.
    let function = unsafe { transmute::<*mut c_void, Option<unsafe extern "C" fn() -> CUresult>>(found) };
    let Some(function) = function else {
        return Err(context.failed(CUresult::CUDA_ERROR_NOT_FOUND, "cuGetProcAddress", format!("{name:?}")));
    };
    // SAFETY: the function takes nothing, and asks for a current context, which `call` makes; the context's handle keeps the driver that
    // has it.
    context.call(call, String::new, |_| unsafe { function() })
}
