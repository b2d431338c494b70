// Values of another type than the method takes.

use cuda_launch::*;

// A cluster of one dimension.
fn cluster_number(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).cluster_dim(2).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).cluster_dim((2, 1, 1)).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A number for flags.
mod event_flags_number {
    use super::*;

    //+ use cuda_launch::event::EventFlags;

    fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { stream.launch_builder(f).record_kernel_launch(0).launch(LaunchConfig::for_num_elems(100)) }?;
        //~ unsafe { stream.launch_builder(f).record_kernel_launch(EventFlags::empty()).launch(LaunchConfig::for_num_elems(100)) }?;
        Ok(())
    }
}

// A number where a configuration is taken.
fn launch_number(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&3u32).launch(256) }?;
    //~ unsafe { stream.launch_builder(f).arg(&3u32).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// Memory that is written, by a shared reference.
fn set_slice_mut_shared(
    stream: &CudaStream,
    f: &CudaFunction,
    mut x: DeviceBuffer<f32>,
) -> Result<(), Error> {
    stream.launch_builder(f).named("x", &mut x).prepare(LaunchConfig::for_num_elems(100))?.set_slice_mut("x", &x)
    //~ stream.launch_builder(f).named("x", &mut x).prepare(LaunchConfig::for_num_elems(100))?.set_slice_mut("x", &mut x)
}

// What is written without `&mut`.
fn slice_mut_shared(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).slice_mut(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice_mut(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
