use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    let sum = data.iter().sum::<f32>();
    let add = move |x: f32| x + sum;
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&add).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
