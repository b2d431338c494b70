//! Integer arithmetic against 128-bit arithmetic (PTX ISA, "Integer Arithmetic Instructions" and
//! "Extended-Precision Integer Arithmetic Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::int::{self, Arithmetic, Int};
use numeric_support::{Random, cases};
use std::fmt::Debug;

const CASES: usize = cases(300_000);

fn triples<T: Int>(seed: u64) -> impl Iterator<Item = (T, T, T)> {
    let mut random = Random::new(seed);
    let mut next = move || T::from_bits(random.integer(T::BITS));
    std::iter::repeat_with(move || (next(), next(), next())).take(CASES)
}

/// The low bits of a number of any size.
fn wrap<T: Int>(value: i128) -> T {
    T::from_i128(value)
}

fn product<T: Int>(a: T, b: T) -> i128 {
    // The product of two u64 may exceed i128, but its low 128 bits are right.
    a.to_i128().wrapping_mul(b.to_i128())
}

fn high<T: Int>(a: T, b: T) -> T {
    let bits = product(a, b);
    wrap(if T::SIGNED { bits >> T::BITS } else { (bits as u128 >> T::BITS) as i128 })
}

fn arithmetic<T: Arithmetic + Debug>() {
    for (a, b, c) in triples::<T>(1) {
        let (x, y, z) = (a.to_i128(), b.to_i128(), c.to_i128());
        assert_eq!(int::add(a, b), wrap(x + y), "add {a:?} {b:?}");
        assert_eq!(int::sub(a, b), wrap(x - y), "sub {a:?} {b:?}");
        assert_eq!(int::mul_lo(a, b), wrap(product(a, b)), "mul.lo {a:?} {b:?}");
        assert_eq!(int::mul_hi(a, b), high(a, b), "mul.hi {a:?} {b:?}");
        assert_eq!(int::mad_lo(a, b, c), wrap(product(a, b).wrapping_add(z)), "mad.lo {a:?} {b:?} {c:?}");
        assert_eq!(int::mad_hi(a, b, c), wrap(high(a, b).to_i128() + z), "mad.hi {a:?} {b:?} {c:?}");
        // Unspecified in the ISA for a zero divisor; all ones here.
        let (quotient, rest) = if y == 0 { (-1, -1) } else { (x / y, x % y) };
        assert_eq!(int::div(a, b), wrap(quotient), "div {a:?} {b:?}");
        assert_eq!(int::rem(a, b), wrap(rest), "rem {a:?} {b:?}");
        assert_eq!(int::abs(a), wrap(x.abs()), "abs {a:?}");
        assert_eq!(int::neg(a), wrap(-x), "neg {a:?}");
        assert_eq!(int::min(a, b), wrap(x.min(y)), "min {a:?} {b:?}");
        assert_eq!(int::max(a, b), wrap(x.max(y)), "max {a:?} {b:?}");
        assert_eq!(int::relu(a), wrap(x.max(0)), "relu {a:?}");
        assert_eq!(int::sad(a, b, c), wrap((x - y).abs() + z), "sad {a:?} {b:?} {c:?}");
    }
}

#[test]
fn every_type_wraps_as_128_bit_arithmetic_does() {
    arithmetic::<u16>();
    arithmetic::<u32>();
    arithmetic::<u64>();
    arithmetic::<i16>();
    arithmetic::<i32>();
    arithmetic::<i64>();
}

#[test]
fn wide_products_and_saturation() {
    for (a, b, c) in triples::<i32>(2) {
        assert_eq!(int::mul_wide(a, b), a as i64 * b as i64);
        let sum = (a as i128 * b as i128 + c as i128 * 7919) as i64;
        assert_eq!(int::mad_wide(a, b, c as i64 * 7919), sum);
        assert_eq!(int::mad_wide(a, b, i64::MIN), (a as i64 * b as i64).wrapping_add(i64::MIN));
        assert_eq!(
            int::add_sat_s32(a, b) as i64,
            (a as i64 + b as i64).clamp(i32::MIN as i64, i32::MAX as i64)
        );
        assert_eq!(
            int::sub_sat_s32(a, b) as i64,
            (a as i64 - b as i64).clamp(i32::MIN as i64, i32::MAX as i64)
        );
        let sum = ((a as i64 * b as i64) >> 32) + c as i64;
        assert_eq!(int::mad_hi_sat_s32(a, b, c) as i64, sum.clamp(i32::MIN as i64, i32::MAX as i64));
    }
    for (a, b, _) in triples::<u32>(3) {
        assert_eq!(int::mul_wide(a, b), a as u64 * b as u64);
    }
    for (a, b, _) in triples::<i16>(4) {
        assert_eq!(int::mul_wide(a, b), a as i32 * b as i32);
        assert_eq!(int::mul_wide(a as u16, b as u16), a as u16 as u32 * b as u16 as u32);
    }
}

#[test]
fn products_of_24_bits() {
    for (a, b, c) in triples::<u32>(5) {
        let unsigned = (a & 0xff_ffff) as u128 * (b & 0xff_ffff) as u128;
        let extend = |a: u32| ((a & 0xff_ffff) as i128) - ((a as i128 >> 23 & 1) << 24);
        let signed = extend(a) * extend(b);
        assert_eq!(int::mul24_lo::<false>(a, b), unsigned as u32);
        assert_eq!(int::mul24_hi::<false>(a, b), (unsigned >> 16) as u32);
        assert_eq!(int::mul24_lo::<true>(a, b), signed as u32);
        assert_eq!(int::mul24_hi::<true>(a, b), (signed >> 16) as u32);
        assert_eq!(int::mad24_lo::<true>(a, b, c), (signed + c as i128) as u32);
        assert_eq!(int::mad24_hi::<false>(a, b, c), ((unsigned >> 16) + c as u128) as u32);
        let sum = (((signed >> 16) as u32 as i32) as i128) + (c as i32) as i128;
        let sum = sum.clamp(i32::MIN as i128, i32::MAX as i128) as u32;
        assert_eq!(int::mad24_hi_sat_s32(a, b, c), sum, "{a:x} {b:x} {c:x}");
    }
}

fn carries<T: Arithmetic + Debug>() {
    for (i, (a, b, c)) in triples::<T>(6).enumerate() {
        let carry = i % 2 == 1;
        let bits = |a: T| a.to_bits() as u128;
        let expect = |sum: u128| (T::from_bits(sum as u64), sum >> T::BITS & 1 == 1);
        assert_eq!(int::addc(a, b, carry), expect(bits(a) + bits(b) + carry as u128), "{a:?} {b:?} {carry}");
        let complement = bits(b) ^ ((1 << T::BITS) - 1);
        let difference = expect(bits(a) + complement + carry as u128);
        assert_eq!(int::subc(a, b, carry), difference, "{a:?} - {b:?} {carry}");
        let low = bits(wrap::<T>(product(a, b)));
        assert_eq!(int::madc_lo(a, b, c, carry), expect(low + bits(c) + carry as u128));
        assert_eq!(int::madc_hi(a, b, c, carry), expect(bits(high(a, b)) + bits(c) + carry as u128));
    }
}

#[test]
fn carries_and_borrows() {
    carries::<u32>();
    carries::<i32>();
    carries::<u64>();
    carries::<i64>();
    // The ISA's example of `madc`: a product of 64 bits by 64 from pieces of 32.
    let mut random = Random::new(7);
    for _ in 0..CASES / 10 {
        let (a, b) = (random.integer(64), random.integer(64));
        let ([a0, a1], [b0, b1]) = ([a as u32, (a >> 32) as u32], [b as u32, (b >> 32) as u32]);
        let r0 = int::mul_lo(a0, b0);
        let r1 = int::mul_hi(a0, b0);
        let (r1, carry) = int::madc_lo(a1, b0, r1, false);
        let (r2, _) = int::madc_hi(a1, b0, 0, carry);
        let (r1, carry) = int::madc_lo(a0, b1, r1, false);
        let (r2, carry) = int::madc_hi(a0, b1, r2, carry);
        let (r3, _) = int::addc(0u32, 0, carry);
        let (r2, carry) = int::madc_lo(a1, b1, r2, false);
        let (r3, _) = int::madc_hi(a1, b1, r3, carry);
        let joined = [r0, r1, r2, r3].iter().rev().fold(0u128, |all, &word| all << 32 | word as u128);
        assert_eq!(joined, a as u128 * b as u128);
    }
}

#[test]
fn dot_products() {
    for (a, b, c) in triples::<u32>(8) {
        let byte = |word: u32, i: usize, signed: bool| {
            let byte = word.to_le_bytes()[i];
            if signed { byte as i8 as i128 } else { byte as i128 }
        };
        let half = |word: u32, i: usize, signed: bool| {
            let half = (word >> (16 * i)) as u16;
            if signed { half as i16 as i128 } else { half as i128 }
        };
        let dp4a = |x, y| (0..4).map(|i| byte(a, i, x) * byte(b, i, y)).sum::<i128>() + c as i128;
        assert_eq!(int::dp4a::<false, false>(a, b, c), dp4a(false, false) as u32);
        assert_eq!(int::dp4a::<false, true>(a, b, c), dp4a(false, true) as u32);
        assert_eq!(int::dp4a::<true, false>(a, b, c), dp4a(true, false) as u32);
        assert_eq!(int::dp4a::<true, true>(a, b, c), dp4a(true, true) as u32);
        let dp2a = |x, y, hi| (0..2).map(|i| half(a, i, x) * byte(b, i + hi, y)).sum::<i128>() + c as i128;
        assert_eq!(int::dp2a::<false, false, false>(a, b, c), dp2a(false, false, 0) as u32);
        assert_eq!(int::dp2a::<true, false, true>(a, b, c), dp2a(true, false, 2) as u32);
        assert_eq!(int::dp2a::<false, true, true>(a, b, c), dp2a(false, true, 2) as u32);
        assert_eq!(int::dp2a::<true, true, false>(a, b, c), dp2a(true, true, 0) as u32);
    }
}

#[test]
fn packed_halves() {
    for (a, b, _) in triples::<u32>(9) {
        let both = |f: &dyn Fn(u16, u16) -> u16| {
            f(a as u16, b as u16) as u32 | (f((a >> 16) as u16, (b >> 16) as u16) as u32) << 16
        };
        assert_eq!(int::add_x2::<u16>(a, b), both(&|a, b| a.wrapping_add(b)));
        assert_eq!(int::add_x2::<i16>(a, b), both(&|a, b| a.wrapping_add(b)));
        assert_eq!(int::min_x2::<u16>(a, b), both(&|a, b| a.min(b)));
        assert_eq!(int::max_x2::<i16>(a, b), both(&|a, b| (a as i16).max(b as i16) as u16));
        assert_eq!(int::relu_s16x2(a), both(&|a, _| (a as i16).max(0) as u16));
    }
}

#[test]
fn differences_of_bytes() {
    let mut random = Random::new(90);
    for _ in 0..cases(10_000) {
        let (a, b, c) = (random.u32(), random.u32(), random.u32());
        let (p, q) = (a.to_le_bytes(), b.to_le_bytes());
        let unsigned: [u8; 4] = std::array::from_fn(|i| p[i].abs_diff(q[i]));
        let signed: [u8; 4] = std::array::from_fn(|i| (p[i] as i8).abs_diff(q[i] as i8));
        let sum = |bytes: [u8; 4]| bytes.iter().fold(c, |sum, &byte| sum.wrapping_add(byte.into()));
        assert_eq!(int::vabsdiff4::<false, false>(a, b, c), u32::from_le_bytes(unsigned), "{a:x} {b:x}");
        assert_eq!(int::vabsdiff4::<true, false>(a, b, c), u32::from_le_bytes(signed), "{a:x} {b:x}");
        assert_eq!(int::vabsdiff4::<false, true>(a, b, c), sum(unsigned), "{a:x} {b:x} {c:x}");
        assert_eq!(int::vabsdiff4::<true, true>(a, b, c), sum(signed), "{a:x} {b:x} {c:x}");
    }
}
