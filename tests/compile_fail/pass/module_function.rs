use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let function = module.load_function("k")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}
