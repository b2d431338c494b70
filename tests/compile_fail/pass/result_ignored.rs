use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) {
    // SAFETY: compiled, never run.
    unsafe {
        let result = cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        };
        assert!(result.is_ok());
    }
}
