//! The results of warp-wide instructions, from the values of all lanes.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::code::{Inst, Slot};
use super::super::warp_op::{Reduction, Shuffle, WarpOp};
use super::lanes::{Lanes, bits};
use super::operand::{Dest, Source};
use super::vector::permute;

/// The inputs of the lanes.
#[derive(Debug)]
pub(crate) struct Inputs {
    value: [u64; 32],
    b: [u32; 32],
    c: [u32; 32],
    predicate: u32,
}

/// The results for the lanes.
#[derive(Debug)]
pub(crate) struct Outputs {
    value: [u32; 32],
    predicate: u32,
}

impl Inputs {
    /// Nothing brought yet.
    pub(crate) fn new() -> Inputs {
        Inputs { value: [0; 32], b: [0; 32], c: [0; 32], predicate: 0 }
    }

    /// Adds the inputs of the live lanes.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code that performs `op`.
    #[inline(always)]
    pub(crate) unsafe fn gather(&mut self, lanes: &Lanes<'_>, inst: &Inst, op: WarpOp) {
        let sources: &[Slot] = &inst.ops[op.dests()..];
        // SAFETY: the decoder made the instruction's operands as `WarpOp` lists them for `op`, sources behind the destinations: the
        // caller's duty 1; lanes are below 32, and the frame stays the entered one.
        unsafe {
            match op {
                WarpOp::Barrier | WarpOp::Elect | WarpOp::Matrix => {}
                WarpOp::Shuffle(_) => {
                    let value = <u32 as Source>::place(lanes, sources[0]);
                    let (b, c) = (
                        <u32 as Source>::place(lanes, sources[1]),
                        <u32 as Source>::place(lanes, sources[2]),
                    );
                    for lane in 0..32 {
                        if lanes.mask() & 1 << lane != 0 {
                            self.value[lane] = u64::from(<u32 as Source>::get(value, lane));
                            self.b[lane] = <u32 as Source>::get(b, lane);
                            self.c[lane] = <u32 as Source>::get(c, lane);
                        }
                    }
                }
                WarpOp::All | WarpOp::Any | WarpOp::Uniform | WarpOp::Ballot => {
                    let predicate = <bool as Source>::place(lanes, sources[0]);
                    self.predicate = self.predicate & !lanes.mask() | predicate & lanes.mask();
                }
                WarpOp::MatchAny(true) | WarpOp::MatchAll(true) => {
                    let value = <u64 as Source>::place(lanes, sources[0]);
                    bits(lanes.mask()).for_each(|lane| self.value[lane] = <u64 as Source>::get(value, lane));
                }
                WarpOp::MatchAny(false) | WarpOp::MatchAll(false) | WarpOp::Redux(_) => {
                    let value = <u32 as Source>::place(lanes, sources[0]);
                    bits(lanes.mask())
                        .for_each(|lane| self.value[lane] = u64::from(<u32 as Source>::get(value, lane)));
                }
            }
        }
    }
}

impl Outputs {
    /// The result for all lanes of `active`, the participating lanes.
    pub(crate) fn compute(op: WarpOp, inputs: &Inputs, active: u32) -> Outputs {
        let same = |value: u32, predicate: bool| Outputs {
            value: [value; 32],
            predicate: if predicate { !0 } else { 0 },
        };
        let votes = inputs.predicate & active;
        match op {
            WarpOp::Barrier | WarpOp::Matrix => same(0, false),
            WarpOp::Shuffle(mode) => {
                let value = inputs.value.map(|value| value as u32);
                // SAFETY: 1: without vectors it requires nothing.
                unsafe { shuffle::<false>(mode, &value, &inputs.b, &inputs.c, active) }
            }
            WarpOp::All => same(0, votes == active),
            WarpOp::Any => same(0, votes != 0),
            WarpOp::Uniform => same(0, votes == active || votes == 0),
            WarpOp::Ballot => same(votes, false),
            WarpOp::MatchAny(_) => {
                let (mut value, mut rest) = ([0; 32], active);
                while rest != 0 {
                    // One round for each value that there is.
                    let group = equal(inputs, active, inputs.value[rest.trailing_zeros() as usize]);
                    bits(group).for_each(|lane| value[lane] = group);
                    rest &= !group;
                }
                Outputs { value, predicate: 0 }
            }
            WarpOp::MatchAll(_) => {
                let first = inputs.value[active.trailing_zeros() as usize & 31];
                let all = equal(inputs, active, first) == active;
                same(if all { active } else { 0 }, all)
            }
            WarpOp::Redux(reduction) => same(reduce(reduction, inputs, active), false),
            WarpOp::Elect => {
                let leader = active & active.wrapping_neg();
                Outputs { value: [leader.trailing_zeros() & 31; 32], predicate: leader }
            }
        }
    }

    /// Hands the live lanes their results.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code that performs `op`.
    #[inline(always)]
    pub(crate) unsafe fn scatter(&self, lanes: &Lanes<'_>, inst: &Inst, op: WarpOp) {
        // SAFETY: 1, for each call: the decoder made the instruction's operands as `WarpOp` lists them for `op`, destinations first:
        // the caller's duty 1.
        unsafe {
            match op {
                WarpOp::Barrier | WarpOp::Matrix => {}
                WarpOp::Shuffle(_) | WarpOp::MatchAll(_) | WarpOp::Elect => {
                    <u32 as Dest>::commit(lanes, &inst.ops, &self.value);
                    <bool as Dest>::commit(lanes, &inst.ops[1..], &self.predicate);
                }
                WarpOp::All | WarpOp::Any | WarpOp::Uniform => {
                    <bool as Dest>::commit(lanes, &inst.ops, &self.predicate);
                }
                WarpOp::Ballot | WarpOp::MatchAny(_) | WarpOp::Redux(_) => {
                    <u32 as Dest>::commit(lanes, &inst.ops, &self.value);
                }
            }
        }
    }
}

/// The lanes of `active` that brought `value`.
#[inline(always)]
fn equal(inputs: &Inputs, active: u32, value: u64) -> u32 {
    (0..32).fold(0, |mask, lane| mask | u32::from(inputs.value[lane] == value) << lane) & active
}

fn reduce(reduction: Reduction, inputs: &Inputs, active: u32) -> u32 {
    let values = bits(active).map(|lane| inputs.value[lane] as u32);
    let signed = |a: u32, b: u32, pick: fn(i32, i32) -> i32| pick(a as i32, b as i32) as u32;
    let result = match reduction {
        Reduction::Add => values.reduce(u32::wrapping_add),
        Reduction::MinUnsigned => values.reduce(u32::min),
        Reduction::MaxUnsigned => values.reduce(u32::max),
        Reduction::MinSigned => values.reduce(|a, b| signed(a, b, i32::min)),
        Reduction::MaxSigned => values.reduce(|a, b| signed(a, b, i32::max)),
        Reduction::And => values.reduce(|a, b| a & b),
        Reduction::Or => values.reduce(|a, b| a | b),
        Reduction::Xor => values.reduce(|a, b| a ^ b),
    };
    result.unwrap_or(0)
}

/// The lane that a lane of a shuffle reads, and whether that is in range.
#[inline(always)]
pub(in crate::engine) fn source_of(mode: Shuffle, lane: usize, b: u32, c: u32) -> (i32, bool) {
    let (here, b) = (lane as i32, (b & 0x1f) as i32);
    let (clamp, segment) = ((c & 0x1f) as i32, (c >> 8 & 0x1f) as i32);
    let (min_lane, max_lane) = (here & segment, here & segment | clamp & !segment);
    match mode {
        Shuffle::Up => (here - b, here - b >= max_lane),
        Shuffle::Down => (here + b, here + b <= max_lane),
        Shuffle::Butterfly => (here ^ b, here ^ b <= max_lane),
        Shuffle::Index => (min_lane | b & !segment, (min_lane | b & !segment) <= max_lane),
    }
}

/// PTX ISA, "shfl.sync": `c` holds the clamp in bits 4..0 and the segment mask in bits 12..8.
///
/// # Safety
/// 1. With `VECTOR`, the CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(super) unsafe fn shuffle<const VECTOR: bool>(
    mode: Shuffle,
    value: &[u32; 32],
    b: &[u32; 32],
    c: &[u32; 32],
    active: u32,
) -> Outputs {
    let (mut from, mut holds) = ([0u32; 32], [0u32; 32]);
    for lane in 0..32 {
        let (source, valid) = source_of(mode, lane, b[lane], c[lane]);
        let here = lane as i32;
        let source = if valid { source & 31 } else { here };
        holds[lane] = if valid { 1 << lane } else { 0 };
        // A lane that does not participate has no value to read: the reader keeps its own.
        from[lane] = if active >> source & 1 != 0 { source } else { here } as u32;
    }
    let mut outputs = Outputs { value: [0; 32], predicate: holds.iter().fold(0, |mask, bit| mask | bit) };
    if VECTOR {
        // SAFETY: 1: the CPU has AVX2, as the caller's duty 1 says with `VECTOR`.
        outputs.value = unsafe { permute(value, &from) };
    } else {
        for lane in 0..32 {
            outputs.value[lane] = value[from[lane] as usize & 31];
        }
    }
    outputs
}
