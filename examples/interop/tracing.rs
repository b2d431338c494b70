//! The driver calls of a program as spans: module loads, launches with their shape, copies, waits, allocations.
//!
//! `cargo run -p cuda-launch-interop --example tracing` (your own program needs feature `tracing` of `cuda-launch`)

use cuda_launch::{CudaContext, CudaModule, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

fn main() -> Result<(), Error> {
    // A line for each span when it is over, with the time that the host was in it. The target says what it is.
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(Level::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .init();

    let ctx = CudaContext::new(0)?;
    let module = ctx.load_module(include_str!("../kernels/vecadd.ptx"))?;
    let sum = tracing::info_span!("one sum", n = 1000).in_scope(|| add(&ctx, &module))?;
    assert_eq!(sum, [3.0; 1000]);
    println!("1000 sums, all 3, on {}", ctx.device_name()?);
    Ok(())
}

fn add(ctx: &CudaContext, module: &CudaModule) -> Result<Vec<f32>, Error> {
    let stream = ctx.new_stream()?;
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1000])?;
    let b = DeviceBuffer::from_host(&stream, &[2.0f32; 1000])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the buffers live, and nobody else uses them, until
    // to_host_vec below has waited for the stream; 5: it writes floats; 6: it ends.
    #[allow(unsafe_code)]
    unsafe {
        cuda_launch! {
            kernel: vecadd,
            stream: stream,
            module: module,
            config: LaunchConfig::for_num_elems(1000),
            args: [slice(a), slice(b), slice_mut(c)]
        }
    }?;
    c.to_host_vec(&stream)
}
