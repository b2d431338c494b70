//! Every driver call of programs that use graphs, host functions, events, libraries, the linker and two devices fails once, or
//! from then on: always a typed error, never a panic, and nothing is left behind.

#![allow(unsafe_code)] // Launches of saxpy, scale and fill: lengths as the buffers have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/failures.rs"]
mod failures;

use cuda_launch::graph::{
    Branches, CopyNode, DotFlags, Edge, HostMemory, InstantiateFlags, KernelNode, MemsetNode,
};
use cuda_launch::module::{CudaLibrary, FunctionAttribute, JitOptions, Linker};
use cuda_launch::sys::CUresult;
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, SurfaceObject};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error, LaunchConfig, LaunchPlan, cuda_launch,
    kernel_args,
};
use failures::each_call_fails;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const N: usize = 100;
const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (128, 1, 1));
const SAXPY: &str = include_str!("../examples/kernels/saxpy.ptx");
const FILL: &str = include_str!("../examples/kernels/fill.ptx");

/// A host function that counts its calls.
fn count(calls: &Arc<AtomicU32>) -> impl Fn() + Send + Sync + 'static + use<> {
    let calls = calls.clone();
    move || {
        calls.fetch_add(1, Ordering::Relaxed);
    }
}

fn captures(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let module = ctx.load_module(FILL)?;
    let (mut x, mut y) = (DeviceBuffer::<u32>::zeroed(&stream, N)?, DeviceBuffer::<u32>::zeroed(&stream, N)?);
    // What is dropped inside is given back after the capture.
    let array = CudaArray::<f32>::new(ctx, ArrayShape::D1 { width: 8 }, ArrayFlags::SURFACE)?;
    let unused = (SurfaceObject::new(&array)?, array, DeviceBuffer::<u32>::zeroed(&stream, N)?);
    let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
        drop(unused);
        x.view_mut().set_zero(stream)?;
        unsafe {
            cuda_launch! { kernel: fill, module: module, stream: stream, config: CONFIG,
            args: [ptr_mut(x), N as u32, 7u32] }
        }?;
        let fork = stream.fork()?;
        y.view_mut().copy_from_device(&fork, &x)?;
        stream.join(&fork)
    })?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.launch(&stream)?;
    exec.launch(&other)?;
    assert_eq!(y.to_host_vec(&stream)?, [7; N]);
    let mut into = CudaGraph::new(ctx)?;
    let first = into.add_empty(&[])?;
    into.capture_into(&[first], CaptureMode::Relaxed, |stream| y.view_mut().set_zero(stream))?;
    drop(graph);
    into.close()?;
    // The last launch may be running when the graph goes.
    exec.launch(&stream)
}

fn nodes(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let fill = ctx.load_module(FILL)?.load_function("fill")?;
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, N)?;
    let (source, result) = (HostMemory::new(vec![3u32; N]), HostMemory::new(vec![0u32; N]));
    let (event, calls) = (Arc::new(ctx.new_event()?), Arc::new(AtomicU32::new(0)));
    let mut graph = CudaGraph::new(ctx)?;
    let up = graph.add_copy(&[], CopyNode::host_to_device(&source, &mut x)?)?;
    let node = |x: &mut DeviceBuffer<u32>, value: u32| {
        KernelNode::new(&fill, CONFIG, &[], kernel_args![ptr_mut(x), N as u32, value])
    };
    let kernel = unsafe { graph.add_kernel(&[up], node(&mut x, 4)?) }?;
    let down = graph.add_copy(&[kernel], CopyNode::device_to_host(&x, &result)?)?;
    let memset = graph.add_memset(&[down], MemsetNode::new(&mut x, 1)?)?;
    let host = graph.add_host(&[memset], count(&calls))?;
    let record = graph.add_event_record(&[host], &event)?;
    let empty = graph.add_empty(&[])?;
    graph.add_dependency(empty, record, Edge::FULL)?;
    graph.dependencies()?;
    let mut child = CudaGraph::new(ctx)?;
    child.add_empty(&[])?;
    graph.add_child(&[record], &child)?;
    graph.to_dot(DotFlags::empty())?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.upload(&stream)?;
    exec.launch(&stream)?;
    exec.synchronize()?;
    assert_eq!((unsafe { result.to_vec() }, calls.load(Ordering::Relaxed)), (vec![4; N], 1));
    unsafe { exec.set_kernel(kernel, node(&mut x, 5)?) }?;
    exec.set_memset(memset, MemsetNode::new(&mut x, 2)?)?;
    exec.set_host(host, || ())?;
    exec.set_event_record(record, &Arc::new(ctx.new_event()?))?;
    exec.set_enabled(memset, false)?;
    exec.launch(&stream)?;
    exec.synchronize()?;
    assert_eq!(unsafe { result.to_vec() }, [5; N]);
    exec.update(&graph)?;
    exec.launch(&stream)?;
    exec.close()
}

fn conditions_memory_and_clones(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let fill = ctx.load_module(FILL)?.load_function("fill")?;
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, N)?;
    let mut graph = CudaGraph::new(ctx)?;
    let condition = graph.add_condition(Some(1))?;
    let (_, mut bodies) = graph.add_conditional(&[], condition, Branches::If)?;
    let node = KernelNode::new(&fill, CONFIG, &[], kernel_args![ptr_mut(x), N as u32, 9u32])?;
    for body in &mut bodies {
        unsafe { body.add_kernel(&[], node.clone()) }?;
    }
    graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    assert_eq!(x.to_host_vec(&stream)?, [9; N]);
    let mut owner = CudaGraph::new(ctx)?;
    let scratch = owner.add_alloc::<u32>(&[], N)?;
    owner.add_free(&[scratch.node()], &scratch)?;
    owner.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    let mut plain = CudaGraph::new(ctx)?;
    let first = plain.add_empty(&[])?;
    let mut clone = plain.try_clone()?;
    clone.add_empty(&[clone.copy_of(first)])?;
    plain.remove(first)?;
    clone.close()
}

fn plans(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let module = ctx.load_module(SAXPY)?;
    let x = DeviceBuffer::from_host(&stream, &[1.0f32; N])?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, N)?;
    let mut plan = LaunchPlan::record(ctx, |stream| unsafe {
        cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
        args: [N as u32, named("alpha", 2.0f32), named("x", ptr(x)), ptr_mut(y)] }
    })?;
    plan.launch(&stream)?;
    unsafe { plan.set("alpha", 3.0f32) }?;
    plan.launch(&other)?;
    assert_eq!(y.to_host_vec(&stream)?, [5.0; N]);
    unsafe { plan.set_ptr("x", &DeviceBuffer::from_host(&stream, &[10.0f32; N])?) }?;
    plan.launch(&stream)?;
    plan.synchronize()?;
    assert_eq!(y.to_host_vec(&other)?, [35.0; N]);
    plan.launch(&stream)
}

fn events_and_host_functions(ctx: &CudaContext) -> Result<(), Error> {
    let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    let (plain, calls) = (ctx.new_event()?, Arc::new(AtomicU32::new(0)));
    let ((), time) = stream.time(|stream| stream.call_host(count(&calls)))?;
    assert!(time.as_secs() < 60 && calls.load(Ordering::Relaxed) == 1);
    plain.record(&stream)?;
    other.wait(&plain)?;
    other.call_host(count(&calls))?;
    other.synchronize()?;
    plain.synchronize()?;
    assert!(plain.query()? && calls.load(Ordering::Relaxed) == 2);
    // One that is dropped with its stream.
    stream.call_host(|| ())?;
    plain.close()
}

fn libraries(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let library = CudaLibrary::load(ctx.driver(), include_str!("kernels/globals.ptx"))?;
    assert!(!library.kernel_names()?.is_empty() && !library.kernels()?.is_empty());
    let kernel = library.kernel("count")?;
    kernel.parameter_sizes()?;
    kernel.attribute(ctx, FunctionAttribute::NUM_REGS)?;
    let (function, module) = (kernel.function(ctx)?, library.module(ctx)?);
    let mut counter = module.global::<u32>("counter")?;
    counter.copy_from_host(&stream, &[40])?;
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 128)?;
    // count(out): out[i] = counter++
    unsafe {
        cuda_launch! { function: function, stream: stream, config: CONFIG, args: [out.as_mut_device_ptr()] }
    }?;
    stream.synchronize()?;
    drop((counter, module, function, kernel));
    library.close()
}

fn links(ctx: &CudaContext) -> Result<(), Error> {
    let mut linker = Linker::new(ctx, &JitOptions::new())?;
    linker.add(FILL, "fill")?;
    linker.add(SAXPY, "saxpy")?;
    let image = linker.complete()?;
    let module = image.load(ctx)?;
    module.load_function("fill")?;
    module.kernels()?;
    module.close()?;
    let mut dropped = Linker::new(ctx, &JitOptions::new())?;
    dropped.add(FILL, "fill")?;
    Linker::new(ctx, &JitOptions::new())?.close()
}

fn peers(ctx: &CudaContext) -> Result<(), Error> {
    let there = match CudaContext::with_driver(ctx.driver(), 1) {
        // A machine with one device: the copy is one within it.
        Err(error) if error.code() == Some(CUresult::CUDA_ERROR_INVALID_DEVICE) => ctx.clone(),
        there => there?,
    };
    let (stream, far) = (ctx.new_stream()?, there.new_stream()?);
    let source = DeviceBuffer::from_host(&stream, &[5u32; N])?;
    let mut copy = DeviceBuffer::<u32>::zeroed(&far, N)?;
    copy.view_mut().copy_from_peer(&far, &source)?;
    assert_eq!(copy.to_host_vec(&far)?, [5; N]);
    if !there.raw().eq(&ctx.raw()) {
        ctx.enable_peer_access(&there)?;
        ctx.disable_peer_access(&there)?;
    }
    copy.view_mut().copy_from_peer(&stream, &source)
}

#[test]
fn captured_graphs() {
    assert!(each_call_fails("captures", captures).functions().len() >= 15);
}

#[test]
fn graphs_node_by_node() {
    assert!(each_call_fails("nodes", nodes).functions().len() >= 25);
}

#[test]
fn conditional_nodes_memory_and_clones() {
    assert!(
        each_call_fails("conditions, memory, clones", conditions_memory_and_clones).functions().len() >= 10
    );
}

#[test]
fn launch_plans() {
    assert!(each_call_fails("plans", plans).functions().len() >= 15);
}

#[test]
fn events_and_functions_of_the_host() {
    assert!(each_call_fails("events and host functions", events_and_host_functions).functions().len() >= 10);
}

#[test]
fn kernels_of_libraries() {
    assert!(each_call_fails("libraries", libraries).functions().len() >= 10);
}

#[test]
fn the_linker() {
    assert!(each_call_fails("linker", links).functions().len() >= 6);
}

#[test]
fn copies_between_devices() {
    assert!(each_call_fails("peers", peers).functions().len() >= 8);
}
