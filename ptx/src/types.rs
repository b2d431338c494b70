//! Names and sizes of types and state spaces.

use std::fmt;

use crate::tree::{Space, Type};

macro_rules! types {
    ($($variant:ident $name:literal $size:literal,)*) => {
        impl Type {
            /// Every type, in the order of the enum.
            pub const ALL: &'static [Type] = &[$(Type::$variant),*];

            /// The type with this name, written without its dot: `f32`, `texref`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Type> {
                match name {
                    $($name => Some(Type::$variant),)*
                    _ => None,
                }
            }

            /// Its name without the dot.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Type::$variant => $name,)*
                }
            }

            /// The size of one element in memory, in bytes (PTX ISA, "Fundamental Types"). A `.pred` has no memory
            /// representation and counts as 1; the opaque types are 64-bit handles.
            #[must_use]
            pub const fn size(self) -> usize {
                match self {
                    $(Type::$variant => $size,)*
                }
            }
        }
    };
}

types! {
    Pred "pred" 1,
    B8 "b8" 1, B16 "b16" 2, B32 "b32" 4, B64 "b64" 8, B128 "b128" 16,
    U8 "u8" 1, U16 "u16" 2, U32 "u32" 4, U64 "u64" 8,
    S8 "s8" 1, S16 "s16" 2, S32 "s32" 4, S64 "s64" 8,
    F16 "f16" 2, F16x2 "f16x2" 4, Bf16 "bf16" 2, Bf16x2 "bf16x2" 4, Tf32 "tf32" 4,
    E4m3 "e4m3" 1, E5m2 "e5m2" 1, E4m3x2 "e4m3x2" 2, E5m2x2 "e5m2x2" 2, E4m3x4 "e4m3x4" 4, E5m2x4 "e5m2x4" 4,
    E2m3x2 "e2m3x2" 2, E3m2x2 "e3m2x2" 2, E2m3x4 "e2m3x4" 4, E3m2x4 "e3m2x4" 4,
    E2m1x2 "e2m1x2" 1, E2m1x4 "e2m1x4" 2, Ue8m0x2 "ue8m0x2" 2, S2f6x2 "s2f6x2" 2,
    F32 "f32" 4, F32x2 "f32x2" 8, F64 "f64" 8,
    U16x2 "u16x2" 4, S16x2 "s16x2" 4,
    Texref "texref" 8, Samplerref "samplerref" 8, Surfref "surfref" 8,
}

impl Type {
    /// `.texref`, `.samplerref`, `.surfref`: no arithmetic, no data initialiser.
    #[must_use]
    pub const fn is_opaque(self) -> bool {
        matches!(self, Type::Texref | Type::Samplerref | Type::Surfref)
    }
}

impl fmt::Display for Type {
    /// As in PTX text: `.f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

impl Space {
    /// The state space with this name, written without its dot.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Space> {
        Some(match name {
            "reg" => Space::Reg,
            "sreg" => Space::Sreg,
            // Kernel and function parameters are one space with two windows since ISA 8.0.
            "param" | "param::entry" | "param::func" => Space::Param,
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
            "local" => Space::Local,
            "tex" => Space::Tex,
            _ => return None,
        })
    }

    /// Its name without the dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Sreg => "sreg",
            Space::Param => "param",
            Space::Global => "global",
            Space::Const => "const",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Tex => "tex",
        }
    }
}

impl fmt::Display for Space {
    /// As in PTX text: `.global`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}
