//! A typed module: the kernel file is read at compile time, and a declaration that does not match it is a compile
//! error. A kernel declared as `safe fn` is launched without `unsafe`: `vecadd` receives the lengths of its slices; the contract of
//! `saxpy`, which receives bare addresses, says how long the memory has to be.
//!
//! `cargo run --example typed`

use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, cuda_module};

#[cuda_module("kernels/typed.ptx")] // relative to the crate; embedded in the binary
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise. Its author promises that it stays inside the slices: safe to launch.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        /// y = alpha * x + y for the first n elements.
        #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
        pub safe fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        /// out = the sum of the first n elements of x, by 4 blocks of 256 threads, with one element of partial for each. `n` is limited so
        /// that the 32-bit index of its loop does not wrap.
        #[cooperative_launch]
        #[launch_contract(
            block = (256, 1, 1),
            grid = (4, 1, 1),
            requires = (x.len() >= n as usize, n <= 1 << 31, partial.len() >= 4, !out.is_empty())
        )]
        pub safe fn grid_sum(x: *const u32, n: u32, partial: *mut u32, out: *mut u32);
        /// Each block's rank in its cluster.
        #[cluster_launch(4, 1, 1)]
        pub safe fn ranks(out: &mut [u32]);
    }
}

fn main() -> Result<(), Error> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let module = kernels::load(&ctx)?; // looks each kernel up, here and never again
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1024])?;
    let b = DeviceBuffer::from_host(&stream, &[2.0f32; 1024])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1024)?;
    let config = LaunchConfig::for_num_elems(1024);

    module.vecadd(&stream, config, &a, &b, &mut c)?;
    assert_eq!(c.to_host_vec(&stream)?, [3.0; 1024]);

    module.saxpy(&stream, config, 1024, 2.0, &a, &mut c)?;
    assert_eq!(c.to_host_vec(&stream)?, [5.0; 1024]);

    let x = DeviceBuffer::from_host(&stream, &(0..1024u32).collect::<Vec<_>>())?;
    let mut partial = DeviceBuffer::<u32>::zeroed(&stream, 4)?;
    let mut sum = DeviceBuffer::<u32>::zeroed(&stream, 1)?;
    module.grid_sum(&stream, config, &x, 1024, &mut partial, &mut sum)?;
    assert_eq!(sum.to_host_vec(&stream)?, [1023 * 1024 / 2]);

    let eight = LaunchConfig::new((8, 1, 1), (32, 1, 1));
    let mut ranks = DeviceBuffer::<u32>::zeroed(&stream, 8)?;
    module.ranks(&stream, eight, &mut ranks)?;
    assert_eq!(ranks.to_host_vec(&stream)?, [0, 1, 2, 3, 0, 1, 2, 3]);

    println!("vecadd, saxpy, grid_sum and ranks on {}: as expected", ctx.device_name()?);
    Ok(())
}
