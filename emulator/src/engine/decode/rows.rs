//! Registers in the rows of parameters.

use super::super::exec::alu::{Lane, lane1, lane2};
use super::super::exec::operand::Class;
use super::draft::Operand;

/// How a register is read from the rows of a parameter that start at `row`.
pub(crate) fn from_rows(class: Class, row: u32) -> (Lane, Vec<Operand>) {
    match class {
        Class::Wide | Class::Quad => (
            lane2(|low: u32, high: u32| u64::from(low) | u64::from(high) << 32),
            vec![Operand::Row(row), Operand::Row(row + 1)],
        ),
        Class::Word => (lane1(|a: u32| a), vec![Operand::Row(row)]),
        Class::Predicate => (lane1(|a: u32| a != 0), vec![Operand::Row(row)]),
    }
}

/// How a register is written to the rows of a parameter that start at `row`.
pub(crate) fn to_rows(class: Class, row: u32) -> (Lane, Vec<Operand>) {
    match class {
        Class::Wide | Class::Quad => {
            (lane1(|a: u64| (a as u32, (a >> 32) as u32)), vec![Operand::Row(row), Operand::Row(row + 1)])
        }
        Class::Word => (lane1(|a: u32| a), vec![Operand::Row(row)]),
        Class::Predicate => (lane1(|a: bool| u32::from(a)), vec![Operand::Row(row)]),
    }
}
