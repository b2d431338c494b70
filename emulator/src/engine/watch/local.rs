//! Which bytes of local memory were written, by lane.
//!
//! Programs copy structures with members that were never set. So a read is not a mistake by itself: it results in an undefined value,
//! which is tracked ([`value`](super::value)), and after a store of an undefined value the bytes still count as not written.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`.

use rustc_hash::FxHashMap;

use super::super::code::Inst;
use super::super::exec::lanes::{Lanes, bits};
use super::super::exec::memory::{address, local_index, local_offset};
use super::operand::LocalAccess;
use super::unit::WarpId;

/// The most elements that an access has.
const MOST: usize = 4;

/// By warp, for each word of its local memory a bit for each byte.
#[derive(Debug, Default)]
pub(super) struct LocalWritten {
    warps: FxHashMap<WarpId, Vec<u8>>,
}

impl LocalWritten {
    /// A unit has ended.
    pub(super) fn left(&mut self, unit: u32) {
        self.warps.retain(|who, _| who.unit != unit);
    }

    /// A load is about to run: in which lanes nothing of an element was ever written, by element.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and that access its own.
    pub(super) unsafe fn read(
        &self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        access: LocalAccess,
    ) -> [u32; MOST] {
        let mut blank = [0; MOST];
        // SAFETY: 1: the caller's duty 1.
        for (lane, offset) in unsafe { offsets(lanes, inst, access) } {
            for (element, blank) in blank.iter_mut().enumerate().take(access.elements) {
                let at = offset + element as u32 * access.bytes;
                let is_blank = (at..at + access.bytes).all(|byte| !self.is_written(who, byte, lane));
                *blank |= u32::from(is_blank) << lane;
            }
        }
        blank
    }

    /// A store is about to run. `undefined` are the lanes in which an element is undefined.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and that access its own.
    pub(super) unsafe fn write(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        access: LocalAccess,
        undefined: [u32; MOST],
    ) {
        let warp = self.warps.entry(who).or_default();
        // SAFETY: 1: the caller's duty 1.
        for (lane, offset) in unsafe { offsets(lanes, inst, access) } {
            for (element, undefined) in undefined.iter().enumerate().take(access.elements) {
                let at = offset + element as u32 * access.bytes;
                for byte in at..at + access.bytes {
                    let index = local_index(byte, lane);
                    if warp.len() <= index {
                        warp.resize(index + 1, 0);
                    }
                    if let Some(word) = warp.get_mut(index) {
                        *word |= 1 << (byte % 4);
                        *word &= !((undefined >> lane & 1) << (byte % 4)) as u8;
                    }
                }
            }
        }
    }

    fn is_written(&self, who: WarpId, byte: u32, lane: usize) -> bool {
        let word = self.warps.get(&who).and_then(|warp| warp.get(local_index(byte, lane)));
        word.is_some_and(|word| word >> (byte % 4) & 1 != 0)
    }
}

/// The lanes that access local memory, and where.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code, and that access its own.
pub(super) unsafe fn offsets(lanes: &Lanes<'_>, inst: &Inst, access: LocalAccess) -> Vec<(usize, u32)> {
    let bytes = u64::from(access.bytes) * access.elements as u64;
    let Some(slot) = inst.ops.get(access.address).copied() else { return Vec::new() };
    let place = |lane| {
        // SAFETY: 1: the access, the instruction's own, says which operand is the address: the caller's duty 1; 2: lanes of a mask are below 32.
        let address = unsafe { address(lanes, inst, slot, lane) };
        local_offset(lanes, inst, address, bytes).map(|offset| (lane, offset))
    };
    bits(lanes.mask()).filter_map(place).collect()
}
