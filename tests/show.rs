//! `Debug` of handles: one line, which names the object and says nothing of what it is made of.

#![allow(unsafe_code)] // A launch.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::graph::InstantiateFlags;
use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer, LaunchConfig, cuda_launch};
use std::fmt::Debug;

fn shown(handle: &impl Debug, name: &str) -> String {
    let text = format!("{handle:?}");
    assert!(text.starts_with(name) && text.len() < 160 && !text.contains("Mutex"), "{text}");
    text
}

#[test]
fn handles_print_one_line() {
    let ctx = CudaContext::new(0).unwrap();
    let (stream, event) = (ctx.new_stream().unwrap(), ctx.new_event().unwrap());
    let module = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    let function = module.load_function("fill").unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (64, 1, 1));
    unsafe {
        cuda_launch! { kernel: "fill", stream: stream, module: module, config: config, args: [ptr_mut(buffer), 64_u32, 3_u32] }
    }
    .unwrap();
    let graph = CudaGraph::new(&ctx).unwrap();
    assert!(shown(&ctx, "CudaContext {").contains("device: 0"));
    shown(&stream, "CudaStream {");
    shown(&event, "CudaEvent(AnyEvent {");
    shown(&module, "CudaModule {");
    assert!(shown(&function, "CudaFunction {").contains("fill"));
    assert!(shown(&buffer, "DeviceBuffer<u32> {").contains("len: 64"));
    assert!(shown(&buffer.slice(8..16), "DeviceView<u32> {").contains("len: 8"));
    shown(&graph, "CudaGraph {");
    shown(&graph.instantiate(InstantiateFlags::empty()).unwrap(), "GraphExec {");
}
