use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _n: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream
            .launch_builder(f)
            .arg(&mut stream.alloc_zeros::<u32>(1)?)
            .launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}
