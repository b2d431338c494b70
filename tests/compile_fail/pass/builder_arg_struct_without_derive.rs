use cuda_launch::*;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Body {
    _mass: f32,
}

fn launch(stream: &CudaStream, f: &CudaFunction, body: Body) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&body).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
