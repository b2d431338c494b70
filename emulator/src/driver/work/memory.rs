//! Memory that graphs allocate, at addresses that are known when the node is made, and frees of memory.
//!
//! A launch performs the allocations of its nodes, in its order; a free node of this graph or another one, or the
//! program, frees the memory. Here the bytes exist from the creation of the node until it is dropped everywhere:
//! accounting and errors are as with a driver, but a kernel that uses the memory too early or too late is not detected, unless nothing orders it
//! with the allocation or the free: that is a race between launches.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays, and for what is set in unions: C1 and C2 in `entry`.

use cuda_driver_sys::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::Turn;
use super::graph_memory::{Counts, Footprint, sum};
use crate::check::launches::{AccessKind, Frees};
use crate::driver::current_work::{self, Accesses};
use crate::driver::device::checked;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Outcome};
use crate::driver::exhausted::exhausted;
use crate::driver::fault::bad_range;
use crate::driver::memory::allocations::ALLOCATIONS;
use crate::driver::memory::location::Location;
use crate::driver::memory::managed;
use crate::driver::since::Known;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, lock};
use crate::engine::Fault;
use crate::memory::{BadRange, Memory};

/// The memory of graphs, by address.
pub(in crate::driver) struct GraphMemory(Mutex<Table>);

pub(in crate::driver) static GRAPH_MEMORY: PerSlot<GraphMemory> =
    per_slot!(GraphMemory(Mutex::new(Table { blocks: BTreeMap::new(), counts: BTreeMap::new() })));

pub(in crate::driver) struct Table {
    blocks: BTreeMap<u64, Option<Live>>,
    /// Of each device.
    pub(in crate::driver) counts: BTreeMap<CUdevice, Counts>,
}

/// An allocation that a launch holds, even if its graph is destroyed, and the footprint of that launch.
type Live = (Arc<Block>, Arc<Footprint>);

/// Bytes at an address; freed when dropped.
pub(in crate::driver) struct Block {
    address: u64,
    bytes: u64,
    device: CUdevice,
    memory: Arc<Memory>,
    properties: Properties,
}

impl Drop for Block {
    fn drop(&mut self) {
        lock(&GRAPH_MEMORY.0).blocks.remove(&self.address);
        managed::forget(self.address);
        // It is live, because only this frees it.
        let _ = self.memory.free(self.address);
    }
}

/// The allocation of a node.
#[derive(Clone)]
pub(in crate::driver) struct Alloc {
    block: Arc<Block>,
}

/// The properties of memory as the program has passed them.
#[derive(Clone, Copy)]
struct Properties(CUmemPoolProps);

// SAFETY: the only pointer in them (for security attributes, on another system) is only returned to the program and never dereferenced. The
// rest are numbers.
unsafe impl Send for Properties {}
// SAFETY: nothing in them changes through a shared reference, which only gives copies: these may be sent to other threads, as for
// `Send`.
unsafe impl Sync for Properties {}

impl Table {
    /// What launches need whose memory is still allocated, but for those of `own`.
    fn live(&self, device: CUdevice, own: &[&Alloc]) -> [u64; 2] {
        let own: HashSet<u64> = own.iter().map(|alloc| alloc.address()).collect();
        let others = self.blocks.iter().filter(|(address, _)| !own.contains(address));
        let mut launches: Vec<&Arc<Footprint>> =
            others.filter_map(|(_, live)| live.as_ref().map(|(_, launch)| launch)).collect();
        launches.sort_by_key(|launch| Arc::as_ptr(launch));
        launches.dedup_by_key(|launch| Arc::as_ptr(launch));
        launches.iter().map(|launch| launch.of(device)).fold([0; 2], sum)
    }

    /// A launch takes what it needs beside what others have; that stays until it is trimmed.
    fn take(&mut self, launch: &Footprint, own: &[&Alloc]) {
        for device in launch.devices() {
            let need = sum(self.live(device, own), launch.of(device));
            self.counts.entry(device).or_default().grow(need);
        }
    }

    /// Releases memory that no launch needs any more.
    pub(in crate::driver) fn trim(&mut self, device: CUdevice) {
        let live = self.live(device, &[]);
        self.counts.entry(device).or_default().current = live;
    }
}

impl GraphMemory {
    /// Forgets all of it.
    pub(in crate::driver) fn clear(&self) {
        let nothing = Table { blocks: BTreeMap::new(), counts: BTreeMap::new() };
        let table = std::mem::replace(&mut *lock(&self.0), nothing);
        // Dropped without the lock, because dropping takes it.
        drop(table);
    }

    /// What is known about all of it.
    pub(in crate::driver) fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.0)
    }

    fn contains(&self, address: u64) -> bool {
        lock(&self.0).blocks.contains_key(&address)
    }

    pub(in crate::driver) fn is_live(&self, address: u64) -> bool {
        lock(&self.0).blocks.get(&address).is_some_and(Option::is_some)
    }

    /// A launch is about to allocate these, or to have them at hand (`cuGraphUpload`).
    pub(in crate::driver) fn take(&self, launch: &Footprint, own: &[&Alloc]) {
        lock(&self.0).take(launch, own);
    }

    /// A launch allocates it.
    pub(in crate::driver) fn set_live(&self, alloc: &Alloc, launch: &Arc<Footprint>) {
        let block = &alloc.block;
        if let Some(live) = lock(&self.0).blocks.get_mut(&block.address) {
            *live = Some((Arc::clone(block), Arc::clone(launch)));
        }
    }

    /// Frees memory that a launch has allocated. Earlier work may still use it, so the result must be held until that
    /// is done.
    pub(in crate::driver) fn release(&self, address: u64) -> Option<Arc<Block>> {
        lock(&self.0).blocks.get_mut(&address).and_then(Option::take).map(|(block, _)| block)
    }
}

impl Alloc {
    fn new(call: &Call, properties: &CUmemPoolProps, bytes: usize) -> Outcome<Alloc> {
        let (device, preferred) = place_of(properties)?;
        checked(device)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let memory = Arc::clone(call.state()?.memory_of(device)?);
        let bytes = bytes as u64;
        let address = match preferred {
            Some(location) => managed::allocate_at(&memory, location, bytes),
            None => memory.allocate(bytes),
        };
        let address = address.map_err(|_| exhausted(&memory, bytes))?;
        let block = Arc::new(Block { address, bytes, device, memory, properties: Properties(*properties) });
        lock(&GRAPH_MEMORY.0).blocks.insert(address, None);
        Ok(Alloc { block })
    }

    /// Memory of a device.
    pub(in crate::driver) fn on(call: &Call, device: CUdevice, bytes: usize) -> Outcome<Alloc> {
        let mut properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            ..Default::default()
        };
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.__bindgen_anon_1.id = device;
        Alloc::new(call, &properties, bytes)
    }

    /// Managed memory.
    pub(in crate::driver) fn managed(call: &Call, location: Location, bytes: usize) -> Outcome<Alloc> {
        let mut properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
            ..Default::default()
        };
        properties.location.type_ = location.kind;
        properties.location.__bindgen_anon_1.id = location.id;
        Alloc::new(call, &properties, bytes)
    }

    /// The allocation for the parameters of a node.
    pub(in crate::driver) fn read(call: &Call, parameters: &CUDA_MEM_ALLOC_NODE_PARAMS) -> Outcome<Alloc> {
        // SAFETY: 1 of `from_c`: the caller's pointer, which by C1, C2 and C4 is valid until the call returns, longer than `all`. 1 of
        // `read_array`: by C1 it is null or has the number of descriptions in the count beside it.
        let access = unsafe {
            let all: In<'_, CUmemAccessDesc> = In::from_c(parameters.accessDescs);
            all.read_array(parameters.accessDescCount)?
        };
        access.iter().try_for_each(|description| device_at(&description.location).map(|_| ()))?;
        Alloc::new(call, &parameters.poolProps, parameters.bytesize)
    }

    /// Its address.
    pub(in crate::driver) fn address(&self) -> u64 {
        self.block.address
    }

    /// A launch allocates it: the bytes are there already.
    pub(super) fn run(&self, turn: &Turn) {
        note(turn, &self.block.memory, self.block.address, Frees::Nothing);
    }

    /// How much, and the device whose memory that is.
    pub(in crate::driver) fn size(&self) -> (u64, CUdevice) {
        (self.block.bytes, self.block.device)
    }

    /// The parameters as the API tells them.
    pub(in crate::driver) fn parameters(&self) -> CUDA_MEM_ALLOC_NODE_PARAMS {
        CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: self.block.properties.0,
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
    // SAFETY: this is the location of a device, whose number is set, by C2 or in `Alloc::on`; any bytes are a number.
    let device = unsafe { location.__bindgen_anon_1.id };
    checked(device).map(|_| device)
}

/// Graphs allocate memory that stays in this process: of a device, or managed memory, and then where that shall be.
fn place_of(properties: &CUmemPoolProps) -> Outcome<(CUdevice, Option<Location>)> {
    if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
        return Err(INVALID_VALUE);
    }
    match properties.allocType.known()? {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => Ok((device_at(&properties.location)?, None)),
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => {
            let location = Location::of_managed(properties.location)?;
            Ok((location.counted_by(), Some(location)))
        }
        _ => Err(INVALID_VALUE),
    }
}

/// What a free node is called in reports.
const FREE_NODE: &str = "memory free node";

/// An operation that frees memory.
#[derive(Clone)]
pub(in crate::driver) enum Free {
    /// In a graph: its launch frees, when it begins, the memory at that address.
    OfGraph(u64),
    /// In a stream: memory of a graph, which is held until the free runs.
    Block(Arc<Block>),
    /// In a stream: an allocation that is released.
    Allocation(u64),
}

impl Free {
    /// A graph can only free memory that a graph has allocated.
    pub(in crate::driver) fn of_graph(address: u64) -> Outcome<Free> {
        if GRAPH_MEMORY.contains(address) { Ok(Free::OfGraph(address)) } else { Err(INVALID_VALUE) }
    }

    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        match self {
            Free::Allocation(address) => free(turn, *address),
            Free::Block(block) => {
                note(turn, &block.memory, block.address, Frees::GraphMemory);
                Ok(())
            }
            Free::OfGraph(address) => {
                note(turn, &turn.state.memory, *address, Frees::GraphMemory);
                Ok(())
            }
        }
    }
}

/// Frees an allocation.
fn free(turn: &Turn, address: u64) -> Result<(), Box<Fault>> {
    let memory = &turn.state.memory;
    let record = ALLOCATIONS.finish(address);
    note(turn, memory, address, Frees::Allocation);
    if let Some(pool) = record.and_then(|record| record.pool) {
        pool.give_back(memory.find(address).map_or(0, |allocation| allocation.len()));
    }
    managed::forget(address);
    let freed = memory.free(address);
    freed.map_err(|error| {
        let error = BadRange { address, bytes: 0, description: error.description };
        bad_range(turn.caller.unwrap_or(FREE_NODE), &error)
    })
}

/// For the check for races between launches: what accesses the bytes has to be ordered with their allocation or free.
fn note(turn: &Turn, memory: &Memory, address: u64, frees: Frees) {
    let begun = match frees {
        Frees::Nothing => current_work::begin(turn.stream, "memory allocation node"),
        _ => current_work::begin_free(turn.stream, turn.caller.unwrap_or(FREE_NODE), frees),
    };
    let Some(ongoing) = begun else { return };
    let bytes = memory.find(address).map_or(0, |allocation| allocation.len());
    let mut accesses = Accesses::default();
    accesses.add(memory, address, bytes, AccessKind::Plain, true);
    ongoing.touch(accesses.touched());
    current_work::end(ongoing, memory);
}
