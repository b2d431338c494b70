// `slice_mut` borrows for writing.

use cuda_launch::*;

// Shared buffers are for reading.
fn arc(module: &CudaModule, stream: &CudaStream, x: std::sync::Arc<DeviceBuffer<f32>>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x)],
            //~ args: [slice(x)],
        }
    }
}

// A buffer to write to is mutable.
fn immutable(module: &CudaModule, stream: &CudaStream, x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn immutable(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x)],
        }
    }
}

// Or borrowed as mutable.
fn reference(module: &CudaModule, stream: &CudaStream, x: &DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn reference(module: &CudaModule, stream: &CudaStream, x: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x)],
        }
    }
}

fn main() {}
