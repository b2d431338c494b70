//! What bulk reductions do to each number in memory.
#![allow(unsafe_code)]
// Relies on: the caller's pointers.

use super::atomics::update;
use crate::memory::access::Word;
use crate::numeric::half::{self, Bf16, F16};
use crate::numeric::rounding::Nearest;
use crate::numeric::{fp32, fp64};

macro_rules! kinds {
    ($($name:ident: $number:ty, |$old:ident, $new:ident| $result:expr;)*) => {
        /// An operation and the type of the numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)] // as the ISA has them
        pub(crate) enum Reduce {
            $($name),*
        }

        impl Reduce {
            const ALL: &[Reduce] = &[$(Reduce::$name),*];

            /// The one of that name: `AddU32`.
            pub(crate) fn from_name(name: &str) -> Option<Reduce> {
                Some(match name {
                    $(stringify!($name) => Reduce::$name,)*
                    _ => return None,
                })
            }
        }

        /// Reduces `numbers` into memory, each atomically.
        ///
        /// # Safety
        /// 1. As many bytes at `target` are valid for reads and writes, and aligned to the size of a number.
        /// 2. Others use them meanwhile as the head of `memory::access` says.
        pub(super) unsafe fn reduce(with: Reduce, target: *mut u8, numbers: &[u8]) {
            match with {
                $(Reduce::$name => {
                    let each = <$number as Word>::BYTES;
                    for (at, bytes) in numbers.chunks_exact(each).enumerate() {
                        let $new = <$number>::from_le_bytes(std::array::from_fn(|at| bytes[at]));
                        // SAFETY: 1, 2: a number of `numbers`, whose place is as the caller's duties 1 and 2 say of all.
                        unsafe { update::<$number>(target.add(at * each), false, |$old| $result) };
                    }
                })*
            }
        }
    };
}

kinds! {
    AndB32: u32, |old, new| old & new;
    OrB32: u32, |old, new| old | new;
    XorB32: u32, |old, new| old ^ new;
    AndB64: u64, |old, new| old & new;
    OrB64: u64, |old, new| old | new;
    XorB64: u64, |old, new| old ^ new;
    AddU32: u32, |old, new| old.wrapping_add(new);
    AddS32: u32, |old, new| old.wrapping_add(new);
    AddU64: u64, |old, new| old.wrapping_add(new);
    IncU32: u32, |old, new| if old >= new { 0 } else { old + 1 };
    DecU32: u32, |old, new| if old == 0 || old > new { new } else { old - 1 };
    MinU32: u32, |old, new| old.min(new);
    MaxU32: u32, |old, new| old.max(new);
    MinS32: u32, |old, new| (old as i32).min(new as i32) as u32;
    MaxS32: u32, |old, new| (old as i32).max(new as i32) as u32;
    MinU64: u64, |old, new| old.min(new);
    MaxU64: u64, |old, new| old.max(new);
    MinS64: u64, |old, new| (old as i64).min(new as i64) as u64;
    MaxS64: u64, |old, new| (old as i64).max(new as i64) as u64;
    AddF16: u16, |old, new| half::add::<F16, false, false>(old, new);
    AddBf16: u16, |old, new| half::add::<Bf16, false, false>(old, new);
    MinF16: u16, |old, new| half::min::<F16, false, false, false>(old, new);
    MaxF16: u16, |old, new| half::max::<F16, false, false, false>(old, new);
    MinBf16: u16, |old, new| half::min::<Bf16, false, false, false>(old, new);
    MaxBf16: u16, |old, new| half::max::<Bf16, false, false, false>(old, new);
    AddF32: u32, |old, new| fp32::add::<Nearest, false, false>(old, new);
    AddFlushedF32: u32, |old, new| fp32::add::<Nearest, true, false>(old, new);
    AddF64: u64, |old, new| fp64::add::<Nearest>(old, new);
}

impl Reduce {
    /// The one with that number.
    pub(crate) fn new(number: u32) -> Option<Reduce> {
        Reduce::ALL.get(number as usize).copied()
    }
}
