//! The constants of a function, as rows that instructions read like registers.

use std::collections::HashMap;

use super::super::code::Row;

/// The constant pool of a function.
#[derive(Debug, Default)]
pub(super) struct Pool {
    rows: Vec<Row>,
    known: HashMap<(bool, u64), u32>,
}

impl Pool {
    /// The row that holds `value` in every lane.
    pub(super) fn word(&mut self, value: u32) -> u32 {
        let rows = &mut self.rows;
        *self.known.entry((false, u64::from(value))).or_insert_with(|| {
            rows.push(Row([value; 32]));
            rows.len() as u32 - 1
        })
    }

    /// The word of a row, if all lanes have the same.
    pub(super) fn word_of(&self, row: u32) -> Option<u32> {
        let [first, rest @ ..] = &self.rows.get(row as usize)?.0;
        rest.iter().all(|word| word == first).then_some(*first)
    }

    /// The first of the two rows that hold `value` in every lane.
    pub(super) fn wide(&mut self, value: u64) -> u32 {
        let rows = &mut self.rows;
        *self.known.entry((true, value)).or_insert_with(|| {
            let halves = [value as u32, (value >> 32) as u32];
            // In the memory layout of a 64-bit register.
            let (first, second) = if cfg!(target_endian = "little") { (0, 1) } else { (1, 0) };
            let row = Row(std::array::from_fn(|at| halves[if at % 2 == 0 { first } else { second }]));
            rows.extend([row, row]);
            rows.len() as u32 - 2
        })
    }

    /// The rows.
    pub(super) fn finish(self) -> Box<[Row]> {
        self.rows.into()
    }
}
