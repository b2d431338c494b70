//! The instructions that the engine supports: one table for decoding and documentation.
//!
//! A row is a pattern in the ISA's own notation and the function that builds the instruction. `.{a|b}` is a modifier
//! with one of the values, `[...]` one that may be missing; modifiers are matched in any order, except that of two
//! with the same values (`cvt.{u32|s32}.{u32|s32}`) the first in the name matches first. All types and modifiers of a
//! row can be combined: combinations that the ISA forbids are left to ptxas to refuse.

mod atomic;
mod bulk;
mod compare;
mod control;
mod convert;
mod convert_small;
mod float;
mod half;
mod ignored;
mod integer;
mod logic;
mod matrix;
mod matrix_fragment;
mod matrix_group;
mod matrix_rows;
mod matrix_sparse;
mod matrix_wmma;
mod mbarrier;
mod memory;
mod mixed;
mod mnemonics;
pub(super) mod movement;
mod multimem;
pub(super) mod newer;
pub(super) mod pattern;
mod refused;
mod stack;
mod surface;
mod sync;
mod tensormap;
mod texture;
mod used_bytes;
mod video;

use std::collections::HashMap;
use std::sync::OnceLock;

use cuda_ptx::{Space, Type};

use super::decode::builder::{Builder, CACHE_HINT};
use super::decode::draft::Refusal;
use super::exec::alu::Lane;

pub(super) use ignored::is_ignored;
pub(super) use mnemonics::is_mnemonic;
use pattern::Pattern;

/// How a row becomes instructions.
#[derive(Clone, Copy)]
pub(super) enum Make {
    /// One lane-wise instruction on the operands in order.
    Lane(Lane),
    /// One lane-wise instruction that the modifiers choose; `None` where the engine lacks that combination.
    Pick(fn(&Form<'_>) -> Option<Lane>),
    /// Nothing: an instruction of the ISA that is not executed, and why.
    Refuse(&'static str),
    /// Something else.
    Build(fn(&mut Builder<'_, '_>, &Form<'_>) -> Result<(), Refusal>),
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The name with its types and modifiers.
    pub(super) pattern: &'static str,
    /// How it is built.
    pub(super) make: Make,
}

/// A row whose instruction does not depend on modifiers.
const fn lane(pattern: &'static str, lane: Lane) -> Row {
    Row { pattern, make: Make::Lane(lane) }
}

/// A row whose modifiers choose the instruction.
const fn pick(pattern: &'static str, make: fn(&Form<'_>) -> Option<Lane>) -> Row {
    Row { pattern, make: Make::Pick(make) }
}

/// A row that is refused by name.
const fn refuse(pattern: &'static str, why: &'static str) -> Row {
    Row { pattern, make: Make::Refuse(why) }
}

/// A row that builds itself.
const fn build(
    pattern: &'static str,
    make: fn(&mut Builder<'_, '_>, &Form<'_>) -> Result<(), Refusal>,
) -> Row {
    Row { pattern, make: Make::Build(make) }
}

/// The modifiers of an instruction that matched a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form<'n> {
    /// Value per modifier of the pattern, empty where it is missing.
    values: Vec<&'n str>,
}

impl<'n> Form<'n> {
    /// Whether a modifier has that value.
    pub(super) fn has(&self, value: &str) -> bool {
        self.values.contains(&value)
    }

    /// The first modifier that has one of the values.
    pub(super) fn any(&self, values: &[&str]) -> Option<&'n str> {
        self.values.iter().copied().find(|value| values.contains(value))
    }

    /// The types among the modifiers, in order.
    pub(super) fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.values.iter().filter_map(|value| Type::from_name(value))
    }

    /// The values of all modifiers, in the order of the pattern.
    pub(super) fn values(&self) -> impl Iterator<Item = &'n str> + '_ {
        self.values.iter().copied()
    }

    /// Whether parts whose order says which operand they are of stand in the name as in the pattern.
    pub(super) fn is_in_order(&self, parts: &[&str]) -> bool {
        let orders: [fn(&str) -> bool; 3] = [
            |part| Space::from_name(part).is_some(),
            |part| matches!(part, "row" | "col"),
            |part| matches!(part, "and" | "xor" | "popc"),
        ];
        let of = |order: fn(&str) -> bool, value: &&str| order(value);
        orders.iter().all(|order| {
            self.values()
                .filter(|value| of(*order, value))
                .eq(parts.iter().copied().filter(|part| of(*order, part)))
        })
    }

    /// The value of modifier `index` of the pattern, empty if it is missing.
    pub(super) fn value(&self, index: usize) -> &'n str {
        self.values.get(index).copied().unwrap_or_default()
    }

    /// The value of the first modifier.
    pub(super) fn first(&self) -> &'n str {
        self.values.first().copied().unwrap_or_default()
    }

    /// The first type; must not be called for patterns without a type.
    pub(super) fn ty(&self) -> Type {
        self.types().next().unwrap_or(Type::B32)
    }

    /// The last type, for instructions with two.
    pub(super) fn source_ty(&self) -> Type {
        self.types().last().unwrap_or(Type::B32)
    }
}

/// Runs `$body` with `$name` standing for the native integer type of `$ty`; `None` for other types.
macro_rules! integers {
    ($ty:expr, $name:ident => $body:expr) => {
        match $ty {
            ::cuda_ptx::Type::U16 | ::cuda_ptx::Type::B16 => {
                type $name = u16;
                Some($body)
            }
            ::cuda_ptx::Type::S16 => {
                type $name = i16;
                Some($body)
            }
            ::cuda_ptx::Type::U32 | ::cuda_ptx::Type::B32 => {
                type $name = u32;
                Some($body)
            }
            ::cuda_ptx::Type::S32 => {
                type $name = i32;
                Some($body)
            }
            ::cuda_ptx::Type::U64 | ::cuda_ptx::Type::B64 => {
                type $name = u64;
                Some($body)
            }
            ::cuda_ptx::Type::S64 => {
                type $name = i64;
                Some($body)
            }
            _ => None,
        }
    };
}

/// Runs `$body` with the constant `$name` standing for whether the form has the modifier.
macro_rules! flag {
    ($form:expr, $value:literal, $name:ident => $body:expr) => {
        if $form.has($value) {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}

/// Runs `$body` with `$name` standing for the rounding mode of the form; to nearest if it has none.
macro_rules! rounding {
    ($form:expr, $name:ident => $body:expr) => {
        match $form.any(&["rz", "rzi", "rm", "rmi", "rp", "rpi"]) {
            Some("rz" | "rzi") => {
                use crate::numeric::rounding::Zero as $name;
                $body
            }
            Some("rm" | "rmi") => {
                use crate::numeric::rounding::Down as $name;
                $body
            }
            Some("rp" | "rpi") => {
                use crate::numeric::rounding::Up as $name;
                $body
            }
            _ => {
                use crate::numeric::rounding::Nearest as $name;
                $body
            }
        }
    };
}

use {flag, integers, rounding};

/// All rows.
fn rows() -> impl Iterator<Item = &'static Row> {
    [
        integer::ROWS,
        float::ROWS,
        half::ROWS,
        mixed::ROWS,
        logic::ROWS,
        compare::ROWS,
        convert::ROWS,
        convert_small::ROWS,
        movement::ROWS,
        memory::ROWS,
        atomic::ROWS,
        multimem::ROWS,
        control::ROWS,
        stack::ROWS,
        sync::ROWS,
        mbarrier::ROWS,
        bulk::ROWS,
        tensormap::ROWS,
        matrix::ROWS,
        matrix_rows::ROWS,
        matrix_group::ROWS,
        matrix_sparse::ROWS,
        matrix_wmma::ROWS,
        texture::ROWS,
        surface::ROWS,
        video::ROWS,
        refused::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// The table by mnemonic, its patterns read.
fn table() -> &'static HashMap<&'static str, Vec<(Pattern, &'static Row)>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<(Pattern, &'static Row)>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<_, Vec<_>> = HashMap::new();
        for row in rows() {
            let pattern = Pattern::new(row.pattern);
            table.entry(pattern.mnemonic()).or_default().push((pattern, row));
        }
        table
    })
}

/// Decodes the instruction of a builder.
pub(super) fn decode(builder: &mut Builder<'_, '_>) -> Result<(), Refusal> {
    let name = builder.name();
    let mut parts = name.split('.');
    let mnemonic = parts.next().unwrap_or_default();
    // Cache modifiers do not change results, because there are no caches.
    let evicts = matches!(mnemonic, "ld" | "st");
    let all = parts.clone();
    let parts = parts.filter(move |part| {
        let is_hint = *part == CACHE_HINT || evicts && part.starts_with("L2::evict_");
        !is_hint && !is_ignored(mnemonic, all.clone(), part)
    });
    if let Some(why) = newer::refusal(name) {
        return Err(Refusal::new(why));
    }
    let rows =
        table().get(mnemonic).ok_or_else(|| Refusal::new("the emulator does not have this instruction"))?;
    for (pattern, row) in rows {
        let Some(form) = pattern.matches(parts.clone()) else { continue };
        let missing = || Refusal::new("the emulator does not have this instruction with these modifiers");
        return match row.make {
            Make::Lane(lane) => builder.lane_in_order(lane),
            Make::Pick(pick) => builder.lane_in_order(pick(&form).ok_or_else(missing)?),
            Make::Build(build) => build(builder, &form),
            Make::Refuse(why) => Err(Refusal::new(why)),
        };
    }
    Err(Refusal::new("the emulator does not have this form of the instruction"))
}

/// Whether some row is of that name; of the modifiers in `twice`, one more counts for nothing.
pub(super) fn has(name: &str, twice: &[&str]) -> bool {
    let mut parts = name.split('.');
    let rows = parts.next().and_then(|mnemonic| table().get(mnemonic));
    let mut kept: Vec<&str> = Vec::new();
    let mnemonic = name.split('.').next().unwrap_or_default();
    for part in parts.clone() {
        if !(twice.contains(&part) && kept.contains(&part) || is_ignored(mnemonic, parts.clone(), part)) {
            kept.push(part);
        }
    }
    let types = || kept.iter().filter_map(|part| Type::from_name(part));
    rows.is_some_and(|rows| {
        let mut forms = rows.iter().filter_map(|(pattern, _)| pattern.matches(kept.iter().copied()));
        forms.any(|form| form.types().eq(types()) && form.is_in_order(&kept))
    })
}

/// An instruction that the engine executes, for documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionForm {
    /// The name with its types and modifiers: `.{a|b}` takes one of the values, `[...]` may be missing.
    pub pattern: &'static str,
}

/// Every instruction that the engine executes, in the order of the ISA's chapters.
pub fn instruction_forms() -> impl Iterator<Item = InstructionForm> {
    let executed = rows().filter(|row| !matches!(row.make, Make::Refuse(_)));
    executed.map(|row| InstructionForm { pattern: row.pattern })
}
