//! `malloc` and `free` of device code.

use super::code::Origin;
use super::exec::lanes::Lanes;
use super::fault::FaultKind;
use crate::memory::Caller;

/// `malloc`: the address of the block; 0 if the heap has no room for it.
pub(super) fn malloc(lanes: &mut Lanes<'_>, lane: usize, bytes: u64, origin: Origin) -> u64 {
    let memory = lanes.env.memory;
    let address = memory.allocate_in_heap(bytes, caller(lanes, lane, origin)).unwrap_or(0);
    if let Some(watch) = &mut lanes.watch
        && let Some(block) = memory.block(address)
    {
        watch.allocated(block.host.addr() as u64, block.len);
    }
    address
}

/// `free`: frees a block, or does nothing for 0. False after a fault.
pub(super) fn free(lanes: &mut Lanes<'_>, lane: usize, address: u64, origin: Origin) -> bool {
    if address == 0 {
        return true;
    }
    let by = caller(lanes, lane, origin);
    let memory = lanes.env.memory;
    let Err(place) = memory.heap().free(address, by) else { return true };
    let place = place.unwrap_or_else(|| memory.describe(address, 1));
    let message = format!("`free` of 0x{address:x}, which is not a block of `malloc`: {place}");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
    false
}

pub(super) fn caller(lanes: &Lanes<'_>, lane: usize, origin: Origin) -> Caller {
    let kernel = lanes.env.kernel;
    Caller {
        kernel: kernel.name.clone(),
        block: lanes.block().id,
        thread: [0, 1, 2].map(|axis: usize| lanes.warp().tid[axis].0[lane & 31]),
        ptx_line: origin.line,
        source: kernel.source(origin).map(|(file, line)| (file.to_owned(), line)),
    }
}
