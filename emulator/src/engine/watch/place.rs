//! What the lanes of an instruction access: where it is, and what a store would put there.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; what a region describes is there.

use cuda_ptx::Space;

use super::super::code::Inst;
use super::super::exec::lanes::{Lanes, bits};
use super::super::exec::matrix::rows::stored;
use super::super::exec::memory::{Access, Region, address, region};
use super::super::exec::operand::Source;
use super::super::windows;
use super::note::{Note, What};

/// The longest access: four numbers of 64 bits.
const LONGEST: usize = 32;

/// What one lane accesses.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Touch {
    pub(in crate::engine) lane: usize,
    /// The address, as the kernel has it.
    pub(in crate::engine) address: u64,
    pub(in crate::engine) bytes: u64,
    pub(in crate::engine) region: Region,
    /// What a store puts there; else nothing.
    value: [u8; LONGEST],
    /// Whether a store leaves what is there.
    pub(super) silent: bool,
}

impl Touch {
    /// The access of a lane, `bytes` at a multiple of `align`, if it lies, aligned, in memory that threads share. The instruction itself finds what is
    /// wrong with others.
    ///
    /// # Safety
    /// 1. `slot` is the number of an address operand of `inst`, an instruction of the entered code.
    /// 2. `lane` is below 32.
    pub(super) unsafe fn new(
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        slot: usize,
        lane: usize,
        (bytes, align): (u64, u64),
    ) -> Option<Touch> {
        // SAFETY: 1, 2: the same operand and lane: the caller's duties 1 and 2.
        let address = unsafe { address(lanes, inst, *inst.ops.get(slot)?, lane) };
        let region = region(lanes, inst, address).filter(|region| region.contains(address, bytes))?;
        let parameters = lanes.env.params.host == region.host;
        if parameters || bytes == 0 || !address.is_multiple_of(align) {
            return None;
        }
        Some(Touch { lane, address, bytes, region, value: [0; LONGEST], silent: false })
    }

    /// An access of a whole piece of memory, which was found to be there.
    pub(super) fn piece(lane: usize, region: Region, address: u64, bytes: u64) -> Touch {
        Touch { lane, address, bytes, region, value: [0; LONGEST], silent: false }
    }

    /// The access of an element of a texture or a surface, if its memory is there. `new` is what a store puts there.
    pub(super) fn element(
        lanes: &mut Lanes<'_>,
        lane: usize,
        (address, bytes): (u64, u64),
        new: &[u8],
    ) -> Option<Touch> {
        let global = Inst { aux: Access::new(1, Some(Space::Global), 0).0, ..Inst::NOTHING };
        let region = region(lanes, &global, address).filter(|region| region.contains(address, bytes))?;
        let mut touch = Touch::piece(lane, region, address, bytes);
        if !new.is_empty() && new.len() <= LONGEST {
            touch.value.iter_mut().zip(new).for_each(|(byte, value)| *byte = *value);
            touch.compare();
        }
        Some(touch)
    }

    /// Bytes between the start of the region and the access.
    pub(super) fn offset(&self) -> u64 {
        self.address - self.region.base
    }

    /// The first byte.
    pub(super) fn pointer(&self) -> *mut u8 {
        self.region.host.wrapping_add(self.offset() as usize)
    }

    /// The host's address of the first byte.
    pub(in crate::engine) fn host(&self) -> u64 {
        (self.region.host.addr() as u64).wrapping_add(self.offset())
    }

    /// Whether two lanes of one store leave it to chance what is there afterwards.
    pub(super) fn collides(&self, other: &Touch) -> bool {
        let distance = other.host().wrapping_sub(self.host());
        // Accesses of one instruction are aligned to their size: they are the same or apart.
        distance == 0 && self.value != other.value
    }

    /// Reads what the store of that note puts there.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and the note is its own.
    pub(super) unsafe fn look(&mut self, lanes: &Lanes<'_>, inst: &Inst, note: &Note) {
        let wide = match note.what {
            What::Store { wide } => wide,
            What::StoreRows(_) => {
                // SAFETY: 1: the note, the instruction's own, says that it is `stmatrix`: the caller's duty 1.
                let row = unsafe { stored(lanes, inst, self.lane) };
                self.value.iter_mut().zip(row).for_each(|(byte, value)| *byte = value);
                return self.compare();
            }
            _ => return,
        };
        let size = self.bytes as usize / note.address.max(1);
        let slots = inst.ops.iter().take(note.address);
        for (slot, target) in slots.zip(self.value.chunks_exact_mut(size.max(1))) {
            // SAFETY: the operands before the address are the elements, of the class that the instruction's own note
            // says (the caller's duty 1); the lane is below 32, as duty 2 of `new` was, and the frame stays the entered
            // one.
            let number = unsafe {
                match wide {
                    true => <u64 as Source>::get(<u64 as Source>::place(lanes, *slot), self.lane),
                    false => u64::from(<u32 as Source>::get(<u32 as Source>::place(lanes, *slot), self.lane)),
                }
            };
            target.iter_mut().zip(number.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        }
        self.compare();
    }

    /// Sees whether what it puts there is there already.
    fn compare(&mut self) {
        let mut there = [0; LONGEST];
        let there = there.get_mut(..self.bytes as usize).unwrap_or_default();
        // SAFETY: 1, 2: `new`, or `element`, found the access inside the region, whose bytes are there while the instruction runs,
        // which is when touches are made and looked at, and used as the head of `memory::access` says (the head of
        // `exec::memory::region`).
        unsafe { crate::memory::access::load(self.region.host.add(self.offset() as usize), there) };
        self.silent = self.value.get(..there.len()) == Some(there);
    }

    /// The rank of the block in whose shared memory it lies, where its address says that.
    pub(super) fn rank(&self) -> Option<u32> {
        let is_generic = windows::inside(windows::SHARED, self.address);
        let address = if is_generic { self.address - windows::SHARED } else { self.address };
        let tag = (address >> windows::RANK_SHIFT) as u32;
        tag.checked_sub(1).filter(|_| self.region.private)
    }

    /// Whether it lies in shared memory that hardware reserves: nobody has to write it first.
    pub(super) fn is_reserved(&self) -> bool {
        let start = u64::from(windows::SHARED_START);
        self.region.private && self.address & ((1 << windows::RANK_SHIFT) - 1) < start
    }
}

/// What all live lanes access.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code, and the note is its own.
pub(in crate::engine) unsafe fn touches(lanes: &mut Lanes<'_>, inst: &Inst, note: &Note) -> Vec<Touch> {
    let mut touches = Vec::with_capacity(32);
    for lane in bits(lanes.mask()) {
        // SAFETY: 1 of both: the note is the instruction's, of the entered code, and says which operand is the address:
        // the caller's duty 1; 2 of `new`: lanes of a mask are below 32.
        unsafe {
            if let Some(mut touch) = Touch::new(lanes, inst, note.address, lane, (note.bytes, note.bytes)) {
                touch.look(lanes, inst, note);
                touches.push(touch);
            }
        }
    }
    touches
}

/// What all live lanes of a `cp.async` read at one side and write at the other.
///
/// # Safety
/// 1. `inst` is such an instruction of the entered code.
pub(in crate::engine) unsafe fn copies(lanes: &mut Lanes<'_>, inst: &Inst) -> (Vec<Touch>, Vec<Touch>) {
    // Each side on its own; the site is the target's.
    let from = Inst { aux: inst.aux >> 16, imm: 0, site: u32::MAX, ..inst.clone() };
    let to = Inst { aux: inst.aux & 0xffff, imm: 0, ..inst.clone() };
    let write = Note { what: What::Store { wide: false }, address: 0, bytes: inst.imm };
    let mut reads = Vec::with_capacity(32);
    for lane in bits(lanes.mask()) {
        // SAFETY: operand 2 of a `cp.async` is a word, and operand 1 the source's address, as wide as the upper half of `aux` says: the
        // caller's duty 1, and 1 of `new`; 2 of `new`: lanes of a mask are below 32.
        reads.extend(unsafe {
            let wanted = <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane);
            Touch::new(lanes, &from, 1, lane, (inst.imm.min(wanted.into()), inst.imm))
        });
    }
    // SAFETY: 1: operand 0 of a `cp.async` is the target's address, as wide as the lower half of `aux` says: the caller's
    // duty 1. `address` is 0, so that no operand is taken for a value.
    let mut writes = unsafe { touches(lanes, &to, &write) };
    // Nobody knows yet what it will write.
    writes.iter_mut().for_each(|touch| touch.silent = false);
    (reads, writes)
}
