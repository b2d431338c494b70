//! The special functions of 32 lanes at once: the same bits as those of one, which remain for operands that need more than a polynomial, and for CPUs
//! without AVX2.
#![allow(unsafe_code)]
// Relies on callers for an x86 to have AVX2 and FMA, and for rows.

use super::normalised;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vector;

/// An operand or a result per lane.
pub(crate) type Row = [u32; 32];

/// A function of one number.
pub(crate) trait Special: Copy + 'static {
    /// Of one lane.
    fn one(a: u32) -> u32;

    /// Whether it takes more than a polynomial.
    fn is_other(a: u32) -> bool;

    /// Of all lanes; the results of others are meaningless.
    ///
    /// # Safety
    /// 1. `operands` are valid for reads of a row, and `results` for writes; they may be the same.
    /// 2. The CPU, if it is an x86, has AVX2 and FMA.
    unsafe fn most(operands: *const Row, results: *mut Row);
}

/// The function of each live lane; the results of the others are meaningless.
///
/// # Safety
/// 1. `operands` are valid for reads of a row, and `results` for reads and writes; they may be the same.
/// 2. The CPU, if it is an x86, has AVX2 and FMA.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(crate) unsafe fn special<F: Special>(operands: *const Row, results: *mut Row, live: u32) {
    // SAFETY: 1, 2: the caller's duties; no reference is kept.
    unsafe {
        let mut is_any_other = false;
        for lane in 0..32 {
            is_any_other |= F::is_other((*operands)[lane]);
        }
        if is_any_other {
            with_others::<F>(operands, results, live);
        } else {
            F::most(operands, results);
        }
    }
}

/// The same where there are others.
///
/// # Safety
/// 1. Those of [`special`].
#[cold]
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn with_others<F: Special>(operands: *const Row, results: *mut Row, live: u32) {
    // SAFETY: 1, 2: the caller's duty 1; no reference is kept.
    unsafe {
        let operands = *operands;
        F::most(&raw const operands, results);
        for (lane, operand) in operands.into_iter().enumerate() {
            if live >> lane & 1 != 0 && F::is_other(operand) {
                (*results)[lane] = F::one(operand);
            }
        }
    }
}

/// Special functions: of one lane, which operands are others, and of all lanes.
macro_rules! specials {
    ($($(#[$about:meta])* $name:ident$(<$ftz:ident>)? = $one:expr, $is_other:expr, $most:ident$(::<$function:ident>)?;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name$(<const $ftz: bool>)?;

        impl$(<const $ftz: bool>)? Special for $name$(<$ftz>)? {
            #[inline(always)]
            fn one(a: u32) -> u32 {
                $one(a)
            }

            #[inline(always)]
            fn is_other(a: u32) -> bool {
                cfg!(all(target_arch = "x86_64", not(miri))) && $is_other(a)
            }

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn most(operands: *const Row, results: *mut Row) {
                // SAFETY: 1: the caller's duty 1.
                unsafe { vector::$most$(::<vector::$function>)?(operands, results) };
            }

            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            #[inline]
            unsafe fn most(operands: *const Row, results: *mut Row) {
                // SAFETY: rows: the caller's duty 1; the operands are copied before.
                unsafe { *results = (*operands).map(Self::one) };
            }
        }
    )*};
}

specials! {
    /// `rcp.approx{.ftz}.f32`
    Rcp<FTZ> = super::rcp::<FTZ>, super::is_at_the_ends, row::<Rcp>;
    /// `rsqrt.approx{.ftz}.f32`
    Rsqrt<FTZ> = super::rsqrt::<FTZ>, |a| !super::is_positive_and_normal(a), row::<Rsqrt>;
    /// `sqrt.approx{.ftz}.f32`
    Sqrt<FTZ> = super::sqrt::<FTZ>, |a| !super::is_positive_and_normal(a), row::<Sqrt>;
    /// `ex2.approx{.ftz}.f32`
    Ex2<FTZ> = super::ex2::<FTZ>, super::is_large, ex2;
    /// `lg2.approx{.ftz}.f32`
    Lg2<FTZ> = normalised::lg2::<FTZ>, |a| !super::is_positive_and_normal(a), lg2;
    /// `sin.approx{.ftz}.f32`
    Sin = normalised::sin, |_| false, sin;
    /// `cos.approx{.ftz}.f32`
    Cos = normalised::cos, |_| false, cos;
}

#[cfg(test)]
mod tests;
