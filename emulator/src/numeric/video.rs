//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): operations on a byte, a half or all of
//! each operand, or on all bytes or halves at once.
//!
//! Scalar instructions that saturate, scale, have a second operation or write a part of the destination have the semantics of ptxas
//! 13.0 for sm_90, which is not always that of the ISA: `EXACTNESS.md` lists the differences.

/// The first operation.
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

/// The operation of a scalar instruction on its third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// Nothing, or the result replaces a part of it.
    Merge,
    /// `.add`
    Add,
    /// `.min`
    Min,
    /// `.max`
    Max,
}

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

    /// The upper half.
    const UPPER: Part = Part { shift: 16, bits: 16 };

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
    /// Whether the result and the operands are signed. The third operand is as the result.
    pub signed: [bool; 3],
    /// `.sat`
    pub saturate: bool,
    /// What follows; SIMD instructions have only `.add`.
    pub second: Second,
    /// `.wrap` of a shift.
    pub wrap: bool,
}

/// [`Video`] as a number, so that it can be an operand.
impl Video {
    /// The number.
    pub fn bits(self) -> u64 {
        let [d, a, b] = self.signed.map(u64::from);
        let flags = u64::from(self.saturate) << 3 | u64::from(self.wrap) << 4;
        d | a << 1 | b << 2 | flags | (self.second as u64) << 5 | (self.op as u64) << 8
    }

    fn from_bits(bits: u64) -> Video {
        let flag = |at: u32| bits >> at & 1 != 0;
        Video {
            op: OPS[(bits >> 8 & 15) as usize % OPS.len()],
            signed: [flag(0), flag(1), flag(2)],
            saturate: flag(3),
            second: [Second::Merge, Second::Add, Second::Min, Second::Max][(bits >> 5 & 3) as usize],
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

    /// What a scalar instruction with a result in `to` has before its second operation: 64 bits, so that `.min` and `.max` see whether
    /// there is more than fits into a word.
    fn limited(self, value: i64, to: Part) -> i64 {
        let shifts = matches!(self.op, Op::Shl | Op::Shr);
        let narrows = shifts || matches!(self.op, Op::Add | Op::Sub);
        if !self.saturate {
            return if narrows && !shifts { i64::from(value as i32) } else { value };
        }
        if to.bits < 32 && !shifts {
            // A negative number is treated as a large one.
            let most = (1 << (to.bits - u32::from(self.signed[0]))) - 1;
            return if value >> 32 == 0 { value.min(most) } else { most };
        }
        let value = match (shifts, self.signed[0]) {
            // 34 bits are looked at.
            (true, true) => (value << 30 >> 30).clamp(i32::MIN.into(), i32::MAX.into()),
            (true, false) => (value << 30 >> 30).clamp(0, u32::MAX.into()),
            (false, true) => value.clamp(i32::MIN.into(), i32::MAX.into()),
            (false, false) => value.max(0),
        };
        if narrows { i64::from(value as i32) } else { value }
    }

    /// The second operation.
    fn second(self, value: i64, c: u32, to: Part) -> u32 {
        let word = value as u32;
        let order = match self.signed[0] {
            true => value.cmp(&i64::from(c as i32)),
            false => (value as u64).cmp(&u64::from(c)),
        };
        match self.second {
            Second::Add => word.wrapping_add(c),
            Second::Min => {
                if order.is_lt() {
                    word
                } else {
                    c
                }
            }
            Second::Max => {
                if order.is_gt() {
                    word
                } else {
                    c
                }
            }
            // The upper half takes the upper half.
            Second::Merge if to == Part::UPPER => word & to.mask() | c & !to.mask(),
            Second::Merge => word << (to.shift & 31) & to.mask() | c & !to.mask(),
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

/// Where a scalar instruction's result and operands are, as a number.
pub fn parts(d: Part, a: Part, b: Part) -> u64 {
    let number = |part: Part| u64::from(part.shift / 8) | u64::from(part.bits / 8 - 1) << 2;
    number(d) << 16 | number(a) << 20 | number(b) << 24
}

fn part(control: u64, at: u32) -> Part {
    Part { shift: (control >> at & 3) as u32 * 8, bits: ((control >> (at + 2) & 3) as u32 + 1) * 8 }
}

/// A scalar instruction: `control` is [`Video::bits`] and [`parts`].
pub fn scalar(a: u32, b: u32, c: u32, control: u64) -> u32 {
    let (video, to) = (Video::from_bits(control), part(control, 16));
    let (a, b) = (part(control, 20).of(a, video.signed[1]), part(control, 24).of(b, video.signed[2]));
    video.second(video.limited(video.first(a, b) as i64, to), c, to)
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
        result = if video.second == Second::Add {
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
    /// `.sat`
    pub saturate: bool,
    /// Bits that the sum is shifted by: 7 in `.shr7`, 15 in `.shr15`.
    pub shift: u32,
}

impl Mad {
    /// The number.
    pub fn bits(self) -> u64 {
        let [a, b] = self.signed.map(u64::from);
        let [product, c, one] = [self.minus_product, self.minus_c, self.plus_one].map(u64::from);
        let flags = product << 2 | c << 3 | one << 4 | u64::from(self.saturate) << 5;
        a | b << 1 | flags | u64::from(self.shift & 15) << 8
    }
}

/// `vmad`: `control` is [`Mad::bits`] and [`parts`].
pub fn mad(a: u32, b: u32, c: u32, control: u64) -> u32 {
    let flag = |at: u32| control >> at & 1 != 0;
    let (a_signed, b_signed, minus_product, minus_c) = (flag(0), flag(1), flag(2), flag(3));
    // Words are signed here, and so is the third operand: that shows in what is above the lowest 32 bits.
    let factor = |word: u32, at: u32, signed: bool| i64::from(part(control, at).of(word, signed) as i32);
    let product = factor(a, 20, a_signed) * factor(b, 24, b_signed);
    let product = if minus_product { -product } else { product };
    let c = i64::from(c as i32);
    let sum = product + if minus_c { -c } else { c } + i64::from(flag(4));
    let (signed, shift) = (a_signed || b_signed || minus_product || minus_c, control >> 8 & 15);
    let sum = if signed { sum >> shift } else { (sum as u64 >> shift) as i64 };
    match (flag(5), signed) {
        (false, _) => sum as u32,
        (true, true) => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
        (true, false) => sum.clamp(0, u32::MAX.into()) as u32,
    }
}
