//! Graphs that kernels launch: what a launch covers, what stays alive, and what is refused.

#![allow(unsafe_code)] // Nodes of `tests/kernels/graph_launches.cu`, whose comments say what they do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod graph_support;

use cuda_harness::skipped;
use cuda_launch::error::GraphError;
use cuda_launch::graph::{GraphExec, InstantiateFlags, KernelNode};
use cuda_launch::module::{JitOptions, LinkInput, Linker};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaGraph, CudaModule, DeviceBuffer, LaunchConfig, cuda_launch, kernel_args};
use graph_support::{Gpu, device_runtime, graph_error};

const KERNELS: &str = include_str!("kernels/graph_launches.ptx");
/// `cudaStreamGraphFireAndForget`
const FORGET: u64 = 2 << 56;
const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (1, 1, 1));

/// The kernels, linked with the device runtime; `None` where there is none.
fn kernels(gpu: &Gpu) -> Option<CudaModule> {
    let mut linker = Linker::new(&gpu.ctx, &JitOptions::default()).unwrap();
    linker.add(KERNELS, "graph_launches").unwrap();
    if gpu.ctx.device_name().unwrap().contains("emulator") {
        // The emulator takes nothing of it but that it is this library.
        let library = b"!<arch>\ncuda_device_runtime.o/";
        unsafe { linker.add_unchecked(LinkInput::Library, library, "libcudadevrt.a") }.unwrap();
    } else {
        let Some(library) = device_runtime() else {
            skipped("no libcudadevrt.a, which has the function, in CUDA_HOME or VIRTUAL_ENV");
            return None;
        };
        // SAFETY: 1: the file is the toolkit's library, which nobody writes to.
        unsafe { linker.add_file_unchecked(LinkInput::Library, &library) }.unwrap();
    }
    Some(linker.complete().unwrap().load(&gpu.ctx).unwrap())
}

/// A graph that launches itself until `counter[0]` is so many; `counter[1..3]` are the last codes.
fn again(gpu: &Gpu, module: &CudaModule, counter: &mut DeviceBuffer<u32>, times: u32) -> CudaGraph {
    let mut graph = gpu.graph();
    let function = module.load_function("again").unwrap();
    let codes = counter.cu_deviceptr() + 4;
    let node = KernelNode::new(&function, ONE, &[], kernel_args![ptr_mut(counter), times, codes]).unwrap();
    unsafe { graph.add_kernel(&[], node) }.unwrap();
    graph
}

fn for_kernels(graph: &CudaGraph) -> GraphExec {
    graph.instantiate(InstantiateFlags::DEVICE_LAUNCH).unwrap()
}

#[test]
fn a_launch_lasts_until_all_that_it_led_to_is_done() {
    let gpu = Gpu::new();
    let Some(module) = kernels(&gpu) else { return };
    let mut counter = gpu.zeros();
    let mut exec = for_kernels(&again(&gpu, &module, &mut counter, 300));
    assert_eq!(exec.flags().unwrap(), InstantiateFlags::DEVICE_LAUNCH);
    exec.launch(&gpu.stream).unwrap();
    // On another stream, which waits for the graph that uses the buffer.
    let other = gpu.ctx.new_stream().unwrap();
    assert_eq!(counter.to_host_vec(&other).unwrap()[..3], [300, 0, 1]);
}

#[test]
fn a_graph_that_launches_itself_may_be_dropped_while_it_runs() {
    let gpu = Gpu::new();
    let Some(module) = kernels(&gpu) else { return };
    let mut counter = gpu.zeros();
    let mut exec = for_kernels(&again(&gpu, &module, &mut counter, 3000));
    exec.launch(&gpu.stream).unwrap();
    drop(exec);
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap()[..3], [3000, 0, 1]);
    // One that does not run is destroyed at once.
    for_kernels(&again(&gpu, &module, &mut counter, 1)).close().unwrap();
}

#[test]
fn a_kernel_launches_the_graphs_whose_handles_it_is_given() {
    let gpu = Gpu::new();
    let Some(module) = kernels(&gpu) else { return };
    let (count, mut counter, mut codes) = (module.load_function("count").unwrap(), gpu.zeros(), gpu.zeros());
    let mut counting = gpu.graph();
    let node = KernelNode::new(&count, ONE, &[], kernel_args![ptr_mut(counter)]).unwrap();
    unsafe { counting.add_kernel(&[], node) }.unwrap();
    let mut execs: Vec<_> = (0..5).map(|_| for_kernels(&counting)).collect();
    execs.iter_mut().for_each(|exec| exec.upload(&gpu.stream).unwrap());
    let handles: Vec<_> = execs.iter().map(|exec| exec.raw() as u64).collect();
    let handles = DeviceBuffer::from_host(&gpu.stream, &handles).unwrap();
    let mut launching = gpu.graph();
    let each = module.load_function("launch_each").unwrap();
    let args = kernel_args![ptr(handles), 5u32, FORGET, ptr_mut(codes)];
    let node = KernelNode::new(&each, ONE, &[], args).unwrap();
    // Duty 2: the graphs live until the wait below, nobody else uses them, and their counter is read when all is done.
    unsafe { launching.add_kernel(&[], node) }.unwrap();
    let mut exec = graph_support::exec(&launching);
    exec.launch(&gpu.stream).unwrap();
    exec.synchronize().unwrap();
    assert_eq!(codes.to_host_vec(&gpu.stream).unwrap()[..5], [0; 5]);
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap()[0], 5);
}

#[test]
fn only_kernels_of_graphs_launch_graphs() {
    let gpu = Gpu::new();
    let Some(module) = kernels(&gpu) else { return };
    let (each, codes) = (module.load_function("launch_each").unwrap(), gpu.zeros());
    let refused = unsafe {
        cuda_launch! { function: each, stream: gpu.stream, config: ONE, args: [0u64, 0u32, FORGET, ptr(codes)] }
    };
    let error = refused.unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    assert!(error.to_string().contains("`CudaGraph::add_kernel`"), "{error}");
    assert_eq!(codes.to_host_vec(&gpu.stream).unwrap()[0], 0, "all else goes on");
}

#[test]
fn what_kernels_cannot_launch_is_named() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    graph.add_host(&[], || {}).unwrap();
    let error = graph_error(graph.instantiate(InstantiateFlags::DEVICE_LAUNCH));
    let GraphError::Instantiate { reason, node, .. } = &error else { panic!("{error}") };
    assert_eq!(*reason, "a kernel cannot launch a graph with such a node");
    assert!(node.as_ref().is_some_and(|node| node.contains("host")), "{error}");
}
