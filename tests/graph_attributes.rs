//! Launch attributes of graph nodes that refer to something: events that each launch records, and the handle of a node that
//! kernels may update.

#![allow(unsafe_code)] // Kernel nodes of fill: an address and its length; a driver with functions of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{Kind, Spy};
use cuda_launch::graph::{InstantiateFlags, KernelNode};
use cuda_launch::launch::DeviceNode;
use cuda_launch::sys::{
    CUevent, CUfunction, CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUresult,
    Driver, pfn,
};
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaEvent, CudaFunction, CudaGraph, CudaStream, DeviceBuffer,
    LaunchConfig, LaunchPlan, cuda_launch, kernel_args,
};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

const N: usize = 64;
const UPDATABLE: CUlaunchAttributeID = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;

/// What the driver of all tests here stands on.
static SPY: OnceLock<Spy> = OnceLock::new();

thread_local! {
    /// Whether the handle of a node comes from `cuGraphKernelNodeSetAttribute`, else when it is asked for.
    static TELLS_AT_ONCE: Cell<bool> = const { Cell::new(true) };
}

/// A driver whose kernel nodes take all attributes, and do nothing with those that the emulator does not take.
fn takes_all_attributes() -> Arc<Driver> {
    unsafe fn tell(value: *mut CUlaunchAttributeValue, handle: usize) {
        unsafe { (*value).deviceUpdatableKernelNode.devNode = std::ptr::without_provenance_mut(handle) };
    }
    unsafe extern "C" fn set(
        _: CUgraphNode,
        id: CUlaunchAttributeID,
        value: *const CUlaunchAttributeValue,
    ) -> CUresult {
        if id == UPDATABLE && TELLS_AT_ONCE.get() {
            unsafe { tell(value.cast_mut(), 0x5e7) };
        }
        CUresult::SUCCESS
    }
    unsafe extern "C" fn get(
        _: CUgraphNode,
        _: CUlaunchAttributeID,
        value: *mut CUlaunchAttributeValue,
    ) -> CUresult {
        unsafe { tell(value, 0x9e7) };
        CUresult::SUCCESS
    }
    unsafe extern "C" fn launch(
        config: *const CUlaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUresult {
        let mut config = unsafe { *config };
        for index in 0..config.numAttrs as usize {
            let attribute = unsafe { &mut *config.attrs.add(index) };
            if attribute.id == UPDATABLE {
                unsafe { tell(&mut attribute.value, 0x1a0) };
            }
        }
        config.numAttrs = 0;
        unsafe { SPY.get().unwrap().driver().cuLaunchKernelEx(&config, function, params, extra) }
    }
    let base = SPY.get_or_init(spies::spy).driver();
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuGraphKernelNodeSetAttribute" => set as pfn::cuGraphKernelNodeSetAttribute as *const c_void,
        "cuGraphKernelNodeGetAttribute" => get as pfn::cuGraphKernelNodeGetAttribute as *const c_void,
        "cuLaunchKernelEx" => launch as pfn::cuLaunchKernelEx as *const c_void,
        name => base.address(name),
    };
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// One test at a time: each counts the events that there are.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn events() -> usize {
    SPY.get().map_or(0, |spy| spy.ledger().count(Kind::Event))
}

struct Gpu {
    ctx: CudaContext,
    stream: CudaStream,
    fill: CudaFunction,
    buffer: DeviceBuffer<u32>,
}

impl Gpu {
    fn new() -> Self {
        let ctx = CudaContext::with_driver(&takes_all_attributes(), 0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let module = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
        let buffer = DeviceBuffer::zeroed(&stream, N).unwrap();
        Self { fill: module.load_function("fill").unwrap(), ctx, stream, buffer }
    }

    fn node<'e>(&mut self, attributes: &[Attribute<'e>]) -> KernelNode<'e> {
        let config = LaunchConfig::for_num_elems(N as u32);
        KernelNode::new(&self.fill, config, attributes, kernel_args![ptr_mut(self.buffer), N as u32, 7u32])
            .unwrap()
    }

    fn launch(&mut self, stream: &CudaStream, attributes: &[Attribute<'_>]) {
        let config = LaunchConfig::for_num_elems(N as u32);
        unsafe {
            cuda_launch! { function: self.fill, stream: stream, config: config,
            args: [ptr_mut(self.buffer), N as u32, 7u32], attributes: attributes }
        }
        .unwrap();
    }
}

/// Both attributes that have an event, each with one of its own.
fn attributes(events: &[CudaEvent; 2]) -> [Attribute<'_>; 2] {
    [Attribute::launch_completion_event(&events[0]), Attribute::programmatic_event(&events[1], true)]
}

/// `make` gives a graph whose node records two events; they live as long as it can run.
fn keeps_events(make: impl FnOnce(&mut Gpu, &[Attribute<'_>]) -> CudaGraph) {
    let _alone = alone();
    let mut gpu = Gpu::new();
    let before = events();
    let own = [gpu.ctx.new_event().unwrap(), gpu.ctx.new_event().unwrap()];
    let graph = make(&mut gpu, &attributes(&own));
    // Nothing more than the two: what orders streams is made at first use.
    let [first, second] = own;
    let made = events();
    drop(first);
    second.close().unwrap();
    assert_eq!(events(), made, "the graph has them");
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    drop(graph);
    exec.launch(&gpu.stream).unwrap();
    exec.synchronize().unwrap();
    assert_eq!(events(), made, "the executable graph has them");
    drop(exec);
    gpu.ctx.synchronize().unwrap();
    assert_eq!(events(), made - 2, "they end with the last graph");
    assert!(made - 2 >= before);
}

#[test]
fn a_kernel_node_keeps_the_events_of_its_attributes() {
    keeps_events(|gpu, attributes| {
        let mut graph = CudaGraph::new(&gpu.ctx).unwrap();
        unsafe { graph.add_kernel(&[], gpu.node(attributes)) }.unwrap();
        graph
    });
}

#[test]
fn a_captured_launch_keeps_the_events_of_its_attributes() {
    keeps_events(|gpu, attributes| {
        let ctx = gpu.ctx.clone();
        CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
            gpu.launch(stream, attributes);
            Ok(())
        })
        .unwrap()
    });
}

#[test]
fn a_prepared_launch_that_is_captured_keeps_the_events_of_its_attributes() {
    keeps_events(|gpu, attributes| {
        let ctx = gpu.ctx.clone();
        let mut prepared = cuda_launch::launch::PreparedLaunch::from(gpu.node(attributes));
        CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
            unsafe { prepared.launch_on(stream) }.map(drop)
        })
        .unwrap()
    });
}

#[test]
fn a_plan_and_a_child_keep_the_events_of_attributes() {
    keeps_events(|gpu, attributes| {
        let (mut inner, mut outer) = (CudaGraph::new(&gpu.ctx).unwrap(), CudaGraph::new(&gpu.ctx).unwrap());
        unsafe { inner.add_kernel(&[], gpu.node(attributes)) }.unwrap();
        outer.add_child(&[], &inner).unwrap();
        outer
    });
    let _alone = alone();
    let mut gpu = Gpu::new();
    let own = [gpu.ctx.new_event().unwrap(), gpu.ctx.new_event().unwrap()];
    let ctx = gpu.ctx.clone();
    let mut plan = LaunchPlan::record(&ctx, |stream| {
        gpu.launch(stream, &attributes(&own));
        Ok(())
    })
    .unwrap();
    let made = events();
    drop(own);
    plan.launch(&gpu.stream).unwrap();
    plan.synchronize().unwrap();
    assert_eq!(events(), made);
    drop(plan);
    gpu.ctx.synchronize().unwrap();
    assert_eq!(events(), made - 2);
}

/// A node that is refused, or removed, keeps nothing.
#[test]
fn events_end_with_their_owner_where_no_graph_has_them() {
    let _alone = alone();
    let mut gpu = Gpu::new();
    let before = events();
    let own = [gpu.ctx.new_event().unwrap(), gpu.ctx.new_event().unwrap()];
    let mut graph = CudaGraph::new(&gpu.ctx).unwrap();
    let node = unsafe { graph.add_kernel(&[], gpu.node(&attributes(&own))) }.unwrap();
    graph.remove(node).unwrap();
    gpu.launch(&gpu.stream.clone(), &attributes(&own));
    assert_eq!(events(), before + 2);
    let [first, second] = own;
    drop(first);
    assert_eq!(events(), before + 1);
    // Given away, it is nobody's here, also where a graph has had a share.
    let raw: CUevent = second.into_raw();
    assert_eq!(events(), before + 1);
    drop(unsafe { CudaEvent::from_raw_owned(&gpu.ctx, raw) });
    assert_eq!(events(), before);
    drop(graph);
    assert_eq!(events(), before);
}

#[test]
fn the_handle_of_a_node_that_kernels_update_is_given_back() {
    let _alone = alone();
    let mut gpu = Gpu::new();
    let node = DeviceNode::new();
    let attributes = [Attribute::priority(0), Attribute::device_updatable_kernel_node_at(&node)];
    assert_eq!(node.handle(), None);
    let ctx = gpu.ctx.clone();
    CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        gpu.launch(stream, &attributes);
        assert_eq!(node.handle(), Some(0x1a0), "it is known inside the capture");
        Ok(())
    })
    .unwrap();
    for (at_once, handle) in [(true, 0x5e7), (false, 0x9e7)] {
        TELLS_AT_ONCE.set(at_once);
        let mut graph = CudaGraph::new(&gpu.ctx).unwrap();
        unsafe { graph.add_kernel(&[], gpu.node(&attributes)) }.unwrap();
        assert_eq!(node.handle(), Some(handle));
    }
}
