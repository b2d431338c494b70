//! Numbers, by their names in PTX, C and Rust.

/// A type of numbers in parameters or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    U128,
    F16,
    Bf16,
    F32,
    F64,
}

/// Name in Rust, name in C, bytes.
const TABLE: &[(Scalar, &str, &str, usize)] = &[
    (Scalar::U8, "u8", "unsigned char", 1),
    (Scalar::I8, "i8", "signed char", 1),
    (Scalar::U16, "u16", "unsigned short", 2),
    (Scalar::I16, "i16", "short", 2),
    (Scalar::U32, "u32", "unsigned int", 4),
    (Scalar::I32, "i32", "int", 4),
    (Scalar::U64, "u64", "unsigned long long", 8),
    (Scalar::I64, "i64", "long long", 8),
    (Scalar::U128, "u128", "unsigned __int128", 16),
    (Scalar::F16, "half::f16", "__half", 2),
    (Scalar::Bf16, "half::bf16", "__nv_bfloat16", 2),
    (Scalar::F32, "f32", "float", 4),
    (Scalar::F64, "f64", "double", 8),
];

impl Scalar {
    fn entry(self) -> (&'static str, &'static str, usize) {
        let entry = TABLE.iter().find(|(scalar, ..)| *scalar == self);
        entry.map_or(("u8", "unsigned char", 1), |(_, rust, c, size)| (*rust, *c, *size))
    }

    pub(crate) fn rust(self) -> &'static str {
        self.entry().0
    }

    /// Its name on the command line, without a path.
    pub(crate) fn word(self) -> &'static str {
        self.rust().trim_start_matches("half::")
    }

    pub(crate) fn c(self) -> &'static str {
        self.entry().1
    }

    pub(crate) fn size(self) -> usize {
        self.entry().2
    }

    /// By the name of a PTX type without its dot; `b32` only means 4 bytes.
    pub(crate) fn of_ptx(name: &str) -> Option<Self> {
        Some(match name {
            "u8" | "b8" => Self::U8,
            "s8" => Self::I8,
            "u16" | "b16" => Self::U16,
            "s16" => Self::I16,
            "u32" | "b32" => Self::U32,
            "s32" => Self::I32,
            "u64" | "b64" => Self::U64,
            "s64" => Self::I64,
            "b128" => Self::U128,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// By its name in Rust, without a path.
    pub(crate) fn of_rust(name: &str) -> Option<Self> {
        let own = |rust: &str| rust.rsplit(':').next() == Some(name);
        TABLE.iter().find(|(_, rust, ..)| own(rust)).map(|(scalar, ..)| *scalar)
    }

    /// By its name in C++, as demanglers write it.
    pub(crate) fn of_cpp(name: &str) -> Option<Self> {
        Some(match name {
            "bool" | "unsigned char" => Self::U8,
            "char" | "signed char" => Self::I8,
            "unsigned short" => Self::U16,
            "short" => Self::I16,
            "unsigned int" | "unsigned" => Self::U32,
            "int" => Self::I32,
            "unsigned long" | "unsigned long long" => Self::U64,
            "long" | "long long" => Self::I64,
            "unsigned __int128" => Self::U128,
            "__half" => Self::F16,
            "__nv_bfloat16" => Self::Bf16,
            "float" => Self::F32,
            "double" => Self::F64,
            _ => return None,
        })
    }

    /// By how DWARF encodes it, and its bytes.
    pub(crate) fn of_dwarf(encoding: gimli::DwAte, size: usize) -> Option<Self> {
        use gimli::constants as dw;
        let signed = matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char);
        let unsigned = [dw::DW_ATE_unsigned, dw::DW_ATE_unsigned_char, dw::DW_ATE_UTF, dw::DW_ATE_address];
        let unsigned = unsigned.contains(&encoding) || encoding == dw::DW_ATE_boolean && size == 1;
        Some(match size {
            1 if signed => Self::I8,
            2 if signed => Self::I16,
            4 if signed => Self::I32,
            8 if signed => Self::I64,
            1 if unsigned => Self::U8,
            2 if unsigned => Self::U16,
            4 if unsigned => Self::U32,
            8 if unsigned => Self::U64,
            16 if unsigned => Self::U128,
            2 if encoding == dw::DW_ATE_float => Self::F16,
            4 if encoding == dw::DW_ATE_float => Self::F32,
            8 if encoding == dw::DW_ATE_float => Self::F64,
            _ => return None,
        })
    }

    /// Names in Rust, without paths.
    pub(crate) fn names() -> String {
        let names: Vec<&str> = TABLE.iter().filter_map(|(_, rust, ..)| rust.rsplit(':').next()).collect();
        names.join(", ")
    }
}
