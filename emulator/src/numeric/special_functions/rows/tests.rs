//! Rows against one lane.
#![allow(unsafe_code)]
// Relies on: `vectors::available` is asked before rows are computed.

use super::*;
use crate::vectors;

/// Compares a row with its lanes; dead ones may differ.
fn compare<F: Special>(what: &str, operands: &Row, live: u32) {
    let mut results = *operands;
    let row = &raw mut results;
    // SAFETY: 1: a row; 2: the caller asked `vectors::available`.
    unsafe { special::<F>(row, row, live) };
    for (lane, (&operand, &result)) in operands.iter().zip(&results).enumerate() {
        let one = F::one(operand);
        let same = live >> lane & 1 == 0 || result == one;
        assert!(same, "{what} of {operand:08x} in lane {lane} of {live:08x}: {result:08x}, not {one:08x}");
    }
}

/// Rows of numbers from `first` on, that many apart, up to the last of 32 bits.
fn rows(first: u32, apart: u64) -> impl Iterator<Item = Row> {
    let starts = (u64::from(first)..1 << 32).step_by(apart as usize * 32);
    starts.map(move |start| std::array::from_fn(|lane| (start + lane as u64 * apart) as u32))
}

fn each<F: Special>(what: &str, apart: u64) {
    if !vectors::available() {
        return;
    }
    for operands in rows(0, apart) {
        compare::<F>(what, &operands, !0);
    }
}

/// Each exponent, sign and fraction of these, the ends of all that is treated in a way of its own among them, side by side in any order.
fn ends<F: Special>(what: &str) {
    if !vectors::available() {
        return;
    }
    let fractions = [0, 1, 2, 0x1_ffff, 0x2_0000, 0x3f_ffff, 0x40_0000, 0x7f_fffe, 0x7f_ffff];
    let upper = (0..1 << 9).map(|upper| upper << 23);
    let numbers: Vec<u32> = upper.flat_map(|upper| fractions.map(|fraction| upper | fraction)).collect();
    for (turn, live) in [!0, 0x5555_5555, 0xffff_0000, 1, 0x8000_0000, 0x0ff0_f00f].into_iter().enumerate() {
        for start in 0..numbers.len() {
            let at = |lane: usize| numbers[(start + lane * (turn * 150 + 1)) % numbers.len()];
            compare::<F>(what, &std::array::from_fn(at), live);
        }
    }
}

/// A test of each function: with numbers this far apart.
macro_rules! of_all {
    ($(#[$about:meta])* $test:ident, |$name:ident: $function:ident| $do:expr) => {
        $(#[$about])*
        #[test]
        fn $test() {
            of_all!(@each $name, $function, $do, Rcp<false> Rcp<true> Rsqrt<false> Rsqrt<true> Sqrt<false> Sqrt<true>);
            of_all!(@each $name, $function, $do, Ex2<false> Ex2<true> Lg2<false> Lg2<true> Sin Cos);
        }
    };
    (@each $name:ident, $function:ident, $do:expr, $($type:ident$(<$ftz:literal>)?)*) => {$({
        type $function = $type$(<$ftz>)?;
        let $name = stringify!($type$(<$ftz>)?);
        $do;
    })*};
}

of_all!(rows_are_lanes_at_the_ends_of_each_exponent, |name: F| ends::<F>(name));

of_all!(rows_are_lanes_all_over, |name: F| each::<F>(name, if cfg!(miri) { 400_009 } else { 997 }));

/// All fractions from 1 to 4, where the polynomials are the same as in all other octaves.
fn fractions<F: Special>(what: &str) {
    if !vectors::available() {
        return;
    }
    let apart = if cfg!(miri) { 40_009 } else { 1 };
    for operands in rows(1f32.to_bits(), apart).take_while(|row| row[31] < 4f32.to_bits()) {
        compare::<F>(what, &operands, !0);
    }
}

of_all!(rows_are_lanes_for_each_fraction, |name: F| fractions::<F>(name));

of_all!(
    #[ignore = "minutes"]
    rows_are_lanes_everywhere,
    |name: F| each::<F>(name, 1)
);
