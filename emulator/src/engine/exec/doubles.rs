//! `.f64` arithmetic, as functions of one lane and of four.
#![allow(unsafe_code)]
// Relies on callers of `four` for the CPU to have AVX2 and FMA.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64 as vectors;
use std::marker::PhantomData;

use super::alu::{Apply2, Apply3};
use super::wide::{Wide2, Wide3};
use crate::numeric::fp64;
use crate::numeric::rounding::{Mode, Rounding};

/// `.f64` arithmetic: what the host computes is right unless it is a NaN, of whose bits the operands decide.
macro_rules! doubles {
    ($($name:ident: $apply:ident<$($number:ty),*> = $exact:path, |$($operand:ident),*| $host:expr, $wide:ident by $four:ident;)*) => {$(
        #[doc = concat!("`", stringify!($exact), "`")]
        #[derive(Clone, Copy)]
        pub(crate) struct $name<R>(PhantomData<R>);

        impl<R: Rounding + Copy + 'static> $apply<$($number),*> for $name<R> {
            type Output = u64;

            #[inline(always)]
            fn apply(self, $($operand: u64),*) -> u64 {
                $exact($($operand),*)
            }

            #[inline(always)]
            fn try_apply(self, $($operand: u64),*) -> (u64, bool) {
                if R::MODE != Mode::Nearest {
                    return (self.apply($($operand),*), true);
                }
                $(let $operand = f64::from_bits($operand);)*
                let result: f64 = $host;
                (result.to_bits(), !result.is_nan())
            }
        }

        impl<R: Rounding + Copy + 'static> $wide for $name<R> {
            const NEW: Self = $name(PhantomData);
            const ON_HOST: bool = matches!(R::MODE, Mode::Nearest);

            /// # Safety
            /// 1. The CPU has AVX2 and FMA.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn four($($operand: vectors::__m256d),*) -> vectors::__m256d {
                vectors::$four($($operand),*)
            }
        }
    )*};
}

doubles! {
    Add: Apply2<u64, u64> = fp64::add::<R>, |a, b| a + b, Wide2 by _mm256_add_pd;
    Sub: Apply2<u64, u64> = fp64::sub::<R>, |a, b| a - b, Wide2 by _mm256_sub_pd;
    SubReversed: Apply2<u64, u64> = fp64::sub_reversed::<R>, |a, b| a - b, Wide2 by _mm256_sub_pd;
    Mul: Apply2<u64, u64> = fp64::mul::<R>, |a, b| a * b, Wide2 by _mm256_mul_pd;
    Fma: Apply3<u64, u64, u64> = fp64::fma::<R>, |a, b, c| a.mul_add(b, c), Wide3 by _mm256_fmadd_pd;
}
