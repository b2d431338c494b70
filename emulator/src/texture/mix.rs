//! The mean of elements, weighted in 256ths, as an H200 computes it.

/// Additional bits of fraction that elements keep while they are added.
const GUARD: i32 = 4;
/// NaN.
const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// The format of the elements that are mixed, and of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// `f32`
    Single,
    /// `f16`
    Half,
}

impl Precision {
    /// Bits of the fraction.
    fn fraction(self) -> i32 {
        if self == Precision::Single { 23 } else { 10 }
    }

    /// The exponent of the smallest normal number.
    fn smallest(self) -> i32 {
        if self == Precision::Single { -126 } else { -14 }
    }
}

/// The first of the two elements of each dimension that are mixed, and how much the second one counts.
pub(super) fn around(place: [i64; 3]) -> ([i64; 3], [i64; 3]) {
    let shifted = place.map(|place| place - 128);
    (shifted.map(|place| place >> 8), shifted.map(|place| place & 255))
}

/// The weight of each corner, 256 in total: products are rounded, a half up, and the others are the remainders.
pub(super) fn weights([x, y, z]: [i64; 3], dimensions: usize) -> [i64; 8] {
    let product = |a: i64, b: i64| (a * b + 128) >> 8;
    let (y, z) = (if dimensions > 1 { y } else { 0 }, if dimensions > 2 { z } else { 0 });
    let (xy, xz, yz) = (product(x, y), product(x, z), product(y, z));
    let all = product(xz, y);
    [
        256 - x - y - z + xy + xz + yz - all,
        x - xy - xz + all,
        y - xy - yz + all,
        xy - all,
        z - xz - yz + all,
        xz - all,
        yz - all,
        all,
    ]
}

/// A sum of `number` times two to the power of `exponent`.
#[derive(Clone, Copy, Default)]
struct Sum {
    number: i128,
    exponent: i32,
}

/// The parts of an `f32`: an integer and its exponent; subnormal numbers are zero.
fn parts(value: f32) -> (i64, i32) {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    if exponent == 0 {
        return (0, 0);
    }
    let number = i64::from(bits & 0x7f_ffff | 0x80_0000);
    (if value.is_sign_negative() { -number } else { number }, exponent - 127)
}

/// Elements are truncated towards zero after the largest one's fraction and the guard bits; their products are added.
fn sum(terms: &[(f32, i64)], precision: Precision) -> Sum {
    let used =
        terms.iter().filter(|(_, weight)| *weight != 0).map(|(value, weight)| (parts(*value), *weight));
    let used = used.filter(|((number, _), _)| *number != 0);
    let Some(largest) = used.clone().map(|((_, exponent), _)| exponent).max() else { return Sum::default() };
    let kept = precision.fraction() + GUARD - 23;
    let number = used.map(|((number, exponent), weight)| {
        let shift = kept - (largest - exponent);
        let cut = match shift {
            0.. => i128::from(number) << shift,
            -40.. => i128::from(number.abs() >> -shift) * i128::from(number.signum()),
            _ => 0,
        };
        cut * i128::from(weight)
    });
    // The weights are 256ths.
    Sum { number: number.sum(), exponent: largest - precision.fraction() - GUARD - 8 }
}

/// The mean of `near` and `far`, of which each is added by itself before both are; a half is rounded away from zero.
pub(super) fn floats(near: &[(f32, i64)], far: &[(f32, i64)], precision: Precision) -> f32 {
    let used = || near.iter().chain(far).filter(|(_, weight)| *weight != 0).map(|(value, _)| *value);
    let infinite = |sign: bool| used().any(|value| value.is_infinite() && value.is_sign_negative() == sign);
    match (infinite(false), infinite(true)) {
        _ if used().any(f32::is_nan) => return NAN,
        (true, true) => return NAN,
        (true, false) => return f32::INFINITY,
        (false, true) => return f32::NEG_INFINITY,
        (false, false) => {}
    }
    let (near, far) = (sum(near, precision), sum(far, precision));
    let both = match (near.number, far.number) {
        (_, 0) => near,
        (0, _) => far,
        _ => {
            let (high, low) = if near.exponent >= far.exponent { (near, far) } else { (far, near) };
            let apart = high.exponent - low.exponent;
            // Numbers have less than 44 bits.
            match apart {
                ..=80 => Sum { number: (high.number << apart) + low.number, exponent: low.exponent },
                _ => high,
            }
        }
    };
    if both.number == 0 {
        return if used().all(|value| value.is_sign_negative() && !value.is_normal()) { -0.0 } else { 0.0 };
    }
    rounded(both, precision)
}

fn rounded(sum: Sum, precision: Precision) -> f32 {
    let size = sum.number.unsigned_abs();
    let exponent = sum.exponent + 127 - size.leading_zeros() as i32;
    // `.f32` has no subnormal results.
    if precision == Precision::Single && exponent < precision.smallest() {
        return 0.0;
    }
    let unit = exponent.max(precision.smallest()) - precision.fraction();
    let drop = unit - sum.exponent;
    let kept = match drop {
        1..=127 => (size >> drop) + (size >> (drop - 1) & 1),
        128.. => 0,
        _ => size << -drop,
    };
    // At most 25 bits: exact in `f64`, as the power is.
    let value = kept as f64 * 2.0_f64.powi(unit);
    (if sum.number < 0 { -value } else { value }) as f32
}

/// The mean of whole numbers; a half is rounded up.
pub(super) fn integers(terms: impl Iterator<Item = (i64, i64)>) -> i64 {
    (terms.map(|(value, weight)| value * weight).sum::<i64>() + 128) >> 8
}
