// `byval` copies what it passes.

use cuda_launch::*;

// A buffer as it stands.
fn buffer(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A `String` as it stands.
fn string(stream: &CudaStream, f: &CudaFunction, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&text).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice(&stream.clone_htod(text.as_bytes())?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A closure that holds host memory.
fn closure_of_vec(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    let sum = move || data.iter().sum::<f32>();
    //~ let sum = data.iter().sum::<f32>();
    //+ let add = move |x: f32| x + sum;
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&sum).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).byval(&add).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
