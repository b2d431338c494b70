//! One of each object that a program may have, on a driver of its own: a table over the default driver that counts its calls, with
//! multicast objects and semaphores that are none.

#![allow(unreachable_pub, non_snake_case)] // For one test program; functions of the driver's names.

use crate::spies;
use cuda_harness::Spy;
use cuda_launch::device::SmResource;
use cuda_launch::event::TimingEvent;
use cuda_launch::graph::{
    Conditional, CopyNode, GraphMemory, GraphNode, HostMemory, InstantiateFlags, KernelNode, MemsetNode,
};
use cuda_launch::interop::{ExternalSemaphore, ExternalSemaphoreHandle};
use cuda_launch::launch::{self, PreparedLaunch};
use cuda_launch::memory::{ManagedAttach, MemoryPool, PinnedFlags, PitchedBuffer, PoolOptions};
use cuda_launch::module::{CudaLibrary, LibraryKernel, ModuleConstant, ModuleGlobal};
use cuda_launch::operation::{DeviceOperation, OperationGraph, OwnedKernelLaunch};
use cuda_launch::sys::{self, CUresult, pfn};
use cuda_launch::tensor::TensorMap;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::virtual_memory::{
    Mapping, MulticastObject, PhysicalAllocation, PhysicalOptions, VirtualReservation,
};
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaEvent, CudaFunction, CudaGraph, CudaModule, CudaStream, DeviceBuffer,
    Error, GraphExec, LaunchConfig, LaunchPlan, ManagedBuffer, PinnedBuffer, cuda_launch, kernel_args,
};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub const N: usize = 32;
/// Of memory of the emulator, and of GPUs.
const GRANULARITY: usize = 2 << 20;
const FILL: &str = include_str!("../../examples/kernels/fill.ptx");
const GLOBALS: &str = include_str!("../kernels/globals.ptx");

/// Nodes of a graph.
pub struct Nodes {
    pub kernel: GraphNode,
    pub copy: GraphNode,
    pub memset: GraphNode,
    pub event_record: GraphNode,
    pub event_wait: GraphNode,
    pub child: GraphNode,
}

pub struct Objects {
    /// Hears the calls of its driver.
    pub spy: Arc<Spy>,
    pub context: CudaContext,
    pub stream: CudaStream,
    pub event: Arc<CudaEvent>,
    pub timing: TimingEvent,
    pub multiprocessors: SmResource,
    pub library: CudaLibrary,
    pub kernel: LibraryKernel,
    pub module: CudaModule,
    pub function: CudaFunction,
    pub global: ModuleGlobal<f32>,
    pub constant: ModuleConstant<u32>,
    pub nodes: Nodes,
    pub graph: CudaGraph,
    pub exec: GraphExec,
    /// Another graph, with a condition and an allocation.
    pub special: CudaGraph,
    pub condition: Conditional,
    pub graph_memory: GraphMemory<u32>,
    pub plan: LaunchPlan,
    pub prepared: PreparedLaunch<'static>,
    pub operation: OperationGraph<DeviceBuffer<u32>>,
    pub buffer: DeviceBuffer<u32>,
    pub pinned: PinnedBuffer<u32>,
    pub managed: ManagedBuffer<u32>,
    pub pitched: PitchedBuffer<u32>,
    pub array: CudaArray<u32>,
    pub surface: SurfaceObject,
    pub texture: TextureObject,
    pub host: HostMemory<u32>,
    pub pool: MemoryPool,
    pub physical: PhysicalAllocation,
    pub addresses: VirtualReservation,
    pub multicast: MulticastObject,
    pub semaphore: ExternalSemaphore,
    pub tensor_map: TensorMap,
}

/// A driver of its own.
pub fn spy() -> Arc<Spy> {
    Arc::new(Spy::over(&spies::driver_with(replaced)).unwrap())
}

impl Objects {
    /// On another driver than all that were made before.
    pub fn new() -> Self {
        let spy = spy();
        let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
        Self::of(&spy, &context)
    }

    /// Of this context, whose driver's calls this spy hears.
    pub fn of(spy: &Arc<Spy>, context: &CudaContext) -> Self {
        let stream = context.new_stream().unwrap();
        let module = context.load_module(FILL).unwrap();
        let function = module.load_function("fill").unwrap();
        let library = CudaLibrary::load(context.driver(), GLOBALS).unwrap();
        let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        let host = HostMemory::new(vec![0u32; N]);
        let event = Arc::new(context.new_event().unwrap());
        let (graph, nodes) = graph(context, &function, &event, &mut buffer, &host).unwrap();
        let mut special = CudaGraph::new(context).unwrap();
        let config = LaunchConfig::for_num_elems(N as u32);
        let plan = LaunchPlan::record(context, |stream| unsafe {
            cuda_launch! { kernel: fill, module: module, stream: stream, config: config,
            args: [ptr_mut(buffer), N as u32, 1u32] }
        });
        let mut builder = stream.launch_builder(&function);
        let prepared = builder.arg(&mut buffer).arg(&(N as u32)).arg(&1u32).prepare(config).unwrap();
        let kernel = function.clone();
        let own = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        let owned = unsafe {
            OwnedKernelLaunch::new(own, move |of| {
                let mut launch = AsyncKernelLaunch::new(kernel);
                let out = launch::ptr_mut(of);
                launch.named("out", out).value(&(N as u32)).value(&1u32).set_launch_config(config);
                Ok(launch)
            })
        };
        let flat = ArrayShape::D1 { width: N };
        let array = CudaArray::new(context, flat, ArrayFlags::SURFACE).unwrap();
        let granularity = PhysicalOptions::default().granularity(context, false).unwrap();
        let mut spare = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        let objects = Self {
            spy: spy.clone(),
            timing: context.new_timing_event().unwrap(),
            multiprocessors: context.device().multiprocessors().unwrap(),
            kernel: library.kernel("fill_table").unwrap(),
            global: context.load_module(GLOBALS).unwrap().global("table").unwrap(),
            constant: context.load_module(GLOBALS).unwrap().constant("from_host").unwrap(),
            exec: graph.instantiate(InstantiateFlags::empty()).unwrap(),
            condition: special.add_condition(None).unwrap(),
            graph_memory: special.add_alloc(&[], N).unwrap(),
            plan: plan.unwrap(),
            pinned: PinnedBuffer::zeroed(context, N, PinnedFlags::empty()).unwrap(),
            managed: ManagedBuffer::uninit(context, N, ManagedAttach::Global).unwrap(),
            pitched: PitchedBuffer::uninit(&stream, N, 1).unwrap(),
            surface: SurfaceObject::new(&array).unwrap(),
            texture: TextureObject::from_array(&array, &TextureDescriptor::default()).unwrap(),
            pool: MemoryPool::new(context, PoolOptions::default()).unwrap(),
            physical: PhysicalAllocation::new(context, granularity, PhysicalOptions::default()).unwrap(),
            addresses: VirtualReservation::new(context, granularity, 0).unwrap(),
            multicast: MulticastObject::new(context, 2, granularity, Default::default()).unwrap(),
            semaphore: semaphore(context),
            tensor_map: TensorMap::from_raw(Default::default()),
            context: context.clone(),
            stream: stream.clone(),
            event,
            library,
            module,
            function: function.clone(),
            nodes,
            graph,
            special,
            prepared,
            operation: owned.graph_in(context).unwrap(),
            buffer,
            array,
            host,
        };
        spare.fill(&stream, 1).unwrap();
        objects.stream.synchronize().unwrap();
        objects
    }

    /// A buffer to be given away.
    pub fn spare(&self) -> Result<DeviceBuffer<u32>, Error> {
        let buffer = DeviceBuffer::zeroed(&self.stream, N)?;
        self.spy.clear();
        Ok(buffer)
    }

    /// The same of an event.
    pub fn spare_event(&self) -> Result<CudaEvent, Error> {
        let event = self.context.new_event()?;
        self.spy.clear();
        Ok(event)
    }

    /// Whether what the table refuses for two drivers is taken from one.
    pub fn works(&mut self) -> bool {
        self.stream.wait(&self.event).unwrap();
        self.graph.add_event_wait(&[], &self.event).unwrap();
        self.exec.set_event_wait(self.nodes.event_wait, &self.event).unwrap();
        self.special.add_condition(None).unwrap();
        DeviceBuffer::<u32>::uninit_in(&self.pool, &self.stream, N).unwrap();
        self.buffer.view_mut().copy_from_peer(&self.stream, &self.managed).unwrap();
        drop(Mapping::new(&self.addresses, 0, &self.physical).unwrap());
        self.multicast.add_device(&self.context).unwrap();
        drop(self.multicast.bind(&self.context, 0, &self.physical).unwrap());
        self.semaphore.signal(&self.stream, 1).unwrap();
        let again = CudaGraph::new(&self.context).unwrap();
        let mut exec = again.instantiate(InstantiateFlags::empty()).unwrap();
        exec.update(&again).is_ok()
    }
}

fn graph(
    context: &CudaContext,
    function: &CudaFunction,
    event: &Arc<CudaEvent>,
    buffer: &mut DeviceBuffer<u32>,
    host: &HostMemory<u32>,
) -> Result<(CudaGraph, Nodes), Error> {
    let mut graph = CudaGraph::new(context)?;
    let config = LaunchConfig::for_num_elems(N as u32);
    let node = KernelNode::new(function, config, &[], kernel_args![ptr_mut(buffer), N as u32, 1u32])?;
    let kernel = unsafe { graph.add_kernel(&[], node) }?;
    let copy = graph.add_copy(&[kernel], CopyNode::device_to_host(buffer, host)?)?;
    let memset = graph.add_memset(&[copy], MemsetNode::new(buffer, 1)?)?;
    let event_record = graph.add_event_record(&[memset], event)?;
    let event_wait = graph.add_event_wait(&[memset], event)?;
    let mut inner = CudaGraph::new(context)?;
    inner.add_empty(&[])?;
    let child = graph.add_child(&[event_wait], &inner)?;
    Ok((graph, Nodes { kernel, copy, memset, event_record, event_wait, child }))
}

#[cfg(unix)]
fn semaphore(context: &CudaContext) -> ExternalSemaphore {
    let file = std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    // The import that takes the driver's place looks at nothing.
    unsafe { ExternalSemaphore::import(context, ExternalSemaphoreHandle::FileDescriptor(file)) }.unwrap()
}

#[cfg(not(unix))]
fn semaphore(context: &CudaContext) -> ExternalSemaphore {
    let handle = ExternalSemaphoreHandle::Windows(1, std::ptr::null_mut());
    unsafe { ExternalSemaphore::import(context, handle) }.unwrap()
}

/// What asks for nothing with an object: what is current, the end of what was refused, and what an operation makes for its output, on the
/// stream that it runs on.
pub fn is_harmless(entry: &str, call: &str) -> bool {
    let for_output = [
        "cuMemAllocAsync",
        "cuPointerGetAttribute",
        "cuMemHostAlloc",
        "cuMemHostGetDevicePointer_v2",
        "cuMemFreeHost",
    ];
    let is_operation = !entry.contains("::");
    (is_operation && for_output.contains(&call))
        || [
            "cuCtxGetCurrent",
            "cuCtxSetCurrent",
            "cuCtxSynchronize",
            "cuFuncGetParamInfo",
            "cuEventDestroy_v2",
            "cuMemFreeAsync",
            "cuThreadExchangeStreamCaptureMode",
        ]
        .contains(&call)
}

/// Whether the driver says that all physical memory is on the next device.
pub static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Functions that no device of the emulator has, and one that [`ELSEWHERE`] changes.
fn replaced(name: &str) -> *const c_void {
    macro_rules! of {
        ($($name:ident($($argument:ident: $type:ty),*) $does:block)*) => {
            match name {
                $(stringify!($name) => {
                    unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                        $does
                        #[allow(unreachable_code)] // Some end with the answer of another call.
                        CUresult::SUCCESS
                    }
                    let function: pfn::$name = $name;
                    function as *const c_void
                })*
                _ => std::ptr::null(),
            }
        };
    }
    of! {
        cuMulticastGetGranularity(out: *mut usize, _p: *const sys::CUmulticastObjectProp,
            _o: sys::CUmulticastGranularity_flags) {
            unsafe { out.write(GRANULARITY) }
        }
        cuMulticastCreate(out: *mut sys::CUmemGenericAllocationHandle, _p: *const sys::CUmulticastObjectProp) {
            // Some memory, which can be mapped.
            let location = sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ..Default::default() };
            let type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            let memory = sys::CUmemAllocationProp { type_, location, ..Default::default() };
            return unsafe { cuda_launch::default_driver().unwrap().cuMemCreate(out, GRANULARITY, &memory, 0) };
        }
        cuMulticastAddDevice(_object: sys::CUmemGenericAllocationHandle, _device: sys::CUdevice) {}
        cuMulticastBindMem(_object: sys::CUmemGenericAllocationHandle, _offset: usize,
            _memory: sys::CUmemGenericAllocationHandle, _at: usize, _size: usize, _flags: u64) {}
        cuMulticastUnbind(_object: sys::CUmemGenericAllocationHandle, _device: sys::CUdevice, _offset: usize,
            _size: usize) {}
        cuMemGetAllocationPropertiesFromHandle(out: *mut sys::CUmemAllocationProp,
            memory: sys::CUmemGenericAllocationHandle) {
            let base = cuda_launch::default_driver().unwrap();
            let code = unsafe { base.cuMemGetAllocationPropertiesFromHandle(out, memory) };
            if code == CUresult::SUCCESS && ELSEWHERE.load(Ordering::Relaxed) {
                unsafe { (*out).location.__bindgen_anon_1.id += 1 };
            }
            return code;
        }
        cuImportExternalSemaphore(out: *mut sys::CUexternalSemaphore,
            _description: *const sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) {
            unsafe { out.write(std::ptr::dangling_mut()) }
        }
        cuSignalExternalSemaphoresAsync(_list: *const sys::CUexternalSemaphore,
            _parameters: *const sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, _count: u32, _stream: sys::CUstream) {}
        cuWaitExternalSemaphoresAsync(_list: *const sys::CUexternalSemaphore,
            _parameters: *const sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, _count: u32, _stream: sys::CUstream) {}
        cuDestroyExternalSemaphore(_semaphore: sys::CUexternalSemaphore) {}
    }
}
