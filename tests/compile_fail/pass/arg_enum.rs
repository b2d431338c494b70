use cuda_launch::*;

#[derive(Clone, Copy)]
#[repr(u32)]
enum Mode {
    Fast = 1,
}

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [Mode::Fast as u32, byval(Mode::Fast)],
        }
    }
}
