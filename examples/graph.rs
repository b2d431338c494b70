//! A graph three ways: recorded from a stream, built node by node, and as a launch plan with an argument set by name.
//!
//! `cargo run --example graph`

#![allow(unsafe_code)] // Launches of saxpy: `n` is the length of both buffers, which the graphs keep and order.

use cuda_launch::graph::{CopyNode, DotFlags, HostMemory, InstantiateFlags, KernelNode};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error, LaunchConfig, LaunchPlan, cuda_launch,
    kernel_args,
};

fn main() -> Result<(), Error> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.new_stream()?;
    let module = ctx.load_module(include_str!("kernels/saxpy.ptx"))?;
    let n = 1000u32;
    let config = LaunchConfig::for_num_elems(n);
    let x = DeviceBuffer::from_host(&stream, &vec![1.0f32; n as usize])?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n as usize)?;

    // Recorded: everything that the closure submits to its stream. A wait inside would be refused; an error or a panic ends the capture.
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        y.view_mut().set_zero(stream)?;
        for _ in 0..3 {
            // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers, reads `n` elements of x and writes as many of y; 3,
            // 4: the graph keeps and orders both buffers; 5: it writes floats; 6: it ends.
            unsafe {
                cuda_launch! { kernel: saxpy, module: module, stream: stream, config: config,
                args: [n, 2.0f32, ptr(x), ptr_mut(y)] }
            }?;
        }
        Ok(())
    })?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    println!("recorded: {} nodes, y[0] = {}", graph.nodes().len(), y.to_host_vec(&stream)?[0]);

    // Built: nodes and what they wait for. The arguments are checked against the kernel as in a launch.
    let result = HostMemory::new(vec![0.0f32; n as usize]);
    let saxpy = module.load_function("saxpy")?;
    let mut graph = CudaGraph::new(&ctx)?;
    let node = KernelNode::new(&saxpy, config, &[], kernel_args![n, 0.5f32, ptr(x), ptr_mut(y)])?;
    // SAFETY: 1: as for the recorded launches, for every launch: the node keeps and orders both buffers, and the copy,
    // the only other node that uses one, comes after it.
    let kernel = unsafe { graph.add_kernel(&[], node) }?;
    let copy = graph.add_copy(&[kernel], CopyNode::device_to_host(&y, &result)?)?;
    graph.add_host(&[copy], || println!("built: the copy is done"))?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.launch(&stream)?;
    exec.synchronize()?;
    // SAFETY: 1: the host has waited for the only launch; 2: nothing but launches writes it.
    println!("built: y[0] = {}", unsafe { result.to_vec() }[0]);
    println!("built: {} bytes of DOT", graph.to_dot(DotFlags::empty())?.len());

    // A plan: replayed by one driver call, changed by name.
    let mut plan = LaunchPlan::record(&ctx, |stream| {
        y.view_mut().set_zero(stream)?;
        // SAFETY: 1 to 6: as for the recorded launches: the plan keeps and orders both buffers.
        unsafe {
            cuda_launch! { kernel: saxpy, module: module, stream: stream, config: config,
            args: [n, named("alpha", 1.0f32), ptr(x), ptr_mut(y)] }
        }
    })?;
    for alpha in [1.0f32, 10.0, 100.0] {
        // SAFETY: 1: saxpy takes any factor.
        unsafe { plan.set("alpha", alpha) }?;
        plan.launch(&stream)?;
        println!("plan: alpha = {alpha}, y[0] = {}", y.to_host_vec(&stream)?[0]);
    }
    Ok(())
}
