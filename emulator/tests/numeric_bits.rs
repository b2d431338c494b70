//! Bit fields, shifts and logic against the ISA's bit-by-bit definitions (PTX ISA, "Integer Arithmetic
//! Instructions", "Logic and Shift Instructions", "prmt").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::bits::{self, Permute, Word};
use cuda_emulator::numeric::int::Int;
use numeric_support::{Random, cases};
use std::fmt::Debug;

const CASES: usize = cases(200_000);

/// A shift amount, position or length: mostly in range, sometimes far outside.
fn amount(random: &mut Random) -> u32 {
    match random.below(5) {
        0 => random.u32(),
        1 => 28 + random.below(10) as u32,
        2 => 60 + random.below(10) as u32,
        3 => 254 + random.below(5) as u32,
        _ => random.below(34) as u32,
    }
}

fn bit(a: u64, i: u32) -> u64 {
    if i < 64 { a >> i & 1 } else { 0 }
}

/// A value from the function that gives each of its bits.
fn from_bits<T: Int>(bit: impl Fn(u32) -> u64) -> T {
    T::from_bits((0..T::BITS).map(|i| (bit(i) & 1) << i).sum())
}

fn shifts_and_fields<T: Word + Debug>() {
    let mut random = Random::new(T::BITS as u64);
    for _ in 0..CASES {
        let (a, b) = (T::from_bits(random.integer(T::BITS)), T::from_bits(random.integer(T::BITS)));
        let (n, m) = (amount(&mut random), amount(&mut random));
        let (x, y, top) = (a.to_bits(), b.to_bits(), T::BITS - 1);
        let sign = if T::SIGNED { bit(x, top) } else { 0 };
        let right = |i: u32| if i as u64 + n as u64 > top as u64 { sign } else { bit(x, i + n) };
        assert_eq!(bits::shr(a, n), from_bits(right), "shr {a:?} {n}");
        assert_eq!(bits::shl(a, n), from_bits(|i| if i >= n { bit(x, i - n) } else { 0 }), "shl {a:?} {n}");
        // The ISA has the low 8 bits for all; an H200 has all bits for 64 (numeric_hardware.rs).
        let low = if T::BITS == 64 { u32::MAX as u64 } else { 0xff };
        let (pos, len) = (n as u64 & low, m as u64 & low);
        let at = |i: u64| bit(x, i.min(top as u64) as u32);
        let sbit = if T::SIGNED && len != 0 { at(pos + len - 1) } else { 0 };
        let field =
            |i: u32| if (i as u64) < len && pos + i as u64 <= top as u64 { at(pos + i as u64) } else { sbit };
        assert_eq!(bits::bfe(a, n, m), from_bits(field), "bfe {a:?} {n} {m}");
        let inserted = |i: u32| match (i as u64).checked_sub(pos) {
            Some(offset) if offset < len => at(offset),
            _ => bit(y, i),
        };
        assert_eq!(bits::bfi(a, b, n, m), from_bits(inserted), "bfi {a:?} {b:?} {n} {m}");
        assert_eq!(bits::popc(a), (0..=top).map(|i| bit(x, i)).sum::<u64>() as u32);
        assert_eq!(bits::clz(a), (0..=top).rev().take_while(|&i| bit(x, i) == 0).count() as u32);
        assert_eq!(bits::brev(a), from_bits(|i| bit(x, top - i)));
        let found = (0..=top).rev().find(|&i| bit(x, i) != sign);
        assert_eq!(bits::bfind(a), found.unwrap_or(u32::MAX), "bfind {a:?}");
        assert_eq!(bits::bfind_shiftamt(a), found.map_or(u32::MAX, |i| top - i), "bfind.shiftamt {a:?}");
        assert_eq!(bits::and(a, b), from_bits(|i| bit(x, i) & bit(y, i)));
        assert_eq!(bits::or(a, b), from_bits(|i| bit(x, i) | bit(y, i)));
        assert_eq!(bits::xor(a, b), from_bits(|i| bit(x, i) ^ bit(y, i)));
        assert_eq!(bits::not(a), from_bits(|i| bit(x, i) ^ 1));
        assert_eq!(bits::cnot(a).to_bits(), (x == 0) as u64);
    }
}

#[test]
fn shifts_fields_and_logic_of_every_type() {
    shifts_and_fields::<u16>();
    shifts_and_fields::<u32>();
    shifts_and_fields::<u64>();
    shifts_and_fields::<i16>();
    shifts_and_fields::<i32>();
    shifts_and_fields::<i64>();
}

/// PTX ISA, "bmsk".
fn bmsk_reference(clamp: bool, a: u32, b: u32) -> u32 {
    let (a1, b1) = (a & 31, b & 31);
    let mut mask0 = u32::MAX << a1;
    let sum = a1 + b1;
    let mut mask1 = if sum < 32 { u32::MAX << sum } else { 0 };
    let (mut position, mut width) = (false, false);
    if clamp {
        if a >= 32 {
            position = true;
            mask0 = 0;
        }
        width = b >= 32;
    }
    if sum >= 32 || position || width {
        mask1 = 0;
    } else if b1 == 0 {
        mask1 = u32::MAX;
    }
    mask0 & !mask1
}

/// PTX ISA, "szext"; `.clamp` with 32 bits or more returns the operand.
fn szext_reference(clamp: bool, signed: bool, a: u32, b: u32) -> u32 {
    let b1 = b & 31;
    let too_large = b >= 32 && clamp;
    let mask = if too_large { 0 } else { u32::MAX << b1 };
    let sign = !(b1 == 0 || too_large || !signed) && a >> ((b1.wrapping_sub(1)) & 31) & 1 == 1;
    (a & !mask) | if sign { mask } else { 0 }
}

/// PTX ISA, "fns".
fn fns_reference(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |i: i64| mask >> i & 1 == 1;
    if offset == 0 {
        return if set(base as i64) { base } else { u32::MAX };
    }
    let (mut position, mut count) = (base as i64, offset.unsigned_abs() - 1);
    let step = if offset > 0 { 1 } else { -1 };
    while (0..32).contains(&position) {
        if set(position) {
            if count == 0 {
                return position as u32;
            }
            count -= 1;
        }
        position += step;
    }
    u32::MAX
}

#[test]
fn masks_extensions_and_nth_bits_follow_the_pseudocode() {
    let mut random = Random::new(11);
    for _ in 0..CASES {
        let (a, b, c) = (random.integer(32) as u32, amount(&mut random), amount(&mut random));
        assert_eq!(bits::bmsk::<true>(b, c), bmsk_reference(true, b, c), "bmsk.clamp {b} {c}");
        assert_eq!(bits::bmsk::<false>(b, c), bmsk_reference(false, b, c), "bmsk.wrap {b} {c}");
        assert_eq!(bits::szext::<true, true>(a, b), szext_reference(true, true, a, b), "szext {a:x} {b}");
        assert_eq!(bits::szext::<true, false>(a, b), szext_reference(true, false, a, b));
        assert_eq!(bits::szext::<false, true>(a, b), szext_reference(false, true, a, b), "szext {a:x} {b}");
        assert_eq!(bits::szext::<false, false>(a, b), szext_reference(false, false, a, b));
        let offset = random.below(70) as i32 - 35;
        assert_eq!(bits::fns(a, b & 31, offset), fns_reference(a, b & 31, offset), "fns {a:x} {b} {offset}");
    }
    // The ISA's examples, and what it leaves undefined.
    let fns = |base, offset| bits::fns(0xaaaa_aaaa, base, offset);
    assert_eq!([fns(3, 1), fns(3, -1), fns(2, 1), fns(2, -1)], [3, 3, 3, 1]);
    assert_eq!(fns(32, -1), u32::MAX);
    assert_eq!(bits::fns(u32::MAX, 0, i32::MIN), u32::MAX);
    assert_eq!(bits::bmsk::<false>(1, 2), 6);
    assert_eq!(bits::szext::<false, false>(u32::MAX, 0), 0);
}

#[test]
fn lop3_is_its_table() {
    let mut random = Random::new(12);
    for table in 0..=255u8 {
        for _ in 0..cases(200) {
            let (a, b, c) = (random.u32(), random.u32(), random.u32());
            let row = |i: u32| bit(a as u64, i) << 2 | bit(b as u64, i) << 1 | bit(c as u64, i);
            let expected = from_bits::<u32>(|i| (table as u64) >> row(i) & 1);
            assert_eq!(bits::lop3(a, b, c, table), expected, "{table:02x}");
        }
    }
    // PTX ISA, "lop3": (a & b | c) ^ a is 0x1a.
    assert_eq!(bits::lop3(0xf0, 0xcc, 0xaa, 0x1a), ((0xf0 & 0xcc) | 0xaa) ^ 0xf0);
}

#[test]
fn funnel_shifts() {
    let mut random = Random::new(13);
    for _ in 0..CASES {
        let (a, b, c) = (random.u32(), random.u32(), amount(&mut random));
        let joined = (b as u128) << 32 | a as u128;
        let (clamped, wrapped) = (c.min(32), c & 31);
        assert_eq!(bits::shf_l::<true>(a, b, c), (joined << clamped >> 32) as u32);
        assert_eq!(bits::shf_l::<false>(a, b, c), (joined << wrapped >> 32) as u32);
        assert_eq!(bits::shf_r::<true>(a, b, c), (joined >> clamped) as u32);
        assert_eq!(bits::shf_r::<false>(a, b, c), (joined >> wrapped) as u32);
    }
}

#[test]
fn permutations_of_bytes() {
    let mut random = Random::new(14);
    let pick = |a: u32, b: u32, selector: u32| {
        let bytes: Vec<u8> = a.to_le_bytes().into_iter().chain(b.to_le_bytes()).collect();
        let byte = bytes[(selector & 7) as usize];
        if selector & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    };
    for _ in 0..CASES {
        let (a, b, c) = (random.u32(), random.u32(), random.u32());
        let expected = [0, 4, 8, 12].map(|shift| pick(a, b, c >> shift & 15));
        assert_eq!(bits::prmt(a, b, c), u32::from_le_bytes(expected), "{a:x} {b:x} {c:x}");
    }
    // PTX ISA, "prmt": bytes d.b3 to d.b0 for each mode and each value of the two control bits.
    let table = [
        (Permute::Forward4, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        (Permute::Backward4, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        (Permute::Replicate8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        (Permute::EdgeClampLeft, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        (Permute::EdgeClampRight, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        (Permute::Replicate16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, rows) in table {
        for (control, row) in rows.iter().enumerate() {
            let (a, b) = (0x8382_8180, 0x8786_8584);
            let expected = row.iter().fold(0u32, |all, &byte| all << 8 | (0x80 + byte));
            assert_eq!(
                bits::prmt(a, b, mode.control(control as u32 + 0xff00)),
                expected,
                "{mode:?} {control}"
            );
        }
    }
}
