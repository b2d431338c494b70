//! A program that uses cudarc, run once for each of its driver calls with that call failing: how does it react, and what does it leak?
//!
//! It starts itself, with the variables of the emulator's library, so that a run that panics does not affect the others.
//!
//! ```console
//! $ cargo build -p cuda-launch-interop --example every_failure
//! $ cuda-launch harness -- target/debug/examples/every_failure
//! ```

#![allow(unsafe_code)] // Vouches for the arguments of a launch.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::error::Error;
use std::process::ExitCode;

#[allow(dead_code)] // A test calls the parts.
mod failures;
#[allow(unused_imports)] // Likewise.
pub(crate) use failures::{Row, TOLD, every_failure};

/// The program that is tested.
pub(crate) fn saxpy() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(include_str!("../kernels/saxpy.ptx")))?;
    let saxpy = module.load_function("saxpy")?;
    let x = stream.clone_htod(&[1.0f32; 1000])?;
    let mut y = stream.clone_htod(&[3.0f32; 1000])?;
    let (count, factor) = (1000u32, 2.0f32);
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&count).arg(&factor).arg(&x).arg(&mut y);
    // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats; 3, 4: the builder borrows, keeps and
    // orders both buffers; 5: it writes floats; 6: it ends.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?;
    let result = stream.clone_dtoh(&y)?;
    stream.synchronize()?;
    if result == [5.0; 1000] { Ok(()) } else { Err("a wrong result".into()) }
}

#[allow(dead_code)] // A test calls the parts.
fn main() -> ExitCode {
    failures::main_of(saxpy)
}
