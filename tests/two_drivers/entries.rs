//! The public functions that take two objects, each called with those of two owners.

use crate::objects::{N, Objects};
use cuda_launch::device::GreenContext;
use cuda_launch::foundation::submit_with;
use cuda_launch::graph::{Branches, CopyNode, KernelNode, MemsetNode};
use cuda_launch::memory::{
    CopyBatch, CopySource, CopyTarget, Extent, ManagedAttach, MemoryLocation, PrefetchBatch, RegionBatch,
    RowLayout,
};
use cuda_launch::operation::{
    DeviceOperation, copy_from_pinned, copy_on_device, copy_to_host, copy_to_pinned, from_event, memset,
};
use cuda_launch::tensor::TensorMap;
use cuda_launch::virtual_memory::Mapping;
use cuda_launch::{
    AsyncKernelLaunch, Attribute, DeviceBuffer, Error, LaunchConfig, cuda_launch, kernel_args,
};

/// What is called with the objects of two drivers.
pub(crate) struct Entry {
    /// Its type and name.
    pub(crate) name: &'static str,
    pub(crate) call: fn(&mut Objects, &mut Objects) -> Result<(), Error>,
}

macro_rules! entries {
    ($($name:literal: |$a:ident, $b:ident| $call:expr;)*) => {
        /// The first objects are those that the call is made on.
        pub(crate) const ENTRIES: &[Entry] = &[$(Entry { name: $name, call: |$a, $b| $call.map(drop) }),*];
    };
}

const LAYOUT: RowLayout = RowLayout { pitch: 4 * N, rows: 1 };
const ROW: Extent = Extent::rows(N, 1);
pub(crate) const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));

entries! {
    "CudaContext::wait": |a, b| a.context.wait(&b.event);
    "CudaContext::enable_peer_access": |a, b| a.context.enable_peer_access(&b.context);
    "CudaContext::disable_peer_access": |a, b| a.context.disable_peer_access(&b.context);
    "CudaDevice::peer_attribute": |a, b| {
        a.context.device().peer_attribute(cuda_launch::device::PeerAttribute::ACCESS_SUPPORTED, &b.context.device())
    };
    "AnyEvent::record": |a, b| a.event.record(&b.stream);
    "AnyEvent::record_with": |a, b| a.event.record_with(&b.stream, cuda_launch::event::EventRecordFlags::empty());
    "TimingEvent::elapsed_ms": |a, b| a.timing.elapsed_ms(&b.timing);
    "CudaStream::wait": |a, b| a.stream.wait(&b.event);
    "CudaStream::wait_with": |a, b| a.stream.wait_with(&b.event, cuda_launch::event::EventWaitFlags::empty());
    "CudaStream::copy_attributes_from": |a, b| a.stream.copy_attributes_from(&b.stream);
    "CudaStream::set_attribute": |a, b| a.stream.set_attribute(Attribute::launch_completion_event(&b.event));
    "GreenContext::new": |a, b| GreenContext::new(&a.context, std::slice::from_ref(&b.multiprocessors));
    "CudaLibrary::module": |a, b| a.library.module(&b.context);
    "CudaLibrary::raw_global": |a, b| a.library.raw_global(&b.context, "table");
    "LibraryKernel::function": |a, b| a.kernel.function(&b.context);
    "LibraryKernel::attribute": |a, b| {
        a.kernel.attribute(&b.context, cuda_launch::module::FunctionAttribute::NUM_REGS)
    };
    "LibraryKernel::set_attribute": |a, b| {
        a.kernel.set_attribute(&b.context, cuda_launch::module::FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, 0)
    };
    "LibraryKernel::set_cache_config": |a, b| {
        a.kernel.set_cache_config(&b.context, cuda_launch::module::CacheConfig::PREFER_L1)
    };

    "CudaGraph::add_kernel": |a, b| {
        let node = KernelNode::new(&b.function, CONFIG, &[], kernel_args![ptr_mut(b.buffer), N as u32, 1u32])?;
        unsafe { a.graph.add_kernel(&[], node) }
    };
    "CudaGraph::add_copy": |a, b| a.graph.add_copy(&[], CopyNode::device_to_host(&b.buffer, &b.host)?);
    "CudaGraph::add_memset": |a, b| a.graph.add_memset(&[], MemsetNode::new(&mut b.buffer, 1)?);
    "CudaGraph::add_child": |a, b| a.graph.add_child(&[], &b.graph);
    "CudaGraph::add_event_record": |a, b| a.graph.add_event_record(&[], &b.event);
    "CudaGraph::add_event_wait": |a, b| a.graph.add_event_wait(&[], &b.event);
    "CudaGraph::add_empty": |a, b| a.graph.add_empty(&[b.nodes.event_wait]);
    "CudaGraph::add_dependency": |a, b| {
        a.graph.add_dependency(a.nodes.copy, b.nodes.memset, cuda_launch::graph::Edge::FULL)
    };
    "CudaGraph::add_conditional": |a, b| a.graph.add_conditional(&[], b.condition, Branches::If);
    "CudaGraph::add_free": |a, b| a.graph.add_free(&[], &b.graph_memory);
    "GraphExec::update": |a, b| a.exec.update(&b.graph);
    "GraphExec::launch": |a, b| a.exec.launch(&b.stream);
    "GraphExec::upload": |a, b| a.exec.upload(&b.stream);
    "GraphExec::set_kernel": |a, b| {
        let node = KernelNode::new(&b.function, CONFIG, &[], kernel_args![ptr_mut(b.buffer), N as u32, 1u32])?;
        unsafe { a.exec.set_kernel(a.nodes.kernel, node) }
    };
    "GraphExec::set_copy": |a, b| {
        a.exec.set_copy(a.nodes.copy, CopyNode::device_to_host(&b.buffer, &b.host)?)
    };
    "GraphExec::set_memset": |a, b| a.exec.set_memset(a.nodes.memset, MemsetNode::new(&mut b.buffer, 1)?);
    "GraphExec::set_event_record": |a, b| a.exec.set_event_record(a.nodes.event_record, &b.event);
    "GraphExec::set_event_wait": |a, b| a.exec.set_event_wait(a.nodes.event_wait, &b.event);
    "GraphExec::set_child": |a, b| a.exec.set_child(a.nodes.child, &b.graph);
    "GraphExec::set_enabled": |a, b| a.exec.set_enabled(b.nodes.kernel, false);
    "CopyNode::device_to_device": |a, b| CopyNode::device_to_device(&a.buffer, &mut b.buffer);
    "LaunchPlan::launch": |a, b| a.plan.launch(&b.stream);
    "LaunchPlan::set_slice": |a, b| unsafe { a.plan.set_slice("out", &b.buffer) };
    "LaunchPlan::set_slice_mut": |a, b| unsafe { a.plan.set_slice_mut("out", &mut b.buffer) };
    "LaunchPlan::set_pitched": |a, b| unsafe { a.plan.set_pitched("out", &b.pitched) };
    "LaunchPlan::set_pitched_mut": |a, b| unsafe { a.plan.set_pitched_mut("out", &mut b.pitched) };
    "LaunchPlan::set_ptr": |a, b| unsafe { a.plan.set_ptr("out", &b.buffer) };
    "LaunchPlan::set_ptr_mut": |a, b| unsafe { a.plan.set_ptr_mut("out", &mut b.buffer) };

    "cuda_launch!": |a, b| unsafe {
        cuda_launch! { kernel: fill, module: a.module, stream: b.stream, config: CONFIG,
        args: [ptr_mut(b.buffer), N as u32, 1u32] }
    };
    "cuda_launch!": |a, b| unsafe {
        cuda_launch! { kernel: fill, module: a.module, stream: a.stream, config: CONFIG,
        args: [ptr_mut(b.buffer), N as u32, 1u32] }
    };
    "cuda_launch!": |a, b| unsafe {
        cuda_launch! { kernel: fill, module: a.module, stream: a.stream, config: CONFIG,
        args: [ptr_mut(a.buffer), N as u32, 1u32],
        attributes: [Attribute::programmatic_event(&b.event, false)] }
    };
    "CudaStream::launch_builder": |a, b| unsafe {
        let mut builder = a.stream.launch_builder(&b.function);
        builder.arg(&mut b.buffer).arg(&(N as u32)).arg(&1u32).launch(CONFIG)
    };
    "CudaStream::launch_builder": |a, b| unsafe {
        let event = Attribute::launch_completion_event(&b.event);
        let mut builder = a.stream.launch_builder(&a.function);
        builder.arg(&mut a.buffer).arg(&(N as u32)).arg(&1u32).attribute(event).launch(CONFIG)
    };
    "::submit_with": |a, b| unsafe {
        submit_with(&b.stream, kernel_args![ptr_mut(a.buffer)], |_| Ok::<_, Error>(()))
    };
    "KernelNode::new": |a, b| {
        KernelNode::new(&a.function, CONFIG, &[], kernel_args![ptr_mut(b.buffer), N as u32, 1u32])
    };
    "KernelNode::new": |a, b| {
        let attributes = [Attribute::launch_completion_event(&b.event)];
        KernelNode::new(&a.function, CONFIG, &attributes, kernel_args![ptr_mut(a.buffer), N as u32, 1u32])
    };
    "PreparedLaunch::launch_on": |a, b| unsafe { a.prepared.launch_on(&b.stream) };
    "PreparedLaunch::set_slice": |a, b| a.prepared.set_slice("out", &b.buffer);
    "PreparedLaunch::set_slice_mut": |a, b| a.prepared.set_slice_mut("out", &mut b.buffer);
    "PreparedLaunch::set_pitched": |a, b| a.prepared.set_pitched("out", &b.pitched);
    "PreparedLaunch::set_pitched_mut": |a, b| a.prepared.set_pitched_mut("out", &mut b.pitched);
    "PreparedLaunch::set_ptr": |a, b| a.prepared.set_ptr("out", &b.buffer);
    "PreparedLaunch::set_ptr_mut": |a, b| a.prepared.set_ptr_mut("out", &mut b.buffer);

    "DeviceBuffer::uninit_in": |a, b| DeviceBuffer::<u32>::uninit_in(&a.pool, &b.stream, N);
    "DeviceBuffer::try_clone": |a, b| a.buffer.try_clone(&b.stream);
    "CudaStream::clone_dtod": |a, b| b.stream.clone_dtod(&a.buffer);
    "DeviceBuffer::to_host_vec": |a, b| a.buffer.to_host_vec(&b.stream);
    "DeviceBuffer::copy_to_host": |a, b| a.buffer.copy_to_host(&b.stream, &mut [0; N]);
    "DeviceBuffer::copy_from_host": |a, b| a.buffer.copy_from_host(&b.stream, &[0; N]);
    "DeviceBuffer::fill": |a, b| a.buffer.fill(&b.stream, 1);
    "DeviceBuffer::into_dlpack": |a, b| a.spare()?.into_dlpack(&b.stream, &[N]);
    "DlTensor::into_buffer": |a, b| {
        let tensor = a.spare()?.into_dlpack(&a.stream, &[N])?;
        a.spy.clear();
        tensor.into_buffer::<u32>(&b.context)
    };
    "DeviceView::to_host_vec": |a, b| a.buffer.view().to_host_vec(&b.stream);
    "DeviceView::copy_to_host": |a, b| a.buffer.view().copy_to_host(&b.stream, &mut [0; N]);
    "DeviceView::copy_to_pinned": |a, b| a.buffer.view().copy_to_pinned(&b.stream, &mut a.pinned);
    "DeviceView::copy_to_pinned": |a, b| a.buffer.view().copy_to_pinned(&a.stream, &mut b.pinned);
    "DeviceViewMut::copy_from_host": |a, b| a.buffer.view_mut().copy_from_host(&b.stream, &[0; N]);
    "DeviceViewMut::copy_from_device": |a, b| a.buffer.view_mut().copy_from_device(&b.stream, &a.managed);
    "DeviceViewMut::copy_from_device": |a, b| a.buffer.view_mut().copy_from_device(&a.stream, &b.buffer);
    "DeviceViewMut::copy_from_peer": |a, b| a.buffer.view_mut().copy_from_peer(&b.stream, &a.managed);
    "DeviceViewMut::copy_from_peer": |a, b| a.buffer.view_mut().copy_from_peer(&a.stream, &b.buffer);
    "DeviceViewMut::copy_from_peer": |a, b| a.buffer.view_mut().copy_from_peer(&b.stream, &b.buffer);
    "DeviceViewMut::copy_from_pinned": |a, b| a.buffer.view_mut().copy_from_pinned(&b.stream, &a.pinned);
    "DeviceViewMut::copy_from_pinned": |a, b| a.buffer.view_mut().copy_from_pinned(&a.stream, &b.pinned);
    "DeviceViewMut::copy_from_pinned": |a, b| a.buffer.view_mut().copy_from_pinned(&b.stream, &b.pinned);
    "DeviceViewMut::set_zero": |a, b| a.buffer.view_mut().set_zero(&b.stream);
    "DeviceViewMut::fill": |a, b| a.buffer.view_mut().fill(&b.stream, 1);
    "CudaStream::copy_region": |a, b| {
        let mut to = CopyTarget::device(&mut b.buffer, LAYOUT);
        a.stream.copy_region(&CopySource::device(&a.buffer, LAYOUT), &mut to, ROW)
    };
    "CudaStream::copy_region": |a, b| {
        a.stream.copy_region(&b.array.as_source(), &mut CopyTarget::device(&mut a.buffer, LAYOUT), ROW)
    };
    "CudaStream::copy_region_peer": |a, b| {
        let mut to = CopyTarget::device(&mut b.buffer, LAYOUT);
        a.stream.copy_region_peer(&CopySource::device(&a.buffer, LAYOUT), &mut to, ROW)
    };
    "CudaStream::copy_region_peer": |a, b| {
        let mut to = CopyTarget::device(&mut a.buffer, LAYOUT);
        a.stream.copy_region_peer(&b.array.as_source(), &mut to, ROW)
    };
    "CudaStream::copy_region_peer": |a, b| {
        let mut to = CopyTarget::device(&mut b.buffer, LAYOUT);
        a.stream.copy_region_peer(&CopySource::host(&[0u32; N], LAYOUT), &mut to, ROW)
    };
    "CopyBatch::submit": |a, b| {
        let mut batch = CopyBatch::new();
        batch.push(&mut a.buffer, &b.buffer)?;
        batch.submit(&a.stream)
    };
    "CopyBatch::submit": |a, b| {
        let mut batch = CopyBatch::new();
        batch.push_from_host(&mut b.buffer, &[0; N])?;
        batch.submit(&a.stream)
    };
    "RegionBatch::submit": |a, b| {
        let mut batch = RegionBatch::new();
        batch.push(b.array.as_source(), CopyTarget::device(&mut a.buffer, LAYOUT), ROW)?;
        batch.submit(&a.stream)
    };
    "PrefetchBatch::submit": |a, b| {
        let mut batch = PrefetchBatch::new();
        batch.push(&b.managed, .., MemoryLocation::Host)?;
        batch.submit(&a.stream)
    };
    "ManagedBuffer::prefetch": |a, b| a.managed.prefetch(&b.stream, .., MemoryLocation::Host);
    "ManagedBuffer::attach": |a, b| a.managed.attach(&b.stream, ManagedAttach::Global);
    "PitchedBuffer::copy_from_host": |a, b| a.pitched.copy_from_host(&b.stream, &[0; N]);
    "PitchedBuffer::copy_to_host": |a, b| a.pitched.copy_to_host(&b.stream, &mut [0; N]);
    "PitchedBuffer::to_host_vec": |a, b| a.pitched.to_host_vec(&b.stream);
    "PitchedBuffer::fill": |a, b| a.pitched.fill(&b.stream, 1);
    "CudaArray::copy_from_host": |a, b| a.array.copy_from_host(&b.stream, &[0; N]);
    "CudaArray::copy_to_host": |a, b| a.array.copy_to_host(&b.stream, &mut [0; N]);
    "CudaArray::to_host_vec": |a, b| a.array.to_host_vec(&b.stream);
    "SurfaceObject::write_on": |a, b| a.surface.write_on(&b.stream);
    "TextureObject::read_on": |a, b| a.texture.read_on(&b.stream);
    "ModuleGlobal::copy_from_host": |a, b| a.global.copy_from_host(&b.stream, &[0.0; 256]);
    "ModuleGlobal::to_host_vec": |a, b| a.global.to_host_vec(&b.stream);
    "ConstantViewMut::copy_from_host": |a, b| a.constant.view_mut().copy_from_host(&b.stream, &[0; 16]);
    "ConstantViewMut::copy_from_device": |a, b| {
        a.constant.view_mut().copy_from_device(&a.stream, &b.buffer.slice(..16))
    };
    "ConstantViewMut::copy_from_peer": |a, b| {
        a.constant.view_mut().copy_from_peer(&b.stream, &b.buffer.slice(..16))
    };
    "ConstantViewMut::copy_from_pinned": |a, b| {
        a.constant.view_mut().copy_from_pinned(&a.stream, b.pinned.try_slice(..16).unwrap())
    };
    "ConstantViewMut::set_zero": |a, b| a.constant.view_mut().set_zero(&b.stream);
    "ConstantViewMut::fill": |a, b| a.constant.view_mut().fill(&b.stream, 1);
    "TensorMap::with_memory": |a, b| unsafe { a.tensor_map.with_memory(&a.context, &b.buffer) };
    "TiledMap::encode": |a, b| {
        TensorMap::tiled([N as u64], [32]).encode(&a.context, &b.buffer)
    };
    "Im2colMap::encode": |a, b| {
        TensorMap::im2col([4, 1, 1], &[0], &[0], 4, 1).encode(&a.context, &b.buffer)
    };
    "MemoryPool::export_buffer": |a, b| a.pool.export_buffer(&b.buffer);
    "MemoryPool::import_buffer": |a, b| unsafe { a.pool.import_buffer::<u32>(&b.stream, [0; 64], N) };
    "Mapping::new": |a, b| Mapping::new(&a.addresses, 0, &b.physical);
    "MulticastObject::add_device": |a, b| a.multicast.add_device(&b.context);
    "MulticastObject::bind": |a, b| a.multicast.bind(&b.context, 0, &b.physical);
    "MulticastObject::bind": |a, b| a.multicast.bind(&a.context, 0, &b.physical);
    "MulticastObject::bind": |a, b| a.multicast.bind(&b.context, 0, &a.physical);
    "ExternalSemaphore::signal": |a, b| a.semaphore.signal(&b.stream, 1);
    "ExternalSemaphore::wait": |a, b| a.semaphore.wait(&b.stream, 1);

    "OperationGraph::launch_on": |a, b| a.operation.launch_on(&b.stream);
    "OperationGraph::replay": |a, b| unsafe { a.operation.replay().async_on(&b.stream) };
    "OperationGraph::set_slice": |a, b| unsafe { a.operation.set_slice("out", &b.buffer) };
    "OperationGraph::set_slice_mut": |a, b| unsafe { a.operation.set_slice_mut("out", &mut b.buffer) };
    "OperationGraph::set_pitched": |a, b| unsafe { a.operation.set_pitched("out", &b.pitched) };
    "OperationGraph::set_pitched_mut": |a, b| unsafe { a.operation.set_pitched_mut("out", &mut b.pitched) };
    "OperationGraph::set_ptr": |a, b| unsafe { a.operation.set_ptr("out", &b.buffer) };
    "OperationGraph::set_ptr_mut": |a, b| unsafe { a.operation.set_ptr_mut("out", &mut b.buffer) };
    "AsyncKernelLaunch::into_operation": |a, b| unsafe {
        let mut launch = AsyncKernelLaunch::new(&a.function);
        launch.ptr_mut(&mut a.buffer).value(&(N as u32)).value(&1u32).set_launch_config(CONFIG);
        launch.into_operation().async_on(&b.stream)
    };
    "AsyncKernelLaunch::into_operation": |a, b| unsafe {
        let mut launch = AsyncKernelLaunch::new(&a.function);
        launch.ptr_mut(&mut b.buffer).value(&(N as u32)).value(&1u32).set_launch_config(CONFIG);
        launch.into_operation().async_on(&a.stream)
    };
    "AsyncKernelLaunch::into_operation": |a, b| unsafe {
        let event = Attribute::launch_completion_event(&b.event);
        let mut launch = AsyncKernelLaunch::new(&a.function);
        launch.ptr_mut(&mut a.buffer).value(&(N as u32)).value(&1u32).attribute(event).set_launch_config(CONFIG);
        launch.into_operation().async_on(&a.stream)
    };
    "copy_from_pinned": |a, b| unsafe { copy_from_pinned(&a.pinned).async_on(&b.stream) };
    "copy_to_host": |a, b| unsafe { copy_to_host(&a.buffer).async_on(&b.stream) };
    "copy_to_pinned": |a, b| unsafe { copy_to_pinned(&a.buffer, &mut b.pinned).async_on(&a.stream) };
    "copy_to_pinned": |a, b| unsafe { copy_to_pinned(&a.buffer, &mut b.pinned).async_on(&b.stream) };
    "copy_on_device": |a, b| unsafe { copy_on_device(&a.buffer, b.buffer.view_mut()).async_on(&a.stream) };
    "copy_on_device": |a, b| unsafe { copy_on_device(&a.buffer, b.buffer.view_mut()).async_on(&b.stream) };
    "memset": |a, b| unsafe { memset(a.buffer.view_mut(), 1).async_on(&b.stream) };
    "from_event": |a, b| unsafe { from_event(b.spare_event()?, ()).async_on(&a.stream) };
}

/// Functions of two objects that need not refuse those of two drivers, and why.
pub(crate) const OTHERS: &[(&str, &str)] = &[
    ("CudaDevice::can_access_peer", "it answers that they cannot"),
    ("CudaStream::join", "the host waits between two drivers"),
    ("CudaStream::belongs_to", "it answers that it does not"),
    ("CopyBatch::push", "no driver call: `submit` compares"),
    ("CopyBatch::push_from_host", "no driver call: `submit` compares"),
    ("CopyBatch::push_to_host", "no driver call: `submit` compares"),
    ("PrefetchBatch::push", "no driver call: `submit` compares"),
    ("RegionBatch::push", "no driver call: `submit` compares"),
    ("CopyNode::host_to_device", "host memory has no driver"),
    ("CopyNode::device_to_host", "host memory has no driver"),
    ("DeviceBuffer::from_raw_parts", "unsafe: duty 3"),
    ("TiledMap::encode_object", "the context is the memory's own"),
    ("Im2colMap::encode_object", "the context is the memory's own"),
    ("AsyncKernelLaunch::attribute", "no driver call: the operation compares"),
    ("AsyncKernelLaunch::pitched", "no driver call: the operation compares"),
    ("AsyncKernelLaunch::pitched_mut", "no driver call: the operation compares"),
    ("AsyncKernelLaunch::execute", "what `into_operation` executes"),
    ("KernelLaunch::of", "what a macro writes for `AsyncKernelLaunch::into_operation`"),
    ("::submit", "what `cuda_launch!` writes, by a reference"),
    ("::submit_shared", "what `cuda_launch!` writes"),
    ("::get", "what a macro writes for `DeviceView::to_host_vec`"),
    ("Code::get", "what a macro writes for `ModuleGlobal::to_host_vec`"),
];
