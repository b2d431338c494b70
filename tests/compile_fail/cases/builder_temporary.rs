// A builder refers to its arguments until it launches.

use cuda_launch::*;

// A function that is gone at the end of its statement.
fn builder_temporary_function(
    stream: &CudaStream,
    f: &CudaFunction,
    module: &CudaModule,
) -> Result<(), Error> {
    let _ = f;
    let mut builder = stream.launch_builder(&module.load_function("f")?);
    //~ let f = module.load_function("f")?;
    //+ let mut builder = stream.launch_builder(&f);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A value that is gone at the end of its statement.
fn number(stream: &CudaStream, f: &CudaFunction, n: u32) -> Result<(), Error> {
    //+ let count = n + 1;
    let mut builder = stream.launch_builder(f);
    builder.arg(&(n + 1));
    //~ builder.arg(&count);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A pointer that is gone at the end of its statement.
fn pointer(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    //+ let pointer = x.as_device_ptr();
    let mut builder = stream.launch_builder(f);
    builder.arg(&x.as_device_ptr());
    //~ builder.arg(&pointer);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A view that is gone at the end of its statement.
fn view(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    //+ let view = x.slice(1..);
    let mut builder = stream.launch_builder(f);
    builder.arg(&x.slice(1..));
    //~ builder.arg(&view);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
