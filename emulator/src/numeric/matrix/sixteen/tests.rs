use super::super::Tile;
use super::super::float::{self, lefts, rights};
use super::*;

/// C or D as rows.
fn tiles<A: Sum>(registers: &[Register; 4]) -> [Tile<u32>; 2] {
    std::array::from_fn(|half| {
        std::array::from_fn(|row| {
            std::array::from_fn(|column| {
                let lane = row * 4 + column / 2;
                match A::SHORT {
                    true => registers[half][lane] >> (column % 2 * 16) & 0xffff,
                    false => registers[half * 2 + column % 2][lane],
                }
            })
        })
    })
}

/// The products of operands that `operand` makes, of A and B or (`true`) of C, in `P` planes, which are `B` blocks; how many were not declined.
fn same<F: Sixteen, A: Sum, const B: usize, const P: usize>(
    operand: impl Fn(&mut Random, bool) -> u32,
) -> u32 {
    let mut random = Random(1);
    let mut done = 0;
    for round in 0..300 {
        let [a, c]: [[Register; 4]; 2] =
            [false, true].map(|addend| [(); 4].map(|()| [(); 32].map(|()| operand(&mut random, addend))));
        let b: [Register; B] = [(); B].map(|()| [(); 32].map(|()| operand(&mut random, false)));
        let rows: [[&Register; 2]; B] = std::array::from_fn(|block| [&a[2 * block], &a[2 * block + 1]]);
        let mut sums = [[0; 32]; 4];
        if !product::<F, A, B>(&rows, &b.each_ref(), &c.each_ref(), &mut sums) {
            continue;
        }
        done += 1;
        let mut wanted = tiles::<A>(&c);
        let right = rights::<F, P>(&b.each_ref().map(|register| register), 0);
        for (half, sums) in wanted.iter_mut().enumerate() {
            let left = lefts::<F, P>(&rows.map(|halves| halves[half]), 0);
            float::multiply::<A, P>(&left, &right, sums, 1);
        }
        assert_eq!(tiles::<A>(&sums), wanted, "{round}");
        // A sign on both sides changes nothing.
        let sign = 0x8000_8000;
        let mut negative = [[0; 32]; 4];
        let left = left::<F, B>(&rows, sign);
        let columns = (&b.each_ref(), sign);
        assert!(left.is_some_and(|left| multiply::<F, A, B>(&left, columns, &c.each_ref(), &mut negative)));
        assert_eq!(negative, sums, "{round}");
    }
    done
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }
}

/// A number of `.f32` with that many different exponents around 1, most of them below.
fn around_one(bits: u32, exponents: u32) -> u32 {
    bits & 0x807f_ffff | (127 - exponents * 2 / 3 + (bits >> 8) % exponents) << 23
}

/// Numbers of 16 bits with that many different exponents, and a zero now and then.
fn shorts<F: Sixteen>(random: &mut Random, exponents: u32) -> u32 {
    let mut one = || {
        let bits = random.next();
        let single = around_one(bits, exponents);
        let short = match F::HALF {
            true => u32::from(crate::numeric::half::f32_to_f16(f32::from_bits(single))),
            false => single >> 16,
        };
        // Also of all ones, as large as the exponent allows.
        let ones = if F::HALF { 0x3ff } else { 0x7f };
        match bits % 16 {
            0 => short & 0x8000,
            1..4 => short | ones,
            _ => short,
        }
    };
    one() | one() << 16
}

fn all<F: Sixteen, A: Sum, const B: usize, const P: usize>() {
    let with = |exponents: u32| {
        same::<F, A, B, P>(|random, addend| match addend && !A::SHORT {
            true => match random.next() {
                bits if bits % 4 == 0 => bits << 31,
                bits => around_one(bits, exponents),
            },
            false if addend => shorts::<Float16>(random, exponents),
            false => shorts::<F>(random, exponents),
        })
    };
    // Subnormal numbers of `.f16` are among the last ones.
    let moderate = [with(1), with(12), with(40)];
    assert!(
        !crate::vectors::available() || cfg!(not(target_arch = "x86_64")) || moderate == [300; 3],
        "{moderate:?}"
    );
    // Any bits: few are computed, or none.
    same::<F, A, B, P>(|random, _| random.next());
    same::<F, A, B, P>(|random, _| random.next() & 0xbfff_bfff);
    // Nearly the largest sums: all have one sign.
    same::<F, A, B, P>(|random, addend| match (addend, A::SHORT) {
        (true, false) => 0x3fff_ffff | random.next() & 0x8040_0000,
        (true, true) => 0x3fff_3fff,
        _ => 0x3fff_3fff ^ if random.next() % 64 == 0 { random.next() & 0x8000_003f } else { 0 },
    });
}

#[test]
fn the_vectors_give_the_same_bits() {
    all::<Float16, Single, 1, 2>();
    all::<Float16, Single, 2, 4>();
    all::<Float16, Short, 1, 2>();
    all::<Float16, Short, 2, 4>();
    all::<Bfloat16, Single, 1, 2>();
    all::<Bfloat16, Single, 2, 4>();
}

#[test]
fn a_short_sum_has_a_lowest_place() {
    // 2^-25, half of the smallest number, and 2^-48, which is below the lowest place.
    let (mut rows, mut columns, mut sums) = ([[0; 32]; 2], [0; 32], [[0; 32]; 4]);
    (rows[0][0], columns[0]) = (0x0c00 | 1 << 16, 0x0800 | 1 << 16);
    let addends = [[0; 32]; 4];
    if product::<Float16, Short, 1>(&[rows.each_ref()], &[&columns], &addends.each_ref(), &mut sums) {
        assert_eq!(sums[0], [0; 32]);
    }
    // A place more, and it is above half.
    (rows[0][0], columns[0]) = (0x0c00 | 8 << 16, 0x0800 | 1 << 16);
    if product::<Float16, Short, 1>(&[rows.each_ref()], &[&columns], &addends.each_ref(), &mut sums) {
        assert_eq!(sums[0][0], 1);
    }
}

#[test]
fn what_is_not_moderate_is_declined() {
    let one = |half: bool| if half { 0x3c00_u32 } else { 0x3f80 };
    fn declined<F: Sixteen, A: Sum>(a: u32, b: u32, c: u32) -> bool {
        let mut rows = [[0; 32]; 2];
        rows[1][31] = a;
        let mut columns = [0; 32];
        columns[31] = b;
        let mut addends = [[0; 32]; 4];
        addends[if A::SHORT { 1 } else { 3 }][31] = c;
        let mut sums = [[0; 32]; 4];
        !product::<F, A, 1>(&[rows.each_ref()], &[&columns], &addends.each_ref(), &mut sums)
    }
    if !crate::vectors::available() || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    // Infinities, NaN, in the upper element too.
    for (value, is) in [(0x7c00, true), (0xfe00 << 16, true), (0x7bff, false), (1, false)] {
        assert_eq!(declined::<Float16, Single>(value, one(true), 0), is);
        assert_eq!(declined::<Float16, Single>(one(true), value, 0), is);
        assert_eq!(declined::<Float16, Short>(0, 0, value), is);
    }
    for (value, is) in [(0x7f80, true), (0xffc0 << 16, true), (0x5880, false), (0x5900, true), (0x1f80, true)]
    {
        assert_eq!(declined::<Bfloat16, Single>(value, one(false), 0), is, "{value:x}");
        assert_eq!(declined::<Bfloat16, Single>(one(false), value, 0), is, "{value:x}");
    }
    for (value, is) in [
        (0x7f80_0000_u32, true),
        (0x7200_0000, true),
        (0x71ff_ffff, false),
        (0xa000_0000, false),
        (0x9fff_ffff, true),
        (1, true),
        (0x8000_0000, false),
    ] {
        assert_eq!(declined::<Float16, Single>(0, 0, value), is, "{value:x}");
    }
}
