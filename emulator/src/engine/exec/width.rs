//! Numbers in memory and the registers that hold them.

use super::operand::{Dest, Source};
use crate::memory::access::Word;

/// A number in memory and the register it is loaded into or stored from.
pub(super) trait Width: Copy + 'static {
    /// The type of the number in memory.
    type Memory: Word;
    /// The type of a lane of the register: `u32` or `u64`.
    type Register: Source + Dest + Into<u64> + 'static;
    /// Whether memory and register hold the same bits.
    const AS_IS: bool = size_of::<Self::Memory>() == size_of::<Self::Register>();
    /// The number for the register.
    fn extend(value: Self::Memory) -> Self::Register;
    /// The number for the register, from the low bits of `bits`.
    fn from_bits(bits: u64) -> Self::Register;
    /// The number for memory.
    fn truncate(value: Self::Register) -> Self::Memory;
}

macro_rules! widths {
    ($($name:ident: $memory:ty as $middle:ty => $register:ty;)*) => {$(
        #[doc = concat!("`", stringify!($middle), "` in memory, `", stringify!($register), "` in the register.")]
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Width for $name {
            type Memory = $memory;
            type Register = $register;

            #[inline(always)]
            fn extend(value: $memory) -> $register {
                value as $middle as $register
            }

            #[inline(always)]
            fn from_bits(bits: u64) -> $register {
                bits as $middle as $register
            }

            #[inline(always)]
            fn truncate(value: $register) -> $memory {
                value as $memory
            }
        }
    )*};
}

widths! {
    U8Word: u8 as u8 => u32;
    S8Word: u8 as i8 => u32;
    U16Word: u16 as u16 => u32;
    S16Word: u16 as i16 => u32;
    Word32: u32 as u32 => u32;
    U8Wide: u8 as u8 => u64;
    S8Wide: u8 as i8 => u64;
    U16Wide: u16 as u16 => u64;
    S16Wide: u16 as i16 => u64;
    U32Wide: u32 as u32 => u64;
    S32Wide: u32 as i32 => u64;
    Wide64: u64 as u64 => u64;
}
