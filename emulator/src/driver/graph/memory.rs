//! Memory nodes: allocations that are a graph's, at addresses that are known when the node is made.
//!
//! A launch allocates what its nodes say, in its order; a free node of this graph or another one, or the program, gives
//! it back. Here the bytes are there from the making of the node until nobody has it any more: what is counted, refused
//! and allowed is as with a driver, but a kernel that uses the memory too early or too late is not found out.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays and the types of attribute values.

use cuda_driver_sys::*;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use super::capture::record::Recorder;
use super::nodes::insert;
use super::operation::Operation;
use crate::driver::device::checked;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Out, Outcome, Untyped, entries};
use crate::driver::state::{Call, State, lock};
use crate::memory::Memory;

entries! {
    cuGraphAddMemAllocNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS) = add_alloc;
    cuGraphMemAllocNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS) = get_alloc;
    cuGraphAddMemFreeNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, address: CUdeviceptr) = add_free;
    cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: *mut CUdeviceptr) = get_free;
    cuDeviceGraphMemTrim(device: CUdevice) = trim;
    cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) = get_attribute;
    cuDeviceSetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) = set_attribute;
}

/// The memory of graphs, by address.
#[derive(Default)]
pub(in crate::driver) struct GraphMemory(Mutex<Table>);

#[derive(Default)]
struct Table {
    blocks: BTreeMap<u64, Entry>,
    /// Highest use and reservation of each device since they were reset.
    high: BTreeMap<CUdevice, [u64; 2]>,
}

/// What is known about an allocation.
struct Entry {
    device: CUdevice,
    bytes: u64,
    /// Kept while it is allocated, though its graph may be gone.
    live: Option<Arc<Block>>,
}

/// Bytes at an address; given back when dropped.
pub(in crate::driver) struct Block {
    address: u64,
    bytes: u64,
    device: CUdevice,
    memory: Arc<Memory>,
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(state) = crate::driver::state::get() {
            lock(&state.graph_memory.0).blocks.remove(&self.address);
        }
        // It is live: nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}

/// What a node allocates.
#[derive(Clone)]
pub(in crate::driver) struct Alloc {
    block: Arc<Block>,
    properties: Properties,
}

/// The properties of memory as the program gave them.
#[derive(Clone, Copy)]
struct Properties(CUmemPoolProps);

// SAFETY: the pointer in them is null or of another system; nobody follows it.
unsafe impl Send for Properties {}
// SAFETY: a shared reference only gives copies, which may go to other threads as above.
unsafe impl Sync for Properties {}

impl Table {
    /// Bytes of a device: in use, and reserved.
    fn count(&self, device: CUdevice) -> [u64; 2] {
        let of = |entry: &&Entry| entry.device == device;
        let live = self.blocks.values().filter(of).filter(|entry| entry.live.is_some());
        [live.map(|entry| entry.bytes).sum(), self.blocks.values().filter(of).map(|entry| entry.bytes).sum()]
    }

    fn note(&mut self, device: CUdevice) {
        let now = self.count(device);
        let high = self.high.entry(device).or_default();
        high.iter_mut().zip(now).for_each(|(high, now)| *high = now.max(*high));
    }
}

impl GraphMemory {
    fn contains(&self, address: u64) -> bool {
        lock(&self.0).blocks.contains_key(&address)
    }

    fn is_live(&self, address: u64) -> bool {
        lock(&self.0).blocks.get(&address).is_some_and(|entry| entry.live.is_some())
    }

    fn set_live(&self, block: &Arc<Block>) {
        let mut table = lock(&self.0);
        if let Some(entry) = table.blocks.get_mut(&block.address) {
            entry.live = Some(Arc::clone(block));
        }
        table.note(block.device);
    }

    /// Gives back what a launch allocated. Work given before may still use it: the answer is held until that is done.
    pub(in crate::driver) fn release(&self, address: u64) -> Option<Arc<Block>> {
        lock(&self.0).blocks.get_mut(&address).and_then(|entry| entry.live.take())
    }
}

impl Alloc {
    fn new(call: &Call, properties: &CUmemPoolProps, bytes: usize) -> Outcome<Alloc> {
        let device = device_of(properties)?;
        checked(device)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let state = call.state()?;
        let memory = Arc::clone(&state.device(device)?.memory);
        let bytes = bytes as u64;
        let address = memory.allocate(bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let block = Arc::new(Block { address, bytes, device, memory });
        let mut table = lock(&state.graph_memory.0);
        table.blocks.insert(address, Entry { device, bytes, live: None });
        table.note(device);
        Ok(Alloc { block, properties: Properties(*properties) })
    }

    /// What the parameters of a node ask for.
    pub(super) fn read(call: &Call, parameters: &CUDA_MEM_ALLOC_NODE_PARAMS) -> Outcome<Alloc> {
        // SAFETY: by the function's contract there are that many descriptions.
        let access = unsafe {
            let all: In<'_, CUmemAccessDesc> = In::from_c(parameters.accessDescs);
            all.read_array(parameters.accessDescCount)?
        };
        access.iter().try_for_each(|description| device_at(&description.location).map(|_| ()))?;
        Alloc::new(call, &parameters.poolProps, parameters.bytesize)
    }

    /// Where it allocates.
    pub(super) fn address(&self) -> u64 {
        self.block.address
    }

    fn parameters(&self) -> CUDA_MEM_ALLOC_NODE_PARAMS {
        CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: self.properties.0,
            accessDescs: std::ptr::null(),
            accessDescCount: 0,
            bytesize: self.block.bytes as usize,
            dptr: self.block.address,
        }
    }
}

/// The device that a location names.
#[allow(clippy::missing_const_for_fn, reason = "it reads a union")]
fn device_at(location: &CUmemLocation) -> Outcome<CUdevice> {
    if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
        return Err(INVALID_VALUE);
    }
    // SAFETY: a location of a device has its number.
    let device = unsafe { location.__bindgen_anon_1.id };
    checked(device).map(|_| device)
}

/// Graphs allocate pinned memory of a device that stays in this process.
fn device_of(properties: &CUmemPoolProps) -> Outcome<CUdevice> {
    let pinned = properties.allocType == CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    let local = properties.handleTypes == CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    if pinned && local { device_at(&properties.location) } else { Err(INVALID_VALUE) }
}

/// Makes a node of `cuMemAllocAsync`; tells the address.
pub(in crate::driver) fn capture_alloc(
    call: &Call,
    recorder: &Recorder,
    device: CUdevice,
    bytes: usize,
) -> Outcome<u64> {
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.__bindgen_anon_1.id = device;
    let alloc = Alloc::new(call, &properties, bytes)?;
    let address = alloc.address();
    recorder.add(call.state()?, Operation::Alloc(alloc))?;
    Ok(address)
}

/// Makes a node of `cuMemFreeAsync`: only what a graph allocates can be freed by one.
pub(in crate::driver) fn capture_free(call: &Call, recorder: &Recorder, address: u64) -> Outcome {
    let state = call.state()?;
    recorder.add(state, free(state, address)?).map(|_| ())
}

/// The operation that frees what a graph allocated.
pub(super) fn free(state: &State, address: u64) -> Outcome<Operation> {
    if state.graph_memory.contains(address) { Ok(Operation::Free(address)) } else { Err(INVALID_VALUE) }
}

/// Notes what a launch allocates and frees, in its order. What is still allocated from the launch before is a mistake,
/// unless the graph was instantiated to free it then. The answer is held until the launch is done.
pub(super) fn launch(state: &State, operations: &[&Operation], auto_free: bool) -> Outcome<Vec<Arc<Block>>> {
    let memory = &state.graph_memory;
    let own = |address: u64| {
        operations.iter().any(|other| matches!(other, Operation::Alloc(alloc) if alloc.address() == address))
    };
    for operation in operations {
        match operation {
            Operation::Alloc(alloc) if memory.is_live(alloc.address()) && !auto_free => {
                return Err(INVALID_VALUE);
            }
            Operation::Free(address) if !own(*address) && !memory.is_live(*address) => {
                return Err(INVALID_VALUE);
            }
            _ => {}
        }
    }
    let mut freed = Vec::new();
    for operation in operations {
        match operation {
            Operation::Alloc(alloc) => memory.set_live(&alloc.block),
            Operation::Free(address) => freed.extend(memory.release(*address)),
            _ => {}
        }
    }
    Ok(freed)
}

fn add_alloc(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Outcome {
    let mut asked = parameters.get().ok_or(INVALID_VALUE)?;
    let made = |call: &Call| {
        let alloc = Alloc::read(call, &asked)?;
        asked.dptr = alloc.address();
        Ok(Operation::Alloc(alloc))
    };
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, made)? };
    parameters.set(asked);
    Ok(())
}

fn get_alloc(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEM_ALLOC_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Alloc(alloc) = operation else { return Err(INVALID_VALUE) };
        place.set(alloc.parameters());
        Ok(())
    })
}

fn add_free(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    address: CUdeviceptr,
) -> Outcome {
    let twice = |operation: &Operation| matches!(operation, Operation::Free(other) if *other == address);
    if call.graph(graph)?.contents().nodes.values().any(|node| twice(&node.operation)) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, |call| free(call.state()?, address)) }
}

fn get_free(call: &Call, node: CUgraphNode, address: Out<CUdeviceptr>) -> Outcome {
    let place = address.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Free(address) = operation else { return Err(INVALID_VALUE) };
        place.set(*address);
        Ok(())
    })
}

/// Nothing is kept that no graph has.
fn trim(_: &Call, device: CUdevice) -> Outcome {
    checked(device).map(|_| ())
}

/// All of them are a `cuuint64_t`.
fn get_attribute(call: &Call, device: CUdevice, attribute: CUgraphMem_attribute, value: Untyped) -> Outcome {
    use CUgraphMem_attribute as A;
    checked(device)?;
    let value = value.required()?;
    let table = lock(&call.state()?.graph_memory.0);
    let [used, reserved] = table.count(device);
    let [used_high, reserved_high] = table.high.get(&device).copied().unwrap_or_default();
    let answer = match attribute {
        A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => used,
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => used_high,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => reserved,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => reserved_high,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: the caller gives a place for a `cuuint64_t`.
    unsafe { value.write(answer) };
    Ok(())
}

/// The highest values can be reset to what is used now; nothing else can be set.
fn set_attribute(call: &Call, device: CUdevice, attribute: CUgraphMem_attribute, value: Untyped) -> Outcome {
    use CUgraphMem_attribute as A;
    checked(device)?;
    let value = value.required()?;
    // SAFETY: the caller gives a `cuuint64_t`.
    let value: u64 = unsafe { value.read() };
    let which = match attribute {
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => 0,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => 1,
        _ => return Err(INVALID_VALUE),
    };
    if value != 0 {
        return Err(INVALID_VALUE);
    }
    let mut table = lock(&call.state()?.graph_memory.0);
    let now = table.count(device);
    let high = table.high.entry(device).or_default();
    if let (Some(high), Some(now)) = (high.get_mut(which), now.get(which)) {
        *high = *now;
    }
    Ok(())
}
