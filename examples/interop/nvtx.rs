//! Ranges and marks for a tool's timeline. Without a tool they have no effect; with one they are shown above the kernels:
//!
//! `cargo run -p cuda-launch-interop --example nvtx`
//! `nsys profile --trace=cuda,nvtx target/debug/examples/nvtx` (your own program needs feature `nvtx` of `cuda-launch`)

use cuda_launch::nvtx::{self, Domain, Event, Tool};
use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, cuda_launch};

fn main() -> Result<(), Error> {
    match nvtx::tool() {
        Tool::Attached => println!("a tool listens"),
        Tool::Failed(why) => println!("no tool: {why}"),
        _ => println!("no tool listens; `nsys profile --trace=cuda,nvtx` starts a program with one"),
    }
    let ctx = CudaContext::new(0)?;
    let stream = ctx.new_stream()?;
    nvtx::name_stream(&stream, "sums");
    let domain = Domain::new("cuda-launch example");

    let load = domain.range("load"); // until the guard is dropped; ranges of a thread nest
    let module = ctx.load_module(include_str!("../kernels/vecadd.ptx"))?;
    drop(load);

    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1000])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    let until_read = nvtx::start("launched, not read yet"); // may end on another thread
    for step in 0..3u64 {
        let _step = domain.range(Event::new("step").color(0xff_76_b9_00).payload(step));
        // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the buffers live, and nobody else uses them,
        // until to_host_vec below has waited for the stream; 5: it writes floats; 6: it ends.
        #[allow(unsafe_code)]
        unsafe {
            cuda_launch! {
                kernel: vecadd, stream: stream, module: module, config: LaunchConfig::for_num_elems(1000),
                args: [slice(a), slice(a), slice_mut(c)]
            }
        }?;
    }
    let sum = c.to_host_vec(&stream)?;
    drop(until_read);
    nvtx::mark("read");
    assert_eq!(sum, [2.0; 1000]);
    println!("1000 sums, all 2, on {}", ctx.device_name()?);
    Ok(())
}
