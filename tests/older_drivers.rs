//! What works on which driver: the default driver with every function hidden that came after a version, and the calls of older
//! ABIs in their place.

#![allow(unsafe_code)] // Kernels of this crate's examples, with what they take.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_emulator::InstanceOptions;
use cuda_harness::{Fault, SpyOptions};
use cuda_launch::context::ContextOptions;
use cuda_launch::diagnostics::Profiler;
use cuda_launch::error::GraphError;
use cuda_launch::graph::{Edge, InstantiateFlags, KernelNode};
use cuda_launch::memory::{
    CopyBatch, ManagedAttach, MemoryAdvice, MemoryLocation, PitchedBuffer, PrefetchBatch, RegionBatch,
};
use cuda_launch::module::CudaLibrary;
use cuda_launch::operation::{DeviceOperation, SingleStream, block_on};
use cuda_launch::sys::{CUresult, Driver};
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaGraph, CudaModule, CudaStream, DeviceBuffer, Error, ErrorKind,
    LaunchConfig, LaunchPlan, ManagedBuffer, cuda_launch, cuda_module, kernel_args, load_kernel_module,
};
use std::sync::Arc;

const N: usize = 1000;
const CONFIG: LaunchConfig = LaunchConfig::for_num_elems(N as u32);

/// That of the README.
#[cuda_module("examples/kernels/typed.ptx")]
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

/// The default driver as one for CUDA `version` would be.
fn as_of(version: u32) -> Arc<Driver> {
    let base = cuda_launch::default_driver().unwrap();
    SpyOptions::new().as_of(version).over(&base).unwrap().driver()
}

/// What a program uses on one driver.
struct On {
    ctx: CudaContext,
    stream: CudaStream,
    module: CudaModule,
}

impl On {
    fn new(driver: &Arc<Driver>) -> Self {
        let ctx = CudaContext::with_driver(driver, 0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let module = ctx.load_module(include_str!("../examples/kernels/saxpy.ptx")).unwrap();
        Self { ctx, stream, module }
    }

    fn ones(&self) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, &[1.0; N]).unwrap()
    }

    fn is(&self, y: &DeviceBuffer<f32>, value: f32) {
        assert_eq!(y.to_host_vec(&self.stream).unwrap(), [value; N]);
    }

    /// A graph of one node, which adds `alpha * x` to y.
    fn one_node(
        &self,
        alpha: f32,
        x: &DeviceBuffer<f32>,
        y: &mut DeviceBuffer<f32>,
    ) -> Result<(CudaGraph, cuda_launch::graph::GraphNode), Error> {
        let saxpy = self.module.load_function("saxpy")?;
        let mut graph = CudaGraph::new(&self.ctx)?;
        let node = KernelNode::new(&saxpy, CONFIG, &[], kernel_args![N as u32, alpha, ptr(x), ptr_mut(y)])?;
        // SAFETY: 1: saxpy takes a count, a factor and two pointers, and touches N elements, which both buffers have;
        // the node keeps and orders them, and no caller launches the graph with a second node; saxpy writes floats and
        // ends.
        let node = unsafe { graph.add_kernel(&[], node) }?;
        Ok((graph, node))
    }
}

fn launches(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), on.ones());
    let (module, stream) = (&on.module, &on.stream);
    // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many elements; 3, 4: both are buffers, which are
    // ordered and kept; 5: it writes floats; 6: it ends, it has no loop.
    unsafe {
        cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
        args: [N as u32, 2.0f32, ptr(x), ptr_mut(y)] }
    }?;
    on.is(&y, 3.0);
    // SAFETY: 1 to 6: nothing is launched: a count of eight bytes is refused, on every driver.
    let wrong = unsafe {
        cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
        args: [N as u64, 2.0f32, ptr(x), ptr_mut(y)] }
    };
    assert!(wrong.unwrap_err().is_argument_mismatch());
    Ok(())
}

/// The README's first program.
fn kernel_files(on: &On) -> Result<(), Error> {
    let stream = on.ctx.default_stream();
    let module = load_kernel_module(&on.ctx, "vecadd")?;
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; N])?;
    let b = DeviceBuffer::from_host(&stream, &[2.0f32; N])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, N)?;
    // SAFETY: 1 to 6: vecadd takes three slices, stays inside them, and ends; the buffers live until to_host_vec has waited for the
    // stream.
    unsafe {
        cuda_launch! { kernel: vecadd, stream: stream, module: module, config: CONFIG,
        args: [slice(a), slice(b), slice_mut(c)] }
    }?;
    assert_eq!(c.to_host_vec(&stream)?, [3.0; N]);
    Ok(())
}

/// The README's second program.
fn functions_and_builders(on: &On) -> Result<(), Error> {
    let saxpy = on.module.load_function("saxpy")?;
    let (x, mut y) = (on.ones(), on.ones());
    let stream = &on.stream;
    // SAFETY: 1 to 6: as in `launches`.
    unsafe {
        cuda_launch! { function: saxpy, stream: stream, config: CONFIG, attributes: [Attribute::priority(-1)],
        args: [N as u32, 2.0f32, ptr(x), ptr_mut(y)] }
    }?;
    on.is(&y, 3.0);
    let mut builder = stream.launch_builder(&saxpy);
    builder.arg(&(N as u32)).arg(&2.0f32).arg(&x).arg(&mut y);
    // SAFETY: 1 to 6: as in `launches`.
    unsafe { builder.launch(CONFIG) }?;
    on.is(&y, 5.0);
    Ok(())
}

/// The README's third program.
fn typed_modules(on: &On) -> Result<(), Error> {
    let module = kernels::load(&on.ctx)?;
    let (a, mut c) = (on.ones(), DeviceBuffer::<f32>::zeroed(&on.stream, N)?);
    module.vecadd(&on.stream, CONFIG, &a, &a, &mut c)?;
    on.is(&c, 2.0);
    Ok(())
}

fn operations(on: &On) -> Result<(), Error> {
    let module = kernels::load(&on.ctx)?;
    let c = DeviceBuffer::<f32>::zeroed(&on.stream, N)?;
    let sum = module.vecadd_async_owned(CONFIG, on.ones(), on.ones(), c)?;
    let (_, _, c) = block_on(sum.schedule(Arc::new(SingleStream::new(&on.stream))))?;
    on.is(&c, 2.0);
    Ok(())
}

fn times(on: &On) -> Result<(), Error> {
    let (start, end) = (on.ctx.new_timing_event()?, on.ctx.new_timing_event()?);
    start.record(&on.stream)?;
    end.record(&on.stream)?;
    on.stream.synchronize()?;
    assert!(start.elapsed_ms(&end)? >= 0.0);
    Ok(())
}

fn plans(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), on.ones());
    let module = &on.module;
    let mut plan = LaunchPlan::record(&on.ctx, |stream| {
        // SAFETY: 1 to 6: as in `launches`, for any factor.
        unsafe {
            cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
            args: [N as u32, named("alpha", 1.0f32), ptr(x), ptr_mut(y)] }
        }
    })?;
    plan.launch(&on.stream)?;
    // SAFETY: 1: saxpy takes any factor.
    unsafe { plan.set("alpha", 4.0f32) }?;
    plan.launch(&on.stream)?;
    on.is(&y, 6.0);
    Ok(())
}

fn captures(on: &On) -> Result<(), Error> {
    let mut y = on.ones();
    let mut told = None;
    let graph = CudaGraph::capture(&on.ctx, CaptureMode::ThreadLocal, |stream| {
        y.view_mut().set_zero(stream)?;
        told = Some(stream.capture_info()?);
        Ok(())
    })?;
    let info = told.unwrap();
    assert!(info.graph == graph.raw() && info.dependencies.len() == 1 && info.id != 0);
    graph.instantiate(InstantiateFlags::empty())?.launch(&on.stream)?;
    on.is(&y, 0.0);
    Ok(())
}

fn kernel_nodes(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), on.ones());
    let (graph, node) = on.one_node(2.0, &x, &mut y)?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.launch(&on.stream)?;
    let saxpy = on.module.load_function("saxpy")?;
    let other = KernelNode::new(&saxpy, CONFIG, &[], kernel_args![N as u32, 10.0f32, ptr(x), ptr_mut(y)])?;
    // SAFETY: 1: as in `one_node`: the same buffers and count, and saxpy takes any factor.
    unsafe { exec.set_kernel(node, other) }?;
    exec.launch(&on.stream)?;
    on.is(&y, 13.0);
    Ok(())
}

fn updates(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), on.ones());
    let (graph, _) = on.one_node(2.0, &x, &mut y)?;
    let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    exec.update(&on.one_node(5.0, &x, &mut y)?.0)?;
    exec.launch(&on.stream)?;
    on.is(&y, 6.0);
    let mut larger = on.one_node(5.0, &x, &mut y)?.0;
    larger.add_host(&[], || ())?;
    let refused = exec.update(&larger).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Graph(GraphError::Update { .. })), "{refused}");
    Ok(())
}

fn dependencies(on: &On) -> Result<(), Error> {
    let mut graph = CudaGraph::new(&on.ctx)?;
    let (a, b) = (graph.add_host(&[], || ())?, graph.add_host(&[], || ())?);
    graph.add_dependency(a, b, Edge::FULL)?;
    let all = graph.dependencies()?;
    assert!(all.len() == 1 && (all[0].from, all[0].to, all[0].edge) == (a, b, Edge::FULL));
    graph.remove_dependency(a, b, Edge::FULL)?;
    assert!(graph.dependencies()?.is_empty());
    Ok(())
}

/// An edge that says more than that one node comes after the other.
fn programmatic_edges(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), on.ones());
    let (mut graph, first) = on.one_node(2.0, &x, &mut y)?;
    let saxpy = on.module.load_function("saxpy")?;
    let node = KernelNode::new(&saxpy, CONFIG, &[], kernel_args![N as u32, 1.0f32, ptr(x), ptr_mut(y)])?;
    // SAFETY: 1: the graph is never launched.
    let second = unsafe { graph.add_kernel(&[], node) }?;
    let added = graph.add_dependency(first, second, Edge::PROGRAMMATIC);
    assert_eq!(graph.dependencies()?.len(), usize::from(added.is_ok()));
    added
}

fn managed(on: &On) -> Result<(), Error> {
    let memory = ManagedBuffer::<u32>::zeroed(&on.stream, N, ManagedAttach::Global)?;
    memory.advise(.., MemoryAdvice::PreferredLocation(MemoryLocation::Host))?;
    memory.advise(.., MemoryAdvice::ReadMostly(true))?;
    memory.prefetch(&on.stream, .., MemoryLocation::Host)?;
    on.stream.synchronize()?;
    let state = memory.range_state(..)?;
    assert!(state.read_mostly, "{state:?}");
    assert_eq!(state.last_prefetch, Some(MemoryLocation::Host));
    memory.prefetch(&on.stream, .., MemoryLocation::Device(0))?;
    on.stream.synchronize()?;
    assert_eq!(memory.range_state(..)?.last_prefetch, Some(MemoryLocation::Device(0)));
    Ok(())
}

fn contexts(on: &On) -> Result<(), Error> {
    let other = on.ctx.device().create_context(&ContextOptions::default())?;
    let stream = other.new_stream()?;
    assert_eq!(DeviceBuffer::from_host(&stream, &[7u8; 3])?.to_host_vec(&stream)?, [7; 3]);
    drop(stream);
    other.close()
}

fn profiler(on: &On) -> Result<(), Error> {
    Profiler::start(&on.ctx)?.stop()
}

fn batches(on: &On) -> Result<(), Error> {
    let (x, mut y) = (on.ones(), DeviceBuffer::<f32>::zeroed(&on.stream, N)?);
    let mut batch = CopyBatch::new();
    batch.push(&mut y, &x)?;
    batch.submit(&on.stream)?;
    on.is(&y, 1.0);
    let mut image = PitchedBuffer::uninit(&on.stream, 4, 2)?;
    let mut copy = PitchedBuffer::uninit(&on.stream, 4, 2)?;
    image.copy_from_host(&on.stream, &[1u8, 2, 3, 4, 5, 6, 7, 8])?;
    let (extent, mut batch) = (image.extent(), RegionBatch::new());
    batch.push(image.as_source(), copy.as_target(), extent)?;
    batch.submit(&on.stream)?;
    assert_eq!(copy.to_host_vec(&on.stream)?, [1, 2, 3, 4, 5, 6, 7, 8]);
    Ok(())
}

fn prefetches(on: &On) -> Result<(), Error> {
    let memory = ManagedBuffer::<u32>::zeroed(&on.stream, N, ManagedAttach::Global)?;
    let mut batch = PrefetchBatch::new();
    batch.push(&memory, .., MemoryLocation::Host)?;
    batch.submit(&on.stream)
}

fn libraries(on: &On) -> Result<(), Error> {
    let library = CudaLibrary::load(on.ctx.driver(), include_str!("../examples/kernels/saxpy.ptx"))?;
    assert_eq!(library.module(&on.ctx)?.load_function("saxpy")?.name(), "saxpy");
    Ok(())
}

fn lists_of_kernels(on: &On) -> Result<(), Error> {
    let library = CudaLibrary::load(on.ctx.driver(), include_str!("../examples/kernels/saxpy.ptx"))?;
    assert_eq!(library.kernels()?.len(), 1);
    Ok(())
}

fn stream_ids(on: &On) -> Result<(), Error> {
    assert_ne!(on.stream.id()?, on.ctx.new_stream()?.id()?);
    Ok(())
}

fn recording_into(on: &On) -> Result<(), Error> {
    let mut y = on.ones();
    let mut graph = CudaGraph::new(&on.ctx)?;
    graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| y.view_mut().set_zero(stream))?;
    graph.instantiate(InstantiateFlags::empty())?.launch(&on.stream)?;
    on.is(&y, 0.0);
    Ok(())
}

type Program = fn(&On) -> Result<(), Error>;

/// What is tried, and the first driver that has it.
const ALL: &[(&str, u32, Program)] = &[
    ("kernel files", 11_080, kernel_files),
    ("launches", 11_080, launches),
    ("functions and builders", 11_080, functions_and_builders),
    ("typed modules", 11_080, typed_modules),
    ("operations", 11_080, operations),
    ("times", 11_080, times),
    ("plans", 11_080, plans),
    ("captures", 11_080, captures),
    ("kernel nodes", 11_080, kernel_nodes),
    ("updates", 11_080, updates),
    ("dependencies", 11_080, dependencies),
    ("managed memory", 11_080, managed),
    ("contexts", 11_080, contexts),
    ("profiler", 11_080, profiler),
    ("libraries", 12_000, libraries),
    ("stream ids", 12_000, stream_ids),
    ("programmatic edges", 12_030, programmatic_edges),
    ("recording into a graph", 12_030, recording_into),
    ("lists of kernels", 12_040, lists_of_kernels),
    ("batches", 12_080, batches),
    ("batches of prefetches", 13_000, prefetches),
];

/// Everything that the driver has works; what it lacks is an error that says which driver has it.
fn check(driver: &Arc<Driver>, version: u32) {
    let on = On::new(driver);
    assert_eq!(on.ctx.driver_version(), version);
    for (what, since, run) in ALL {
        let result = run(&on);
        if *since <= version {
            result.unwrap_or_else(|error| panic!("{what} on a driver for {version}: {error}"));
        } else {
            let error = result.expect_err(what);
            let (major, minor) = (since / 1000, since % 1000 / 10);
            let text = error.to_string();
            assert!(error.is_unsupported(), "{what} on a driver for {version}: {error}");
            // A library of kernels came in 12.0, and is the first that a list of them lacks.
            let (major, minor) = if text.contains("cuLibraryLoadData") { (12, 0) } else { (major, minor) };
            assert!(text.contains(&format!("CUDA {major}.{minor}")), "{what}, {version}: {text}");
        }
        // Whatever was refused, the driver serves on.
        launches(&on).unwrap();
    }
}

const VERSIONS: [u32; 8] = [11_080, 12_000, 12_020, 12_030, 12_040, 12_060, 12_080, 13_000];

/// One after the other: a capture in one table would be seen by waits in another.
#[test]
fn what_a_driver_has_works_and_what_it_lacks_says_since_when() {
    VERSIONS.into_iter().for_each(|version| check(&as_of(version), version));
}

/// The same on emulators as of these versions, which refuse later values in structures, too.
#[test]
fn the_same_on_emulators_of_these_versions() {
    for version in VERSIONS {
        let instance = InstanceOptions::new().as_of(version).start().unwrap();
        check(&instance.driver(), version);
    }
}

/// A library newer than the driver below it has the functions, which answer that they are too new.
#[test]
fn functions_that_answer_that_they_are_too_new_are_as_good_as_missing() {
    let spy = spies::spy();
    let _faults = ["cuFuncGetParamCount", "cuFuncGetParamInfo", "cuGraphInstantiateWithParams"].map(|name| {
        let too_new = Fault::on(name).answer(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
        spy.inject(too_new).unwrap()
    });
    let on = On::new(&spy.driver());
    let (x, mut y) = (on.ones(), on.ones());
    let (graph, _) = on.one_node(2.0, &x, &mut y).unwrap();
    graph.instantiate(InstantiateFlags::empty()).unwrap().launch(&on.stream).unwrap();
    on.is(&y, 3.0);
    let calls = spy.calls();
    let counts = ["cuFuncGetParamInfo", "cuGraphInstantiateWithFlags"].map(|name| calls.count(name));
    assert_eq!(counts, [1, 1]);
}
