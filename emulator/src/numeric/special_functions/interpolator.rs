//! How a special function unit computes: the upper bits of a fraction choose a polynomial of degree two for the lower ones (S. Oberman and
//! M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005).
//!
//! Only the square is not exact. It is the sum of a triangle of partial products, of each pair of bits once, and its lowest columns are left out:
//! those below the 19th where a distance has 17 bits, below the 17th where it has 16. With this square there are coefficients, whole numbers of small
//! units, that give what an H200 returned for every fraction, to the last bit. `special_functions.py` finds them.

/// Bits of a fraction.
pub(super) const FRACTION: u32 = 23;
pub(super) const FRACTIONS: u32 = 1 << FRACTION;
/// Binary places of a polynomial's value.
pub(super) const PLACES: u32 = 40;
/// Upper bits of a distance, whose products with each other are all in the square, but for the lowest.
const UPPER: u32 = 8;

/// The coefficients for the fractions with the same upper bits.
#[derive(Debug, Clone, Copy)]
#[repr(C)] // Vector code reads it whole.
pub(super) struct Segment {
    constant: i64,
    first: i32,
    second: i32,
}

impl Segment {
    /// The value this far from its start, of so many bits.
    #[inline(always)]
    pub(super) fn at(&self, distance: u32, bits: u32) -> i64 {
        let linear = i64::from(self.first) * i64::from(distance as i32);
        self.constant + linear + i64::from(self.second) * i64::from(square(distance, bits) as i32)
    }
}

/// The square of a distance of so many bits, without its lowest `2 * bits - 15` columns.
#[inline(always)]
fn square(distance: u32, bits: u32) -> u32 {
    let lower = bits - UPPER;
    let (upper_bits, lower_bits) = (distance >> lower, distance & ((1 << lower) - 1));
    // Those of two upper bits: half, without the lowest bit times itself. Of two lower bits there are none.
    let upper = (upper_bits * upper_bits) >> 1;
    let low = (upper_bits >> 1 & 7) << 3 | lower_bits >> (lower - 3);
    let high = (upper_bits >> 4) << 7 | lower_bits >> (lower - 7);
    upper
        + u32::from(LOW_PRODUCTS[low as usize % LOW_PRODUCTS.len()])
        + u32::from(HIGH_PRODUCTS[high as usize % HIGH_PRODUCTS.len()])
}

/// Of the upper bits 1 to 3, and 4 to 7, with the lower ones.
static LOW_PRODUCTS: [u8; 1 << 6] = products(1, 3);
static HIGH_PRODUCTS: [u8; 1 << 11] = products(4, 7);

/// The sums of the products of these upper bits and as many of the lower ones as the last of them meets, by both: bit `n` meets the highest `n`.
const fn products<const SIZE: usize>(first: u32, last: u32) -> [u8; SIZE] {
    let mut sums = [0; SIZE];
    let mut number = 0;
    while number < SIZE {
        let (upper_bits, lower_bits) = (number >> last, number % (1 << last));
        let mut bit = first;
        while bit <= last {
            if upper_bits >> (bit - first) & 1 == 1 {
                sums[number] += (lower_bits >> (last - bit)) as u8;
            }
            bit += 1;
        }
        number += 1;
    }
    sums
}

/// A function of a fraction in this many segments.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Table<const SEGMENTS: usize>(pub(super) [Segment; SEGMENTS]);

impl<const SEGMENTS: usize> Table<SEGMENTS> {
    /// Bits of a distance, where all segments are as large.
    pub(super) const REST: u32 = FRACTION - SEGMENTS.ilog2();

    /// From here on in the file.
    const fn read(first: usize) -> Self {
        const FILE: &[u8] = include_bytes!("../special_functions.bin");
        let mut segments = [Segment { constant: 0, first: 0, second: 0 }; SEGMENTS];
        let mut number = 0;
        while number < SEGMENTS {
            let at = 16 * (first + number);
            // Two words each would be as long: what is too large for 64 bits does not occur.
            segments[number] = Segment {
                constant: word(FILE, at) as u32 as i64 | (word(FILE, at + 4) as i64) << 32,
                first: word(FILE, at + 8),
                second: word(FILE, at + 12),
            };
            number += 1;
        }
        Table(segments)
    }

    /// Its value for the fraction in the lowest bits of a number.
    #[inline(always)]
    pub(super) fn at(&self, number: u32) -> i64 {
        let fraction = number % FRACTIONS;
        self.0[(fraction >> Self::REST) as usize].at(fraction % (1 << Self::REST), Self::REST)
    }

    /// The same, cut off behind the places of a fraction: up to two to the power of 23.
    #[inline(always)]
    pub(super) fn fraction_at(&self, number: u32) -> u32 {
        (self.at(number) >> (PLACES - FRACTION)) as u32
    }
}

const fn word(file: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]])
}

/// 2^x for x in [0, 1), less 1.
pub(super) static EX2: Table<64> = Table::read(0);
/// 1/x for x in [1, 2), less 1/2, twice.
pub(super) static RCP: Table<128> = Table::read(64);
/// The same of 1/sqrt(x), for x in [2, 4) and in [1, 2): by the lowest bit of a biased exponent.
pub(super) static RSQRT: [Table<64>; 2] = [Table::read(256), Table::read(192)];
/// sqrt(x), less 1, for the same.
pub(super) static SQRT: [Table<64>; 2] = [Table::read(384), Table::read(320)];
/// The logarithm to the base of 2 of x in [1, 2).
pub(super) static LG2: Table<64> = Table::read(448);
/// The sine of the first quarter of a turn.
pub(super) static SINE: Table<64> = Table::read(512);
/// The hyperbolic tangent from 2^-8 to 8, by octave; of those below 1/2 times what makes the octave [1/2, 1).
pub(super) static TANH: Table<51> = Table::read(576);

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all pairs of bits, once each.
    fn triangle(distance: u32, bits: u32) -> u32 {
        let columns = 2 * bits - 15;
        let bit = |number: u32| u64::from(distance >> number & 1);
        let mut sum = 0;
        for i in 0..bits {
            for j in 0..=i {
                let column = if i == j { 2 * i } else { i + j + 1 };
                if column >= columns {
                    sum += (bit(i) * bit(j)) << (column - columns);
                }
            }
        }
        sum as u32
    }

    #[test]
    fn squares_are_sums_of_triangles_without_their_lowest_columns() {
        for bits in [16, 17] {
            for distance in (0..1 << bits).step_by(if cfg!(miri) { 997 } else { 1 }) {
                assert_eq!(square(distance, bits), triangle(distance, bits), "{distance} of {bits} bits");
            }
        }
    }

    #[test]
    fn the_file_has_these_tables_and_no_more() {
        assert_eq!(include_bytes!("../special_functions.bin").len(), 16 * (576 + TANH.0.len()));
    }
}
