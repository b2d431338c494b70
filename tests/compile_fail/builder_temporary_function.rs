// A function that is gone at the end of its statement.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, module: &CudaModule) -> Result<(), Error> {
    let _ = f;
    let mut builder = stream.launch_builder(&module.load_function("f")?);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
