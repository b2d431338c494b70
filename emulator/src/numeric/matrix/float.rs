//! Products of floats of up to 19 bits.
//!
//! A matrix unit adds a group of products and an accumulator at once. All are exact, and written as multiples of one
//! power of two, 25 binary places below the largest exponent among them; what lies below is cut off, towards zero. The
//! exponent of a product is the sum of its factors' exponents, whatever their product is; that of a subnormal number is
//! the smallest of its format. The sum is exact, and rounded once: towards zero to `.f32`, to the nearest even to `.f16`.
//!
//! Numbers of 8 bits are converted to `.f16` and multiplied in two groups, and the sum of these is added to C as `add` adds
//! ([`multiply_apart`]); `wgmma` multiplies them as they are, and keeps 13 places ([`CoarseSingle`]). [`quad_to_single`] and
//! [`quad_to_short`] are what `mma.m8n8k4` of halves becomes, which this generation no longer has.
//!
//! [`multiply`] does that in `f32` and 32-bit integers, which suffice unless exponents are extreme; [`exact`] always.
#![allow(unsafe_code)]
// Relies on: what is said at `truncated` of the numbers that come to it, all from `quick_row`.

use super::super::exact::Exact;
use super::super::fp32;
use super::super::half::{f16_to_f32, f32_to_f16};
use super::super::rounding::Nearest;
pub use super::format::{
    Accumulator, Bfloat16, CoarseShort, CoarseSingle, E4m3, E4m3Itself, E5m2, Factor, Float16, Short, Single,
    Tf32,
};
use super::{Left, Right, Tile, transposed};
use crate::vectors::twice;

/// The exponent of zero: below all others, also when added to one.
const ZERO: i32 = -1000;
/// The exponent of an element that a sparse matrix does not have: its product is nothing, whatever the other factor.
pub const ABSENT: i32 = -3000;
/// Exponents up to which sums of two, and what they scale, are numbers of `f32`.
const MODERATE: i32 = 100;

/// The numbers of a matrix beside their exponents.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<V, E> {
    values: V,
    /// At least the exponent of the number, or [`ZERO`] or [`ABSENT`] where that is zero.
    exponents: E,
}

/// Eight rows of A.
pub type Lefts<const P: usize> = Numbers<Left<f32, P>, Left<i32, P>>;
/// Eight columns of B.
pub type Rights<const P: usize> = Numbers<Right<f32, P>, Right<i32, P>>;

impl<const P: usize> Lefts<P> {
    /// No element there.
    pub const ABSENT: Lefts<P> = Numbers { values: [[0.0; 32]; P], exponents: [[ABSENT; 32]; P] };

    /// Puts a number into a plane.
    #[inline(always)]
    pub fn put_one<F: Factor>(&mut self, plane: usize, lane: usize, bits: u32) {
        let value = F::widen(bits);
        self.values[plane][lane & 31] = value;
        self.exponents[plane][lane & 31] = exponent(value, F::LOWEST);
    }
}

impl<const P: usize> Rights<P> {
    /// All zero.
    pub const ZERO: Rights<P> = Numbers { values: [[[0.0; 8]; 4]; P], exponents: [[[ZERO; 8]; 4]; P] };

    /// Puts eight numbers into a plane, those of one `t`.
    #[inline(always)]
    pub fn put_row<F: Factor>(&mut self, plane: usize, t: usize, bits: &[u32; 8]) {
        self.values[plane][t] = bits.map(F::widen);
        self.exponents[plane][t] = self.values[plane][t].map(|value| exponent(value, F::LOWEST));
    }
}

twice! {
    /// Eight rows of A, whose registers these are. The bits of `sign` are inverted in all words.
    pub fn lefts[F: Factor][P](registers: &[&[u32; 32]], sign: u32) -> Lefts<P>, by lefts_body
}

#[inline(always)]
fn lefts_body<F: Factor, const P: usize>(registers: &[&[u32; 32]], sign: u32) -> Lefts<P> {
    let mut left = Numbers { values: [[0.0; 32]; P], exponents: [[ZERO; 32]; P] };
    for (block, words) in registers.iter().enumerate().take(P * F::BITS / 32) {
        for within in 0..32 / F::BITS {
            let plane = plane::<F, P>(block, within);
            for lane in 0..32 {
                left.put_one::<F>(plane, lane, element::<F>(words[lane] ^ sign, within));
            }
        }
    }
    left
}

twice! {
    /// Eight columns of B, whose registers these are. The bits of `sign` are inverted in all words.
    pub fn rights[F: Factor][P](registers: &[&[u32; 32]], sign: u32) -> Rights<P>, by rights_body
}

#[inline(always)]
fn rights_body<F: Factor, const P: usize>(registers: &[&[u32; 32]], sign: u32) -> Rights<P> {
    let mut right = Rights::<P>::ZERO;
    for (block, words) in registers.iter().enumerate().take(P * F::BITS / 32) {
        let columns = transposed(words);
        for within in 0..32 / F::BITS {
            let plane = plane::<F, P>(block, within);
            for (t, words) in columns.iter().enumerate() {
                right.put_row::<F>(plane, t, &words.map(|word| element::<F>(word ^ sign, within)));
            }
        }
    }
    right
}

/// The plane of element `within` of a block's register. Of numbers of 8 bits, those come first that are first in
/// a pair of pairs: they are the first group.
#[inline(always)]
pub fn plane<F: Factor, const P: usize>(block: usize, within: usize) -> usize {
    match F::BITS {
        8 => within / 2 * (P / 2) + block * 2 + within % 2,
        bits => block * (32 / bits) + within,
    }
}

/// Element `within` of a word.
#[inline(always)]
pub fn element<F: Factor>(word: u32, within: usize) -> u32 {
    match F::BITS {
        32 => word,
        bits => word >> (within * bits) & ((1 << bits) - 1),
    }
}

/// The exponent of a number, whose format has none below `lowest`.
#[inline(always)]
fn exponent(value: f32, lowest: i32) -> i32 {
    let field = (value.to_bits() >> 23 & 0xff) as i32 - 127;
    let clamped = if field > lowest { field } else { lowest };
    if value == 0.0 { ZERO } else { clamped }
}

/// The largest exponent of a matrix.
#[inline(always)]
fn largest<'e>(exponents: impl Iterator<Item = &'e i32>) -> i32 {
    exponents.fold(ABSENT, |largest, exponent| if *exponent > largest { *exponent } else { largest })
}

twice! {
    /// Adds the product of `a` and `b` to `c`, bits of numbers, `groups` groups of planes one after the other.
    pub fn multiply[A: Accumulator][P](a: &Lefts<P>, b: &Rights<P>, c: &mut Tile<u32>, groups: usize), by multiply_body
}

#[inline(always)]
fn multiply_body<A: Accumulator, const P: usize>(
    a: &Lefts<P>,
    b: &Rights<P>,
    c: &mut Tile<u32>,
    groups: usize,
) {
    let (left, right) = (
        largest(a.exponents.as_flattened().iter()),
        largest(b.exponents.as_flattened().as_flattened().iter()),
    );
    // Infinities and NaN have the exponent 128.
    let moderate = left + right <= MODERATE && left < 128 && right < 128;
    let size = P / groups;
    for group in 0..groups {
        for (row, sums) in c.iter_mut().enumerate() {
            let planes = (group * size, size);
            if !moderate || !quick_row::<A, P>(a, b, row, planes, sums) {
                exact_row::<A, P>(a, b, row, planes, sums);
            }
        }
    }
}

/// A row of the result; false, and nothing done, if exponents are extreme. Those of products are at most [`MODERATE`].
#[inline(always)]
fn quick_row<A: Accumulator, const P: usize>(
    a: &Lefts<P>,
    b: &Rights<P>,
    row: usize,
    (first, count): (usize, usize),
    c: &mut [u32; 8],
) -> bool {
    const { assert!(A::FLOOR <= 0 && A::PLACES <= 25) };
    let addends = c.map(A::widen);
    let own = addends.map(|addend| exponent(addend, A::LOWEST));
    let mut top = own;
    let planes = first..first + count;
    for (left, right) in a.exponents[planes.clone()].iter().zip(&b.exponents[planes.clone()]) {
        let (left, [r0, r1, r2, r3]) = (four(left, row), one_at_a_time(right));
        top = larger(larger(top, left[0], r0), left[1], r1);
        top = larger(larger(top, left[2], r2), left[3], r3);
    }
    let mut extreme = false;
    for column in 0..8 {
        let nothing = top[column] < ZERO / 2;
        extreme |= own[column] > MODERATE || (top[column] < -MODERATE && !nothing);
        let floored = if top[column] < A::FLOOR { A::FLOOR } else { top[column] };
        top[column] = if nothing { 0 } else { floored };
    }
    if extreme {
        return false;
    }
    let scale = top.map(|top| f32::from_bits(((A::PLACES + 127 - top) as u32) << 23));
    // All is finite: the exponents of infinities and NaN are not moderate, and are extreme. `top` is at least the exponent of each addend and
    // product, or these are zero, and at least -MODERATE. A factor is below 2^(exponent + 1), a product below 2^(exponent + 2), and so all is
    // below 2^(`A::PLACES` + 2), at most 2^27, once it is scaled.
    // Of up to 16 products in all, which are below 2^27 and so with significands of 11 bits: sums do not reach 2^31.
    let mut sums = [0i32; 8];
    for (left, right) in a.values[planes.clone()].iter().zip(&b.values[planes]) {
        let (left, [r0, r1, r2, r3]) = (four(left, row), one_at_a_time(right));
        // SAFETY: 1: the products are finite and below 2^27 when they are scaled, as said above.
        sums = unsafe { added(added(sums, left[0], r0, &scale), left[1], r1, &scale) };
        // SAFETY: 1: these two products as well are finite and below 2^27 when they are scaled, as said above.
        sums = unsafe { added(added(sums, left[2], r2, &scale), left[3], r3, &scale) };
    }
    let unit = top.map(|top| f32::from_bits(((top - A::PLACES + 127) as u32) << 23));
    for column in 0..8 {
        // SAFETY: 1: the addend is finite and below 2^27 when it is scaled, as said above.
        let addend = f64::from(unsafe { truncated(addends[column] * scale[column]) });
        let sum = f64::from(sums[column]) + addend;
        c[column] = A::round(sum, unit[column]);
    }
    true
}

/// [`multiply`] of numbers of 8 bits: the product in two groups, and then C.
#[inline(never)]
pub fn multiply_apart<A: Accumulator, const P: usize>(a: &Lefts<P>, b: &Rights<P>, c: &mut Tile<u32>) {
    let mut product = [[0; 8]; 8];
    multiply::<A, P>(a, b, &mut product, 2);
    for (sums, products) in c.iter_mut().zip(product) {
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum = A::add(*sum, product);
        }
    }
}

/// An element of `mma.m8n8k4` of halves with a result of `.f32`: C is added last, as `.f32`.
pub fn quad_to_single(pairs: [(u16, u16); 4], c: u32) -> u32 {
    let fused = |sum: u32, (a, b): (u16, u16)| {
        fp32::fma::<Nearest, false, false>(f16_to_f32(a).to_bits(), f16_to_f32(b).to_bits(), sum)
    };
    fp32::add::<Nearest, false, false>(c, pairs.into_iter().fold(0, fused))
}

/// An element of `mma.m8n8k4` of halves with a result of `.f16`: two sums of two products, in `.f32`.
pub fn quad_to_short(pairs: [(u16, u16); 4], c: u32) -> u32 {
    let product = |(a, b): (u16, u16)| f16_to_f32(a) * f16_to_f32(b);
    let [first, second, third, fourth] = pairs.map(product);
    let sum = ((first + second) + f16_to_f32(c as u16)) + (third + fourth);
    if sum.is_nan() { Short::NAN } else { u32::from(f32_to_f16(sum)) }
}

/// The larger of `top` and the exponents of products, column by column.
#[inline(always)]
fn larger(top: [i32; 8], left: i32, right: &[i32; 8]) -> [i32; 8] {
    let mut next = top;
    for column in 0..8 {
        let sum = left + right[column];
        next[column] = if sum > next[column] { sum } else { next[column] };
    }
    next
}

/// `sums` and the products in units of `1 / scale`, cut off, column by column.
///
/// # Safety
///
/// 1. Each product, scaled, is finite and of an absolute value below 2^31.
#[inline(always)]
unsafe fn added(sums: [i32; 8], left: f32, right: &[f32; 8], scale: &[f32; 8]) -> [i32; 8] {
    let mut next = sums;
    for column in 0..8 {
        // SAFETY: 1: the product, scaled, is finite and below 2^31: the caller's duty 1.
        let product = unsafe { truncated(left * right[column] * scale[column]) };
        next[column] = next[column].wrapping_add(product);
    }
    next
}

/// The same reference, but one that the compiler cannot see through: it would else add up several planes side by side, in half as wide vectors,
/// which takes twice the time.
#[inline(always)]
fn one_at_a_time<T>(plane: &T) -> &T {
    std::hint::black_box(plane)
}

/// The four numbers of a row in a plane of A.
#[inline(always)]
fn four<T: Copy>(plane: &[T; 32], row: usize) -> [T; 4] {
    let start = row % 8 * 4;
    [plane[start], plane[start + 1], plane[start + 2], plane[start + 3]]
}

/// The integer part of a product or addend in the units of its sum.
///
/// # Safety
///
/// 1. It is finite and of an absolute value below 2^31.
#[inline(always)]
unsafe fn truncated(value: f32) -> i32 {
    // SAFETY: it is neither NaN nor infinite, and its integer part is an `i32`, as it is below 2^31: duty 1.
    unsafe { value.to_int_unchecked() }
}

/// A row of the result, in integers.
#[cold]
#[inline(never)]
fn exact_row<A: Accumulator, const P: usize>(
    a: &Lefts<P>,
    b: &Rights<P>,
    row: usize,
    (first, count): (usize, usize),
    c: &mut [u32; 8],
) {
    for (column, c) in c.iter_mut().enumerate() {
        let mut pairs = [(Number::ABSENT, Number::ABSENT); 64];
        for (index, pair) in pairs.iter_mut().take(count * 4).enumerate() {
            let (plane, t) = (first + index / 4, index % 4);
            let lane = row * 4 + t;
            *pair = (
                Number { value: a.values[plane][lane], exponent: a.exponents[plane][lane] },
                Number { value: b.values[plane][t][column], exponent: b.exponents[plane][t][column] },
            );
        }
        *c = exact::<A>(&pairs[..count * 4], *c);
    }
}

/// A factor.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Its value.
    pub value: f32,
    /// Its exponent.
    pub exponent: i32,
}

impl Number {
    const ABSENT: Number = Number { value: 0.0, exponent: ABSENT };

    /// The number as a multiple of 2^-`places` below its exponent: exact for the bits that a format has.
    fn significand(self, places: i32) -> i64 {
        let bits = self.value.to_bits();
        let field = (bits >> 23 & 0xff) as i32;
        let fraction = i64::from(bits & 0x7f_ffff | if field == 0 { 0 } else { 1 << 23 });
        let shift = places - 23 + field.max(1) - 127 - self.exponent;
        let magnitude = if shift < 0 { fraction >> -shift } else { fraction << shift };
        if bits >> 31 == 0 { magnitude } else { -magnitude }
    }
}

/// A group of products and an accumulator, added.
pub fn exact<A: Accumulator>(pairs: &[(Number, Number)], c: u32) -> u32 {
    let addend = A::widen(c);
    let addend = Number { value: addend, exponent: exponent(addend, A::LOWEST) };
    let there = pairs.iter().filter(|(a, b)| a.exponent != ABSENT && b.exponent != ABSENT);
    // What is not finite decides alone.
    let infinite = |(a, b): &&(Number, Number)| a.value.is_infinite() || b.value.is_infinite();
    let products = there.clone().filter(infinite).map(|(a, b)| a.value * b.value);
    let special: f32 = products.chain(Some(addend.value).filter(|value| value.is_infinite())).sum();
    let invalid = there.clone().any(|(a, b)| a.value.is_nan() || b.value.is_nan()) || addend.value.is_nan();
    if invalid || special.is_nan() {
        return A::NAN;
    }
    if special != 0.0 {
        return A::infinity(special < 0.0);
    }
    let nonzero = there.filter(|(a, b)| a.value != 0.0 && b.value != 0.0);
    let top = nonzero.clone().map(|(a, b)| a.exponent + b.exponent).fold(addend.exponent, i32::max);
    if top == ZERO {
        return 0;
    }
    let top = top.max(A::FLOOR);
    // Each term as a multiple of 2^(top - `A::PLACES`).
    let aligned = |significand: i64, own: i32, exponent: i32| {
        let shift = A::PLACES - own - (top - exponent);
        let magnitude = significand.unsigned_abs();
        let cut =
            if shift < 0 { magnitude.checked_shr(-shift as u32).unwrap_or(0) } else { magnitude << shift };
        if significand < 0 { -(cut as i64) } else { cut as i64 }
    };
    let mut sum: i64 = nonzero
        .map(|(a, b)| aligned(a.significand(10) * b.significand(10), 20, a.exponent + b.exponent))
        .sum();
    if addend.value != 0.0 {
        sum += aligned(addend.significand(23), 23, addend.exponent);
    }
    let significand = u128::from(sum.unsigned_abs());
    A::round_exact(Exact { negative: sum < 0, exponent: top - A::PLACES, significand })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The products of words of any bits, by both compilations.
    fn same<F: Factor, A: Accumulator, const P: usize>() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 32) as u32
        };
        for round in 0..200 {
            // Moderate exponents in every other round, where numbers of 16 bits have them.
            let mask = if round % 2 == 0 { 0xbfff_bfff } else { u32::MAX };
            let [rows, more_rows, columns, more_columns] =
                [(); 4].map(|()| std::array::from_fn(|_| next() & mask));
            let c: Tile<u32> = std::array::from_fn(|_| std::array::from_fn(|_| next() & mask));
            let (a, b) = ([&rows, &more_rows], [&columns, &more_columns]);
            let [mut sums, mut plain] = [c; 2];
            multiply::<A, P>(&lefts::<F, P>(&a, 0), &rights::<F, P>(&b, 0), &mut sums, 1);
            multiply_body::<A, P>(&lefts_body::<F, P>(&a, 0), &rights_body::<F, P>(&b, 0), &mut plain, 1);
            assert_eq!(sums, plain, "{round}");
            // A sign on both sides changes nothing.
            let sign =
                if F::BITS == 32 { 1 << 31 } else { 0x8000_8000 | if F::BITS == 8 { 0x80_0080 } else { 0 } };
            let mut negative = c;
            multiply::<A, P>(&lefts::<F, P>(&a, sign), &rights::<F, P>(&b, sign), &mut negative, 1);
            assert_eq!(sums, negative, "{round}");
        }
    }

    #[test]
    fn both_compilations_give_the_same_bits() {
        same::<Float16, Single, 4>();
        same::<Float16, Short, 2>();
        same::<Bfloat16, Single, 4>();
        same::<Tf32, Single, 2>();
        same::<E4m3, Single, 8>();
        same::<E5m2, Short, 8>();
        same::<E4m3Itself, CoarseSingle, 8>();
    }
}
