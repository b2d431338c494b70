use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let (mut left, right) = x.split_at_mut(50);
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(left), slice(right)],
        }
    }
}
