//! The state that an instruction uses: the frame of the running split, its live lanes, and the surrounding launch.
#![allow(unsafe_code)]
// Relies on: `regs` and `predicates` point to the current frame and code for as long as an instruction of
// that code runs (the scheduler sets them whenever it changes split), and operands come from the decoder, which only creates offsets
// inside the frame and pool that the code declares, with the classes that the function requires: duty 2 of `Exec`, which all
// functions that run an instruction have. A reference into the frame is used for one statement or within the function that created
// it, which does not write to the frame meanwhile.

use std::cell::UnsafeCell;

use super::super::code::{Code, Inst, Matrix, Row, Slot};
use super::super::env::{Block, Env};
use super::super::fault::FaultKind;
use super::super::profile::{Profile, Profiled};
use super::super::schedule::{Order, Scheduled};
use super::super::watch::Watch;
use super::super::windows::LOCAL_START;
use super::memory::Region;

/// If fewer lanes than this are live, they run one by one.
const FEW: u32 = 4;

/// Why an instruction stopped the kernel, for the scheduler's report.
#[derive(Debug)]
pub(crate) struct StopReason {
    /// What happened.
    pub(crate) kind: FaultKind,
    /// Which lane.
    pub(crate) lane: u32,
    /// The address, for accesses.
    pub(crate) address: Option<u64>,
    /// One sentence.
    pub(crate) message: String,
}

/// The state of a warp that does not depend on its splits.
#[derive(Debug)]
pub(crate) struct WarpState {
    /// Number of the warp in its block.
    pub(crate) index: u32,
    /// `%tid.x`, `.y`, `.z` per lane.
    pub(crate) tid: [Row; 3],
    /// Lanes that have a thread.
    pub(crate) present: u32,
    /// Lanes whose thread has exited (or never was).
    pub(crate) exited: u32,
    /// Local memory: word `w` of lane `l` is element `w * 32 + l`.
    pub(crate) local: Vec<u32>,
}

/// The shape of the lanes' addresses, recorded by a leading load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The turn of the lanes in which it was recorded; 0 for never.
    pub(super) turn: u64,
    /// The lowest offset that loads with the same address register may have.
    pub(super) lowest: u64,
    /// How much higher than that the offset may be.
    pub(super) room: u64,
    /// The access of each half's first lane, at the lowest offset.
    pub(super) hosts: [*mut u8; 2],
    /// Whether all lanes of the half access the same address; otherwise they are consecutive.
    pub(super) uniform: [bool; 2],
}

impl Shape {
    /// No shape.
    pub(crate) const NONE: Shape =
        Shape { turn: 0, lowest: 0, room: 0, hosts: [std::ptr::null_mut(); 2], uniform: [false; 2] };
}

/// The state of the running split.
pub(crate) struct Lanes<'e> {
    regs: *mut Row,
    predicates: *mut u32,
    code: Option<&'e Code>,
    mask: u32,
    /// The low half of the mask, and the high one. They are two numbers so that no lane is the sign bit, which would need a separate
    /// comparison in the code for [`blend`](super::operand::blend).
    halves: [u32; 2],
    /// How many lanes are live.
    live: u32,
    few: bool,
    /// The target of a branch.
    pub(crate) target: u32,
    /// The lanes of a divergent branch that take it.
    pub(crate) taken: u32,
    /// Local address of the running frame's variables.
    pub(crate) local_base: u32,
    /// Local address after the running frame's variables.
    pub(crate) local_top: u32,
    /// The launch.
    pub(crate) env: &'e Env<'e>,
    /// The running block: entered before its warps get their turns, and borrowed from the group until their end.
    block: *const Block,
    /// The running warp, on the heap: entered before any of its instructions runs, and accessed by the scheduler only between two
    /// instructions.
    warp: *mut WarpState,
    /// The region of the last access of each memory instruction of the kernel.
    pub(crate) sites: Box<[Region]>,
    /// The instructions whose last access was to memory of the running block.
    private_sites: Vec<u32>,
    /// The address shapes that loads record for others of their block.
    shapes: Box<[Shape]>,
    /// Incremented whenever the lanes are pointed at a frame.
    turn: u64,
    /// Weak hint that the split waits for others: counts loads that poll for other threads' stores.
    pub(crate) polls: u32,
    /// Instructions executed so far, each counted once for every live lane.
    pub(crate) instructions: u64,
    /// When to look next whether the launch is to stop, in [`instructions`](Self::instructions), and whether it is.
    stops: (u64, bool),
    /// Set by an instruction that returns [`Step::Fault`](super::super::code::Step::Fault).
    pub(crate) trouble: Option<Box<StopReason>>,
    /// The state of watched instructions, which is not used otherwise.
    pub(crate) watch: Option<Box<Watch>>,
    /// The counts of counted instructions, which are not used otherwise.
    pub(in crate::engine) profile: Option<Box<Profile>>,
    /// The order of scheduled instructions, which is not used otherwise.
    pub(in crate::engine) order: Option<Box<Order>>,
}

/// Instructions of threads after which a worker looks whether its launch is to stop: about a millisecond.
const LOOK: u64 = 1 << 22;

impl<'e> Lanes<'e> {
    /// Lanes of no split yet: [`Self::enter_block`], [`Self::enter_warp`] and [`Self::enter`] come before any
    /// instruction.
    pub(crate) fn new(env: &'e Env<'e>) -> Lanes<'e> {
        Lanes {
            regs: std::ptr::null_mut(),
            predicates: std::ptr::null_mut(),
            code: None,
            mask: 0,
            halves: [0; 2],
            live: 0,
            few: true,
            target: 0,
            taken: 0,
            local_base: 0,
            local_top: 0,
            env,
            block: std::ptr::null(),
            warp: std::ptr::null_mut(),
            sites: vec![Region::NONE; env.kernel.sites as usize].into(),
            private_sites: Vec::new(),
            shapes: vec![Shape::NONE; env.kernel.shapes as usize].into(),
            turn: 0,
            polls: 0,
            instructions: 0,
            stops: (LOOK, false),
            trouble: None,
            watch: Watch::new(env),
            profile: Profile::new(env),
            order: env.undo.as_ref().map(Order::ordinary),
        }
    }

    /// Whether the threads are to stop where they are. Looks only now and then.
    pub(crate) fn must_stop(&mut self) -> bool {
        if self.instructions >= self.stops.0 {
            self.stops = (self.instructions + LOOK, self.env.must_stop());
        }
        self.stops.1
    }

    /// Points the lanes at a block.
    pub(crate) fn enter_block(&mut self, block: &Block) {
        self.block = block;
        for site in self.private_sites.drain(..) {
            self.sites[site as usize] = Region::NONE;
        }
    }

    /// Points the lanes at the same block again: a `&mut` to its owner has invalidated the earlier pointer.
    pub(crate) fn enter_block_again(&mut self, block: &Block) {
        self.block = block;
    }

    /// Caches the region of a memory instruction's access.
    pub(crate) fn remember(&mut self, site: u32, region: Region) {
        if let Some(cached) = self.sites.get_mut(site as usize) {
            *cached = region;
            if region.private {
                self.private_sites.push(site);
            }
        }
    }

    /// The number of the current turn: within a turn, instructions run in the order of the text.
    #[inline(always)]
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// The shape with that number.
    #[inline(always)]
    pub(crate) fn shape(&self, number: u32) -> Shape {
        self.shapes.get(number as usize).copied().unwrap_or(Shape::NONE)
    }

    /// Records the shape with that number.
    #[inline(always)]
    pub(crate) fn remember_shape(&mut self, number: u32, shape: Shape) {
        if let Some(known) = self.shapes.get_mut(number as usize) {
            *known = shape;
        }
    }

    /// Points the lanes at a warp of that block.
    pub(crate) fn enter_warp(&mut self, warp: &UnsafeCell<WarpState>) {
        self.warp = warp.get();
    }

    /// Points the lanes at a frame of that warp. `local_base` is where its local variables start, counted from the
    /// first local byte, and `dynamic` is the number of bytes that it has in addition.
    pub(crate) fn enter(
        &mut self,
        code: &'e Code,
        rows: &mut [Row],
        predicates: &mut [u32],
        (local_base, dynamic): (u32, u32),
    ) {
        // The decoder counts from the first register, which follows the constants.
        self.regs = rows.as_mut_ptr().wrapping_add(code.constants.len());
        self.predicates = predicates.as_mut_ptr();
        self.turn += 1;
        self.code = Some(code);
        self.local_base = local_base;
        self.local_top = LOCAL_START + local_base + code.local_bytes + dynamic;
    }

    /// Local address after the running frame's declared variables, where its stack begins.
    pub(crate) fn stack_base(&self) -> u32 {
        LOCAL_START + self.local_base + self.code.map_or(0, |code| code.local_bytes)
    }

    /// Why the refused instruction with that number was refused.
    pub(crate) fn refusal(&self, index: usize) -> String {
        self.code
            .and_then(|code| code.refusals.get(index))
            .map(|(_, reason)| reason.clone())
            .unwrap_or_default()
    }

    /// The information about a counted instruction of the entered code: the index of its function, its index there, and the decoder's
    /// notes.
    pub(in crate::engine) fn profiled(&self, inst: &Inst) -> Option<(usize, usize, &'e Profiled)> {
        let code = self.code?;
        let at = (std::ptr::from_ref(inst).addr() - code.insts.as_ptr().addr()) / size_of::<Inst>();
        Some((code.number, at, self.env.kernel.profiled.get(code.number)?.get(at)?))
    }

    /// The information about a scheduled instruction of the entered code, and its index there.
    pub(in crate::engine) fn scheduled(&self, inst: &Inst) -> Option<(u32, &'e Scheduled)> {
        let code = self.code?;
        let at = (std::ptr::from_ref(inst).addr() - code.insts.as_ptr().addr()) / size_of::<Inst>();
        Some((at as u32, self.env.kernel.scheduled.get(code.number)?.get(at)?))
    }

    /// The operands of a matrix instruction of the entered code.
    pub(crate) fn matrix(&self, inst: &Inst) -> Option<&'e Matrix<Slot>> {
        self.code?.matrices.get(inst.imm as usize)
    }

    /// A clock that ticks with the instructions of the worker.
    pub(crate) fn clock(&self) -> u64 {
        self.instructions
    }

    /// The live lanes.
    #[inline(always)]
    pub(crate) fn mask(&self) -> u32 {
        self.mask
    }

    /// Changes the live lanes.
    #[inline(always)]
    pub(crate) fn set_mask(&mut self, mask: u32) {
        self.mask = mask;
        self.halves = halves(mask);
        // Counting bits is slow without a CPU instruction for it, which not all CPUs have.
        self.live = if mask == !0 { 32 } else { mask.count_ones() };
        self.few = self.live <= FEW;
    }

    /// How many lanes are live.
    #[inline(always)]
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The live lanes, sixteen to a number.
    #[inline(always)]
    pub(crate) fn mask_halves(&self) -> [u32; 2] {
        self.halves
    }

    /// Whether running lanes one by one is faster.
    #[inline(always)]
    pub(crate) fn few(&self) -> bool {
        self.few
    }

    /// The row of an operand.
    ///
    /// # Safety
    /// 1. `slot` is a row operand of an instruction of the entered code.
    #[inline(always)]
    pub(crate) unsafe fn row(&self, slot: Slot) -> *mut Row {
        // SAFETY: by the caller's duty 1 the decoder made the offset for this frame, so one of its rows lies there, or a constant if it
        // is negative.
        unsafe { self.regs.byte_offset(slot.0 as i32 as isize) }
    }

    /// The predicate of an operand, one bit per lane.
    ///
    /// # Safety
    /// 1. `slot` is a predicate operand of an instruction of the entered code.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, slot: Slot) -> *mut u32 {
        // SAFETY: by the caller's duty 1 the decoder made the index for this frame, to whose predicates `enter` has set the
        // pointer.
        unsafe { self.predicates.add(slot.0 as usize) }
    }

    /// The lanes for which a guard operand holds: a predicate index, its top bit set for "not".
    ///
    /// # Safety
    /// 1. `guard` is the guard of an instruction of the entered code.
    #[inline(always)]
    pub(crate) unsafe fn passing(&self, guard: u32) -> u32 {
        // SAFETY: by the caller's duty 1 the bits below the top one are an index that the decoder made for this frame, to whose predicates
        // `enter` has set the pointer.
        let bits = unsafe { *self.predicates.add((guard & !Slot::CONSTANT) as usize) };
        bits ^ ((guard as i32 >> 31) as u32)
    }

    /// The running block.
    #[inline(always)]
    pub(crate) fn block(&self) -> &Block {
        // SAFETY: the field's documentation: the scheduler entered the running block before its instructions run, and
        // it is borrowed for reading during their turn.
        unsafe { &*self.block }
    }

    /// The running warp.
    #[inline(always)]
    pub(crate) fn warp(&self) -> &WarpState {
        // SAFETY: the field's documentation: the scheduler entered the running warp before its instructions run, and accesses it
        // only between two instructions.
        unsafe { &*self.warp }
    }

    /// The running warp's local memory.
    #[inline(always)]
    pub(crate) fn local(&mut self) -> &mut Vec<u32> {
        // SAFETY: the running warp, as in `warp`; while an instruction runs, references to it are created only through the lanes, and `&mut
        // self` prevents others.
        unsafe { &mut (*self.warp).local }
    }

    /// Records why the kernel stops.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, lane: u32, address: Option<u64>, message: String) {
        self.trouble = Some(Box::new(StopReason { kind, lane, address, message }));
    }
}

/// The lower sixteen lanes of a mask, and the upper ones.
#[inline(always)]
pub(crate) fn halves(mask: u32) -> [u32; 2] {
    [mask & 0xffff, mask >> 16]
}

/// The set bits of a mask, lowest first.
#[inline(always)]
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
