use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.new_stream()?;
    let module = ctx.load_module(include_str!("vecadd.ptx"))?;
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1000])?;
    let b = DeviceBuffer::from_host(&stream, &[2.0f32; 1000])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the buffers live, and nobody else uses them, until
    // to_host_vec below has waited for the stream; 5: it writes floats; 6: it ends.
    unsafe {
        cuda_launch! {
            kernel: vecadd,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(1000),
            args: [slice(a), slice(b), slice_mut(c)]
        }
    }?;
    println!("{:?}", &c.to_host_vec(&stream)?[..3]);
    Ok(())
}
