//! Slots for registers in a frame: registers that are never live together share one.

use std::ops::Range;

use super::super::code::{Row, Slot};
use super::super::decode::draft::{Draft, Register};
use super::super::exec::operand::Class;
use super::blocks::Block;
use super::liveness::{Interval, Lives, lives};

/// Predicates 0 and 1 of every frame: never and always.
const FIXED_PREDICATES: u32 = 2;

/// The layout of a frame.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Place by register.
    slots: Box<[Slot]>,
    /// Rows in all.
    pub(crate) rows: u32,
    /// Those of registers of 64 bits, in pairs; before them are words, and behind them the coordinates of textures, of 128 bits.
    pub(crate) wide_rows: Range<u32>,
    /// Predicates in all.
    pub(crate) predicates: u32,
    /// Rows that must be zero at the start, because they may be read before they are written: the fixed ones, and those of `unwritten`.
    pub(crate) zeroed: Box<[Range<u32>]>,
    /// The registers that may be read before they are written.
    pub(crate) unwritten: Vec<Register>,
}

impl Frame {
    /// The slot of a register.
    pub(crate) fn slot(&self, register: Register) -> Slot {
        self.slots[register.0 as usize]
    }
}

/// The slots of one class; the slot that was freed last is reused first.
#[derive(Default)]
struct Places {
    free: Vec<u32>,
    count: u32,
}

impl Places {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// Lays out the frame of a function: parameters first, then registers by class.
pub(crate) fn allocate(drafts: &[Draft], blocks: &[Block], classes: &[Class], fixed_rows: u32) -> Frame {
    let Lives { intervals, unwritten } = lives(drafts, blocks, classes.len());
    let mut order: Vec<(Register, Interval)> = intervals
        .iter()
        .enumerate()
        .filter_map(|(index, interval)| Some((Register(index as u32), (*interval)?)))
        .collect();
    order.sort_by_key(|(register, interval)| (interval.start, register.0));
    let mut places: [Places; 4] = Default::default();
    let mut place = vec![0; classes.len()];
    // Registers in use by the end of their interval.
    let mut active = std::collections::BinaryHeap::new();
    for (register, interval) in order {
        while let Some(std::cmp::Reverse((end, done))) = active.peek().copied()
            && end < interval.start
        {
            active.pop();
            let done: u32 = done;
            places[class_index(classes[done as usize])].free.push(place[done as usize]);
        }
        place[register.0 as usize] = places[class_index(classes[register.0 as usize])].take();
        active.push(std::cmp::Reverse((interval.end, register.0)));
    }
    let count = |class| places[class_index(class)].count;
    let words = fixed_rows;
    let wides = words + count(Class::Word);
    let quads = wides + 2 * count(Class::Wide);
    let slot = |(index, class): (usize, &Class)| {
        let place = place[index];
        Slot(match class {
            Class::Predicate => FIXED_PREDICATES + place,
            Class::Word => (words + place) * Row::BYTES,
            Class::Wide => (wides + 2 * place) * Row::BYTES,
            Class::Quad => (quads + 4 * place) * Row::BYTES,
        })
    };
    let slots: Box<[Slot]> = classes.iter().enumerate().map(slot).collect();
    let rows_of = |register: Register| {
        let first = slots[register.0 as usize].0 / Row::BYTES;
        match classes[register.0 as usize] {
            // Predicates are few: they all start as zero.
            Class::Predicate => 0..0,
            Class::Word => first..first + 1,
            Class::Wide => first..first + 2,
            Class::Quad => first..first + 4,
        }
    };
    let zeroed = std::iter::once(0..fixed_rows).chain(unwritten.iter().copied().map(rows_of));
    Frame {
        zeroed: zeroed.filter(|rows| !rows.is_empty()).collect(),
        rows: quads + 4 * count(Class::Quad),
        wide_rows: wides..quads,
        predicates: FIXED_PREDICATES + count(Class::Predicate),
        slots,
        unwritten,
    }
}

fn class_index(class: Class) -> usize {
    match class {
        Class::Word => 0,
        Class::Wide => 1,
        Class::Predicate => 2,
        Class::Quad => 3,
    }
}
