//! `.f32x2` arithmetic: that of `.f32` on both halves of a register (PTX ISA, "Floating-Point Instructions").

use super::fp32;
use super::rounding::Rounding;

/// The instruction on both halves.
macro_rules! packed {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),+);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<R: Rounding, const FTZ: bool>($($operand: u64),+) -> u64 {
            let low = fp32::$name::<R, FTZ, false>($($operand as u32),+);
            let high = fp32::$name::<R, FTZ, false>($(($operand >> 32) as u32),+);
            low as u64 | (high as u64) << 32
        }
    )*};
}

packed! {
    /// `add{.rnd}{.ftz}.f32x2`
    add(a, b);
    /// `sub{.rnd}{.ftz}.f32x2`
    sub(a, b);
    /// `mul{.rnd}{.ftz}.f32x2`
    mul(a, b);
    /// `fma.rnd{.ftz}.f32x2`
    fma(a, b, c);
}
