//! Bit fields, shifts and logic (PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift
//! Instructions").
//!
//! `T` is the instruction's type; `.b32` is `u32`. Shift amounts and positions are the `.u32` operands as
//! they stand in the register: the clamping is part of the instruction.

use super::int::Int;

/// Bits of a type that shifts and logic work on.
pub trait Word: Int {
    /// `a << b` where `b` may be anything; 0 from the width on.
    fn shl(self, amount: u32) -> Self;
    /// `a >> b`, filled with the sign for signed types; clamped at the width.
    fn shr(self, amount: u32) -> Self;
    /// `popc`
    fn popc(self) -> u32;
    /// `clz`
    fn clz(self) -> u32;
    /// `brev`
    fn brev(self) -> Self;
    /// `not`
    fn not(self) -> Self;
    /// `and`
    fn and(self, other: Self) -> Self;
    /// `or`
    fn or(self, other: Self) -> Self;
    /// `xor`
    fn xor(self, other: Self) -> Self;
}

macro_rules! word {
    ($($type:ty, |$a:ident, $amount:ident| $shr:expr;)*) => {$(
        impl Word for $type {
            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                if amount < Self::BITS { self << (amount & (Self::BITS - 1)) } else { 0 }
            }
            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                let ($a, $amount) = (self, amount);
                $shr
            }
            #[inline(always)]
            fn popc(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn clz(self) -> u32 {
                self.leading_zeros()
            }
            #[inline(always)]
            fn brev(self) -> Self {
                self.reverse_bits()
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

word! {
    u16, |a, amount| if amount < 16 { a >> (amount & 15) } else { 0 };
    u32, |a, amount| if amount < 32 { a >> (amount & 31) } else { 0 };
    u64, |a, amount| if amount < 64 { a >> (amount & 63) } else { 0 };
    i16, |a, amount| a >> (amount.min(15));
    i32, |a, amount| a >> (amount.min(31));
    i64, |a, amount| a >> (amount.min(63));
}

/// `shl.type`: amounts from the width on give 0.
#[inline(always)]
pub fn shl<T: Word>(a: T, amount: u32) -> T {
    a.shl(amount)
}

/// `shr.type`: signed types fill with the sign; amounts from the width on give 0 or -1.
#[inline(always)]
pub fn shr<T: Word>(a: T, amount: u32) -> T {
    a.shr(amount)
}

/// `and.type`
#[inline(always)]
pub fn and<T: Word>(a: T, b: T) -> T {
    a.and(b)
}

/// `or.type`
#[inline(always)]
pub fn or<T: Word>(a: T, b: T) -> T {
    a.or(b)
}

/// `xor.type`
#[inline(always)]
pub fn xor<T: Word>(a: T, b: T) -> T {
    a.xor(b)
}

/// `not.type`
#[inline(always)]
pub fn not<T: Word>(a: T) -> T {
    a.not()
}

/// `cnot.type`: 1 for 0, else 0.
#[inline(always)]
pub fn cnot<T: Word>(a: T) -> T {
    T::from_bits((a == T::default()) as u64)
}

/// `popc.type`
#[inline(always)]
pub fn popc<T: Word>(a: T) -> u32 {
    a.popc()
}

/// `clz.type`
#[inline(always)]
pub fn clz<T: Word>(a: T) -> u32 {
    a.clz()
}

/// `brev.type`
#[inline(always)]
pub fn brev<T: Word>(a: T) -> T {
    a.brev()
}

/// `bfind.type`: position of the highest bit that differs from the sign (for unsigned types: that is set), or
/// all ones if there is none.
#[inline(always)]
pub fn bfind<T: Word>(a: T) -> u32 {
    let magnitude = if T::SIGNED && a < T::default() { a.not() } else { a };
    // 31 - 32 already is the value of all ones for "not found".
    (T::BITS - 1).wrapping_sub(magnitude.clz())
}

/// `bfind.shiftamt.type`: by how much to shift left to bring that bit to the top, or all ones.
#[inline(always)]
pub fn bfind_shiftamt<T: Word>(a: T) -> u32 {
    let position = bfind(a);
    if position == u32::MAX { position } else { (T::BITS - 1).wrapping_sub(position) }
}

/// A position and a length. The ISA says that the low 8 bits count, and so it is for 32 bits; for 64 bits an
/// H200 (and the compiler's sequence of shifts) takes all of them, so that 256 is past the top and not 0.
#[inline(always)]
fn extent<T: Word>(pos: u32, len: u32) -> (u32, u32) {
    if T::BITS == 64 { (pos.min(64), len.min(64)) } else { (pos & 0xff, len & 0xff) }
}

/// `bfe.type d, a, pos, len`: a signed field is extended with its own highest bit, or with the sign of `a` where
/// it reaches past the top. Of `pos` and `len` the low 8 bits
/// count, for 64 bits all bits.
#[inline(always)]
pub fn bfe<T: Word>(a: T, pos: u32, len: u32) -> T {
    let (pos, len) = extent::<T>(pos, len);
    let spare = T::BITS.saturating_sub(pos.saturating_add(len));
    // To the top and back: the way back fills with what the type asks for.
    let field = if pos + len > T::BITS { a.shr(pos) } else { a.shl(spare).shr(T::BITS - len) };
    if len == 0 { T::default() } else { field }
}

/// `bfi.type f, a, b, pos, len`: `b` with its field replaced by the low bits of `a`; what reaches past the
/// top is dropped. Of `pos` and `len` the low 8 bits
/// count, for 64 bits all bits.
#[inline(always)]
pub fn bfi<T: Word>(a: T, b: T, pos: u32, len: u32) -> T {
    let (pos, len) = extent::<T>(pos, len);
    let ones = T::default().not();
    let mask = ones.shl(len).not().shl(pos);
    a.shl(pos).and(mask).or(b.and(mask.not()))
}

/// `bmsk.{clamp,wrap}.b32 d, a, b`: `b` ones from position `a` on.
#[inline(always)]
pub fn bmsk<const CLAMP: bool>(a: u32, b: u32) -> u32 {
    if CLAMP { u32::MAX.shl(b).not().shl(a) } else { u32::MAX.shl(b & 31).not() << (a & 31) }
}

/// `szext.{clamp,wrap}.{u32,s32} d, a, b`: the low `b` bits of `a` extended with zeros or with their sign.
/// `.clamp` returns `a` for 32 bits and more, `.wrap` takes `b` modulo 32; 0 bits give 0.
#[inline(always)]
pub fn szext<const CLAMP: bool, const SIGNED: bool>(a: u32, b: u32) -> u32 {
    let bits = if CLAMP { b.min(32) } else { b & 31 };
    let unused = 32 - bits;
    let top = a.shl(unused);
    let extended = if SIGNED { (top as i32).shr(unused) as u32 } else { top.shr(unused) };
    if bits == 0 { 0 } else { extended }
}

/// `fns.b32 d, mask, base, offset`: position of the `offset`-th set bit of `mask` counted from `base`,
/// downwards if negative; all ones if there is none. A `base` past 31 is undefined in the ISA; here nothing
/// is found.
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut left = offset.unsigned_abs();
    let mut position = base as i32;
    while (0..32).contains(&position) {
        left -= mask >> position & 1;
        if left == 0 {
            return position as u32;
        }
        position += offset.signum();
    }
    u32::MAX
}

/// `lop3.b32`: bit `4a + 2b + c` of `table` for every bit of the three operands.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let row = |index: u32| (table as u32 >> index & 1).wrapping_neg();
    let choose = |bit: u32, one: u32, zero: u32| bit & one | !bit & zero;
    let pair = |index: u32| choose(c, row(index + 1), row(index));
    choose(a, choose(b, pair(6), pair(4)), choose(b, pair(2), pair(0)))
}

/// `shf.l.{clamp,wrap}.b32`: the upper half of `{b, a}` shifted left.
#[inline(always)]
pub fn shf_l<const CLAMP: bool>(a: u32, b: u32, amount: u32) -> u32 {
    let amount = if CLAMP { amount.min(32) } else { amount & 31 };
    (join(a, b) << amount >> 32) as u32
}

/// `shf.r.{clamp,wrap}.b32`: the lower half of `{b, a}` shifted right.
#[inline(always)]
pub fn shf_r<const CLAMP: bool>(a: u32, b: u32, amount: u32) -> u32 {
    let amount = if CLAMP { amount.min(32) } else { amount & 31 };
    (join(a, b) >> amount) as u32
}

#[inline(always)]
fn join(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// `prmt.b32` without a mode: four selectors of four bits, whose highest bit asks for the byte's sign.
#[inline(always)]
pub fn prmt(a: u32, b: u32, control: u32) -> u32 {
    let bytes = join(a, b);
    let pick = |index: u32| {
        let selector = control >> (4 * index) & 0xf;
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        let sign = (byte as i8 >> 7) as u8;
        (if selector & 8 == 0 { byte } else { sign } as u32) << (8 * index)
    };
    pick(0) | pick(1) | pick(2) | pick(3)
}

/// `clmad.lo.u64`, or with `HIGH` `clmad.hi.u64`: a half of the product without carries, plus `c` without carries.
#[inline(always)]
pub fn clmad<const HIGH: bool>(a: u64, b: u64, c: u64) -> u64 {
    let bits = (0..64).filter(|bit| b >> bit & 1 != 0);
    let product = bits.fold(0, |sum: u128, bit| sum ^ u128::from(a) << bit);
    c ^ if HIGH { (product >> 64) as u64 } else { product as u64 }
}

/// A mode of `prmt.b32`; the low two bits of the control operand say how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permute {
    /// `.f4e`: four bytes from the control on, upwards.
    Forward4,
    /// `.b4e`: four bytes from the control on, downwards (around the eight).
    Backward4,
    /// `.rc8`: one byte four times.
    Replicate8,
    /// `.ecl`: bytes below the control are replaced by it.
    EdgeClampLeft,
    /// `.ecr`: bytes above the control are replaced by it.
    EdgeClampRight,
    /// `.rc16`: one half twice.
    Replicate16,
}

impl Permute {
    /// The selectors that the generic form would use.
    #[inline(always)]
    pub fn control(self, control: u32) -> u32 {
        const TABLES: [[u16; 4]; 6] = [
            [0x3210, 0x4321, 0x5432, 0x6543],
            [0x5670, 0x6701, 0x7012, 0x0123],
            [0x0000, 0x1111, 0x2222, 0x3333],
            [0x3210, 0x3211, 0x3222, 0x3333],
            [0x0000, 0x1110, 0x2210, 0x3210],
            [0x1010, 0x3232, 0x1010, 0x3232],
        ];
        TABLES[self as usize][(control & 3) as usize] as u32
    }
}
