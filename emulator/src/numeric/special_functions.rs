//! `ex2`, `rcp`, `rsqrt` and `sqrt`, `.approx.f32`: the bits that the special function units of an H200 return.
//!
//! Such a unit looks up the upper bits of a fraction and interpolates with a polynomial of degree two, in an arithmetic that leaves out the lowest
//! columns of its products (S. Oberman and M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005). What it leaves
//! out is not known. So `special_functions.bin` has for each segment the polynomial that comes nearest to what an H200 returned for every
//! fraction, and the fractions for which that one, rounded down, is one off: about one in a hundred. `special_functions.py` measures it.

use std::sync::OnceLock;

/// Bits of a fraction.
const FRACTION: u32 = 23;
const FRACTIONS: u32 = 1 << FRACTION;
/// Binary places of a polynomial's value, and more of its last coefficient.
const PLACES: u32 = 36;
const LAST: u32 = 12;

/// Most segments of a function.
const SEGMENTS: usize = 128;

/// A function of a fraction, of which so many upper bits say in which segment it is.
#[derive(Debug)]
pub(super) struct Table<const UPPER: u32> {
    /// By segment: the polynomial around its middle, of twice the distance.
    polynomials: Box<[[i64; 3]; SEGMENTS]>,
    /// A bit for each fraction for which it is one off.
    off: Vec<u64>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Tables {
    /// 2^x for x in [0, 1), less 1.
    ex2: Table<6>,
    /// 1/x for x in [1, 2), less 1/2, twice.
    rcp: Table<7>,
    /// The same of 1/sqrt(x), for x in [1, 2) and in [2, 4).
    rsqrt: [Table<6>; 2],
    /// sqrt(x) for x in [1, 2) and in [2, 4), less 1.
    sqrt: [Table<6>; 2],
}

impl<const UPPER: u32> Table<UPPER> {
    /// The next one of the file.
    fn read(file: &mut &[u8]) -> Self {
        let upper = u32::from_le_bytes(taken(file));
        debug_assert_eq!(upper, UPPER);
        let gaps = u32::from_le_bytes(taken(file));
        let mut polynomials = Box::new([[0; 3]; SEGMENTS]);
        for polynomial in polynomials.iter_mut().take(1 << UPPER) {
            *polynomial = [(); 3].map(|()| i64::from_le_bytes(taken(file)));
        }
        let mut off = vec![0_u64; FRACTIONS as usize / 64];
        let mut at = 0;
        for _ in 0..gaps {
            // How many there are before the next one; 255 for as many, and more.
            let [gap] = taken(file);
            at += usize::from(gap);
            if gap != u8::MAX {
                off[at / 64] |= 1 << (at % 64);
                at += 1;
            }
        }
        Table { polynomials, off }
    }

    /// Of the fraction in the lowest bits of a number, the result's: up to two to the power of 23.
    #[inline(always)]
    fn at(&self, number: u32) -> u32 {
        let fraction = number % FRACTIONS;
        let rest = FRACTION - UPPER;
        let [constant, first, second] = self.polynomials[(fraction >> rest) as usize];
        let size = 1 << rest;
        let distance = i64::from(2 * (fraction as i32 & (size - 1)) + 1 - size);
        let sum = constant + first * distance + ((second * (distance * distance)) >> LAST);
        let is_off = self.off[fraction as usize / 64] >> (fraction % 64) & 1;
        // Then the sum is just below the next number, or has just reached this one.
        let upper_half = sum >> (PLACES - 1) & 1;
        ((sum >> PLACES) + is_off as i64 * (2 * upper_half - 1)) as u32
    }
}

fn taken<const N: usize>(file: &mut &[u8]) -> [u8; N] {
    // The file has all tables: a test reads each number of each.
    let Some((head, rest)) = file.split_first_chunk() else { return [0; N] };
    *file = rest;
    *head
}

/// Read when the first of them is asked for.
#[inline(always)]
fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut file = &include_bytes!("special_functions.bin")[..];
        let file = &mut file;
        Tables {
            ex2: Table::read(file),
            rcp: Table::read(file),
            rsqrt: [Table::read(file), Table::read(file)],
            sqrt: [Table::read(file), Table::read(file)],
        }
    })
}

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0xff << FRACTION;
const NAN: u32 = 0x7fff_ffff;
/// The exponent of 1.
const BIAS: i32 = 127;

/// The exponent, less the bias, and the fraction of a positive number that is not zero, infinity or NaN; a subnormal one is normalised.
#[inline(always)]
fn parts(magnitude: u32) -> (i32, u32) {
    let up = magnitude.leading_zeros() as i32 - (u32::BITS - 1 - FRACTION) as i32;
    if up > 0 {
        // Below the smallest normal number.
        return (1 - up - BIAS, magnitude << up & (FRACTIONS - 1));
    }
    ((magnitude >> FRACTION) as i32 - BIAS, magnitude & (FRACTIONS - 1))
}

/// The number with this exponent, less the bias, whose significand is 1 and this fraction, which may be 1. Below the normal numbers: zero with `FTZ`,
/// else rounded to the nearest, of two the even one; beyond: infinity.
#[inline(always)]
fn number<const FTZ: bool>(exponent: i32, fraction: u32) -> u32 {
    let biased = exponent + BIAS;
    if biased >= 255 {
        return INFINITY;
    }
    if biased > 0 {
        return ((biased as u32) << FRACTION) + fraction;
    }
    if FTZ {
        return if biased == 0 && fraction == FRACTIONS { FRACTIONS } else { 0 };
    }
    let whole = FRACTIONS + fraction;
    let down = (1 - biased) as u32;
    if down > FRACTION + 2 {
        return 0;
    }
    let (kept, rest, half) = (whole >> down, whole & ((1 << down) - 1), 1 << (down - 1));
    kept + u32::from(rest > half || rest == half && kept & 1 == 1)
}

/// `ex2.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn ex2<const FTZ: bool>(a: u32) -> u32 {
    if a & !SIGN >= 126f32.to_bits() {
        return ex2_of_large::<FTZ>(a);
    }
    power(a)
}

/// Of -126 and less, 126 and more, and NaN.
#[cold]
fn ex2_of_large<const FTZ: bool>(a: u32) -> u32 {
    let magnitude = a & !SIGN;
    let is_negative = a & SIGN != 0;
    if magnitude > INFINITY {
        return NAN;
    }
    if !is_negative && magnitude >= 128f32.to_bits() {
        return INFINITY;
    }
    if magnitude >= 256f32.to_bits() {
        return 0;
    }
    if !FTZ && is_negative && magnitude > 126f32.to_bits() {
        // The square of that of half of it, as ptxas has it.
        let half = f32::from_bits(power(a - FRACTIONS));
        return (half * half).to_bits();
    }
    power(a)
}

/// 2 to a power whose magnitude is below 256; zero where that is no normal number.
#[inline(always)]
fn power(a: u32) -> u32 {
    // Whole numbers and a fraction; what is smaller is cut off.
    let cut = (f32::from_bits(a) * FRACTIONS as f32) as i32;
    // Of a negative one the complement, which is one less.
    let has_fraction = cut & (FRACTIONS as i32 - 1) != 0;
    let fixed = cut - i32::from(cut < 0 && has_fraction);
    let fraction = tables().ex2.at(fixed as u32);
    // The sum of both is the number, as the exponent is a normal one's.
    let exponent = (fixed >> FRACTION) + BIAS;
    let number = ((exponent as u32) << FRACTION).wrapping_add(fraction);
    if exponent > 0 { number } else { 0 }
}

/// Whether a number has no sign, and all bits of its fraction.
#[inline(always)]
fn is_positive_and_normal(a: u32) -> bool {
    a.wrapping_sub(FRACTIONS) < INFINITY - FRACTIONS
}

/// What counts as zero.
#[inline(always)]
fn is_zero<const FTZ: bool>(magnitude: u32) -> bool {
    magnitude == 0 || FTZ && magnitude < FRACTIONS
}

/// `rcp.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn rcp<const FTZ: bool>(a: u32) -> u32 {
    // Below 2^126: it is normal, and so is the result.
    let exponent = a >> FRACTION & 0xff;
    if exponent.wrapping_sub(1) >= 252 {
        return rcp_at_the_ends::<FTZ>(a);
    }
    (a & SIGN) + ((253 - exponent) << FRACTION) + tables().rcp.at(a)
}

/// Of numbers that are not normal, or whose reciprocals may not be.
#[cold]
fn rcp_at_the_ends<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if magnitude > INFINITY {
        return NAN;
    }
    if is_zero::<FTZ>(magnitude) {
        return sign | INFINITY;
    }
    if magnitude == INFINITY {
        return sign;
    }
    let (exponent, fraction) = parts(magnitude);
    sign | number::<FTZ>(-exponent - 1, tables().rcp.at(fraction))
}

/// `rsqrt.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn rsqrt<const FTZ: bool>(a: u32) -> u32 {
    if !is_positive_and_normal(a) {
        return rsqrt_of_others::<FTZ>(a);
    }
    let exponent = a >> FRACTION;
    // The bias is odd.
    let table = &tables().rsqrt[(!exponent & 1) as usize];
    (((380 - exponent) / 2) << FRACTION) + table.at(a)
}

#[cold]
fn rsqrt_of_others<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if is_zero::<FTZ>(magnitude) {
        return sign | INFINITY;
    }
    if a >= INFINITY {
        return if a == INFINITY { 0 } else { NAN };
    }
    let (exponent, fraction) = parts(magnitude);
    let table = &tables().rsqrt[(exponent & 1) as usize];
    number::<FTZ>(-(exponent >> 1) - 1, table.at(fraction))
}

/// `sqrt.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    if !is_positive_and_normal(a) {
        return sqrt_of_others::<FTZ>(a);
    }
    let exponent = a >> FRACTION;
    let table = &tables().sqrt[(!exponent & 1) as usize];
    (((exponent + 127) / 2) << FRACTION) + table.at(a)
}

#[cold]
fn sqrt_of_others<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if is_zero::<FTZ>(magnitude) {
        return sign;
    }
    if a >= INFINITY {
        return if a == INFINITY { INFINITY } else { NAN };
    }
    let (exponent, fraction) = parts(magnitude);
    let table = &tables().sqrt[(exponent & 1) as usize];
    number::<FTZ>(exponent >> 1, table.at(fraction))
}
