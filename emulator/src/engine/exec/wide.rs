//! `.f64` arithmetic rounded to nearest, four lanes at once. What the host computes is right unless it is a NaN, of whose bits the operands decide:
//! then the lanes compute one by one.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::*;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::super::code::{ExecPair, Inst, Step};
use super::alu::{Apply2, Apply3, Lane, lane2, lane3};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::lanes::{Lanes, bits};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::operand::{Dest, Source};

macro_rules! wide {
    ($trait:ident, $constructor:ident, $fast:ident, $each:ident, $apply:ident, $lane:ident, $($source:ident $index:literal $number:ty),*) => {
        #[doc = concat!("A scalar function as [`", stringify!($apply), "`] of one lane, and one of four lanes.")]
        pub(crate) trait $trait: $apply<$($number),*, Output = u64> {
            /// The only value.
            const NEW: Self;
            /// Whether the host computes it, except for NaN.
            #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))]
            const ON_HOST: bool;

            /// What the host computes.
            ///
            /// # Safety
            /// 1. The CPU has AVX2 and FMA.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            unsafe fn four($($source: __m256d),*) -> __m256d;
        }

        /// An instruction from such a function.
        pub(crate) const fn $constructor<F: $trait>() -> Lane {
            let lane = $lane(F::NEW);
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if F::ON_HOST {
                return Lane { exec: ExecPair { fast: $fast::<F>, ..lane.exec }, ..lane };
            }
            lane
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $fast<F: $trait>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
            // SAFETY: the decoder made the operands wide, the destination first (duty 2 of `Exec`): rows of 32 numbers, eight times four; these loads need
            // no alignment. The row of results has as many. The CPU has these features (duty 1 of `Exec`), and `each` has the duties of `Exec`.
            unsafe {
                if lanes.few() {
                    return $each::<F>(lanes, inst);
                }
                $(let $source = lanes.row(inst.ops[$index]).cast::<f64>();)*
                let (mut rows, mut wrong) = ([0_u64; 32], _mm256_setzero_pd());
                for at in (0..32).step_by(4) {
                    let result = F::four($(_mm256_loadu_pd($source.add(at))),*);
                    wrong = _mm256_or_pd(wrong, _mm256_cmp_pd::<_CMP_UNORD_Q>(result, result));
                    _mm256_storeu_pd(rows.as_mut_ptr().add(at).cast(), result);
                }
                // The rows are not needed any more, so that they can be registers.
                if _mm256_movemask_pd(wrong) != 0 {
                    return $each::<F>(lanes, inst);
                }
                <u64 as Dest>::commit_vector(lanes, &inst.ops, &rows);
            }
            Step::Next
        }

        /// Lane by lane.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[inline(never)]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $each<F: $trait>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
            // SAFETY: the decoder made the operands wide, the destination first (duty 2 of `Exec`); lanes are below 32, and the frame stays the entered one.
            unsafe {
                $(let $source = <u64 as Source>::place(lanes, inst.ops[$index]);)*
                for lane in bits(lanes.mask()) {
                    let result = F::NEW.apply($(<u64 as Source>::get($source, lane)),*);
                    <u64 as Dest>::set(lanes, &inst.ops, lane, result);
                }
            }
            Step::Next
        }
    };
}

wide!(Wide2, wide2, fast2, each2, Apply2, lane2, a 1 u64, b 2 u64);
wide!(Wide3, wide3, fast3, each3, Apply3, lane3, a 1 u64, b 2 u64, c 3 u64);
