//! Fixed-point numbers of 8 bits (PTX ISA, "cvt", `.s2f6x2`), against a search among all of them by exact distances.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::numeric::fixed;
use cuda_emulator::numeric::half;

/// The power of two of a scale; `None` is NaN.
fn scale(code: u8) -> Option<f64> {
    (code != 0xff).then(|| 2f64.powi(i32::from(code) - 127))
}

/// The number nearest to `x`, of two the even one; NaN gives the largest.
fn nearest(x: Option<f64>, relu: bool) -> u8 {
    let Some(x) = x.filter(|x| !x.is_nan()) else { return 0x7f };
    let x = if relu && x < 0.0 { 0.0 } else { x };
    let units = x * 64.0;
    let distance = |number: &i8| (units.clamp(-200.0, 200.0) - f64::from(*number)).abs();
    let closer = |a: &i8, b: &i8| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)));
    (i8::MIN..=i8::MAX).min_by(closer).unwrap() as u8
}

/// Scales that move numbers into the format's range, and the ends.
const SCALES: [u8; 10] = [0, 1, 2, 126, 127, 128, 140, 253, 254, 255];

#[test]
fn floats_become_the_nearest_number() {
    for by in SCALES {
        let step = if cfg!(miri) {
            997
        } else if by == 127 {
            1
        } else {
            37
        };
        for upper in (0..=u16::MAX).step_by(step) {
            for lower in [0, 1, 0xffff] {
                let (a, b) = (u32::from(upper) << 16 | lower, u32::from(upper.rotate_left(3)) << 16 | lower);
                let other = by.wrapping_add(3);
                let scales = u16::from_be_bytes([by, other]);
                let divided = |bits: u32, by| scale(by).map(|by| f64::from(f32::from_bits(bits)) / by);
                let expected = |relu| {
                    u16::from_be_bytes([nearest(divided(a, by), relu), nearest(divided(b, other), relu)])
                };
                assert_eq!(fixed::pair_from_f32::<false>(a, b, scales), expected(false), "{a:x} {b:x} {by}");
                assert_eq!(
                    fixed::pair_from_f32::<true>(a, b, scales),
                    expected(true),
                    "relu {a:x} {b:x} {by}"
                );
                if lower == 0 {
                    let packed = a | b >> 16;
                    assert_eq!(
                        fixed::pair_from_bf16x2::<false>(packed, scales),
                        expected(false),
                        "{packed:x}"
                    );
                    assert_eq!(fixed::pair_from_bf16x2::<true>(packed, scales), expected(true), "{packed:x}");
                }
            }
        }
    }
}

#[test]
fn every_number_times_every_scale() {
    for by in 0..=0xff {
        for code in 0..=0xff {
            let exact = scale(by).map(|by| f64::from(code as i8) / 64.0 * by);
            let one = |relu: bool, satfinite: bool| match exact {
                None => half::NAN,
                Some(x) if relu && x < 0.0 => 0,
                Some(x) if x.abs() >= 2f64.powi(128) => {
                    if satfinite {
                        0xff7f
                    } else {
                        0xff80
                    }
                }
                Some(x) => {
                    let bits = (x as f32).to_bits();
                    assert_eq!((f64::from(x as f32), bits & 0xffff), (x, 0), "it is a .bf16");
                    (bits >> 16) as u16
                }
            };
            let (pair, scales) = (u16::from_be_bytes([code, 0x40]), u16::from_be_bytes([by, 127]));
            let expected = |relu, satfinite| half::pack(0x3f80, one(relu, satfinite));
            assert_eq!(
                fixed::bf16x2_from_pair::<false, false>(pair, scales),
                expected(false, false),
                "{code} {by}"
            );
            assert_eq!(
                fixed::bf16x2_from_pair::<true, false>(pair, scales),
                expected(true, false),
                "{code} {by}"
            );
            assert_eq!(
                fixed::bf16x2_from_pair::<false, true>(pair, scales),
                expected(false, true),
                "{code} {by}"
            );
            assert_eq!(
                fixed::bf16x2_from_pair::<true, true>(pair, scales),
                expected(true, true),
                "{code} {by}"
            );
        }
    }
}
