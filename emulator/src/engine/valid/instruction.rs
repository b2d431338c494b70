//! Whether an instruction has a form of the ISA, and the operands that go with it.

use std::borrow::Cow;

use cuda_ptx::{Instruction, Operand, Space, Type};
use rustc_hash::FxHashMap;

use super::super::table::{self, Form};
use super::constants;
use super::forms::{Role, Row, Slot, Typed, rows};
use super::moves::{mov, of_unknown_space};
use super::names::{NameKind, Names};
use super::operands::{
    address, declared, dest, elements_of_arrays, is_bits, is_integer, predicate, selected, source,
};
use super::vectors::counted;
use super::{matrices, modifiers, textures};

/// The forms of the names that were met: a name is looked for once.
#[derive(Default)]
pub(super) struct Forms<'a>(FxHashMap<&'a str, Known<'a>>);

/// What a name of an instruction is.
enum Known<'a> {
    /// Nothing is known of its mnemonic.
    Other,
    /// It is no form of its mnemonic, or its modifiers do not go together: what is wrong.
    Wrong(String),
    /// `mov`, whose operands are of many kinds.
    Move(Type, u32),
    /// Rows that match, each with its modifiers.
    Rows(Vec<(&'static Row, Form<'a>)>),
}

/// Modifiers that ptxas takes twice.
const TWICE: &[&str] = &["NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"];

/// Mnemonics of which the engine's table has all forms up to the newest target, executed or refused by name.
const BY_TABLE: &[&str] = &[
    "applypriority",
    "discard",
    "elect",
    "fence",
    "getctarank",
    "griddepcontrol",
    "ldmatrix",
    "mapa",
    "mma",
    "movmatrix",
    "setmaxnreg",
    "stmatrix",
    "tensormap",
    "wgmma",
    "wmma",
];

/// A name whose mnemonic has no row here.
fn of_table<'a>(name: &'a str, mnemonic: &str) -> Known<'a> {
    // The table has products of doubles without the rounding that they may name.
    let rounded = [".rn.f64.f64", ".rz.f64.f64", ".rm.f64.f64", ".rp.f64.f64"];
    let plain = match rounded.iter().find(|rounded| mnemonic == "mma" && name.contains(**rounded)) {
        Some(rounded) => Cow::Owned(name.replace(rounded, ".f64.f64")),
        None => Cow::Borrowed(name),
    };
    match !BY_TABLE.contains(&mnemonic) || table::has(&plain, TWICE) {
        true => Known::Other,
        false => Known::none(),
    }
}

/// Mnemonics of textures and surfaces with vectors.
const TEXTURES: &[&str] = &["tex", "tld4", "suld", "sust", "sured"];

/// Mnemonics whose first modifier is a part of the name: it stands first.
const FIRST: &[&str] = &["mbarrier", "dp2a", "multimem"];

impl<'a> Known<'a> {
    fn none() -> Known<'a> {
        Known::Wrong("there is no such combination of modifiers and types".to_owned())
    }

    fn new(name: &'a str) -> Known<'a> {
        let mut parts = name.split('.');
        let mnemonic = parts.next().unwrap_or_default();
        if mnemonic == "mov" {
            return moved(parts);
        }
        if !modifiers::leads_stand_first(mnemonic, &parts.clone().collect::<Vec<_>>()) {
            return Known::none();
        }
        let Some(rows) = rows(mnemonic) else { return of_table(name, mnemonic) };
        let mut seen = Vec::new();
        let mut once = |part: &&'a str| {
            let again = TWICE.contains(part) && seen.contains(part);
            seen.push(*part);
            !again
        };
        let parts: Vec<&'a str> = parts.filter(|part| once(part)).collect();
        // Patterns take modifiers in any order, but the order of types says which is the result's.
        let types = || parts.iter().filter_map(|part| Type::from_name(part));
        let matching = rows.iter().filter_map(|row| Some((row, row.pattern.matches(parts.iter().copied())?)));
        let matching = matching.filter(|(_, form)| form.types().eq(types()));
        let matching: Vec<_> = matching.collect();
        let first = |(_, form): &(&Row, Form<'a>)| parts.first() == Some(&form.first());
        // What an operation of a barrier does more stands behind its name.
        let late = |part: &&str| matches!(*part, "expect_tx" | "noComplete" | "parity");
        if mnemonic == "mbarrier" && parts.iter().skip(2).any(late) {
            return Known::none();
        }
        if matching.is_empty() || FIRST.contains(&mnemonic) && !matching.iter().any(first) {
            return Known::none();
        }
        match modifiers::check(mnemonic, &parts) {
            Ok(()) => Known::Rows(matching),
            Err(message) => Known::Wrong(message),
        }
    }
}

/// `mov[.{v2|v4}].type`
fn moved<'a>(parts: impl Iterator<Item = &'a str>) -> Known<'a> {
    let parts: Vec<&str> = parts.collect();
    let (elements, ty) = match parts.as_slice() {
        ["v2", ty] => (2, ty),
        ["v4", ty] => (4, ty),
        [ty] => (1, ty),
        _ => return Known::none(),
    };
    match Type::from_name(ty) {
        Some(ty)
            if ty == Type::Pred
                || ty.size() > 1
                    && (is_bits(ty) || is_integer(ty) || matches!(ty, Type::F32 | Type::F64))
                    && !matches!(ty, Type::U16x2 | Type::S16x2) =>
        {
            Known::Move(ty, elements)
        }
        _ => Known::none(),
    }
}

impl<'a> Forms<'a> {
    /// Checks an instruction; the error says what is wrong.
    pub(super) fn check<'l>(
        &mut self,
        instruction: &Instruction<'a>,
        names: &Names<'a>,
        calls: impl FnOnce(&Instruction<'a>) -> Result<(), String>,
        lists: impl Fn(usize) -> Option<&'l [&'a str]>,
    ) -> Result<(), String>
    where
        'a: 'l,
    {
        let name = instruction.name;
        let wrong = |message: String| format!("`{name}`: {message}");
        if let Some(guard) = instruction.guard {
            predicate(names, &Operand::Name(guard.register), Role::Predicate)
                .map_err(|message| wrong(format!("guard: {message}")))?;
        }
        instruction.operands.iter().try_for_each(|operand| declared(names, operand)).map_err(wrong)?;
        let mnemonic = name.split('.').next().unwrap_or_default();
        let takes_elements = matches!(mnemonic, "mov" | "cvta" | "ld" | "ldu" | "st");
        elements_of_arrays(names, &instruction.operands, takes_elements).map_err(wrong)?;
        constants::check(name, &instruction.operands).map_err(wrong)?;
        match mnemonic {
            "call" => return calls(instruction).map_err(wrong),
            "bra" => branch(instruction, names).map_err(wrong)?,
            "isspacep" => of_unknown_space(&instruction.operands, names).map_err(wrong)?,
            "brx" => indexed_branch(instruction, names, lists).map_err(wrong)?,
            _ => {}
        }
        match self.0.entry(name).or_insert_with(|| Known::new(name)) {
            Known::Other => matrices::check(name, &instruction.operands, names).map_err(wrong),
            Known::Wrong(message) => Err(wrong(message.clone())),
            Known::Move(ty, elements) => mov(&instruction.operands, names, *ty, *elements).map_err(wrong),
            Known::Rows(rows) => {
                let mut first = None;
                for (row, form) in rows.iter() {
                    match matches(row, form, &instruction.operands, names, name) {
                        Ok(()) if TEXTURES.contains(&mnemonic) => {
                            return textures::check(name, &instruction.operands, names).map_err(wrong);
                        }
                        Ok(()) => return Ok(()),
                        // Another number of operands is another row's.
                        Err(message) if first.as_deref().is_none_or(is_count) => first = Some(message),
                        Err(_) => {}
                    }
                }
                Err(wrong(first.unwrap_or_default()))
            }
        }
    }
}

/// Whether a message is about the number of operands.
fn is_count(message: &str) -> bool {
    message.contains("operands expected") || message.contains("operand expected")
}

/// Whether the operands are those of a row.
fn matches(
    row: &Row,
    form: &Form<'_>,
    operands: &[Operand<'_>],
    names: &Names<'_>,
    name: &str,
) -> Result<(), String> {
    let hinted = form.has("L2::cache_hint");
    let slots = || row.slots.iter().filter(|slot| slot.role != Role::Policy || hinted);
    let (least, most) = (slots().filter(|slot| !slot.optional).count(), slots().count());
    if operands.len() < least || operands.len() > most {
        let least = if least == most { String::new() } else { format!("{least} to ") };
        return Err(format!("{least}{} expected, {} found", counted(most, "operand"), operands.len()));
    }
    for (index, (slot, operand)) in slots().zip(operands).enumerate() {
        one(*slot, form, operand, names, name)
            .map_err(|message| format!("operand {}: {message}", index + 1))?;
    }
    Ok(())
}

fn one(
    slot: Slot,
    form: &Form<'_>,
    operand: &Operand<'_>,
    names: &Names<'_>,
    name: &str,
) -> Result<(), String> {
    let ty = match slot.typed {
        Typed::First => form.ty(),
        Typed::Last => form.source_ty(),
        Typed::Double => double(form.ty()),
        Typed::As(ty) => ty,
    };
    let operand = match operand {
        Operand::Pair(first, second) if slot.pair => {
            if **second != Operand::Name("_") {
                predicate(names, second, Role::PredicateDest)?;
            }
            &**first
        }
        operand => operand,
    };
    let discards = *operand == Operand::Name("_");
    match slot.role {
        Role::Anything if discards && name.starts_with('v') => Err("a value is expected".to_owned()),
        Role::Anything => Ok(()),
        Role::Elements => elements(form, operand, names, &|operand| match operand {
            Operand::Name("_") => Ok(()),
            operand => dest(names, operand, ty, false),
        }),
        Role::ElementSources => {
            elements(form, operand, names, &|operand| source(names, operand, ty, false, false))
        }
        Role::Four => match operand {
            Operand::Vector(list) if list.len() == 4 => {
                list.iter().try_for_each(|operand| source(names, operand, ty, false, false))
            }
            _ => Err("a vector of 4 values in braces is expected".to_owned()),
        },
        Role::Policy => source(names, operand, Type::B64, false, false),
        // What `atom` and comparisons give need not be taken.
        Role::Dest | Role::PredicateDest
            if discards && (name.starts_with("atom") || name.starts_with("mbarrier.arrive") || slot.pair) =>
        {
            Ok(())
        }
        Role::Dest if form.has("shared::cluster") && name.starts_with("mbarrier.arrive") => {
            Err("the state of a barrier elsewhere in the cluster is not given: `_` is expected".to_owned())
        }
        Role::Selected | Role::SelectedDest => selected(names, operand, slot.role),
        Role::Dest => dest(names, operand, ty, false),
        Role::PredicateDest | Role::Predicate => predicate(names, operand, slot.role),
        Role::Source => source(names, operand, ty, false, false),
        Role::WideDest => elements(form, operand, names, &|operand| match operand {
            Operand::Name("_") if !name.starts_with("cvt") => Ok(()),
            operand => dest(names, operand, ty, true),
        }),
        Role::WideSource => {
            let specials = name.starts_with("cvt");
            elements(form, operand, names, &|operand| source(names, operand, ty, true, specials))
        }
        Role::Address => {
            // What arrives at a barrier reaches shared memory only, whose addresses fit into 32 bits.
            let space = space(form).or(name.contains(".async").then_some(Space::Shared));
            address(names, operand, space, name.starts_with("st"))
        }
    }
}

/// The space that an access names; `None` is the generic one.
fn space(form: &Form<'_>) -> Option<Space> {
    let spaces = [
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
        "param::func",
    ];
    form.any(&spaces).and_then(Space::from_name)
}

fn double(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        ty => ty,
    }
}

/// The elements of what is loaded or stored: as many as the name says.
fn elements(
    form: &Form<'_>,
    operand: &Operand<'_>,
    names: &Names<'_>,
    each: &dyn Fn(&Operand<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let wanted = match form.any(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => return each(operand),
    };
    match operand {
        Operand::Vector(list) if list.len() == wanted => list.iter().try_for_each(each),
        Operand::Vector(list) => Err(format!("{wanted} elements expected, {} found", list.len())),
        Operand::Name(name) => match names.find(name) {
            Some(NameKind::Register { elements, .. }) if *elements as usize == wanted => Ok(()),
            _ => Err(format!("`{name}` is not a vector of {wanted} elements")),
        },
        _ => Err(format!("a vector of {wanted} elements is expected")),
    }
}

/// `brx.idx` has an index of 32 bits and a list of labels.
fn indexed_branch<'l, 'a: 'l>(
    instruction: &Instruction<'a>,
    names: &Names<'a>,
    lists: impl Fn(usize) -> Option<&'l [&'a str]>,
) -> Result<(), String> {
    let [index, Operand::Name(list)] = instruction.operands.as_slice() else {
        return Err("a number and a list of labels are expected".to_owned());
    };
    source(names, index, Type::U32, false, false)?;
    let labels = match names.find(list) {
        Some(NameKind::List(at)) => lists(*at),
        _ => None,
    };
    let is_label = |name: &&str| matches!(names.find(name), Some(NameKind::Label));
    match labels {
        Some(labels) if labels.iter().all(is_label) => Ok(()),
        _ => Err(format!("`{list}` is not a list of labels")),
    }
}

/// `bra` goes to a label.
fn branch(instruction: &Instruction<'_>, names: &Names<'_>) -> Result<(), String> {
    match instruction.operands.as_slice() {
        [Operand::Name(name)] if matches!(names.find(name), Some(NameKind::Label)) => Ok(()),
        _ => Err("a label is expected".to_owned()),
    }
}
