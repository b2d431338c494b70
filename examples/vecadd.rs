//! The first program: adds two vectors with a kernel from a sidecar file, on a GPU or on the emulator.
//!
//! `cargo run --example vecadd`

use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, cuda_launch, load_kernel_module};
use std::time::Instant;

fn main() -> Result<(), Error> {
    let n = 1 << 20;
    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let module = load_kernel_module(&ctx, "vecadd")?; // finds vecadd.{cubin,fatbin,ptx}; says where it looked

    let a = DeviceBuffer::from_host(&stream, &vec![1.0f32; n])?;
    let b = DeviceBuffer::from_host(&stream, &vec![2.0f32; n])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, n)?;

    let start = Instant::now();
    // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the buffers live, and nobody else uses them, until
    // to_host_vec below has waited for the stream; 5: it writes floats; 6: it ends.
    #[allow(unsafe_code)]
    unsafe {
        cuda_launch! {
            kernel: vecadd,
            stream: stream,
            module: module,
            config: LaunchConfig::for_num_elems(n as u32), // 256 threads per block, grid = ceil(n / 256)
            args: [slice(a), slice(b), slice_mut(c)]
        }
    }?;
    stream.synchronize()?;
    let took = start.elapsed();

    let host = c.to_host_vec(&stream)?;
    assert!(host.iter().all(|&x| x == 3.0));
    let sum: f64 = host.iter().map(|&x| f64::from(x)).sum();
    println!("{n} sums, all 3; together {sum}");
    let version = ctx.driver_version();
    println!("ran on {}, CUDA {}.{}", ctx.device_name()?, version / 1000, version % 1000 / 10);
    println!("launch and wait took {took:.1?}");
    Ok(())
}
