//! Operands that are constants: which numbers are possible, and where nothing but a number is.

use std::ops::RangeInclusive;

use cuda_ptx::{Literal, Operand};

/// Numbers of barriers.
const BARRIERS: RangeInclusive<i64> = 0..=15;
/// Registers of a thread that `setmaxnreg` may ask for.
const REGISTERS: RangeInclusive<i64> = 24..=256;

/// Bytes of a bulk copy.
const MOST_IN_BULK: i64 = 0xf_fff0;
/// Fields of a tensor map, and the largest number for each: a dimension, or a mode.
const FIELDS: &[(&str, i64)] = &[
    ("box_dim", 4),
    ("global_dim", 4),
    ("global_stride", 4),
    ("element_stride", 4),
    ("elemtype", 15),
    ("interleave_layout", 2),
    ("swizzle_mode", 4),
    ("swizzle_atomicity", 3),
    ("fill_mode", 1),
];

/// Checks the constants of an instruction of that name.
pub(super) fn check(name: &str, operands: &[Operand<'_>]) -> Result<(), String> {
    let mnemonic = name.split('.').next().unwrap_or_default();
    match mnemonic {
        "bfe" => return fields(operands.get(2..)),
        "bfi" => return fields(operands.get(3..)),
        "alloca" | "applypriority" | "bar" | "barrier" | "cp" | "createpolicy" | "discard" | "elect"
        | "fence" | "lop3" | "mbarrier" | "membar" | "pmevent" | "setmaxnreg" | "tensormap" | "wgmma" => {}
        _ => return Ok(()),
    }
    let parts: Vec<&str> = name.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let at = |index: usize| operands.get(index);
    match mnemonic {
        "bar" | "barrier" if !has("warp") && !has("cluster") => barrier(has("red"), has("arrive"), operands),
        "mbarrier" if has("parity") => match at(2).and_then(literal) {
            Some(parity) => within(parity, 0..=1),
            None => Ok(()),
        },
        // What arrives: no number at all is one.
        "mbarrier" if (has("arrive") || has("arrive_drop")) && !has("expect_tx") => {
            match at(2).and_then(literal) {
                Some(count) => within(count, 1..=i64::from(u32::MAX)),
                None => Ok(()),
            }
        }
        "pmevent" => within(number(at(0))?, if has("mask") { 0..=0xffff } else { 0..=15 }),
        "cp" if has("ca") || has("cg") => copied(has("cg"), operands),
        "cp" if has("bulk") && !has("tensor") => {
            at(if has("prefetch") { 1 } else { 2 }).and_then(literal).map_or(Ok(()), in_bulk)
        }
        "wgmma" if has("wait_group") => within(number(at(0))?, 0..=i64::MAX),
        "tensormap" if has("cp_fenceproxy") => one_of(number(at(2))?, &[128]),
        "tensormap" => replaced(&parts, operands),
        "alloca" => at(2).map_or(Ok(()), |align| power_of_two(number(Some(align))?)),
        "discard" | "applypriority" => one_of(number(at(1))?, &[128]),
        "setmaxnreg" => registers(number(at(0))?),
        "lop3" => number(at(4)).map(drop),
        "createpolicy" if has("fractional") => fraction(at(1)),
        "createpolicy" if has("range") => primary(at(2).and_then(literal), at(3).and_then(literal)),
        "elect" if !matches!(at(0), Some(Operand::Pair(..))) => Err("`d|p` is expected".to_owned()),
        "membar" if parts.len() == 1 => Err("a scope is missing".to_owned()),
        "fence" if has("acquire") && has("proxy") && operands.len() == 2 => one_of(number(at(1))?, &[128]),
        "fence" if matches!(parts[1..], ["sc" | "acq_rel"]) => Err("a scope is missing".to_owned()),
        _ => Ok(()),
    }
}

/// The number and the threads of a barrier; in front of a reduction stands its result, and behind it a predicate.
fn barrier(reduces: bool, arrives: bool, operands: &[Operand<'_>]) -> Result<(), String> {
    let operands = match operands {
        [_, inner @ .., _] if reduces => inner,
        operands => operands,
    };
    if let Some(barrier) = operands.first().and_then(literal) {
        within(barrier, BARRIERS)?;
    }
    match operands.get(1).and_then(literal) {
        Some(0) if arrives => Err("somebody must arrive too: 0 threads are not enough".to_owned()),
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

/// The bytes that a bulk copy copies.
fn in_bulk(bytes: i64) -> Result<(), String> {
    within(bytes, 0..=MOST_IN_BULK)?;
    if bytes % 16 == 0 { Ok(()) } else { Err(format!("{bytes} is not a multiple of 16")) }
}

/// Which dimension of a tensor map, or what one of its modes becomes.
fn replaced(parts: &[&str], operands: &[Operand<'_>]) -> Result<(), String> {
    let most = |(field, most): &(&str, i64)| parts.contains(field).then_some(*most);
    match FIELDS.iter().find_map(most) {
        Some(most) => within(number(operands.get(1))?, 0..=most),
        None => Ok(()),
    }
}

fn power_of_two(number: i64) -> Result<(), String> {
    match number > 0 && number & (number - 1) == 0 {
        true => Ok(()),
        false => Err(format!("{number} is not a power of two")),
    }
}

/// The bytes that a policy is for, and those of its range.
fn primary(primary: Option<i64>, total: Option<i64>) -> Result<(), String> {
    match (primary, total) {
        (Some(primary), Some(total)) if primary as u32 > total as u32 => {
            Err(format!("{primary} bytes are more than the {total} of the whole range"))
        }
        _ => Ok(()),
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
