//! The check of one lane, and the faults.
#![allow(unsafe_code)]
// Relies on: the memory of a region is valid while the threads that can access it run (the head of `region`).

use super::super::super::code::Inst;
use super::super::super::fault::FaultKind;
use super::super::super::windows;
use super::super::lanes::Lanes;
use super::access::{Access, GENERIC, GLOBAL, LOCAL, PARAM, SHARED};
use super::find::region;
use super::local::{local_offset, local_read};

/// The location of the bytes of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EffectiveAddress {
    /// In contiguous memory.
    Host {
        /// The first byte. All of the access is aligned as was asked (to 16 where it is longer), and valid for reads and writes while the instruction
        /// runs; whoever else uses the bytes meanwhile does so as the head of `memory::access` says.
        pointer: *mut u8,
        /// Whether only the threads of this block group can touch it.
        private: bool,
    },
    /// At a byte of the thread's local memory.
    Local(u32),
}

/// Checks one lane's access, which is aligned to its size. On failure the reason is recorded and the instruction must return a fault.
pub(crate) fn effective_address(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    address: u64,
    bytes: u64,
) -> Option<EffectiveAddress> {
    effective_address_of(lanes, inst, lane, address, (bytes, bytes))
}

/// The same for `bytes` bytes at a multiple of `align`.
#[inline(never)]
pub(crate) fn effective_address_of(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    address: u64,
    (bytes, align): (u64, u64),
) -> Option<EffectiveAddress> {
    let local = match Access(inst.aux).space() {
        LOCAL => Some(address),
        GENERIC if windows::inside(windows::LOCAL, address) => Some(address - windows::LOCAL),
        _ => None,
    };
    if let Some(offset) = local {
        let inside = offset >= u64::from(windows::LOCAL_START)
            && offset.checked_add(bytes).is_some_and(|end| end <= u64::from(lanes.local_top));
        if inside && offset.is_multiple_of(align) {
            return Some(EffectiveAddress::Local(offset as u32));
        }
        return refuse(lanes, inst, lane, address, (bytes, align), inside);
    }
    match region(lanes, inst, address) {
        Some(region) if region.contains(address, bytes) => {
            // Not the offset: memory of the host may start anywhere.
            if !address.is_multiple_of(align) {
                return refuse(lanes, inst, lane, address, (bytes, align), true);
            }
            // SAFETY: `contains` found the offset inside the region's bytes, which are one allocation and valid while
            // the instruction runs (the head of `region`).
            let pointer = unsafe { region.host.add((address - region.base) as usize) };
            Some(EffectiveAddress::Host { pointer, private: region.private })
        }
        // The first byte is valid: if the alignment is wrong too, that is the reason.
        Some(region) if region.contains(address, 1) => {
            refuse(lanes, inst, lane, address, (bytes, align), !address.is_multiple_of(align))
        }
        _ => refuse(lanes, inst, lane, address, (bytes, align), false),
    }
}

/// The location of an aligned access, if there is memory; if not, nothing is recorded.
pub(crate) fn present(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    address: u64,
    bytes: u64,
) -> Option<EffectiveAddress> {
    if let Some(offset) = local_offset(lanes, inst, address, bytes) {
        return Some(EffectiveAddress::Local(offset));
    }
    let region = region(lanes, inst, address)?;
    if !region.contains(address, bytes) || !address.is_multiple_of(bytes) {
        return None;
    }
    // SAFETY: `contains` found the offset inside the region's bytes, which are one allocation and valid while the
    // instruction runs (the head of `region`).
    let pointer = unsafe { region.host.add((address - region.base) as usize) };
    Some(EffectiveAddress::Host { pointer, private: region.private })
}

/// Records a fault.
#[cold]
fn refuse(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    address: u64,
    (bytes, align): (u64, u64),
    misaligned: bool,
) -> Option<EffectiveAddress> {
    let access = Access(inst.aux);
    let verb = access.verb();
    let (kind, message) = if misaligned {
        let multiple =
            if align == bytes { String::new() } else { format!(", which is not a multiple of {align}") };
        let message =
            format!("misaligned {verb} of {bytes} bytes at {}0x{address:x}{multiple}", space_name(access));
        (FaultKind::MisalignedAddress, message)
    } else {
        let place = describe(lanes, access, address, bytes);
        let message =
            format!("illegal {verb} of {bytes} bytes at {}0x{address:x}, {place}", space_name(access));
        (FaultKind::IllegalAddress, message)
    };
    lanes.fail(kind, lane as u32, Some(address), message);
    None
}

fn space_name(access: Access) -> &'static str {
    match access.space() {
        SHARED => "shared address ",
        LOCAL => "local address ",
        PARAM => "parameter address ",
        _ => "",
    }
}

/// Describes an illegal address.
fn describe(lanes: &Lanes<'_>, access: Access, address: u64, bytes: u64) -> String {
    let (space, offset) = match access.space() {
        GENERIC if windows::inside(windows::SHARED, address) => (SHARED, address - windows::SHARED),
        GENERIC if windows::inside(windows::LOCAL, address) => (LOCAL, address - windows::LOCAL),
        GENERIC if windows::inside(windows::PARAM, address) => (PARAM, address - windows::PARAM),
        GENERIC => (GLOBAL, address),
        space => (space, address),
    };
    let outside = |what: &str, start: u32, len: u64| {
        let (start, end) = (u64::from(start), u64::from(start) + len);
        if offset < start {
            return format!("{} bytes before the {what} memory of {len} bytes", start - offset);
        }
        // As for allocations: how far after the end it starts, or by how many bytes it exceeds the end.
        let past =
            if offset >= end { offset - end } else { offset.saturating_add(bytes).saturating_sub(end) };
        format!("{past} bytes past the end of the {what} memory of {len} bytes")
    };
    match space {
        SHARED if offset >> windows::RANK_SHIFT != 0 => of_cluster(lanes, offset >> windows::RANK_SHIFT),
        SHARED => {
            let len = lanes.block().shared.get(lanes.block().rank as usize).map_or(0, |region| region.len);
            outside("block's shared", lanes.env.kernel.shared_start, len) + dynamic(lanes)
        }
        LOCAL => {
            outside("thread's local", windows::LOCAL_START, u64::from(lanes.local_top - windows::LOCAL_START))
        }
        PARAM if lanes.env.params.contains(offset, bytes) => {
            "a kernel's parameters, which are constant".to_owned()
        }
        PARAM => outside("parameter", 0, lanes.env.params.len),
        _ => lanes.env.memory.describe(address, bytes),
    }
}

/// An address in the window of a block of the cluster, where it has no memory.
fn of_cluster(lanes: &Lanes<'_>, window: u64) -> String {
    let blocks = &lanes.block().shared;
    let rank = window.saturating_sub(1);
    match blocks.get(rank as usize) {
        Some(region) if region.len == 0 && blocks.iter().any(|region| region.len > 0) => {
            format!("in the shared memory of the cluster's block {rank}, which has ended")
        }
        _ => "outside the shared memory of the cluster".to_owned(),
    }
}

/// The advice for a kernel with a dynamic array in shared memory that was launched without dynamic shared memory.
fn dynamic(lanes: &Lanes<'_>) -> &'static str {
    if !lanes.env.kernel.dynamic || lanes.env.launch.dynamic_shared != 0 {
        return "";
    }
    "; the kernel has an array in dynamic shared memory (`extern __shared__`), and the launch has 0 bytes of that: set the bytes that \
     the array needs (`sharedMemBytes`; `LaunchConfig::with_shared`)"
}

/// The first `len` bytes, or those before a zero byte if `text`, at a generic address of one thread; fewer if memory
/// ends before. For functions of the device runtime.
pub(crate) fn fetch(lanes: &mut Lanes<'_>, lane: usize, address: u64, len: usize, text: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let inst = Inst { aux: Access::new(1, None, 0).0, site: u32::MAX, ..Inst::NOTHING };
    for at in 0..len as u64 {
        let byte = match effective_address(lanes, &inst, lane, address.wrapping_add(at), 1) {
            // SAFETY: 1, 2: `effective_address` found one byte to be as `EffectiveAddress::Host` says.
            Some(EffectiveAddress::Host { pointer, .. }) => unsafe {
                crate::memory::access::Word::load(pointer)
            },
            Some(EffectiveAddress::Local(offset)) => local_read(lanes.local(), offset, lane, 1) as u8,
            None => break,
        };
        if text && byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    bytes
}
