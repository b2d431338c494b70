//! A stream and buffers of cudarc in a launch of this crate, and a buffer of this crate handed to cudarc. One context, one
//! stream, no copy.
//!
//! `cargo run -p cuda-launch-interop --example cudarc`

#![allow(unsafe_code)] // Each `unsafe` vouches for a handle of cudarc's.

use cuda_launch::interop::RawOwnership;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Driver, LaunchConfig, cuda_launch, sys};
use cudarc::driver::{CudaContext as CudarcContext, DevicePtr, DevicePtrMut};
use std::error::Error;
use std::sync::Arc;

#[allow(dead_code)] // A test calls `run`.
fn main() -> Result<(), Box<dyn Error>> {
    run()
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    // cudarc knows only the driver of the system, and panics where there is none. Both libraries load the same one.
    let driver = match Driver::system() {
        Ok(driver) => Arc::new(driver),
        Err(error) => {
            println!(
                "cudarc needs a driver that the system finds. {error}\nThe emulator serves as one: docs/interop.md."
            );
            return Ok(());
        }
    };
    let theirs = CudarcContext::new(0)?;
    let their_stream = theirs.new_stream()?;
    let x = their_stream.clone_htod(&[1.0f32; 1000])?;
    let mut y = their_stream.clone_htod(&[3.0f32; 1000])?;

    // SAFETY: 1: cudarc's context is live, and both have the one driver of the system; 2: the handle owns a share of it.
    let ctx =
        unsafe { CudaContext::from_raw(&driver, theirs.cu_ctx().cast(), Some(Arc::new(theirs.clone()))) }?;
    // SAFETY: 1: a live stream of that context; 2: `their_stream` was declared before all that uses the handle, and so is dropped
    // after it, and the copies to the host below return when the work before them is done; 3: nobody captures it.
    let stream = unsafe { CudaStream::from_raw(&ctx, their_stream.cu_stream().cast()) };
    let saxpy = ctx.load_module(include_str!("../kernels/saxpy.ptx"))?.load_function("saxpy")?;
    {
        // While these guards live cudarc takes the buffers as used; when they go it records that on its stream.
        let (x_address, _x_read) = x.device_ptr(&their_stream);
        let (y_address, _y_written) = y.device_ptr_mut(&their_stream);
        // SAFETY: 1: 1000 floats each, of this context; 2, 3: borrowed, and cudarc frees them later; 4: only the launch below
        // uses them, on cudarc's own stream.
        let (x, mut y) = unsafe {
            (
                DeviceBuffer::<f32>::from_raw_parts(&ctx, x_address, 1000, RawOwnership::Borrowed),
                DeviceBuffer::<f32>::from_raw_parts(&ctx, y_address, 1000, RawOwnership::Borrowed),
            )
        };
        // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats; 3, 4: cudarc keeps both, in the
        // order of the stream; 5: it writes floats; 6: it ends.
        unsafe {
            cuda_launch! {
                function: saxpy, stream: stream, config: LaunchConfig::for_num_elems(1000),
                args: [1000u32, 2.0f32, ptr(x), ptr_mut(y)]
            }
        }?;
    }
    let sum = their_stream.clone_dtoh(&y)?;
    assert_eq!(sum, [5.0; 1000]);
    println!("cudarc reads what this crate launched: 1000 times {}", sum[0]);

    // The other way: what this crate allocated on cudarc's stream, cudarc uses and frees.
    let ours = DeviceBuffer::from_host(&stream, &[7u32; 100])?;
    let (address, len) =
        ours.into_raw_parts().map_err(|_| "a buffer that nothing uses is given out of hand")?;
    // SAFETY: 100 initialised numbers that nobody else frees, allocated as cudarc does: from the device's pool if it has one.
    let back = unsafe { their_stream.upgrade_device_ptr::<u32>(address as sys::CUdeviceptr, len) };
    assert_eq!(their_stream.clone_dtoh(&back)?, [7; 100]);
    println!("cudarc owns a buffer that this crate filled: {len} times 7, on {}", ctx.device_name()?);
    Ok(())
}
