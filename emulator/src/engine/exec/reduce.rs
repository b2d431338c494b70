//! The operations of bulk reductions on numbers in memory.
#![allow(unsafe_code)]
// Relies on: the caller's pointers.

use super::atomics::update;
use crate::memory::access::Word;
use crate::numeric::half::{self, Bf16, F16};
use crate::numeric::rounding::Nearest;
use crate::numeric::{fp32, fp64};

macro_rules! names {
    ($(#[$doc:meta])* $kind:ident: $($name:ident $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)] // as the ISA has them
        pub(crate) enum $kind {
            $($name),*
        }

        impl $kind {
            const ALL: &[($kind, &str)] = &[$(($kind::$name, $text)),*];

            /// The operation with that modifier.
            pub(crate) fn from_name(name: &str) -> Option<$kind> {
                $kind::ALL.iter().find(|known| known.1 == name).map(|known| known.0)
            }
        }
    };
}

names! {
    /// An operation on numbers.
    Operation: And "and", Or "or", Xor "xor", Add "add", Inc "inc", Dec "dec", Min "min", Max "max",
}

names! {
    /// The type of numbers: the last has no modifier of its own.
    Number: B32 "b32", B64 "b64", U32 "u32", S32 "s32", U64 "u64", S64 "s64", F16 "f16", Bf16 "bf16", F32 "f32", F64 "f64",
        FlushedF32 "f32.ftz",
}

impl Operation {
    /// The operation with that index.
    pub(super) fn new(number: u32) -> Option<Operation> {
        Operation::ALL.get(number as usize).map(|known| known.0)
    }
}

macro_rules! kinds {
    ($($name:ident = $operation:ident $ty:ident: $number:ty, |$old:ident, $new:ident| $result:expr;)*) => {
        /// An operation and the type of the numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)] // as the ISA has them
        pub(crate) enum Reduce {
            $($name),*
        }

        impl Reduce {
            const ALL: &[Reduce] = &[$(Reduce::$name),*];

            /// The reduction for that operation on numbers of that type, if it exists.
            pub(crate) fn of(operation: Operation, number: Number) -> Option<Reduce> {
                match (operation, number) {
                    $((Operation::$operation, Number::$ty) => Some(Reduce::$name),)*
                    _ => None,
                }
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
                        // SAFETY: 1, 2: one of `numbers` numbers, for all of which the caller's duties 1 and 2 hold.
                        unsafe { update::<$number>(target.add(at * each), false, |$old| $result) };
                    }
                })*
            }
        }
    };
}

kinds! {
    AndB32 = And B32: u32, |old, new| old & new;
    OrB32 = Or B32: u32, |old, new| old | new;
    XorB32 = Xor B32: u32, |old, new| old ^ new;
    AndB64 = And B64: u64, |old, new| old & new;
    OrB64 = Or B64: u64, |old, new| old | new;
    XorB64 = Xor B64: u64, |old, new| old ^ new;
    AddU32 = Add U32: u32, |old, new| old.wrapping_add(new);
    AddS32 = Add S32: u32, |old, new| old.wrapping_add(new);
    AddU64 = Add U64: u64, |old, new| old.wrapping_add(new);
    IncU32 = Inc U32: u32, |old, new| if old >= new { 0 } else { old + 1 };
    DecU32 = Dec U32: u32, |old, new| if old == 0 || old > new { new } else { old - 1 };
    MinU32 = Min U32: u32, |old, new| old.min(new);
    MaxU32 = Max U32: u32, |old, new| old.max(new);
    MinS32 = Min S32: u32, |old, new| (old as i32).min(new as i32) as u32;
    MaxS32 = Max S32: u32, |old, new| (old as i32).max(new as i32) as u32;
    MinU64 = Min U64: u64, |old, new| old.min(new);
    MaxU64 = Max U64: u64, |old, new| old.max(new);
    MinS64 = Min S64: u64, |old, new| (old as i64).min(new as i64) as u64;
    MaxS64 = Max S64: u64, |old, new| (old as i64).max(new as i64) as u64;
    AddF16 = Add F16: u16, |old, new| half::add::<F16, false, false>(old, new);
    AddBf16 = Add Bf16: u16, |old, new| half::add::<Bf16, false, false>(old, new);
    MinF16 = Min F16: u16, |old, new| half::min::<F16, false, false, false>(old, new);
    MaxF16 = Max F16: u16, |old, new| half::max::<F16, false, false, false>(old, new);
    MinBf16 = Min Bf16: u16, |old, new| half::min::<Bf16, false, false, false>(old, new);
    MaxBf16 = Max Bf16: u16, |old, new| half::max::<Bf16, false, false, false>(old, new);
    AddF32 = Add F32: u32, |old, new| fp32::add::<Nearest, false, false>(old, new);
    AddFlushedF32 = Add FlushedF32: u32, |old, new| fp32::add::<Nearest, true, false>(old, new);
    AddF64 = Add F64: u64, |old, new| fp64::add::<Nearest>(old, new);
}

impl Reduce {
    /// The operation with that index.
    pub(crate) fn new(number: u32) -> Option<Reduce> {
        Reduce::ALL.get(number as usize).copied()
    }
}
