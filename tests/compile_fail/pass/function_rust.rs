use cuda_launch::*;

fn launch(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
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
