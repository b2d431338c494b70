// The device cannot follow an address of the host, whatever holds it.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, slice: &[f32]) -> Result<(), Error> {
    let (vector, text) = (vec![1.0f32; 100], String::from("text"));
    let (number, mut written) = (1.0f32, 1.0f32);
    //+ let mut output = DeviceBuffer::<f32>::zeroed(stream, 1)?;
    //+ let input = DeviceBuffer::from_host(stream, &vector)?;
    //+ let bytes = DeviceBuffer::from_host(stream, text.as_bytes())?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [
                vector,
                //~ slice(input),
                slice,
                //~ ptr(input),
                slice.as_ptr(),
                //~ ptr(input),
                text,
                //~ slice(bytes),
                "text",
                //~ *b"text",
                &number,
                //~ number,
                &mut written,
                //~ ptr_mut(output),
                &[1.0f32, 2.0],
                //~ [1.0f32, 2.0],
            ],
        }
    }
}

fn main() {}
