// A launch is unsafe.

use cuda_launch::*;

// A launch outside of `unsafe`.
fn safe(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream.launch_builder(f).arg(&mut x).launch(LaunchConfig::for_num_elems(100))?;
    //~ // SAFETY: compiled, never run.
    //+ unsafe { stream.launch_builder(f).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A cooperative launch outside of `unsafe`.
fn cooperative_safe(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream.launch_builder(f).arg(&mut x).launch_cooperative(LaunchConfig::for_num_elems(100))?;
    //~ // SAFETY: compiled, never run.
    //+ unsafe { stream.launch_builder(f).arg(&mut x).launch_cooperative(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A prepared launch outside of `unsafe`.
fn on_safe(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream.launch_builder(f).arg(&mut x).prepare(LaunchConfig::for_num_elems(100))?.launch_on(stream)?;
    //~ // SAFETY: compiled, never run.
    //+ unsafe { stream.launch_builder(f).arg(&mut x).prepare(LaunchConfig::for_num_elems(100))?.launch_on(stream) }?;
    Ok(())
}

fn main() {}
