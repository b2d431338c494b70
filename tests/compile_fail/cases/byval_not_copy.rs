// `byval` copies what it passes.

use cuda_launch::*;

// A buffer is not copied.
fn buffer(module: &CudaModule, stream: &CudaStream, x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(x)],
            //~ args: [ptr(x)],
        }
    }
}

// `byval` copies bytes: the value is `Copy`.
fn string(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let text = String::from("text");
    //~ let length = "text".len();
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(text)],
            //~ args: [byval(length)],
        }
    }
}

// A closure is `Copy` if what it captures is.
fn closure_of_vec(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let table = vec![1u32, 2, 3];
    //~ let table = [1u32, 2, 3];
    let add = move |i: usize| table[i];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(add)],
        }
    }
}

// What is not `Copy` is not passed as bytes, borrowed or not.
fn borrowed_string(module: &CudaModule, stream: &CudaStream, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval_borrowed(text)],
            //~ args: [byval_borrowed(text.as_bytes())],
        }
    }
}

fn main() {}
