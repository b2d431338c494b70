use cuda_launch::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Params {
    table: DevicePtr<[f32; 256]>,
}

fn launch(module: &CudaModule, stream: &CudaStream, table: &DeviceBuffer<[f32; 256]>) -> Result<(), Error> {
    let params = Params { table: table.as_device_ptr() };
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
