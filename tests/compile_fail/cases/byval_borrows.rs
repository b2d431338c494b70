// What is passed by value may hold no reference to the host.

use cuda_launch::*;

// A closure that borrows the host is 8 bytes too, and the device cannot follow them.
fn closure_that_borrows(module: &CudaModule, stream: &CudaStream, data: &[u32; 4]) -> Result<(), Error> {
    let scale = 3u32;
    //+ let own = move |x: u32| x * scale;
    let sum = || data.iter().sum::<u32>() * scale;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(sum)],
            //~ args: [byval(own), byval_borrowed(sum)],
        }
    }
}

// A structure with a reference into the host.
mod struct_that_borrows {
    use super::*;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Params<'a> {
    //~ struct Params {
        table: &'a [f32; 256],
        //~ table: DevicePtr<[f32; 256]>,
    }

    fn launch(module: &CudaModule, stream: &CudaStream, table: &[f32; 256]) -> Result<(), Error> {
    //~ fn launch(module: &CudaModule, stream: &CudaStream, table: &DeviceBuffer<[f32; 256]>) -> Result<(), Error> {
        let params = Params { table };
        //~ let params = Params { table: table.as_device_ptr() };
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
}

fn main() {}
