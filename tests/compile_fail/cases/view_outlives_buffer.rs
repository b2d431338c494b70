// A view keeps its buffer borrowed.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let buffer = DeviceBuffer::<f32>::zeroed(stream, 100)?;
    let view = buffer.slice(..50);
    buffer.close()?;
    //~
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(50),
            args: [slice(view)],
        }
    }
    //~ }?;
    //+ buffer.close()
}

fn main() {}
