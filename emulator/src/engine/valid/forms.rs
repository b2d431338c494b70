//! The forms of instructions and what their operands are, as ptxas 13.0 takes them: one table.
//!
//! A row is a pattern in the ISA's notation, as in [`table`](super::super::table), and its operands in order:
//!
//! | letter | operand |
//! |---|---|
//! | `d` | a register that is written |
//! | `s` | a value: a register or a number |
//! | `r`, `t` | the same two where a register may be wider than the type: `ld`, `st`, `cvt` |
//! | `q`, `p` | a predicate that is written, one that is read (`!p` too) |
//! | `d\|`, `q\|` | the same, and perhaps a second one behind a bar, a predicate |
//! | `a` | an address in brackets; behind a colon its space, which else is the name's |
//! | `A`, `b` | the same in a register of 32 or 64 bits whatever the space, or of 8 and 16 too |
//! | `c`, `e` | the same in a register of 8, 32 or 64 bits, or of 64 |
//! | `y` | an address in brackets, in whatever register or space |
//! | `B` | as `b`, and perhaps without brackets |
//! | `x` | an address as a number, or a variable |
//! | `m`, `o` | a tensor map and coordinates in brackets, and what `.im2col` adds to them |
//! | `n` | a number that is written out |
//! | `h` | a cache policy, where the name has `.L2::cache_hint` |
//! | `D`, `S` | elements that are written and read, as many as the name says |
//! | `f` | four values in braces |
//! | `v`, `w` | a register of a video instruction or a number, and one that is written |
//! | `*` | anything whose names are declared |
//!
//! The type is the first of the name; with `2` the last, with `w` twice as wide as the first, or the one behind a colon. `?`: may be
//! missing. Mnemonics without a row are not looked at any closer than their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use cuda_ptx::{Space, Type};

use super::super::table::pattern::Pattern;
use super::addresses::Width;
use super::{bulk_forms, newer_forms};

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Dest,
    Source,
    WideDest,
    WideSource,
    PredicateDest,
    Predicate,
    Address(Width),
    /// An address in brackets at which nobody looks closely.
    Anywhere,
    /// An address of shared memory that may stand without brackets.
    Shared,
    /// An address as a number.
    Pointer,
    /// A tensor map and coordinates.
    Tensor,
    /// What `.im2col` adds to the coordinates.
    Offsets,
    /// A number that is written out.
    Constant,
    Policy,
    /// Elements that are written, as many as the name says, and that are read.
    Elements,
    ElementSources,
    /// Four values in braces.
    Four,
    /// A register of 32 bits, perhaps a part of it: read, where it may be a number, and written.
    Selected,
    SelectedDest,
    Anything,
}

/// Where its type stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    First,
    Last,
    Double,
    As(Type),
    /// An address of that space.
    In(Space),
}

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) role: Role,
    pub(super) typed: Typed,
    /// A predicate may stand behind it.
    pub(super) pair: bool,
    pub(super) optional: bool,
}

impl Slot {
    fn new(text: &str) -> Slot {
        let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
        let (text, pair) = text.strip_suffix('|').map_or((text, false), |text| (text, true));
        let (letter, kind) = text.split_at(text.len().min(1));
        let role = match letter {
            "d" => Role::Dest,
            "s" => Role::Source,
            "r" => Role::WideDest,
            "t" => Role::WideSource,
            "q" => Role::PredicateDest,
            "p" => Role::Predicate,
            "a" => Role::Address(Width::BySpace),
            "A" => Role::Address(Width::Four),
            "b" => Role::Address(Width::Two),
            "c" => Role::Address(Width::NotTwo),
            "e" => Role::Address(Width::Eight),
            "y" => Role::Anywhere,
            "B" => Role::Shared,
            "x" => Role::Pointer,
            "m" => Role::Tensor,
            "o" => Role::Offsets,
            "n" => Role::Constant,
            "h" => Role::Policy,
            "D" => Role::Elements,
            "S" => Role::ElementSources,
            "f" => Role::Four,
            "v" => Role::Selected,
            "w" => Role::SelectedDest,
            _ => Role::Anything,
        };
        let typed = match kind.strip_prefix(':') {
            Some(name) => match (Type::from_name(name), Space::from_name(name)) {
                (Some(ty), _) => Typed::As(ty),
                (None, Some(space)) => Typed::In(space),
                (None, None) => Typed::First,
            },
            None if kind == "2" => Typed::Last,
            None if kind == "w" => Typed::Double,
            None => Typed::First,
        };
        Slot { role, typed, pair, optional }
    }
}

/// A row, read.
pub(super) struct Row {
    pub(super) pattern: Pattern,
    pub(super) slots: Vec<Slot>,
}

/// The rows of a mnemonic; `None` if it has none.
pub(super) fn rows(mnemonic: &str) -> Option<&'static [Row]> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Row>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<_, Vec<Row>> = HashMap::new();
        for (patterns, operands) in FORMS.iter().chain(bulk_forms::FORMS).chain(newer_forms::FORMS) {
            let slots: Vec<Slot> =
                operands.split(' ').filter(|text| !text.is_empty()).map(Slot::new).collect();
            for pattern in patterns.split_whitespace().map(Pattern::new) {
                let row = Row { slots: slots.clone(), pattern };
                table.entry(row.pattern.mnemonic()).or_default().push(row);
            }
        }
        table
    });
    table.get(mnemonic).map(Vec::as_slice)
}

/// Patterns, separated by blanks, and the operands that they have in common.
const FORMS: &[(&str, &str)] = &[
    // Integers.
    (
        "add.{u16|s16|u32|s32|u64|s64|u16x2|s16x2} sub.{u16|s16|u32|s32|u64|s64} add.sat.s32 sub.sat.s32 \
         mul.{lo|hi}.{u16|s16|u32|s32|u64|s64} mul24.{lo|hi}.{u32|s32} div.{u16|s16|u32|s32|u64|s64} \
         rem.{u16|s16|u32|s32|u64|s64} min.{u16|s16|u32|s32|u64|s64} max.{u16|s16|u32|s32|u64|s64} \
         min[.relu].{s32|s16x2} max[.relu].{s32|s16x2} min.u16x2 max.u16x2 \
         add.cc.{u32|s32|u64|s64} addc[.cc].{u32|s32|u64|s64} sub.cc.{u32|s32|u64|s64} subc[.cc].{u32|s32|u64|s64}",
        "d s s",
    ),
    ("mul.wide.{u16|s16|u32|s32}", "dw s s"),
    (
        "mad.{lo|hi}.{u16|s16|u32|s32|u64|s64} mad.hi.sat.s32 mad24.{lo|hi}.{u32|s32} mad24.hi.sat.s32 \
         mad.{lo|hi}.cc.{u32|s32|u64|s64} madc.{lo|hi}[.cc].{u32|s32|u64|s64} sad.{u16|s16|u32|s32|u64|s64}",
        "d s s s",
    ),
    ("mad.wide.{u16|s16|u32|s32}", "dw s s sw"),
    ("abs.{s16|s32|s64} neg.{s16|s32|s64} brev.{b32|b64}", "d s"),
    ("popc.{b32|b64} clz.{b32|b64} bfind[.shiftamt].{u32|s32|u64|s64}", "d:u32 s"),
    ("fns.b32", "d s s s"),
    ("bfe.{u32|s32|u64|s64}", "d s s:u32 s:u32"),
    ("bfi.{b32|b64}", "d s s s:u32 s:u32"),
    ("bmsk.{clamp|wrap}.b32", "d:u32 s:u32 s:u32"),
    ("szext.{clamp|wrap}.{u32|s32}", "d s s:u32"),
    ("dp4a.{u32|s32}.{u32|s32} dp2a.{lo|hi}.{u32|s32}.{u32|s32}", "d:u32 s s2 s:u32"),
    // Floats.
    (
        "add[.{rn|rz|rm|rp}][.ftz][.sat].f32 sub[.{rn|rz|rm|rp}][.ftz][.sat].f32 mul[.{rn|rz|rm|rp}][.ftz][.sat].f32 \
         add[.{rn|rz|rm|rp}].f64 sub[.{rn|rz|rm|rp}].f64 mul[.{rn|rz|rm|rp}].f64 \
         add[.rn][.ftz][.sat].{f16|f16x2} sub[.rn][.ftz][.sat].{f16|f16x2} mul[.rn][.ftz][.sat].{f16|f16x2} \
         add[.rn].{bf16|bf16x2} sub[.rn].{bf16|bf16x2} mul[.rn].{bf16|bf16x2} \
         div.approx[.ftz].f32 div.full[.ftz].f32 div.{rn|rz|rm|rp}[.ftz].f32 div.{rn|rz|rm|rp}.f64 copysign.{f32|f64} \
         min.f64 max.f64 min[.ftz][.NaN].{f32|f16|f16x2} max[.ftz][.NaN].{f32|f16|f16x2} \
         min[.ftz][.NaN].xorsign.abs.{f32|f16|f16x2} max[.ftz][.NaN].xorsign.abs.{f32|f16|f16x2} \
         min[.NaN].{bf16|bf16x2} max[.NaN].{bf16|bf16x2} min[.NaN].xorsign.abs.{bf16|bf16x2} max[.NaN].xorsign.abs.{bf16|bf16x2} \
         add[.{rn|rz|rm|rp}][.ftz].f32x2 sub[.{rn|rz|rm|rp}][.ftz].f32x2 mul[.{rn|rz|rm|rp}][.ftz].f32x2",
        "d s s",
    ),
    ("add[.{rn|rz|rm|rp}][.sat].f32.f16 sub[.{rn|rz|rm|rp}][.sat].f32.f16", "d s2 s"),
    // ptxas counts this `.bf16` among the integers.
    ("add[.{rn|rz|rm|rp}][.sat].f32.bf16 sub[.{rn|rz|rm|rp}][.sat].f32.bf16", "d s:u16 s"),
    ("fma.{rn|rz|rm|rp}[.sat].f32.f16", "d s2 s2 s"),
    ("fma.{rn|rz|rm|rp}[.sat].f32.bf16", "d s:u16 s:u16 s"),
    (
        "fma.{rn|rz|rm|rp}[.ftz][.sat].f32 fma.{rn|rz|rm|rp}.f64 mad.{rn|rz|rm|rp}[.ftz][.sat].f32 mad.{rn|rz|rm|rp}.f64 \
         fma.rn[.ftz][.sat].{f16|f16x2} fma.rn[.ftz].relu.{f16|f16x2} fma.rn[.relu].{bf16|bf16x2} \
         fma.rn.oob[.relu].{f16|f16x2|bf16|bf16x2} fma.{rn|rz|rm|rp}[.ftz].f32x2 \
         min[.ftz][.NaN][.abs].f32 max[.ftz][.NaN][.abs].f32",
        "d s s s",
    ),
    (
        "rcp.approx[.ftz].f32 rcp.{rn|rz|rm|rp}[.ftz].f32 rcp.{rn|rz|rm|rp}[.ftz].f64 rcp.approx.ftz.f64 \
         sqrt.approx[.ftz].f32 sqrt.{rn|rz|rm|rp}[.ftz].f32 sqrt.{rn|rz|rm|rp}.f64 rsqrt.approx[.ftz].{f32|f64} \
         sin.approx[.ftz].f32 cos.approx[.ftz].f32 lg2.approx[.ftz].f32 ex2.approx[.ftz].f32 \
         ex2.approx.{f16|f16x2} ex2.approx.ftz.{bf16|bf16x2} tanh.approx.{f32|f16|f16x2|bf16|bf16x2} \
         abs[.ftz].{f32|f16|f16x2} neg[.ftz].{f32|f16|f16x2} abs.{f64|bf16|bf16x2} neg.{f64|bf16|bf16x2}",
        "d s",
    ),
    ("testp[.{finite|infinite|number|notanumber|normal|subnormal}].{f32|f64}", "q s"),
    // Logic and shifts.
    ("and.{b16|b32|b64} or.{b16|b32|b64} xor.{b16|b32|b64}", "d s s"),
    ("and.pred or.pred xor.pred", "q p p"),
    ("not.{b16|b32|b64} cnot.{b16|b32|b64}", "d s"),
    ("not.pred", "q p"),
    ("lop3.b32", "d s s s s:u32"),
    ("lop3.{and|or}.b32", "* s s s s:u32 p"),
    ("shl.{b16|b32|b64} shr.{b16|b32|b64|u16|u32|u64|s16|s32|s64}", "d s s:u32"),
    ("shf.{l|r}.{clamp|wrap}.b32", "d s s s:u32"),
    ("prmt.b32[.{f4e|b4e|rc8|ecl|ecr|rc16}]", "d s s s"),
    // Comparison and selection.
    (
        "setp.{eq|ne}.{b16|b32|b64} setp.{eq|ne|lt|le|gt|ge}.{s16|s32|s64} \
         setp.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}.{u16|u32|u64} setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.f64 \
         setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].{f32|f16|f16x2} \
         setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{bf16|bf16x2}",
        "q| s s",
    ),
    (
        "setp.{eq|ne}.{and|or|xor}.{b16|b32|b64} setp.{eq|ne|lt|le|gt|ge}.{and|or|xor}.{s16|s32|s64} \
         setp.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}.{and|or|xor}.{u16|u32|u64} \
         setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.f64 \
         setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].{f32|f16|f16x2} \
         setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.{bf16|bf16x2}",
        "q| s s p",
    ),
    (
        "set.{eq|ne}.{u32|s32|f32}.{b16|b32|b64} set.{eq|ne|lt|le|gt|ge}.{u32|s32|f32}.{s16|s32|s64} \
         set.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}.{u32|s32|f32}.{u16|u32|u64} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].{u32|s32}.{f16|f32|f16x2} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{u32|s32}.{bf16|f64|bf16x2} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].f32.f32 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.f32.f64 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].{u16|s16}.f16 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{u16|s16}.bf16 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].f16.{f16|f32} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.f16.f64 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.bf16.{f16|bf16|f32|f64} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.ftz].f16x2.f16x2 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.bf16x2.bf16x2",
        "d s2 s2",
    ),
    (
        "set.{eq|ne}.{and|or|xor}.{u32|s32|f32}.{b16|b32|b64} set.{eq|ne|lt|le|gt|ge}.{and|or|xor}.{u32|s32|f32}.{s16|s32|s64} \
         set.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}.{and|or|xor}.{u32|s32|f32}.{u16|u32|u64} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].{u32|s32}.{f16|f32|f16x2} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.{u32|s32}.{bf16|f64|bf16x2} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].f32.f32 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.f32.f64 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].{u16|s16}.f16 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.{u16|s16}.bf16 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].f16.{f16|f32} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.f16.f64 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.bf16.{f16|bf16|f32|f64} \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}[.ftz].f16x2.f16x2 \
         set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{and|or|xor}.bf16x2.bf16x2",
        "d s2 s2 p",
    ),
    ("selp.{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}", "d s s p"),
    (
        "slct.{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}.s32 slct[.ftz].{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}.f32",
        "d s s s2",
    ),
    // Conversion.
    (
        "cvt.{u8|u16|u32|u64|s8|s16|s32|s64}.{u8|u16|u32|u64|s8|s16|s32|s64} cvt.sat.u8.{u16|u32|u64|s8|s16|s32|s64} \
         cvt.sat.u16.{u32|u64|s8|s16|s32|s64} cvt.sat.u32.{u64|s8|s16|s32|s64} cvt.sat.u64.{s8|s16|s32|s64} \
         cvt.sat.s8.{u8|u16|u32|u64|s16|s32|s64} cvt.sat.s16.{u16|u32|u64|s32|s64} cvt.sat.s32.{u32|u64|s64} cvt.sat.s64.u64 \
         cvt.{rni|rzi|rmi|rpi}[.ftz][.sat].{u8|u16|u32|u64|s8|s16|s32|s64}.f32 \
         cvt.{rni|rzi|rmi|rpi}[.sat].{u8|u16|u32|u64|s8|s16|s32|s64}.{f16|f64} \
         cvt.{rn|rz|rm|rp}[.ftz][.sat].f32.{u8|u16|u32|u64|s8|s16|s32|s64} \
         cvt.{rn|rz|rm|rp}[.sat].{f16|f64}.{u8|u16|u32|u64|s8|s16|s32|s64} \
         cvt[.{rni|rzi|rmi|rpi}][.ftz][.sat].f32.f32 cvt[.{rni|rzi|rmi|rpi}][.sat].f16.f16 cvt[.{rni|rzi|rmi|rpi}][.sat].f64.f64 \
         cvt[.ftz][.sat].f32.f16 cvt[.ftz][.sat].f64.f32 cvt[.sat].f64.f16 \
         cvt.{rn|rz|rm|rp}[.ftz][.sat].f32.f64 cvt.{rn|rz|rm|rp}[.sat].f16.f64 \
         cvt.{rn|rz|rm|rp}[.ftz][.sat].f16.f32 cvt.{rn|rz}[.relu][.satfinite].f16.f32",
        "r t2",
    ),
    (
        "cvt.{rni|rzi|rmi|rpi}.{u16|u32|u64|s16|s32|s64}.bf16 cvt.{rn|rz|rm|rp}.bf16.{u16|u32|u64|s16|s32|s64} \
         cvt[.{rni|rzi|rmi|rpi}].bf16.bf16 cvt[.{rn|rz|rm|rp}][.ftz].f32.bf16 cvt[.{rn|rz|rm|rp}].f64.bf16 \
         cvt[.{rn|rz|rm|rp}].f16.bf16 cvt[.{rn|rz|rm|rp}].bf16.f16 cvt.{rn|rz|rm|rp}.bf16.f64 cvt.{rn|rz|rm|rp}[.ftz].bf16.f32 \
         cvt.{rn|rz}[.relu][.satfinite].bf16.f32 cvt.{rn|rz}[.relu][.satfinite].tf32.f32 cvt.rna[.satfinite].tf32.f32",
        "d s2",
    ),
    ("cvt.{rni|rzi|rmi|rpi}.{u8|s8}.bf16", "r s2"),
    ("cvt.{rn|rz|rm|rp}.bf16.{u8|s8}", "d t2"),
    ("cvt.{rn|rz}[.relu][.satfinite].f16x2.f32", "r t2 t2"),
    // As `.tf32`, a register of bits.
    ("cvt.{rn|rz}[.relu][.satfinite].bf16x2.f32", "d:tf32 s2 s2"),
    ("cvt.rs[.relu][.satfinite].f16x2.f32", "r t2 t2 s:tf32"),
    ("cvt.rs[.relu][.satfinite].bf16x2.f32", "d:tf32 s2 s2 s:tf32"),
    ("cvt.rs.satfinite[.relu].{e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4}.f32", "d f2 s:tf32"),
    (
        "cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}.f32 cvt.{rz|rp}[.satfinite].ue8m0x2.f32",
        "d s2 s2",
    ),
    (
        "cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m1x2}.f16x2 cvt.rn[.relu].f16x2.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}",
        "d s2",
    ),
    // ptxas does not look at the type of `.bf16x2`.
    ("cvt.{rz|rp}[.satfinite].ue8m0x2.bf16x2", "d s:b32"),
    ("cvt.rn.bf16x2.ue8m0x2", "d:b32 s2"),
    // Of PTX 9.1, as ptxas 13.1 takes them.
    ("cvt.rn.satfinite[.relu].{e2m3x2|e3m2x2}.f16x2", "d s2"),
    ("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m3x2|e3m2x2}.bf16x2", "d s:tf32"),
    ("cvt.rn.satfinite[.relu].e2m1x2.bf16x2", "d s:b32"),
    ("cvt.rn.satfinite[.relu].s2f6x2.f32", "d:b16 s2 s2"),
    ("cvt.rn.satfinite[.relu].scaled::n2::ue8m0.s2f6x2.f32", "d:b16 s2 s2 s:s2f6x2"),
    ("cvt.rn.satfinite[.relu].s2f6x2.bf16x2", "d:b16 s:tf32"),
    ("cvt.rn.satfinite[.relu].scaled::n2::ue8m0.s2f6x2.bf16x2", "d:b16 s:tf32 s:s2f6x2"),
    ("cvt.rn[.satfinite][.relu].bf16x2.s2f6x2", "d:tf32 s2"),
    ("cvt.rn[.satfinite][.relu].scaled::n2::ue8m0.bf16x2.s2f6x2", "d:tf32 s2 s2"),
    ("cvt.pack.sat.{u16|s16}.s32", "r2 t2 t2"),
    ("cvt.pack.sat.{u8|s8|u4|s4|u2|s2}.s32.b32", "r:u32 t:u32 t:u32 t:u32"),
    ("cvta.to.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}.{u32|u64}", "d s"),
    ("cvta.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}.{u32|u64}", "d x"),
    ("isspacep.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}", "q *"),
    // Memory.
    (
        "ld[.{weak|volatile}][.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry|param::func}][.nc][.{ca|cg|cs|cv|lu}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}][.unified][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         ld.{relaxed|acquire}.{cta|cluster|gpu|sys}[.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry|param::func}][.nc][.{ca|cg|cs|cv|lu}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}][.unified][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         ld.mmio[.relaxed].sys[.global][.nc][.{ca|cg|cs|cv|lu}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}][.unified][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         ldu[.global][.{v2|v4}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64}",
        "r a h",
    ),
    (
        "st[.{weak|volatile}][.{global|shared|shared::cta|shared::cluster|local|param|param::func}][.{wb|cg|cs|wt}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         st.{relaxed|release}.{cta|cluster|gpu|sys}[.{global|shared|shared::cta|shared::cluster|local|param|param::func}][.{wb|cg|cs|wt}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         st.mmio[.relaxed].sys[.global][.{wb|cg|cs|wt}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::evict_normal|L2::evict_first|L2::evict_last}][.L2::cache_hint][.{v2|v4|v8}].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64}",
        "a t h",
    ),
    ("st.bulk[.weak][.shared::cta]", "a s:u64 *"),
    (
        "st.async[.weak][.{shared|shared::cta|shared::cluster}].mbarrier::complete_tx::bytes[.{v2|v4}].{b32|b64|u32|u64|s32|s64|f32|f64}",
        "A S b:shared",
    ),
    (
        "st.async[.weak][.{shared|shared::cta|shared::cluster}].mbarrier::complete_tx::bytes.{b32|b64|u32|u64|s32|s64|f32|f64}",
        "A s",
    ),
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add[.L2::cache_hint].{u32|s32|u64|f32|f64} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add.noftz[.L2::cache_hint].{f16|f16x2|bf16|bf16x2} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{and|or|xor}[.L2::cache_hint].{b32|b64} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].exch[.L2::cache_hint].{b32|b64|b128} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{inc|dec}[.L2::cache_hint].u32 \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{min|max}[.L2::cache_hint].{u32|s32|u64|s64}",
        "d a s h",
    ),
    // Of these ptxas takes another register.
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{and|or|xor}.b32 \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].exch.{b32|b128}",
        "d a s d",
    ),
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].cas[.L2::cache_hint].{b16|b32|b64|b128}",
        "d a s s h",
    ),
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz[.L2::cache_hint].{v2|v4|v8}.{f16|bf16} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz[.L2::cache_hint].{v2|v4}.{f16x2|bf16x2} \
         atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].add[.L2::cache_hint].{v2|v4}.f32",
        "D a S h",
    ),
    (
        "red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add[.L2::cache_hint].{u32|s32|u64|f32|f64} \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add.noftz[.L2::cache_hint].{f16|f16x2|bf16|bf16x2} \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{and|or|xor}[.L2::cache_hint].{b32|b64} \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{inc|dec}[.L2::cache_hint].u32 \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].{min|max}[.L2::cache_hint].{u32|s32|u64|s64}",
        "a s h",
    ),
    (
        "red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz[.L2::cache_hint].{v2|v4|v8}.{f16|bf16} \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz[.L2::cache_hint].{v2|v4}.{f16x2|bf16x2} \
         red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].add[.L2::cache_hint].{v2|v4}.f32",
        "a S h",
    ),
    (
        "red.async.relaxed.cluster[.shared::cluster].mbarrier::complete_tx::bytes.add.{u32|s32|u64|s64} \
         red.async.relaxed.cluster[.shared::cluster].mbarrier::complete_tx::bytes.{min|max}.{u32|s32} \
         red.async.relaxed.cluster[.shared::cluster].mbarrier::complete_tx::bytes.{inc|dec}.u32 \
         red.async.relaxed.cluster[.shared::cluster].mbarrier::complete_tx::bytes.{and|or|xor}.b32",
        "A s b:shared?",
    ),
    (
        "multimem.ld_reduce[.weak][.global].add.{u32|s32|u64|f32|f64} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add.{u32|s32|u64|f32|f64} \
         multimem.ld_reduce[.weak][.global].{min|max}.{u32|s32|u64|s64} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{u32|s32|u64|s64} \
         multimem.ld_reduce[.weak][.global].{and|or|xor}.{b32|b64} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{and|or|xor}.{b32|b64} \
         multimem.ld_reduce[.weak][.global].add[.acc::f32].{f16x2|bf16x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f32].{f16x2|bf16x2} \
         multimem.ld_reduce[.weak][.global].{min|max}.{f16x2|bf16x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{f16x2|bf16x2} \
         multimem.ld_reduce[.weak][.global].add[.acc::f16].{e4m3x4|e5m2x4} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f16].{e4m3x4|e5m2x4} \
         multimem.ld_reduce[.weak][.global].{min|max}.{e4m3x4|e5m2x4} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{e4m3x4|e5m2x4}",
        "d a",
    ),
    (
        "multimem.ld_reduce[.weak][.global].add[.acc::f32].{v2|v4|v8}.{f16|bf16} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f32].{v2|v4|v8}.{f16|bf16} \
         multimem.ld_reduce[.weak][.global].{min|max}.{v2|v4|v8}.{f16|bf16} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{v2|v4|v8}.{f16|bf16} \
         multimem.ld_reduce[.weak][.global].add[.acc::f32].{v2|v4}.{f16x2|bf16x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f32].{v2|v4}.{f16x2|bf16x2} \
         multimem.ld_reduce[.weak][.global].{min|max}.{v2|v4}.{f16x2|bf16x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{v2|v4}.{f16x2|bf16x2} \
         multimem.ld_reduce[.weak][.global].add.{v2|v4}.f32 \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add.{v2|v4}.f32 \
         multimem.ld_reduce[.weak][.global].add[.acc::f16].{v4|v8}.{e4m3|e5m2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f16].{v4|v8}.{e4m3|e5m2} \
         multimem.ld_reduce[.weak][.global].{min|max}.{v4|v8}.{e4m3|e5m2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{v4|v8}.{e4m3|e5m2} \
         multimem.ld_reduce[.weak][.global].add[.acc::f16].{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f16].{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.ld_reduce[.weak][.global].{min|max}.{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.ld_reduce[.weak][.global].add[.acc::f16].{v2|v4}.{e4m3x4|e5m2x4} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].add[.acc::f16].{v2|v4}.{e4m3x4|e5m2x4} \
         multimem.ld_reduce[.weak][.global].{min|max}.{v2|v4}.{e4m3x4|e5m2x4} \
         multimem.ld_reduce.{relaxed|acquire}.{cta|cluster|gpu|sys}[.global].{min|max}.{v2|v4}.{e4m3x4|e5m2x4}",
        "D a",
    ),
    (
        "multimem.red[.global].add[.acc::f32].{u32|s32|u64|f32|f64|f16x2|bf16x2} \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].add[.acc::f32].{u32|s32|u64|f32|f64|f16x2|bf16x2} \
         multimem.red[.global].{min|max}[.acc::f32].{u32|s32|u64|s64} \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{min|max}[.acc::f32].{u32|s32|u64|s64} \
         multimem.red[.global].{and|or|xor}[.acc::f32].{b32|b64} \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{and|or|xor}[.acc::f32].{b32|b64}",
        "e s",
    ),
    (
        "multimem.st[.weak][.global].{b32|b64|u32|s32|u64|s64|f32|f64|f16x2|bf16x2} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{b32|b64|u32|s32|u64|s64|f32|f64|f16x2|bf16x2} \
         multimem.st[.weak][.global].{e4m3x4|e5m2x4} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{e4m3x4|e5m2x4}",
        "a s",
    ),
    (
        "multimem.red[.global].{add|min|max}[.acc::f32].{v2|v4|v8}.{f16|bf16} \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{add|min|max}[.acc::f32].{v2|v4|v8}.{f16|bf16} \
         multimem.red[.global].{add|min|max}[.acc::f32].{v2|v4}.{f16x2|bf16x2} \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{add|min|max}[.acc::f32].{v2|v4}.{f16x2|bf16x2} \
         multimem.red[.global].add[.acc::f32].{v2|v4}.f32 \
         multimem.red.{relaxed|release}.{cta|cluster|gpu|sys}[.global].add[.acc::f32].{v2|v4}.f32",
        "e S",
    ),
    (
        "multimem.st[.weak][.global].{v2|v4|v8}.{f16|bf16} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{v2|v4|v8}.{f16|bf16} \
         multimem.st[.weak][.global].{v2|v4}.{f16x2|bf16x2|f32} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{v2|v4}.{f16x2|bf16x2|f32} \
         multimem.st[.weak][.global].{v4|v8}.{e4m3|e5m2} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{v4|v8}.{e4m3|e5m2} \
         multimem.st[.weak][.global].{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{v2|v4|v8}.{e4m3x2|e5m2x2} \
         multimem.st[.weak][.global].{v2|v4}.{e4m3x4|e5m2x4} \
         multimem.st.{relaxed|release}.{cta|cluster|gpu|sys}[.global].{v2|v4}.{e4m3x4|e5m2x4}",
        "a S",
    ),
    // Textures and surfaces.
    (
        "tex[.base].{1d|2d|3d|a1d|a2d}.v4.{u32|s32|f32|f16}.{s32|f32} tex[.base].{1d|2d|3d|a1d|a2d}.v2.f16x2.{s32|f32} \
         tex[.base].{cube|acube}.v4.{u32|s32|f32|f16}.f32 tex[.base].{cube|acube}.v2.f16x2.f32 \
         tex[.base].{2dms|a2dms}.v4.{u32|s32|f32|f16}.s32 tex[.base].{2dms|a2dms}.v2.f16x2.s32 \
         tld4.{r|g|b|a}.{2d|a2d|cube|acube}.v4.{u32|s32|f32}.f32",
        "* * *? *?",
    ),
    (
        "tex.level.{1d|2d|3d|a1d|a2d}.v4.{u32|s32|f32|f16}.{s32|f32} tex.level.{1d|2d|3d|a1d|a2d}.v2.f16x2.{s32|f32} \
         tex.level.{cube|acube}.v4.{u32|s32|f32|f16}.f32 tex.level.{cube|acube}.v2.f16x2.f32",
        "* * s2 *? *?",
    ),
    (
        "tex.grad.{1d|2d|3d|a1d|a2d}.v4.{u32|s32|f32|f16}.{s32|f32} tex.grad.{1d|2d|3d|a1d|a2d}.v2.f16x2.{s32|f32} \
         tex.grad.{cube|acube}.v4.{u32|s32|f32|f16}.f32 tex.grad.{cube|acube}.v2.f16x2.f32",
        "* * * * *? *?",
    ),
    (
        "txq.{width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples}.b32 \
         txq.{force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2}.b32 \
         suq.{width|height|depth|channel_data_type|channel_order|array_size|memory_layout}.b32",
        "d *",
    ),
    ("txq.level.{width|height|depth}.b32", "d * s"),
    ("istypep.{texref|samplerref|surfref}", "q s:u64"),
    (
        "suld.b.{1d|2d|3d|a1d|a2d}[.{ca|cg|cs|cv}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero} \
         sust.b.{1d|2d|3d|a1d|a2d}[.{wb|cg|cs|wt}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero} \
         sust.p.{1d|2d|3d|a1d|a2d}[.{wb|cg|cs|wt}][.{v2|v4}].b32.{trap|clamp|zero}",
        "* *",
    ),
    (
        "sured.b.add.{1d|2d|3d}.{u32|s32|u64}.{trap|clamp|zero} sured.b.{min|max}.{1d|2d|3d}.{u32|s32|u64|s64}.{trap|clamp|zero} \
         sured.b.{and|or}.{1d|2d|3d}.b32.{trap|clamp|zero} sured.p.{add|min|max|and|or}.{1d|2d|3d}.b32.{trap|clamp|zero} \
         sured.p.{min|max}.{1d|2d|3d}.b64.{trap|clamp|zero}",
        "* t",
    ),
    // Control and synchronisation.
    ("bra[.uni]", "*"),
    ("ret[.uni] exit trap brkpt", ""),
    ("bar[.cta].sync", "s:u32 s:u32?"),
    ("bar[.cta].arrive", "s:u32 s:u32"),
    ("barrier[.cta].sync[.aligned]", "s:u32 s:u32?"),
    ("barrier[.cta].arrive[.aligned]", "s:u32 s:u32"),
    ("bar[.cta].red.popc.u32 barrier[.cta].red.popc[.aligned].u32", "d s:u32 s:u32 p"),
    ("bar[.cta].red.popc.u32 barrier[.cta].red.popc[.aligned].u32", "d s:u32 p"),
    ("bar[.cta].red.{and|or}.pred barrier[.cta].red.{and|or}[.aligned].pred", "q s:u32 s:u32 p"),
    ("bar[.cta].red.{and|or}.pred barrier[.cta].red.{and|or}[.aligned].pred", "q s:u32 p"),
    ("mbarrier.init[.{shared|shared::cta}].b64", "a s:u32"),
    ("mbarrier.inval[.{shared|shared::cta}].b64", "a"),
    (
        "mbarrier.{arrive|arrive_drop}[.{shared|shared::cta|shared::cluster}].b64 \
         mbarrier.{arrive|arrive_drop}.{release|relaxed}.{cta|cluster}[.{shared|shared::cta|shared::cluster}].b64",
        "d:u64 a s:u32?",
    ),
    (
        "mbarrier.{arrive|arrive_drop}.expect_tx[.{shared|shared::cta|shared::cluster}].b64 \
         mbarrier.{arrive|arrive_drop}.expect_tx.{release|relaxed}.{cta|cluster}[.{shared|shared::cta|shared::cluster}].b64 \
         mbarrier.{arrive|arrive_drop}.noComplete[.{shared|shared::cta}].b64 \
         mbarrier.{arrive|arrive_drop}.noComplete.release.cta[.{shared|shared::cta}].b64",
        "d:u64 a s:u32",
    ),
    (
        "mbarrier.{expect_tx|complete_tx}[.{shared|shared::cta|shared::cluster}].b64 \
         mbarrier.{expect_tx|complete_tx}.relaxed.{cta|cluster}[.{shared|shared::cta|shared::cluster}].b64",
        "a s:u32",
    ),
    (
        "mbarrier.test_wait[.{shared|shared::cta}].b64 mbarrier.test_wait.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u64",
    ),
    (
        "mbarrier.test_wait.parity[.{shared|shared::cta}].b64 mbarrier.test_wait.parity.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u32",
    ),
    (
        "mbarrier.try_wait[.{shared|shared::cta}].b64 mbarrier.try_wait.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u64 s:u32?",
    ),
    (
        "mbarrier.try_wait.parity[.{shared|shared::cta}].b64 mbarrier.try_wait.parity.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u32 s:u32?",
    ),
    ("mbarrier.pending_count.b64", "d:u32 s:u64"),
    ("bar.warp.sync", "s:b32"),
    ("barrier.cluster.arrive[.{release|relaxed}][.aligned] barrier.cluster.wait[.acquire][.aligned]", ""),
    ("shfl.sync.{up|down|bfly|idx}.b32", "d| s s s s:u32"),
    ("shfl.{up|down|bfly|idx}.b32", "d| s s s"),
    ("vote.sync.{all|any|uni}.pred", "q p s:b32"),
    ("vote.sync.ballot.b32", "d p s:u32"),
    ("vote.{all|any|uni}.pred", "q p"),
    ("vote.ballot.b32", "d p"),
    ("match.any.sync.{b32|b64}", "d:u32 s s:b32"),
    ("match.all.sync.{b32|b64}", "d:u32| s s:b32"),
    ("redux.sync.{add|min|max}.{u32|s32} redux.sync.{and|or|xor}.b32", "d:u32 s:u32 s:u32"),
    ("redux.sync.{min|max}[.abs][.NaN].f32", "d s s:u32"),
    ("activemask.b32", "d"),
    (
        "vadd.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}] vsub.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}] \
         vabsdiff.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}] vmin.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}] \
         vmax.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}] vshl.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap}[.{add|min|max}] \
         vshr.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap}[.{add|min|max}] vset.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.{add|min|max}]",
        "w v v s2",
    ),
    (
        "vadd.{u32|s32}.{u32|s32}.{u32|s32}[.sat] vsub.{u32|s32}.{u32|s32}.{u32|s32}[.sat] \
         vabsdiff.{u32|s32}.{u32|s32}.{u32|s32}[.sat] vmin.{u32|s32}.{u32|s32}.{u32|s32}[.sat] \
         vmax.{u32|s32}.{u32|s32}.{u32|s32}[.sat] vshl.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap} \
         vshr.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap}",
        "d v v",
    ),
    ("vset.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}", "d:u32 v v"),
    ("vmad.{u32|s32}.{u32|s32}.{u32|s32}[.po][.sat][.{shr7|shr15}]", "w v v v"),
    (
        "vadd2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vsub2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vavrg2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vabsdiff2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vmin2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vmax2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vset2.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.add] \
         vadd4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vsub4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vavrg4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vabsdiff4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vmin4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] vmax4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}] \
         vset4.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.add]",
        "w w w w",
    ),
    ("alloca.{u32|u64}", "d s *?"),
    ("stacksave.{u32|u64}", "d"),
    // Read, but not a number.
    ("stackrestore.{u32|u64}", "d"),
    ("nanosleep.u32", "s:u32"),
    ("membar.{cta|gl|sys} membar.proxy.alias", ""),
];
