//! Asynchronous operations: chains, branches, your own kernels, borrowed and owned memory, on tokio.
//!
//! Operations are descriptions; nothing runs until one is scheduled. No executor is assumed: `operation::block_on`, pollster
//! or smol work as well. Run it with `cargo run --example async`; the first run builds further dependencies, such as tokio.

use cuda_launch::operation::{self, DeviceOperation, ExecutionContext, value, with_context, zip};
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaFunction, DeviceBuffer, Error, LaunchConfig, cuda_launch_async,
    cuda_module,
};
use std::sync::Arc;

#[cuda_module("examples/kernels/vecadd.ptx")] // relative to the crate; embedded in the binary
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise. Its author promises that it stays inside the slices: safe to launch.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

/// Your own kernel as an operation: typed fields outside, `unsafe` only in `execute`.
struct Scale {
    f: CudaFunction,
    n: u32,
    factor: f32,
    input: Arc<DeviceBuffer<f32>>,
    output: DeviceBuffer<f32>,
}

impl DeviceOperation for Scale {
    type Output = (Arc<DeviceBuffer<f32>>, DeviceBuffer<f32>);

    #[allow(unsafe_code)]
    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let mut launch = AsyncKernelLaunch::new(&self.f);
        launch.value(&self.n).value(&self.factor).ptr(&self.input).ptr_mut(&mut self.output);
        launch.set_launch_config(LaunchConfig::for_num_elems(self.n));
        // SAFETY: 1, 2: scale takes a count, a factor and two pointers to that many floats: `main`, which alone makes a
        // `Scale`, gives it two buffers of `n`; 3, 4: buffers are ordered; 5, 6: it writes floats, and ends.
        unsafe { launch.execute(cx)? };
        Ok((self.input, self.output))
    }
}

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::expect_used)] // A task that nobody cancels.
#[allow(unsafe_code)]
async fn main() -> Result<(), Error> {
    operation::init_device_contexts(0, 1)?; // default device, number of devices; a pool of streams for each
    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let module = kernels::load(&ctx)?; // feature `async` adds *_async and *_async_owned
    let n = 1 << 20;
    let config = LaunchConfig::for_num_elems(n as u32);

    // Borrowed: the buffers stay borrowed until the operation is done.
    let a = DeviceBuffer::from_host(&stream, &vec![1.0f32; n])?;
    let b = DeviceBuffer::from_host(&stream, &vec![2.0f32; n])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    module.vecadd_async(config, &a, &b, &mut c)?.sync()?;
    assert_eq!(c.to_host_vec(&stream)?, vec![3.0; n]);

    // Owned: may be spawned and stored; the buffers come back.
    let op = module.vecadd_async_owned(config, a, b, c)?;
    let (a, _b, c) = tokio::spawn(op.into_future()).await.expect("not cancelled")?;
    assert_eq!(c.to_host_vec(&stream)?, vec![3.0; n]);

    // A chain runs on one stream; zip! runs its branches on streams of their own.
    let scale = ctx.load_module(include_str!("kernels/scale.ptx"))?.load_function("scale")?;
    let z = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    let op = value((Arc::new(c), z)).and_then({
        let scale = scale.clone();
        move |(c, z)| Scale { f: scale, n: n as u32, factor: 10.0, input: c, output: z }
    });
    let other = with_context(|cx: &ExecutionContext| {
        let _ = cx.stream();
        value(7u32)
    });
    let ((_c, z), seven) = zip!(op, other).await?;
    assert_eq!((z.to_host_vec(&stream)?, seven), (vec![30.0; n], 7));

    // The unsafe macro, lazily: no stream is named; the schedule chooses one.
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    // SAFETY: 1 to 6: as in `Scale`: `a` and `out` have `n` floats, are borrowed until the operation is awaited, and are ordered.
    unsafe {
        cuda_launch_async! { function: scale, config: config, args: [n as u32, 0.5f32, ptr(a), ptr_mut(out)] }
    }
    .await?;
    assert_eq!(out.to_host_vec(&stream)?, vec![0.5; n]);
    println!("{n} elements: 1 + 2 = 3, times 10 = 30; 1 / 2 = 0.5");
    Ok(())
}
