//! A kernel of a graph that faults is named. Alone in its program, because a fault ends CUDA for the process.

#![allow(unsafe_code)] // A kernel that stops itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::error::UnfinishedLaunch;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaGraph, DeviceBuffer, ErrorKind, LaunchConfig, cuda_launch};

#[test]
fn the_kernels_of_a_graph_that_was_launched_are_suspects_and_everything_is_dropped_in_peace() {
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let mut words = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (32, 1, 1));
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| unsafe {
        cuda_launch! { kernel: trap_at, module: module, stream: stream, config: config,
        args: [0u32, 5u32, ptr_mut(words)] }
    })
    .unwrap();
    let harmless = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| unsafe {
        cuda_launch! { kernel: write_u32, module: module, stream: stream, config: config,
        args: [ptr_mut(words), 0u64, 1u32] }
    })
    .unwrap();
    let mut refused = harmless.instantiate(InstantiateFlags::empty()).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    spies::fail_calls_of(&spy, "cuGraphLaunch", CUresult::CUDA_ERROR_UNKNOWN);
    assert_eq!(refused.launch(&stream).unwrap_err().call(), Some("cuGraphLaunch"));
    spies::watch(&spy);
    exec.launch(&stream).unwrap();
    let error = exec.synchronize().unwrap_err();
    assert!(error.is_sticky(), "{error}");
    let ErrorKind::Faulted(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(fault.unfinished, [UnfinishedLaunch::Kernel("trap_at".into())]);
    assert!(exec.launch(&stream).unwrap_err().is_sticky());
    drop((exec, refused, graph, harmless, words, module));
}
