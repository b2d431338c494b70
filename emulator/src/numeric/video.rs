//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): operations on a byte, a half or all of
//! each operand, or on all bytes or halves at once.

/// What is computed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `vadd`
    Add,
    /// `vsub`
    Sub,
    /// `vabsdiff`
    AbsDiff,
    /// `vmin`
    Min,
    /// `vmax`
    Max,
    /// `vavrg2`, `vavrg4`
    Average,
    /// `vshl`
    Shl,
    /// `vshr`
    Shr,
    /// `vset` with `.eq`
    Eq,
    /// `vset` with `.ne`
    Ne,
    /// `vset` with `.lt`
    Lt,
    /// `vset` with `.le`
    Le,
    /// `vset` with `.gt`
    Gt,
    /// `vset` with `.ge`
    Ge,
}

/// All of them, in order.
const OPS: [Op; 14] = [
    Op::Add,
    Op::Sub,
    Op::AbsDiff,
    Op::Min,
    Op::Max,
    Op::Average,
    Op::Shl,
    Op::Shr,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
];

/// A part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First bit.
    pub shift: u32,
    /// Bits: 8, 16 or 32.
    pub bits: u32,
}

impl Part {
    /// All of it.
    pub const WORD: Part = Part { shift: 0, bits: 32 };

    fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits.clamp(1, 32)) << (self.shift & 31)
    }

    /// The part as a number.
    fn of(self, word: u32, signed: bool) -> i64 {
        let left = word << ((32 - self.bits.min(32) - self.shift.min(32 - self.bits.min(32))) & 31);
        let right = (32 - self.bits.min(32)) & 31;
        if signed { i64::from(left as i32 >> right) } else { i64::from(left >> right) }
    }
}

/// A video instruction without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// What is computed.
    pub op: Op,
    /// Whether the result and the operands are signed.
    pub signed: [bool; 3],
    /// `.sat`
    pub saturate: bool,
    /// `.add`: to the third operand
    pub add: bool,
    /// `.wrap` of a shift.
    pub wrap: bool,
}

/// [`Video`] as a number, so that it can be an operand.
impl Video {
    /// The number.
    pub fn bits(self) -> u64 {
        let [d, a, b] = self.signed.map(u64::from);
        let flags = u64::from(self.saturate) << 3 | u64::from(self.wrap) << 4;
        d | a << 1 | b << 2 | flags | u64::from(self.add) << 5 | (self.op as u64) << 8
    }

    fn from_bits(bits: u64) -> Video {
        let flag = |at: u32| bits >> at & 1 != 0;
        Video {
            op: OPS[(bits >> 8 & 15) as usize % OPS.len()],
            signed: [flag(0), flag(1), flag(2)],
            saturate: flag(3),
            add: flag(5),
            wrap: flag(4),
        }
    }

    fn first(self, a: i64, b: i64) -> i128 {
        let (wide, other) = (i128::from(a), i128::from(b));
        let amount = if self.wrap { b & 31 } else { b.clamp(0, 32) } as u32;
        match self.op {
            Op::Add => wide + other,
            Op::Sub => wide - other,
            Op::AbsDiff => (wide - other).abs(),
            Op::Min => wide.min(other),
            Op::Max => wide.max(other),
            Op::Average if wide + other >= 0 => (wide + other + 1) >> 1,
            Op::Average => (wide + other) >> 1,
            Op::Shl => wide << amount,
            Op::Shr => wide >> amount,
            Op::Eq => i128::from(a == b),
            Op::Ne => i128::from(a != b),
            Op::Lt => i128::from(a < b),
            Op::Le => i128::from(a <= b),
            Op::Gt => i128::from(a > b),
            Op::Ge => i128::from(a >= b),
        }
    }

    /// To the range of so many bits, if it saturates.
    fn saturated(self, value: i128, bits: u32) -> i128 {
        match (self.saturate, self.signed[0]) {
            (false, _) => value,
            (true, true) => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (true, false) => value.clamp(0, (1 << bits) - 1),
        }
    }
}

/// Where a scalar instruction's operands are, as a number.
pub fn parts(a: Part, b: Part) -> u64 {
    let number = |part: Part| u64::from(part.shift / 8) | u64::from(part.bits / 8 - 1) << 2;
    number(a) << 20 | number(b) << 24
}

fn part(control: u64, at: u32) -> Part {
    Part { shift: (control >> at & 3) as u32 * 8, bits: ((control >> (at + 2) & 3) as u32 + 1) * 8 }
}

/// A scalar instruction: `control` is [`Video::bits`] and [`parts`].
pub fn scalar(a: u32, b: u32, control: u64) -> u32 {
    let video = Video::from_bits(control);
    video.first(part(control, 20).of(a, video.signed[1]), part(control, 24).of(b, video.signed[2])) as u32
}

/// Which parts a SIMD instruction takes from its operands' two words, and which of its results count, as a number: selectors are
/// numbers of parts, the lowest first.
pub fn lanes(mask: u32, a: &[u32], b: &[u32]) -> u64 {
    let list = |list: &[u32]| list.iter().rev().fold(0, |all, part| all << 3 | u64::from(*part & 7));
    u64::from(mask & 15) << 16 | list(a) << 20 | list(b) << 32
}

/// A SIMD instruction on parts of `BITS` bits: `control` is [`Video::bits`] and [`lanes`].
pub fn simd<const BITS: u32>(a: u32, b: u32, c: u32, control: u64) -> u32 {
    let video = Video::from_bits(control);
    let both = u64::from(a) | u64::from(b) << 32;
    let selected = |from: u32, index: u32, signed: bool| {
        let number = (control >> (from + 3 * index) & 7) as u32 * BITS;
        Part { shift: 0, bits: BITS }.of((both >> (number & 63)) as u32, signed)
    };
    let mut result = c;
    for index in 0..32 / BITS {
        if control >> (16 + index) & 1 == 0 {
            continue;
        }
        let (x, y) = (selected(20, index, video.signed[1]), selected(32, index, video.signed[2]));
        let value = video.saturated(video.first(x, y), BITS) as u32;
        let to = Part { shift: index * BITS, bits: BITS };
        result = if video.add {
            result.wrapping_add(value)
        } else {
            result & !to.mask() | value << (to.shift & 31) & to.mask()
        };
    }
    result
}

/// How `vmad` combines its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mad {
    /// Whether the two factors are signed.
    pub signed: [bool; 2],
    /// The product is negated.
    pub minus_product: bool,
    /// The third operand is negated.
    pub minus_c: bool,
    /// `.po`
    pub plus_one: bool,
}

impl Mad {
    /// The number.
    pub fn bits(self) -> u64 {
        let [a, b] = self.signed.map(u64::from);
        let [product, c, one] = [self.minus_product, self.minus_c, self.plus_one].map(u64::from);
        a | b << 1 | product << 2 | c << 3 | one << 4
    }
}

/// `vmad`: `control` is [`Mad::bits`] and [`parts`].
pub fn mad(a: u32, b: u32, c: u32, control: u64) -> u32 {
    let flag = |at: u32| control >> at & 1 != 0;
    let (a_signed, b_signed, minus_product, minus_c) = (flag(0), flag(1), flag(2), flag(3));
    let product =
        i128::from(part(control, 20).of(a, a_signed)) * i128::from(part(control, 24).of(b, b_signed));
    let signed = a_signed || b_signed || minus_product || minus_c;
    // Both are negated by their complement, and then one more.
    let product = if minus_product { !product } else { product };
    let c = if minus_c && !minus_product { !c } else { c };
    let c = if signed { i128::from(c as i32) } else { i128::from(c) };
    let one = i128::from(flag(4) || minus_product || minus_c);
    (product + c + one) as u32
}
