//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic
//! Instructions"). `T` is the instruction's type, so `mul.hi.s32` is `int::mul_hi::<i32>`.
//!
//! Everything wraps unless a name says otherwise. Division by zero is "an unspecified, machine-specific
//! value" in the ISA; here it gives all ones for `div` and for `rem`, which is what hardware is believed to
//! give.

/// An integer type of PTX: `u8` to `u64` and `i8` to `i64`.
pub trait Int: Copy + Ord + Default {
    /// Width in bits.
    const BITS: u32;
    /// Is it a signed type?
    const SIGNED: bool;
    /// The value as a number.
    fn to_i128(self) -> i128;
    /// The low bits of `value`.
    fn from_i128(value: i128) -> Self;
    /// The bits, zero-extended.
    fn to_bits(self) -> u64;
    /// The low bits of `bits`.
    fn from_bits(bits: u64) -> Self;
    /// Rounded to nearest even.
    fn to_f32(self) -> f32;
    /// Rounded to nearest even (exact up to 32 bits).
    fn to_f64(self) -> f64;
    /// The nearest value of the type to `value` without its fraction; 0 for NaN.
    fn from_f32(value: f32) -> Self;
    /// The nearest value of the type to `value` without its fraction; 0 for NaN.
    fn from_f64(value: f64) -> Self;
}

macro_rules! int {
    ($($type:ty, $unsigned:ty, $signed:expr;)*) => {$(
        impl Int for $type {
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $signed;
            #[inline(always)]
            fn to_i128(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn from_i128(value: i128) -> Self {
                value as Self
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value as Self
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

int! {
    u8, u8, false;
    u16, u16, false;
    u32, u32, false;
    u64, u64, false;
    i8, u8, true;
    i16, u16, true;
    i32, u32, true;
    i64, u64, true;
}

/// An integer type that arithmetic instructions take, with the type of twice its width.
pub trait Arithmetic: Int {
    /// Result type of `.wide` (for 64 bits: of the product that `.hi` takes its half from).
    type Wide: Copy;
    /// `add`
    fn add(self, other: Self) -> Self;
    /// `sub`
    fn sub(self, other: Self) -> Self;
    /// `mul.lo`
    fn mul_lo(self, other: Self) -> Self;
    /// `mul.hi`
    fn mul_hi(self, other: Self) -> Self;
    /// `mul.wide`
    fn mul_wide(self, other: Self) -> Self::Wide;
    /// Sum in the wide type, for `mad.wide`.
    fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// `div`, all ones for a zero divisor.
    fn div(self, other: Self) -> Self;
    /// `rem`, all ones for a zero divisor.
    fn rem(self, other: Self) -> Self;
    /// `abs`; the identity on unsigned types.
    fn abs(self) -> Self;
    /// The sum and whether it carried, as unsigned numbers.
    fn carrying_add(self, other: Self, carry: bool) -> (Self, bool);
    /// The difference and whether it borrowed, as unsigned numbers.
    fn borrowing_sub(self, other: Self, borrow: bool) -> (Self, bool);
}

macro_rules! arithmetic {
    ($($type:ty, $unsigned:ty, $wide:ty, |$a:ident| $abs:expr;)*) => {$(
        impl Arithmetic for $type {
            type Wide = $wide;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul_lo(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn mul_hi(self, other: Self) -> Self {
                (self.mul_wide(other) >> Self::BITS) as Self
            }
            #[inline(always)]
            fn mul_wide(self, other: Self) -> $wide {
                (self as $wide).wrapping_mul(other as $wide)
            }
            #[inline(always)]
            fn add_wide(a: $wide, b: $wide) -> $wide {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let $a = self;
                $abs
            }
            #[inline(always)]
            fn carrying_add(self, other: Self, carry: bool) -> (Self, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = sum.overflowing_add(carry as $unsigned);
                (sum as Self, first | second)
            }
            #[inline(always)]
            fn borrowing_sub(self, other: Self, borrow: bool) -> (Self, bool) {
                let (rest, first) = (self as $unsigned).overflowing_sub(other as $unsigned);
                let (rest, second) = rest.overflowing_sub(borrow as $unsigned);
                (rest as Self, first | second)
            }
        }
    )*};
}

arithmetic! {
    u16, u16, u32, |a| a;
    u32, u32, u64, |a| a;
    u64, u64, u128, |a| a;
    i16, u16, i32, |a| a.wrapping_abs();
    i32, u32, i64, |a| a.wrapping_abs();
    i64, u64, i128, |a| a.wrapping_abs();
}

/// `add.type`
#[inline(always)]
pub fn add<T: Arithmetic>(a: T, b: T) -> T {
    a.add(b)
}

/// `sub.type`
#[inline(always)]
pub fn sub<T: Arithmetic>(a: T, b: T) -> T {
    a.sub(b)
}

/// `add.sat.s32`
#[inline(always)]
pub fn add_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `sub.sat.s32`
#[inline(always)]
pub fn sub_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `mul.lo.type`
#[inline(always)]
pub fn mul_lo<T: Arithmetic>(a: T, b: T) -> T {
    a.mul_lo(b)
}

/// `mul.hi.type`
#[inline(always)]
pub fn mul_hi<T: Arithmetic>(a: T, b: T) -> T {
    a.mul_hi(b)
}

/// `mul.wide.type`
#[inline(always)]
pub fn mul_wide<T: Arithmetic>(a: T, b: T) -> T::Wide {
    a.mul_wide(b)
}

/// `mad.lo.type`
#[inline(always)]
pub fn mad_lo<T: Arithmetic>(a: T, b: T, c: T) -> T {
    a.mul_lo(b).add(c)
}

/// `mad.hi.type`
#[inline(always)]
pub fn mad_hi<T: Arithmetic>(a: T, b: T, c: T) -> T {
    a.mul_hi(b).add(c)
}

/// `mad.wide.type`
#[inline(always)]
pub fn mad_wide<T: Arithmetic>(a: T, b: T, c: T::Wide) -> T::Wide {
    T::add_wide(a.mul_wide(b), c)
}

/// `mad.hi.sat.s32`
#[inline(always)]
pub fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    a.mul_hi(b).saturating_add(c)
}

/// The 48-bit product of the low 24 bits of two registers.
#[inline(always)]
fn product24<const SIGNED: bool>(a: u32, b: u32) -> i64 {
    if SIGNED {
        let extend = |a: u32| ((a << 8) as i32 >> 8) as i64;
        extend(a).wrapping_mul(extend(b))
    } else {
        ((a & 0xff_ffff) as i64).wrapping_mul((b & 0xff_ffff) as i64)
    }
}

/// `mul24.lo`: bits 31..0 of the product.
#[inline(always)]
pub fn mul24_lo<const SIGNED: bool>(a: u32, b: u32) -> u32 {
    product24::<SIGNED>(a, b) as u32
}

/// `mul24.hi`: bits 47..16 of the product.
#[inline(always)]
pub fn mul24_hi<const SIGNED: bool>(a: u32, b: u32) -> u32 {
    (product24::<SIGNED>(a, b) >> 16) as u32
}

/// `mad24.lo`
#[inline(always)]
pub fn mad24_lo<const SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    mul24_lo::<SIGNED>(a, b).wrapping_add(c)
}

/// `mad24.hi`
#[inline(always)]
pub fn mad24_hi<const SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    mul24_hi::<SIGNED>(a, b).wrapping_add(c)
}

/// `mad24.hi.sat.s32`
#[inline(always)]
pub fn mad24_hi_sat_s32(a: u32, b: u32, c: u32) -> u32 {
    (mul24_hi::<true>(a, b) as i32).saturating_add(c as i32) as u32
}

/// `div.type`: towards zero; `MIN / -1` wraps; a zero divisor gives all ones (unspecified in the ISA).
#[inline(always)]
pub fn div<T: Arithmetic>(a: T, b: T) -> T {
    a.div(b)
}

/// `rem.type`: the sign of `a`; a zero divisor gives all ones (unspecified in the ISA).
#[inline(always)]
pub fn rem<T: Arithmetic>(a: T, b: T) -> T {
    a.rem(b)
}

/// `abs.type`: the most negative number stays as it is.
#[inline(always)]
pub fn abs<T: Arithmetic>(a: T) -> T {
    a.abs()
}

/// `neg.type`
#[inline(always)]
pub fn neg<T: Arithmetic>(a: T) -> T {
    T::default().sub(a)
}

/// `min.type`
#[inline(always)]
pub fn min<T: Int>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// `max.type`
#[inline(always)]
pub fn max<T: Int>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// `{min,max}.relu`: a negative result becomes 0.
#[inline(always)]
pub fn relu<T: Int>(a: T) -> T {
    max(a, T::default())
}

/// `sad.type`: `c + |a - b|`
#[inline(always)]
pub fn sad<T: Arithmetic>(a: T, b: T, c: T) -> T {
    c.add(if a < b { b.sub(a) } else { a.sub(b) })
}

/// `vabsdiff4.u32.type.type`: `|a - b|` of each byte; with `.add` (`ADD`) the sum of these and `c`.
#[inline(always)]
pub fn vabsdiff4<const SIGNED: bool, const ADD: bool>(a: u32, b: u32, c: u32) -> u32 {
    let difference = |index: u32| {
        let byte = |word: u32| {
            let byte = (word >> (8 * index)) as u8;
            if SIGNED { i32::from(byte as i8) } else { i32::from(byte) }
        };
        byte(a).abs_diff(byte(b))
    };
    let [p, q, r, s] = [difference(0), difference(1), difference(2), difference(3)];
    if ADD { c.wrapping_add(p + q + r + s) } else { p | q << 8 | r << 16 | s << 24 }
}

/// `add.cc`, `addc`, `addc.cc`: the sum with carry in, and the carry out (`CC.CF`).
#[inline(always)]
pub fn addc<T: Arithmetic>(a: T, b: T, carry: bool) -> (T, bool) {
    a.carrying_add(b, carry)
}

/// `sub.cc`, `subc`, `subc.cc`: `a + !b + carry`, and the carry out (`CC.CF`), which is set where nothing was borrowed.
/// The carry in of `sub.cc` is set.
#[inline(always)]
pub fn subc<T: Arithmetic>(a: T, b: T, carry: bool) -> (T, bool) {
    let (difference, borrow) = a.borrowing_sub(b, !carry);
    (difference, !borrow)
}

/// `mad.lo.cc`, `madc.lo`, `madc.lo.cc`: the carry is that of the addition.
#[inline(always)]
pub fn madc_lo<T: Arithmetic>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.mul_lo(b).carrying_add(c, carry)
}

/// `mad.hi.cc`, `madc.hi`, `madc.hi.cc`: the carry is that of the addition.
#[inline(always)]
pub fn madc_hi<T: Arithmetic>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.mul_hi(b).carrying_add(c, carry)
}

#[inline(always)]
fn byte<const SIGNED: bool>(a: u32, index: u32) -> i32 {
    let byte = (a >> (8 * index)) as u8;
    if SIGNED { byte as i8 as i32 } else { byte as i32 }
}

/// `dp4a.atype.btype`: `c` plus the products of the four bytes; `A` and `B` say which operand is `.s32`.
#[inline(always)]
pub fn dp4a<const A: bool, const B: bool>(a: u32, b: u32, c: u32) -> u32 {
    let product = |i: u32| byte::<A>(a, i).wrapping_mul(byte::<B>(b, i)) as u32;
    c.wrapping_add(product(0)).wrapping_add(product(1)).wrapping_add(product(2)).wrapping_add(product(3))
}

/// `dp2a.{lo,hi}.atype.btype`: `c` plus the products of the two halves of `a` and two bytes of `b` (the upper
/// two if `HI`); `A` and `B` say which operand is `.s32`.
#[inline(always)]
pub fn dp2a<const A: bool, const B: bool, const HI: bool>(a: u32, b: u32, c: u32) -> u32 {
    let half = |i: u32| {
        let half = (a >> (16 * i)) as u16;
        if A { half as i16 as i32 } else { half as i32 }
    };
    let b = if HI { b >> 16 } else { b };
    let product = |i: u32| half(i).wrapping_mul(byte::<B>(b, i)) as u32;
    c.wrapping_add(product(0)).wrapping_add(product(1))
}

/// Packed instructions: the scalar one on both halves of a register. A macro and not a function that takes a
/// function, as calls through `Fn` are not always inlined.
macro_rules! packed {
    ($($(#[$doc:meta])* $name:ident = $scalar:ident<$bound:ident>;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: $bound>(a: u32, b: u32) -> u32 {
            let low = $scalar(T::from_bits(a as u64), T::from_bits(b as u64)).to_bits() as u32;
            let high = $scalar(T::from_bits((a >> 16) as u64), T::from_bits((b >> 16) as u64)).to_bits() as u32;
            low | high << 16
        }
    )*};
}

packed! {
    /// `add.{u16x2,s16x2}`, `T` is `u16` or `i16`.
    add_x2 = add<Arithmetic>;
    /// `min.{u16x2,s16x2}`, `T` is `u16` or `i16`.
    min_x2 = min<Int>;
    /// `max.{u16x2,s16x2}`, `T` is `u16` or `i16`.
    max_x2 = max<Int>;
}

/// `.relu` of `{min,max}.relu.s16x2`: a negative half becomes 0.
#[inline(always)]
pub fn relu_s16x2(a: u32) -> u32 {
    max_x2::<i16>(a, 0)
}
