// `slice` takes device memory.

use cuda_launch::*;

// Not a slice of the host.
fn host_slice(module: &CudaModule, stream: &CudaStream, host: &[f32]) -> Result<(), Error> {
    //+ let buffer = DeviceBuffer::from_host(stream, host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(host)],
            //~ args: [slice(buffer)],
        }
    }
}

// A number is a value.
fn integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(3u32)],
            //~ args: [3u32],
        }
    }
}

// A pointer has no length.
fn pointer(module: &CudaModule, stream: &CudaStream, x: &DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(x.as_device_ptr())],
            //~ args: [ptr(x), x.len()],
        }
    }
}

// `slice` takes device memory.
fn vec(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let host = vec![1.0f32; 100];
    //+ let buffer = DeviceBuffer::from_host(stream, &host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(host)],
            //~ args: [slice(buffer)],
        }
    }
}

fn main() {}
