use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, module: &CudaModule) -> Result<(), Error> {
    let _ = f;
    let f = module.load_function("f")?;
    let mut builder = stream.launch_builder(&f);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
