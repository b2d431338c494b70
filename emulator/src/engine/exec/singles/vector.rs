//! The vector code.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; an instruction for two has the operands of both, where `second` looks for them.

use std::arch::x86_64::*;

use super::super::super::code::{Exec, Inst, Slot, Step};
use super::super::alu::Single;
use super::super::lanes::{Lanes, bits};
use super::super::operand::{Dest, Source};
use crate::numeric::fp32;
use crate::numeric::rounding::Nearest;

/// See [`Single::then`].
pub(super) fn then<F: Arithmetic>(other: Single, links: u32) -> Option<Exec> {
    let exec: Exec = match (other, links) {
        (Single::Add, 0b00) => both::<F, Add, 0b00>,
        (Single::Add, 0b01) => both::<F, Add, 0b01>,
        (Single::Sub, 0b00) => both::<F, Sub, 0b00>,
        (Single::Sub, 0b01) => both::<F, Sub, 0b01>,
        (Single::Sub, 0b10) => both::<F, Sub, 0b10>,
        (Single::Mul, 0b00) => both::<F, Mul, 0b00>,
        (Single::Mul, 0b01) => both::<F, Mul, 0b01>,
        (Single::Mul, 0b11) => both::<F, Mul, 0b11>,
        (Single::Fma, 0b000) => both::<F, Fma, 0b000>,
        (Single::Fma, 0b001) => both::<F, Fma, 0b001>,
        (Single::Fma, 0b011) => both::<F, Fma, 0b011>,
        (Single::Fma, 0b100) => both::<F, Fma, 0b100>,
        _ => return None,
    };
    Some(exec)
}

/// What one of the instructions computes from two or three numbers.
pub(super) trait Arithmetic: 'static {
    /// How many.
    const SOURCES: usize;

    /// Of one lane.
    fn one(a: u32, b: u32, c: u32) -> u32;

    /// Of eight lanes, except for the bits of a NaN.
    ///
    /// # Safety
    /// 1. The CPU has AVX2 and FMA.
    unsafe fn eight(a: __m256, b: __m256, c: __m256) -> __m256;
}

macro_rules! arithmetic {
    ($($name:ident<$sources:literal> = |$a:ident, $b:ident, $c:ident| $one:expr, $eight:expr;)*) => {$(
        pub(super) enum $name {}

        impl Arithmetic for $name {
            const SOURCES: usize = $sources;

            #[inline(always)]
            fn one($a: u32, $b: u32, $c: u32) -> u32 {
                $one
            }

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn eight($a: __m256, $b: __m256, $c: __m256) -> __m256 {
                $eight
            }
        }
    )*};
}

arithmetic! {
    Add<2> = |a, b, _c| fp32::add::<Nearest, false, false>(a, b), _mm256_add_ps(a, b);
    Sub<2> = |a, b, _c| fp32::sub::<Nearest, false, false>(a, b), _mm256_sub_ps(a, b);
    Mul<2> = |a, b, _c| fp32::mul::<Nearest, false, false>(a, b), _mm256_mul_ps(a, b);
    Fma<3> = |a, b, c| fp32::fma::<Nearest, false, false>(a, b, c), _mm256_fmadd_ps(a, b, c);
}

/// A destination, then sources.
type Operands = [Slot; 4];

#[inline(always)]
fn first(inst: &Inst) -> Operands {
    [inst.ops[0], inst.ops[1], inst.ops[2], inst.ops[3]]
}

/// Of the second instruction of two: behind those of the first, and in the immediate.
#[inline(always)]
fn second(inst: &Inst) -> Operands {
    [inst.ops[4], inst.ops[5], Slot(inst.imm as u32), Slot((inst.imm >> 32) as u32)]
}

/// One instruction.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn alone<F: Arithmetic>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the duties of `Exec`, or the operands of this instruction (duty 2 of `Exec`); 2: duty 1 of `Exec`.
    unsafe {
        if lanes.mask() != !0 {
            return alone_of_some::<F>(lanes, inst);
        }
        run::<F>(lanes, first(inst));
    }
    Step::Next
}

/// Where not all lanes are live.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn alone_of_some<F: Arithmetic>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the operands of this instruction (duty 2 of `Exec`); 2: duty 1 of `Exec`.
    unsafe { run_some::<F>(lanes, first(inst)) }
    Step::Next
}

/// An instruction, and the one after it, of which the sources in `LINKS`, a bit for each, are the result of the first one.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[target_feature(enable = "avx2,fma")]
unsafe fn both<F: Arithmetic, G: Arithmetic, const LINKS: u32>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the duties of `Exec`, or the operands of both instructions (duty 2 of `Exec`); 2: duty 1 of `Exec`.
    unsafe {
        if lanes.mask() != !0 {
            return both_of_some::<F, G>(lanes, inst);
        }
        let mut result = compute::<F, 0>(lanes, first(inst), &[_mm256_setzero_ps(); 4]);
        let mut last = compute::<G, LINKS>(lanes, second(inst), &result);
        if _mm256_movemask_ps(_mm256_or_ps(nans(&result), nans(&last))) != 0 {
            (result, last) = (canonical(&result), canonical(&last));
        }
        set(lanes, first(inst), &result);
        set(lanes, second(inst), &last);
    }
    Step::Next
}

/// Where not all lanes are live.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn both_of_some<F: Arithmetic, G: Arithmetic>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the operands of both instructions (duty 2 of `Exec`); 2: duty 1 of `Exec`.
    unsafe {
        run_some::<F>(lanes, first(inst));
        run_some::<G>(lanes, second(inst));
    }
    Step::Next
}

/// Runs one of the instructions for all lanes.
///
/// # Safety
/// 1. `operands` are those of such an instruction of the entered code.
/// 2. The CPU has AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn run<F: Arithmetic>(lanes: &Lanes<'_>, operands: Operands) {
    // SAFETY: 1, 2: the caller's duties.
    unsafe {
        let mut results = compute::<F, 0>(lanes, operands, &[_mm256_setzero_ps(); 4]);
        if _mm256_movemask_ps(nans(&results)) != 0 {
            results = canonical(&results);
        }
        set(lanes, operands, &results);
    }
}

/// Runs one of the instructions for the live lanes.
///
/// # Safety
/// 1. `operands` are those of such an instruction of the entered code.
/// 2. The CPU has AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_some<F: Arithmetic>(lanes: &Lanes<'_>, operands: Operands) {
    // SAFETY: 1, 2: the caller's duties; the first operand is a word, the destination: its duty 1. Any bits are 32 numbers.
    unsafe {
        if lanes.few() {
            return each::<F>(lanes, operands);
        }
        let results = canonical(&compute::<F, 0>(lanes, operands, &[_mm256_setzero_ps(); 4]));
        <u32 as Dest>::commit_vector(lanes, &operands, &std::mem::transmute::<Eights, [u32; 32]>(results));
    }
}

/// All lanes.
type Eights = [__m256; 4];

/// The results, except for the bits of a NaN. The sources in `LINKS`, a bit for each, are this one.
///
/// # Safety
/// 1. `operands` are those of such an instruction of the entered code.
/// 2. The CPU has AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn compute<F: Arithmetic, const LINKS: u32>(
    lanes: &Lanes<'_>,
    operands: Operands,
    linked: &Eights,
) -> Eights {
    let mut results = *linked;
    for eight in 0..4 {
        let source = |number: usize| {
            if LINKS << 1 >> number & 1 != 0 || number > F::SOURCES {
                return linked[eight];
            }
            // SAFETY: the operand is a row of the frame or pool (duty 1), four times eight numbers, aligned as such, which nobody writes meanwhile.
            unsafe { (*lanes.row(operands[number]).cast::<Eights>())[eight] }
        };
        // SAFETY: 1: duty 2.
        results[eight] = unsafe { F::eight(source(1), source(2), source(3)) };
    }
    results
}

/// In some lane all bits, if there is a NaN.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn nans(row: &Eights) -> __m256 {
    let two = |a, b| _mm256_cmp_ps::<_CMP_UNORD_Q>(a, b);
    _mm256_or_ps(two(row[0], row[1]), two(row[2], row[3]))
}

/// The same with the NaN that `.f32` arithmetic returns.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn canonical(row: &Eights) -> Eights {
    let mut canonical = *row;
    for eight in 0..4 {
        let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(row[eight], row[eight]);
        let nan = _mm256_castsi256_ps(_mm256_set1_epi32(fp32::NAN as i32));
        canonical[eight] = _mm256_blendv_ps(row[eight], nan, is_nan);
    }
    canonical
}

/// Writes the results of all lanes.
///
/// # Safety
/// 1. `operands` are those of such an instruction of the entered code.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn set(lanes: &Lanes<'_>, operands: Operands, results: &Eights) {
    // SAFETY: the first operand, the destination, is a row of the frame (duty 1), four times eight numbers, aligned as such, to which there is no reference.
    unsafe { *lanes.row(operands[0]).cast::<Eights>() = *results };
}

/// Lane by lane.
///
/// # Safety
/// 1. `operands` are those of such an instruction of the entered code.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn each<F: Arithmetic>(lanes: &Lanes<'_>, operands: Operands) {
    for lane in bits(lanes.mask()) {
        // SAFETY: the operands are words, the destination first: duty 1; lanes are below 32, and the frame stays the entered one.
        unsafe {
            let source = |number: usize| {
                let number = number.min(F::SOURCES);
                <u32 as Source>::get(<u32 as Source>::place(lanes, operands[number]), lane)
            };
            <u32 as Dest>::set(lanes, &operands, lane, F::one(source(1), source(2), source(3)));
        }
    }
}
