//! The program of `../every_failure.rs`, with cust. `cargo xtask gate cust` builds and runs it:
//!
//! ```console
//! $ CUDA_LIBRARY_PATH=CUDA cargo build          # CUDA/lib64/libcuda.so: a driver, or a library with its symbols
//! $ cuda-launch harness -- target/debug/cuda-launch-interop-cust
//! ```

use cust::prelude::*;
use std::error::Error;
use std::process::ExitCode;

#[path = "../failures.rs"]
mod failures;

fn saxpy() -> Result<(), Box<dyn Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(include_str!("../../kernels/saxpy.ptx"), &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let saxpy = module.get_function("saxpy")?;
    let x = DeviceBuffer::from_slice(&[1.0f32; 1000])?;
    let y = DeviceBuffer::from_slice(&[3.0f32; 1000])?;
    // SAFETY: saxpy takes a count, a factor and two pointers to that many floats, both of which live until the stream has been
    // waited for; it writes floats, and ends.
    unsafe { launch!(saxpy<<<4, 256, 0, stream>>>(1000u32, 2.0f32, x.as_device_ptr(), y.as_device_ptr())) }?;
    stream.synchronize()?;
    let mut result = [0.0f32; 1000];
    y.copy_to(&mut result)?;
    if result == [5.0; 1000] { Ok(()) } else { Err("a wrong result".into()) }
}

fn main() -> ExitCode {
    failures::main_of(saxpy)
}
