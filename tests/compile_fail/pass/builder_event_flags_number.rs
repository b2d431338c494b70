use cuda_launch::*;
use cuda_launch::event::EventFlags;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream
            .launch_builder(f)
            .record_kernel_launch(EventFlags::empty())
            .launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}
