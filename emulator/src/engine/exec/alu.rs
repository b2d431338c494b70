//! Instructions that compute each lane's results from that lane's operands and nothing else.
//!
//! One generic body per number of operands turns a scalar function into an instruction: all lanes at once if many are
//! live (the loop becomes vector code), one by one if few are. Dead lanes are computed too and discarded, so scalar
//! functions must not panic.
#![allow(unsafe_code)]
// Relies on: `F` is zero-sized and `Copy`, so any value of it is equivalent to the one with which the table was built
// (`conjure` checks the size at compile time); operands as in `lanes`.

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::lanes::{Lanes, bits};
use super::operand::{Class, Dest, Source};

/// A lane-wise instruction: how to run it, and the classes of its operands.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    /// The function that executes it.
    pub(crate) exec: ExecPair,
    /// Classes of the destinations.
    pub(crate) dests: &'static [Class],
    /// Classes of the sources.
    pub(crate) sources: &'static [Class],
    /// What it computes, if it can run together with another.
    pub(crate) single: Option<Single>,
}

/// `.f32` arithmetic rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    /// `add.f32`
    Add,
    /// `sub.f32`
    Sub,
    /// `mul.f32`
    Mul,
    /// `fma.rn.f32`
    Fma,
}

/// The only value of a function type.
#[inline(always)]
fn conjure<F: Copy + 'static>() -> F {
    const { assert!(size_of::<F>() == 0, "a scalar function must not capture anything") };
    // SAFETY: a zero-sized value needs no bytes; `F` is inhabited, because the caller of the table's constructor had a value, and it is
    // `Copy`, so another copy is allowed.
    unsafe { std::mem::zeroed() }
}

macro_rules! arity {
    ($apply:ident, $constructor:ident, $body:ident, $fast:ident, $plain:ident, $($source:ident $index:literal),*) => {
        #[doc = concat!("A scalar function of `", stringify!($($source),*), "`. Functions and closures are; a type of its own")]
        /// is needed where the function is so long that it would not be inlined through `Fn`, and then not vectorised.
        pub(crate) trait $apply<$($source),*>: Copy + 'static {
            /// The result.
            type Output;
            /// Applies the function.
            #[allow(non_snake_case)] // operands are named as their types
            fn apply(self, $($source: $source),*) -> Self::Output;

            /// Applies it in a faster way that is wrong for a few operands; returns whether the result is right.
            #[allow(non_snake_case)] // as above
            #[inline(always)]
            fn try_apply(self, $($source: $source),*) -> (Self::Output, bool) {
                (self.apply($($source),*), true)
            }
        }

        impl<F, D, $($source),*> $apply<$($source),*> for F
        where
            F: Fn($($source),*) -> D + Copy + 'static,
        {
            type Output = D;

            #[allow(non_snake_case)] // as above
            #[inline(always)]
            fn apply(self, $($source: $source),*) -> D {
                self($($source),*)
            }
        }

        #[doc = concat!("An instruction with the sources `", stringify!($($source),*), "` from a scalar function without captures.")]
        pub(crate) const fn $constructor<F, D, $($source),*>(_function: F) -> Lane
        where
            F: $apply<$($source),*, Output = D>,
            D: Dest,
            $($source: Source),*
        {
            Lane {
                exec: ExecPair { fast: $fast::<F, D, $($source),*>, plain: $plain::<F, D, $($source),*> },
                dests: D::CLASSES,
                sources: const { &[$($source::CLASS),*] },
                single: None,
            }
        }

        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
        unsafe fn $fast<F, D, $($source),*>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step
        where
            F: $apply<$($source),*, Output = D>,
            D: Dest,
            $($source: Source),*
        {
            // SAFETY: the duties of the body are `Exec`'s duties 1 and 2: this is called on a CPU with these
            // features.
            unsafe { $body::<F, D, $($source),*, true>(lanes, inst) }
        }

        unsafe fn $plain<F, D, $($source),*>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step
        where
            F: $apply<$($source),*, Output = D>,
            D: Dest,
            $($source: Source),*
        {
            // SAFETY: `Exec`'s duty 2 is that of the body; without vectors it requires no CPU features.
            unsafe { $body::<F, D, $($source),*, false>(lanes, inst) }
        }

        #[allow(non_snake_case)] // operands are named as their types
        #[inline(always)]
        unsafe fn $body<F, D, $($source),*, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step
        where
            F: $apply<$($source),*, Output = D>,
            D: Dest,
            $($source: Source),*
        {
            let function = conjure::<F>();
            let sources: &[Slot] = &inst.ops[const { D::CLASSES.len() }..];
            // SAFETY: the decoder made the operands with the classes in `Lane` (duty 2 of `Exec`), destinations first;
            // lanes are below 32, and the frame stays the entered one; with `VECTOR` the CPU has AVX2 (duty 1 of
            // `Exec`).
            unsafe {
                $(let $source = $source::place(lanes, sources[$index]);)*
                if VECTOR && !lanes.few() {
                    let (mut rows, mut all_right) = (D::vector(), true);
                    for lane in 0..32 {
                        let (result, right) = function.try_apply($($source::get($source, lane)),*);
                        D::put_vector(&mut rows, lane, result);
                        all_right &= right;
                    }
                    if all_right {
                        D::commit_vector(lanes, &inst.ops, &rows);
                        return Step::Next;
                    }
                }
                for lane in bits(lanes.mask()) {
                    D::set(lanes, &inst.ops, lane, function.apply($($source::get($source, lane)),*));
                }
            }
            Step::Next
        }
    };
}

arity!(Apply1, lane1, body1, fast1, plain1, A 0);
arity!(Apply2, lane2, body2, fast2, plain2, A 0, B 1);
arity!(Apply3, lane3, body3, fast3, plain3, A 0, B 1, C 2);
arity!(Apply4, lane4, body4, fast4, plain4, A 0, B 1, C 2, E 3);
arity!(Apply5, lane5, body5, fast5, plain5, A 0, B 1, C 2, E 3, G 4);

macro_rules! mask_arity {
    ($constructor:ident, $body:ident, $($source:ident $index:literal),*) => {
        #[doc = concat!("An instruction on the predicates `", stringify!($($source),*), "`, all lanes of each in one number.")]
        pub(crate) const fn $constructor<F>(_function: F) -> Lane
        where
            F: Fn($(mask_arity!(@number $source)),*) -> u32 + Copy + 'static,
        {
            Lane {
                exec: ExecPair { fast: $body::<F>, plain: $body::<F> },
                dests: &[Class::Predicate],
                sources: &[$(mask_arity!(@class $source)),*],
                single: None,
            }
        }

        unsafe fn $body<F>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step
        where
            F: Fn($(mask_arity!(@number $source)),*) -> u32 + Copy + 'static,
        {
            let function = conjure::<F>();
            // SAFETY: the decoder made the operands predicates, as specified by `Lane` (duty 2 of `Exec`), the destination
            // first.
            unsafe {
                let result = function($(*lanes.predicate(inst.ops[$index])),*);
                <bool as Dest>::commit(lanes, &inst.ops, &result);
            }
            Step::Next
        }
    };
    (@number $source:ident) => { u32 };
    (@class $source:ident) => { Class::Predicate };
}

mask_arity!(mask1, mask_body1, A 1);
mask_arity!(mask2, mask_body2, A 1, B 2);

/// Runs `inst.inner` for the live lanes that pass the guard.
///
/// # Safety
/// 1. The CPU has the features that `inner` was compiled for.
/// 2. The instruction was made by the decoder for the code whose frame and constants `Lanes` points to.
pub(crate) unsafe fn guarded(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let before = lanes.mask();
    // SAFETY: 1: the guard of an instruction of the entered code: the caller's duty 2.
    let mask = before & unsafe { lanes.passing(inst.guard) };
    if mask == 0 {
        return Step::Next;
    }
    if mask == before {
        // SAFETY: 1, 2: the duties of `Exec`: `inner` is the decoder's function for the same instruction and CPU, the
        // caller's duties 1 and 2.
        return unsafe { (inst.inner)(lanes, inst) };
    }
    lanes.set_mask(mask);
    // SAFETY: `inner` is the decoder's function for the same instruction and CPU: duties 1 and 2 of `Exec` are the caller's.
    let step = unsafe { (inst.inner)(lanes, inst) };
    lanes.set_mask(before);
    step
}

/// [`guarded`] as an instruction.
pub(crate) const GUARDED: Exec = guarded;
