//! Conversions against soft floats and 128-bit integers (PTX ISA, "cvt", "cvt.pack").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::cvt::{self, Double, Float as CvtFloat, Single};
use cuda_emulator::numeric::half::{Bf16, F16};
use cuda_emulator::numeric::int::Int;
use cuda_emulator::numeric::rounding::Rounding;
use cuda_emulator::numeric::{fp32, half};
use numeric_support::{Layout, Random, cases};
use rustc_apfloat::{Float, FloatConvert, Round, ieee};
use std::fmt::Debug;

const CASES: usize = cases(60_000);

/// A float type of ours beside the oracle's.
trait Pair: CvtFloat {
    type Soft: Float
        + FloatConvert<ieee::Half>
        + FloatConvert<ieee::BFloat>
        + FloatConvert<ieee::Single>
        + FloatConvert<ieee::Double>;
    const LAYOUT: Layout;
    const NAN: u64;
    const IS_F32: bool = false;
    fn bits(a: u64) -> Self::Bits;
    fn wide(a: Self::Bits) -> u64;
    fn convert<S: Pair>(a: S::Soft, round: Round) -> Self::Soft;
}

macro_rules! pair {
    ($ours:ident, $soft:ident, $bits:ident, $layout:ident, $nan:expr, $is_f32:expr) => {
        impl Pair for $ours {
            type Soft = ieee::$soft;
            const LAYOUT: Layout = numeric_support::$layout;
            const NAN: u64 = $nan;
            const IS_F32: bool = $is_f32;
            fn bits(a: u64) -> $bits {
                a as $bits
            }
            fn wide(a: $bits) -> u64 {
                a as u64
            }
            fn convert<S: Pair>(a: S::Soft, round: Round) -> ieee::$soft {
                FloatConvert::<ieee::$soft>::convert_r(a, round, &mut false).value
            }
        }
    };
}
pair!(F16, Half, u16, F16, half::NAN as u64, false);
pair!(Bf16, BFloat, u16, BF16, half::NAN as u64, false);
pair!(Single, Single, u32, F32, fp32::NAN as u64, true);
pair!(Double, Double, u64, F64, 0, false);

/// Every number of a 16-bit format, or specials and random ones.
fn operands<S: Pair>(seed: u64) -> Vec<u64> {
    if S::LAYOUT.sign() == 1 << 15 {
        return (0..1 << 16).step_by(if cfg!(miri) { 997 } else { 1 }).collect();
    }
    let mut random = Random::new(seed);
    let mut all = S::LAYOUT.specials();
    all.extend((0..CASES).map(|_| S::LAYOUT.any(&mut random)));
    // Around the integers and the ends of the integer types.
    for exponent in 0..66 {
        for tweak in 0..24u64 {
            let power = ((S::LAYOUT.one() >> S::LAYOUT.fraction) + exponent) << S::LAYOUT.fraction;
            let bits = power.wrapping_add(tweak).wrapping_sub(12);
            all.extend([bits, bits | S::LAYOUT.sign()]);
            let half =
                power + (random.u64() & ((1 << S::LAYOUT.fraction) - 1) & (u64::MAX << random.below(52)));
            all.extend([half, half | S::LAYOUT.sign()]);
        }
    }
    all
}

fn flush_if<F: Pair>(ftz: bool, a: u64) -> u64 {
    if ftz && F::IS_F32 { F::LAYOUT.flush(a) } else { a }
}

fn soft<F: Pair>(a: u64) -> F::Soft {
    F::Soft::from_bits(a as u128)
}

/// PTX ISA, "cvt": rounding, then clamping; NaN is 0 or `1 << (width - 1)`.
fn int_reference<S: Pair, D: Int>(a: u64, round: Round) -> D {
    if S::LAYOUT.is_nan(a) {
        let wide = S::LAYOUT.sign() == 1 << 63 || D::BITS == 64;
        return D::from_bits(if wide { 1 << (D::BITS - 1) } else { 0 });
    }
    let value = soft::<S>(a).to_i128_r(100, round, &mut false).value;
    let (low, high) = if D::SIGNED { (-(1i128 << (D::BITS - 1)), D::BITS - 1) } else { (0, D::BITS) };
    D::from_i128(value.clamp(low, (1 << high) - 1))
}

fn to_int<S: Pair, D: Int + Debug, R: Rounding>(round: Round) {
    for a in operands::<S>(31) {
        let ours = cvt::float_to_int::<S, D, R, false>(S::bits(a));
        assert_eq!(ours, int_reference::<S, D>(a, round), "{a:x} {round:?}");
        let flushed = cvt::float_to_int::<S, D, R, true>(S::bits(a));
        assert_eq!(flushed, int_reference::<S, D>(flush_if::<S>(true, a), round), "ftz {a:x} {round:?}");
    }
}

macro_rules! for_floats {
    (|$S:ident| $body:block) => {{
        {
            type $S = F16;
            $body
        }
        {
            type $S = Bf16;
            $body
        }
        {
            type $S = Single;
            $body
        }
        {
            type $S = Double;
            $body
        }
    }};
}

macro_rules! for_ints {
    (|$D:ident| $body:block) => {{
        {
            type $D = u8;
            $body
        }
        {
            type $D = u16;
            $body
        }
        {
            type $D = u32;
            $body
        }
        {
            type $D = u64;
            $body
        }
        {
            type $D = i8;
            $body
        }
        {
            type $D = i16;
            $body
        }
        {
            type $D = i32;
            $body
        }
        {
            type $D = i64;
            $body
        }
    }};
}

#[test]
fn floats_to_integers() {
    for_modes!(|R, round| { for_floats!(|S| { for_ints!(|D| { to_int::<S, D, R>(round) }) }) });
}

#[test]
fn integers_to_floats() {
    fn check<S: Int + Debug, D: Pair, R: Rounding>(round: Round) {
        let mut random = Random::new(32);
        for _ in 0..CASES / 3 {
            let a = S::from_bits(random.integer(S::BITS));
            let ours = D::wide(cvt::int_to_float::<S, D, R>(a));
            let oracle = D::Soft::from_i128_r(a.to_i128(), round).value.to_bits() as u64;
            assert_eq!(ours, oracle, "{a:?} {round:?}");
        }
    }
    for_modes!(|R, round| { for_floats!(|D| { for_ints!(|S| { check::<S, D, R>(round) }) }) });
}

#[test]
fn floats_to_floats() {
    fn check<S: Pair, D: Pair, R: Rounding>(round: Round) {
        for a in operands::<S>(33) {
            let oracle = |a: u64| match D::convert::<S>(soft::<S>(a), round) {
                result if !S::LAYOUT.is_nan(a) => result.to_bits() as u64,
                // To and from .f64 sign and payload stay; the oracle makes it quiet as we do.
                result if D::NAN == 0 || S::NAN == 0 => {
                    result.to_bits() as u64 | 1 << (D::LAYOUT.fraction - 1)
                }
                _ => D::NAN,
            };
            // .bf16 and .f32 to .f32 is a move of bits where no modifier asks for arithmetic.
            let moved = D::IS_F32 && S::LAYOUT.exponent == 8 && S::LAYOUT.is_nan(a);
            let ours = |bits: D::Bits| D::wide(bits);
            let plain = ours(cvt::float::<S, D, R, false, false>(S::bits(a)));
            let expected = if moved { a << (23 - S::LAYOUT.fraction) } else { oracle(a) };
            assert_eq!(plain, expected, "{a:x} {round:?}");
            // .f16 has no .ftz; .f64 has it by a multiplication.
            let flushed = match D::LAYOUT.exponent {
                5 => oracle(a),
                11 if S::LAYOUT.is_nan(a) && S::NAN != 0 => 0x7fff_ffff_e000_0000,
                _ => flush_if::<D>(true, oracle(flush_if::<S>(true, a))),
            };
            assert_eq!(ours(cvt::float::<S, D, R, true, false>(S::bits(a))), flushed, "ftz {a:x} {round:?}");
            let saturated = D::LAYOUT.saturate(plain);
            assert_eq!(
                ours(cvt::float::<S, D, R, false, true>(S::bits(a))),
                saturated,
                "sat {a:x} {round:?}"
            );
        }
    }
    for_modes!(|R, round| { for_floats!(|S| { for_floats!(|D| { check::<S, D, R>(round) }) }) });
}

/// For every half: itself, the midpoint to the next one, and the `.f32` just beside both.
#[test]
fn f32_to_half_at_every_midpoint() {
    fn check<D: Pair, R: Rounding>(round: Round) {
        for h in (0..1u64 << 16).step_by(if cfg!(miri) { 997 } else { 1 }) {
            let wide = |h: u64| Single::convert::<D>(soft::<D>(h), round).to_bits() as u32;
            let middle = (wide(h) / 2).wrapping_add(wide((h + 1) & 0xffff) / 2);
            for a in [wide(h), middle].iter().flat_map(|&a| [a.wrapping_sub(1), a, a.wrapping_add(1)]) {
                let oracle = match D::convert::<Single>(soft::<Single>(a as u64), round) {
                    result if result.is_nan() => D::NAN,
                    result => result.to_bits() as u64,
                };
                let ours = D::wide(cvt::float::<Single, D, R, false, false>(a));
                assert_eq!(ours, oracle, "{a:x} {round:?}");
            }
        }
    }
    for_modes!(|R, round| {
        check::<F16, R>(round);
        check::<Bf16, R>(round);
    });
}

#[test]
fn floats_to_integral_floats() {
    fn check<S: Pair, R: Rounding>(round: Round) {
        for a in operands::<S>(34) {
            let oracle = |a: u64| match soft::<S>(a).round_to_integral(round).value {
                _ if S::LAYOUT.is_nan(a) => {
                    if S::NAN == 0 {
                        a | 1 << 51
                    } else {
                        S::NAN
                    }
                }
                result => result.to_bits() as u64,
            };
            let plain = S::wide(cvt::float_to_integral::<S, R, false, false>(S::bits(a)));
            assert_eq!(plain, oracle(a), "{a:x} {round:?}");
            let flushed = S::wide(cvt::float_to_integral::<S, R, true, false>(S::bits(a)));
            assert_eq!(flushed, oracle(flush_if::<S>(true, a)), "ftz {a:x} {round:?}");
            let saturated = S::wide(cvt::float_to_integral::<S, R, false, true>(S::bits(a)));
            assert_eq!(saturated, S::LAYOUT.saturate(plain), "sat {a:x} {round:?}");
        }
    }
    for_modes!(|R, round| { for_floats!(|S| { check::<S, R>(round) }) });
}

#[test]
fn integers_to_integers() {
    fn check<S: Int + Debug, D: Int + Debug>() {
        let mut random = Random::new(35);
        for _ in 0..CASES / 3 {
            let a = S::from_bits(random.integer(S::BITS));
            let value = a.to_i128();
            let (low, high) = if D::SIGNED { (-(1i128 << (D::BITS - 1)), D::BITS - 1) } else { (0, D::BITS) };
            let wrapped = (value as u128 & u64::MAX as u128 >> (64 - D::BITS)) as u64;
            assert_eq!(cvt::int::<S, D, false>(a).to_bits(), wrapped, "{a:?}");
            assert_eq!(cvt::int::<S, D, true>(a).to_i128(), value.clamp(low, (1 << high) - 1), "sat {a:?}");
        }
    }
    for_ints!(|S| { for_ints!(|D| { check::<S, D>() }) });
}

/// PTX ISA, "cvt": which NaN a float-to-integer conversion returns.
#[test]
fn nan_to_integer_depends_on_the_widths() {
    use cuda_emulator::numeric::rounding::Zero;
    let (h, s, d) = (0x7e00u16, f32::NAN.to_bits(), f64::NAN.to_bits());
    assert_eq!(cvt::float_to_int::<Single, i32, Zero, false>(s), 0);
    assert_eq!(cvt::float_to_int::<Single, u32, Zero, false>(s), 0);
    assert_eq!(cvt::float_to_int::<F16, i16, Zero, false>(h), 0);
    assert_eq!(cvt::float_to_int::<Single, i64, Zero, false>(s), i64::MIN);
    assert_eq!(cvt::float_to_int::<F16, u64, Zero, false>(h), 1 << 63);
    assert_eq!(cvt::float_to_int::<Double, i32, Zero, false>(d), i32::MIN);
    assert_eq!(cvt::float_to_int::<Double, u32, Zero, false>(d), 1 << 31);
    assert_eq!(cvt::float_to_int::<Double, u16, Zero, false>(d), 1 << 15);
}

/// `cvt.ftz.f32.f64` flushes what is subnormal after rounding: `ptxas` 13.5 emits the plain conversion, and a
/// multiplication for results below the smallest normal number.
#[test]
fn ftz_of_a_conversion_looks_at_the_rounded_result() {
    use cuda_emulator::numeric::rounding::{Nearest, Zero};
    let below = 0x380f_ffff_e000_0000;
    assert_eq!(cvt::float::<Double, Single, Nearest, true, false>(below), 0x0080_0000);
    assert_eq!(cvt::float::<Double, Single, Zero, true, false>(below), 0);
    assert_eq!(cvt::float::<Double, Single, Zero, false, false>(below), 0x007f_ffff);
}

#[test]
fn packed_integers() {
    assert_eq!(cvt::pack16::<i16>(40_000, -40_000), 0x7fff_8000);
    assert_eq!(cvt::pack16::<u16>(70_000, -1), 0xffff_0000);
    assert_eq!(cvt::pack16::<u16>(0x1234, 0x5678), 0x1234_5678);
    // PTX ISA, "cvt.pack": c moves up by the two new fields.
    assert_eq!(cvt::pack_narrow::<8, false>(300, -5, 0xaabb_ccdd), 0xccdd_ff00);
    assert_eq!(cvt::pack_narrow::<8, true>(300, -300, 0xaabb_ccdd), 0xccdd_7f80);
    assert_eq!(cvt::pack_narrow::<4, true>(-9, 9, 0xaabb_ccdd), 0xbbcc_dd87);
    assert_eq!(cvt::pack_narrow::<4, false>(3, 99, 0xaabb_ccdd), 0xbbcc_dd3f);
    assert_eq!(cvt::pack_narrow::<2, true>(-2, 1, 0xaabb_ccdd), 0xabbc_cdd9);
    assert_eq!(cvt::pack_narrow::<2, false>(7, 2, 0xaabb_ccdd), 0xabbc_cdde);
}
