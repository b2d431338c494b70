// Each form of an argument takes one expression, `named` a name besides.

use cuda_launch::*;

// One value each.
fn byval_two(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(1u32, 2u32)],
            //~ args: [byval(1u32), byval(2u32)],
        }
    }
}

// One buffer each.
fn slice_two(
    module: &CudaModule,
    stream: &CudaStream,
    x: &DeviceBuffer<f32>,
    y: &DeviceBuffer<f32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(x, y)],
            //~ args: [slice(x), slice(y)],
        }
    }
}

// One buffer.
fn slice_nothing(module: &CudaModule, stream: &CudaStream, x: &DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice()],
            //~ args: [slice(x)],
        }
    }
}

// A name is not enough.
fn named_nothing(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [named("n")],
            //~ args: [named("n", 1u32)],
        }
    }
}

// A name stands for one argument.
fn named_two(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [named("n", 1u32, 2u32)],
            //~ args: [named("n", 1u32), named("m", 2u32)],
        }
    }
}

fn main() {}
