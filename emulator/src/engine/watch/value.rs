//! Undefined values: of registers and local memory that were never written, and of lanes that do not participate in a shuffle.
//!
//! Compilers generate moves of undefined values, and programs shuffle values that they then discard. So a value is tracked until something
//! depends on it: an address, a branch, the effect of a guarded instruction, or a computed value that is stored to global memory (a plain
//! copy may be of a structure with unset members). A guard that only determines the value of a register makes that register undefined, like
//! the predicate of a selection. Values are tracked per lane and as a whole: the result of an instruction that may mask or select some of
//! its bits (logic, shifts, minima, products of integers) counts as defined. Only the registers of the kernel itself are tracked, not those
//! of the functions that it calls.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`.

use rustc_hash::FxHashMap;

use super::super::code::Inst;
use super::super::exec::lanes::{Lanes, bits};
use super::super::exec::operand::Source;
use super::super::exec::warp_values::source_of;
use super::super::warp_op::{Shuffle, WarpOp};
use super::local::LocalWritten;
use super::operand::{Rule, Values};
use super::unit::WarpId;

/// In which lanes a register is undefined.
#[derive(Clone, Copy, Debug, Default)]
struct Undefined {
    lanes: u32,
    /// Where that began; `None` before anybody has read it.
    from: Option<From>,
    /// Whether it is computed from what is undefined, not that itself.
    computed: bool,
}

/// Where an undefined value began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct From {
    pub(super) site: u32,
    pub(super) origin: Origin,
}

/// How an undefined value came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first read of a register that was never written.
    Register,
    /// A shuffle from a lane that takes no part.
    Shuffle,
    /// A read of local memory that was never written.
    Local,
}

/// An undefined value that decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) lane: u8,
    pub(super) verb: &'static str,
    pub(super) from: From,
}

/// The undefined registers of all warps.
#[derive(Debug, Default)]
pub(super) struct Followed {
    warps: FxHashMap<WarpId, FxHashMap<u32, Undefined>>,
    local: LocalWritten,
}

impl Followed {
    /// A unit has ended.
    pub(super) fn left(&mut self, unit: u32) {
        self.warps.retain(|who, _| who.unit != unit);
        self.local.left(unit);
    }

    /// An instruction is about to run; what it lets undefined values decide. `stores` are the lanes that store to global memory.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `values` what the decoder noted about it.
    pub(super) unsafe fn step(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        values: &Values,
        active: Option<u32>,
        stores: impl FnOnce() -> u32,
    ) -> Option<Use> {
        let registers = self.warps.entry(who).or_insert_with(|| unwritten(lanes));
        let mask = lanes.mask();
        let operand = |at: usize| {
            let register = values.read.iter().find(|(operand, _)| *operand == at);
            register.map_or(Undefined::default(), |(_, register)| read(registers, *register, inst, mask))
        };
        let used = deciding(lanes, inst, values, operand, stores);
        // SAFETY: 1: the caller's duty 1.
        let result = unsafe { result(lanes, inst, (values, active), operand) };
        let mut loaded = [0; 4];
        match values.local {
            Some(access) if access.stores => {
                let undefined = std::array::from_fn(|element| operand(element).lanes);
                // SAFETY: 1: the decoder noted that access of the instruction: the caller's duty 1.
                unsafe { self.local.write(lanes, inst, who, access, undefined) };
            }
            // SAFETY: 1: the decoder noted that access of the instruction: the caller's duty 1.
            Some(access) => loaded = unsafe { self.local.read(lanes, inst, who, access) },
            None => {}
        }
        for (operand, register) in &values.written {
            let known = registers.entry(*register).or_default();
            let result = match loaded.get(*operand) {
                Some(lanes) if *lanes != 0 => {
                    let from = Some(From { site: inst.site, origin: Origin::Local });
                    Undefined { lanes: *lanes, from, computed: false }
                }
                _ => result,
            };
            known.lanes = known.lanes & !mask | result.lanes & mask;
            if result.lanes & mask != 0 {
                (known.from, known.computed) = (result.from, result.computed);
            }
        }
        let (undefined, verb) = used?;
        tell(registers, values.read.iter().map(|(_, register)| *register), undefined, verb)
    }

    /// An instruction is about to run in the lanes that pass its guard; what that decides although it is undefined, or in which lanes that
    /// leaves open what the registers hold that it writes.
    pub(super) fn guard(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        values: &Values,
    ) -> (Option<Use>, Open) {
        let registers = self.warps.entry(who).or_insert_with(|| unwritten(lanes));
        let Some(register) = values.guard else { return (None, Open::default()) };
        let guard = read(registers, register, inst, lanes.mask());
        match values.decides {
            _ if guard.lanes == 0 => (None, Open::default()),
            Some(verb) => (tell(registers, [register].into_iter(), guard, verb), Open::default()),
            None => (None, Open(Undefined { computed: true, ..guard })),
        }
    }

    /// It has run, under a guard that left open in which lanes.
    pub(super) fn ran(&mut self, who: WarpId, values: &Values, Open(undefined): Open) {
        let Some(registers) = self.warps.get_mut(&who).filter(|_| undefined.lanes != 0) else { return };
        for (_, register) in &values.written {
            let lanes = registers.get(register).map_or(0, |known| known.lanes);
            registers.insert(*register, Undefined { lanes: lanes | undefined.lanes, ..undefined });
        }
    }
}

/// The lanes in which an undefined guard leaves open whether an instruction writes its registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open(Undefined);

/// What is undefined where a kernel begins.
fn unwritten(lanes: &Lanes<'_>) -> FxHashMap<u32, Undefined> {
    let undefined = Undefined { lanes: u32::MAX, ..Undefined::default() };
    lanes.env.kernel.unwritten.iter().map(|register| (*register, undefined)).collect()
}

/// What an instruction finds in a register.
fn read(registers: &FxHashMap<u32, Undefined>, register: u32, inst: &Inst, mask: u32) -> Undefined {
    let Some(known) = registers.get(&register) else { return Undefined::default() };
    let first = From { site: inst.site, origin: Origin::Register };
    Undefined { lanes: known.lanes & mask, from: known.from.or(Some(first)), computed: known.computed }
}

/// Each place is told once, and what follows from it not at all.
fn tell(
    registers: &mut FxHashMap<u32, Undefined>,
    read: impl Iterator<Item = u32>,
    undefined: Undefined,
    verb: &'static str,
) -> Option<Use> {
    registers
        .values_mut()
        .filter(|known| known.from == undefined.from)
        .for_each(|known| known.lanes &= !undefined.lanes);
    for register in read {
        registers.entry(register).or_default().lanes &= !undefined.lanes;
    }
    Some(Use { lane: undefined.lanes.trailing_zeros() as u8, verb, from: undefined.from? })
}

/// What must be defined and is not.
fn deciding(
    lanes: &Lanes<'_>,
    inst: &Inst,
    values: &Values,
    operand: impl Fn(usize) -> Undefined,
    stores: impl FnOnce() -> u32,
) -> Option<(Undefined, &'static str)> {
    let found = |undefined: Undefined, verb| (undefined.lanes != 0).then_some((undefined, verb));
    match values.rule {
        Rule::Branch => found(operand(0), "branch by it"),
        Rule::Memory => {
            let watched = lanes.env.kernel.watched.get(inst.site as usize)?;
            let address =
                watched.note.map(|note| note.address).or(values.local.map(|local| local.address))?;
            let stored = || {
                let stored = operand(0);
                // Whoever copies a structure copies what was never set of it too, and of a vector some elements may be padding.
                let is_copy =
                    !stored.computed && stored.from.is_none_or(|from| from.origin != Origin::Shuffle);
                let matters = address == 1 && watched.is_store() && stored.lanes != 0 && !is_copy;
                let lanes = if matters { stored.lanes & stores() } else { 0 };
                found(Undefined { lanes, ..stored }, "store of it")
            };
            found(operand(address), "access at it").or_else(stored)
        }
        _ => None,
    }
}

/// What an instruction leaves undefined of what it writes.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code, and `values` what the decoder noted about it.
unsafe fn result(
    lanes: &Lanes<'_>,
    inst: &Inst,
    (values, active): (&Values, Option<u32>),
    operand: impl Fn(usize) -> Undefined,
) -> Undefined {
    // SAFETY: 1: asked for operands that are predicates by the rule, which the decoder noted of the instruction: the caller's duty 1.
    let predicate = |at: usize| inst.ops.get(at).map_or(0, |slot| unsafe { *lanes.predicate(*slot) });
    match values.rule {
        Rule::Move => operand(1),
        Rule::All => {
            let all = values.read.iter().map(|(at, _)| (operand(*at), !0));
            let all = all.fold(Undefined::default(), |all, one| joined(&[(all, !0), one]));
            Undefined { computed: true, ..all }
        }
        Rule::Select => {
            let (a, b, chooser, chosen) = (operand(1), operand(2), operand(3), predicate(3));
            let open = Undefined { computed: true, ..chooser };
            joined(&[(a, chosen & !open.lanes), (b, !chosen & !open.lanes), (open, !0)])
        }
        Rule::And | Rule::Or => {
            let (a, b) = (operand(1), operand(2));
            let other = if values.rule == Rule::And { 0 } else { u32::MAX };
            // Whether the other side leaves it open.
            let open = |at: usize, side: Undefined| predicate(at) ^ other | side.lanes;
            joined(&[(a, open(2, b)), (b, open(1, a))])
        }
        // SAFETY: 1: the rule says that it is a shuffle, of the entered code: the caller's duty 1.
        Rule::Shuffle => unsafe { shuffled(lanes, inst, (values, active), operand(2)) },
        Rule::None | Rule::Branch | Rule::Memory | Rule::Fetch => Undefined::default(),
    }
}

/// Values of which each is that of some lanes.
fn joined(parts: &[(Undefined, u32)]) -> Undefined {
    let here = |(part, mask): &&(Undefined, u32)| part.lanes & mask != 0;
    Undefined {
        lanes: parts.iter().fold(0, |lanes, (part, mask)| lanes | part.lanes & mask),
        from: parts.iter().find(here).and_then(|(part, _)| part.from),
        computed: parts.iter().filter(here).any(|(part, _)| part.computed),
    }
}

/// What the lanes of a shuffle get of lanes that take no part, or that have nothing to give.
///
/// # Safety
/// 1. `inst` is a shuffle of the entered code.
unsafe fn shuffled(
    lanes: &Lanes<'_>,
    inst: &Inst,
    (values, active): (&Values, Option<u32>),
    value: Undefined,
) -> Undefined {
    let Some(WarpOp::Shuffle(mode)) = values.shuffle else { return Undefined::default() };
    // SAFETY: operands 3 to 5 of a shuffle are words: the caller's duty 1; lanes of a mask are below 32.
    let word = |at: usize, lane: usize| unsafe {
        <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[at]), lane)
    };
    let (mut absent, mut undefined) = (0_u32, 0_u32);
    for lane in bits(lanes.mask()) {
        let members = active.unwrap_or_else(|| word(5, lane) & !lanes.warp().exited);
        let bit = 1 << lane;
        match read_from(mode, lane, word(3, lane), word(4, lane)) {
            source if members >> source & 1 == 0 => absent |= bit,
            // Lanes that are still to come may write their value before.
            source if value.lanes >> source & 1 != 0 => undefined |= bit,
            _ => {}
        }
    }
    if absent == 0 {
        return Undefined { lanes: undefined, ..value };
    }
    let from = Some(From { site: inst.site, origin: Origin::Shuffle });
    Undefined { lanes: absent | undefined, from, computed: value.computed }
}

/// The lane that a lane reads from: itself where the other one is out of range.
fn read_from(mode: Shuffle, lane: usize, b: u32, c: u32) -> usize {
    match source_of(mode, lane, b, c) {
        (source, true) => (source & 31) as usize,
        (_, false) => lane,
    }
}
