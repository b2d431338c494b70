// What one argument writes, no other argument of the launch reads or writes.

use cuda_launch::*;

// What is read is not written.
fn then_slice_mut(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn then_slice_mut(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(x), slice_mut(x)],
            //~ args: [slice(y), slice_mut(x)],
        }
    }
}

// In either order.
fn mut_then_slice(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn mut_then_slice(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x), slice(x)],
            //~ args: [slice_mut(x), slice(y)],
        }
    }
}

// What is written is written through one argument.
fn mut_twice(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    //+ let (left, right) = x.split_at_mut(50);
    //+ let (mut left, mut right) = (left, right);
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x), slice_mut(x)],
            //~ args: [slice_mut(left), slice_mut(right)],
        }
    }
}

// Not while a view is in use.
fn mut_while_viewed(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let view = x.slice(50..);
    //~ let (mut left, right) = x.split_at_mut(50);
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x), slice(view)],
            //~ args: [slice_mut(left), slice(right)],
        }
    }
}

fn main() {}
