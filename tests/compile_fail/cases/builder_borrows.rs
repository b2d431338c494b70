// A builder keeps borrowed what it was given.

use cuda_launch::*;

// A buffer that is gone before the launch.
fn buffer_moved(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    builder.arg(&x);
    drop(x);
    //~
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    //+ drop(x);
    Ok(())
}

// A buffer that is read while a builder may write it.
fn buffer_used_between(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    builder.arg(&mut x);
    let host = x.to_host_vec(stream)?;
    //~
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    drop(host);
    //~ drop(x.to_host_vec(stream)?);
    Ok(())
}

// An event that is gone before the launch.
fn attribute_outlives_event(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    //+ let event = stream.context().new_event()?;
    let mut builder = stream.launch_builder(f);
    let event = stream.context().new_event()?;
    //~
    builder.attribute(Attribute::launch_completion_event(&event));
    drop(event);
    //~
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
