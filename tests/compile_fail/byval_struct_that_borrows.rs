// A structure with a reference into the host.

use cuda_launch::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Params<'a> {
    table: &'a [f32; 256],
}

fn launch(module: &CudaModule, stream: &CudaStream, table: &[f32; 256]) -> Result<(), Error> {
    let params = Params { table };
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(params)],
        }
    }
}

fn main() {}
