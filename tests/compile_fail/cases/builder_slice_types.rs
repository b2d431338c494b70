// The forms of an argument take what they take in `cuda_launch!`.

use cuda_launch::*;

// The address of host memory.
fn slice_vec(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).slice(&data).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice(&stream.clone_htod(&data)?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A view that is only read.
fn slice_mut_view(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).slice_mut(&mut x.slice(5..)).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice_mut(&mut x.slice_mut(5..)).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A buffer where a value is taken.
fn set_buffer(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream.launch_builder(f).named("x", &mut x).prepare(LaunchConfig::for_num_elems(100))?.set("x", x)
    //~ stream.launch_builder(f).named("x", &mut x).prepare(LaunchConfig::for_num_elems(100))?.set_slice_mut("x", &mut x)
}

fn main() {}
