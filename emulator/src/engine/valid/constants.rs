//! Operands that are constants: which numbers are possible, and where nothing but a number is.

use std::ops::RangeInclusive;

use cuda_ptx::{Literal, Operand};

use super::vectors::counted;

/// Numbers of barriers.
const BARRIERS: RangeInclusive<i64> = 0..=15;
/// Registers of a thread that `setmaxnreg` may ask for.
const REGISTERS: RangeInclusive<i64> = 24..=256;

/// Checks the constants of an instruction of that name.
pub(super) fn check(name: &str, operands: &[Operand<'_>]) -> Result<(), String> {
    let mnemonic = name.split('.').next().unwrap_or_default();
    match mnemonic {
        "bfe" => return fields(operands.get(2..)),
        "bfi" => return fields(operands.get(3..)),
        "alloca" | "applypriority" | "bar" | "barrier" | "cp" | "createpolicy" | "discard" | "elect"
        | "fence" | "lop3" | "mbarrier" | "membar" | "pmevent" | "setmaxnreg" => {}
        _ => return Ok(()),
    }
    let parts: Vec<&str> = name.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let at = |index: usize| operands.get(index);
    match mnemonic {
        "bar" | "barrier" if !has("warp") && !has("cluster") => barrier(has("red"), operands),
        "mbarrier" if has("parity") => match at(2).and_then(literal) {
            Some(parity) => within(parity, 0..=1),
            None => Ok(()),
        },
        "pmevent" => within(number(at(0))?, if has("mask") { 0..=0xffff } else { 0..=15 }),
        "cp" if has("ca") || has("cg") => copied(has("cg"), operands),
        "cp" if has("wait_group") => number(at(0)).and_then(|_| no_more(operands, 1)),
        "cp" if has("commit_group") || has("wait_all") => no_more(operands, 0),
        "alloca" => at(2).map_or(Ok(()), |align| number(Some(align)).map(drop)),
        "discard" | "applypriority" => one_of(number(at(1))?, &[128]),
        "setmaxnreg" => registers(number(at(0))?),
        "lop3" => number(at(4)).map(drop),
        "createpolicy" if has("fractional") => fraction(at(1)),
        "elect" if !matches!(at(0), Some(Operand::Pair(..))) => Err("`d|p` is expected".to_owned()),
        "membar" if parts.len() == 1 => Err("a scope is missing".to_owned()),
        "fence" if has("acquire") && has("proxy") && operands.len() == 2 => one_of(number(at(1))?, &[128]),
        "fence" if matches!(parts[1..], ["sc" | "acq_rel"]) => Err("a scope is missing".to_owned()),
        _ => Ok(()),
    }
}

/// The number and the threads of a barrier; in front of a reduction stands its result, and behind it a predicate.
fn barrier(reduces: bool, operands: &[Operand<'_>]) -> Result<(), String> {
    let operands = match operands {
        [_, inner @ .., _] if reduces => inner,
        operands => operands,
    };
    if let Some(barrier) = operands.first().and_then(literal) {
        within(barrier, BARRIERS)?;
    }
    match operands.get(1).and_then(literal) {
        Some(threads) if threads % 32 != 0 => Err(format!("{threads} threads are no whole warps")),
        _ => Ok(()),
    }
}

/// The bytes that `cp.async` copies, and how many of them it reads.
fn copied(past_l1: bool, operands: &[Operand<'_>]) -> Result<(), String> {
    let bytes = number(operands.get(2))?;
    let is_address = |operand: &Operand<'_>| {
        matches!(operand, Operand::Address { .. } | Operand::Indexed(..) | Operand::IndexedBy { .. })
    };
    if !operands.iter().take(2).all(is_address) {
        return Err("an address in brackets is expected".to_owned());
    }
    one_of(bytes, if past_l1 { &[16] } else { &[4, 8, 16] })?;
    match operands.get(3).and_then(literal) {
        Some(read) => within(read, 0..=bytes),
        None => Ok(()),
    }
}

/// Where a field of bits begins and how long it is.
fn fields(operands: Option<&[Operand<'_>]>) -> Result<(), String> {
    operands.unwrap_or_default().iter().filter_map(literal).try_for_each(|number| within(number, 0..=255))
}

fn registers(count: i64) -> Result<(), String> {
    within(count, REGISTERS)?;
    if count % 8 == 0 { Ok(()) } else { Err(format!("{count} is not a multiple of 8")) }
}

/// What part of the accesses a policy is for.
fn fraction(operand: Option<&Operand<'_>>) -> Result<(), String> {
    let part = match operand {
        Some(Operand::Literal(Literal::F32(bits))) => f64::from(f32::from_bits(*bits)),
        Some(Operand::Literal(Literal::F64(bits))) => f64::from_bits(*bits),
        _ => return Ok(()),
    };
    if part > 0.0 && part <= 1.0 { Ok(()) } else { Err(format!("{part} is not above 0 and at most 1")) }
}

fn literal(operand: &Operand<'_>) -> Option<i64> {
    match operand {
        Operand::Literal(Literal::Int(number)) => Some(*number),
        _ => None,
    }
}

/// The number that must be there. What is missing is told elsewhere.
fn number(operand: Option<&Operand<'_>>) -> Result<i64, String> {
    match operand {
        Some(operand) => literal(operand).ok_or_else(|| "a number is expected".to_owned()),
        None => Err("a number is missing".to_owned()),
    }
}

fn no_more(operands: &[Operand<'_>], count: usize) -> Result<(), String> {
    match operands.len() {
        found if found <= count => Ok(()),
        found => Err(format!("{} expected, {found} found", counted(count, "operand"))),
    }
}

fn within(number: i64, range: RangeInclusive<i64>) -> Result<(), String> {
    match range.contains(&number) {
        true => Ok(()),
        false => Err(format!("{number} is not between {} and {}", range.start(), range.end())),
    }
}

fn one_of(number: i64, possible: &[i64]) -> Result<(), String> {
    match possible.contains(&number) {
        true => Ok(()),
        false => Err(format!("{number} is none of {possible:?}")),
    }
}
