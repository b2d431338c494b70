//! The special functions of 32 lanes at once: the same bits as those of one, which remain for operands that need more than a polynomial, and for CPUs
//! without AVX2.
#![allow(unsafe_code)]
// Relies on callers for an x86 to have AVX2 and FMA.

use super::normalised;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vector;

/// An operand or a result per lane.
pub(crate) type Row = [u32; 32];

/// Results, and numbers whose upper bits say that the lane's operand is another: its result is meaningless.
pub(crate) type Results = (Row, Row);

/// A function of one number.
pub(crate) trait Special: Copy + 'static {
    /// Of one lane.
    fn one(a: u32) -> u32;

    /// Of most lanes.
    ///
    /// # Safety
    /// 1. The CPU, if it is an x86, has AVX2 and FMA.
    unsafe fn most(operands: &Row) -> Results;
}

/// The function of each live lane; the results of the others are meaningless.
///
/// # Safety
/// 1. The CPU, if it is an x86, has AVX2 and FMA.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(crate) unsafe fn special<F: Special>(operands: &Row, live: u32) -> Row {
    // SAFETY: 1: the caller's duty 1.
    let (mut results, others) = unsafe { F::most(operands) };
    let mut left = 0;
    #[allow(clippy::needless_range_loop)] // An iterator would be called, out of line.
    for lane in 0..32 {
        left |= others[lane] >> 31 << lane;
    }
    left &= live;
    while left != 0 {
        let lane = left.trailing_zeros() as usize & 31;
        results[lane] = F::one(operands[lane]);
        left &= left - 1;
    }
    results
}

/// Special functions: of one lane, and of most.
macro_rules! specials {
    ($($(#[$about:meta])* $name:ident$(<$ftz:ident>)? = $one:expr, $most:ident;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name$(<const $ftz: bool>)?;

        impl$(<const $ftz: bool>)? Special for $name$(<$ftz>)? {
            #[inline(always)]
            fn one(a: u32) -> u32 {
                $one(a)
            }

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn most(operands: &Row) -> Results {
                vector::$most(operands)
            }

            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            #[inline]
            unsafe fn most(operands: &Row) -> Results {
                (operands.map(Self::one), [0; 32])
            }
        }
    )*};
}

specials! {
    /// `rcp.approx{.ftz}.f32`
    Rcp<FTZ> = super::rcp::<FTZ>, rcp;
    /// `rsqrt.approx{.ftz}.f32`
    Rsqrt<FTZ> = super::rsqrt::<FTZ>, rsqrt;
    /// `sqrt.approx{.ftz}.f32`
    Sqrt<FTZ> = super::sqrt::<FTZ>, sqrt;
    /// `ex2.approx{.ftz}.f32`
    Ex2<FTZ> = super::ex2::<FTZ>, ex2;
    /// `lg2.approx{.ftz}.f32`
    Lg2<FTZ> = normalised::lg2::<FTZ>, lg2;
    /// `sin.approx{.ftz}.f32`
    Sin = normalised::sin, sin;
    /// `cos.approx{.ftz}.f32`
    Cos = normalised::cos, cos;
}

#[cfg(test)]
mod tests;
