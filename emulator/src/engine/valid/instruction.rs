//! Whether an instruction has a form of the ISA, and the operands that go with it.

use std::borrow::Cow;
use std::collections::HashMap;

use cuda_ptx::{Instruction, Operand, Space, Type};

use super::super::table::{self, Form};
use super::constants;
use super::forms::{Role, Row, Slot, Typed, rows};
use super::modifiers;
use super::names::{NameKind, Names};
use super::operands::{
    address, declared, dest, elements_of_arrays, is_float, is_integer, is_special, predicate, register,
    selected, source, special_fits,
};

/// The forms of the names that were met: a name is looked for once.
#[derive(Default)]
pub(super) struct Forms<'a>(HashMap<&'a str, Known<'a>>);

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
        let is_async = |part: &&str| *part == "async";
        if mnemonic == "mbarrier" && parts.iter().skip(2).any(late) || parts.iter().skip(1).any(is_async) {
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
        Some(ty) if ty.size() > 1 && !ty.is_opaque() || ty == Type::Pred => Known::Move(ty, elements),
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
            "brx" => indexed_branch(instruction, names, lists).map_err(wrong)?,
            _ => {}
        }
        match self.0.entry(name).or_insert_with(|| Known::new(name)) {
            Known::Other => Ok(()),
            Known::Wrong(message) => Err(wrong(message.clone())),
            Known::Move(ty, elements) => mov(&instruction.operands, names, *ty, *elements).map_err(wrong),
            Known::Rows(rows) => {
                let mut first = None;
                for (row, form) in rows.iter() {
                    match matches(row, form, &instruction.operands, names, name) {
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
    message.contains("operands expected")
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
        let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(format!("{count} operands expected, {} found", operands.len()));
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
            Operand::Name("_") => Ok(()),
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
            Some(NameKind::Register { elements, .. }) if elements as usize == wanted => Ok(()),
            _ => Err(format!("`{name}` is not a vector of {wanted} elements")),
        },
        _ => Err(format!("a vector of {wanted} elements is expected")),
    }
}

/// `mov`: of registers, numbers and addresses, and between a register and its parts.
fn mov(operands: &[Operand<'_>], names: &Names<'_>, ty: Type, vector: u32) -> Result<(), String> {
    let [to, from] = operands else {
        return Err(format!("2 operands expected, {} found", operands.len()));
    };
    if vector > 1 {
        if matches!(to, Operand::Name(name) if names.find(name).is_none()) {
            return Err("a special register cannot be written to".to_owned());
        }
        let whole = |operand: &Operand<'_>| match operand {
            Operand::Vector(list) => list.len() == vector as usize,
            Operand::Name(name) => match names.find(name) {
                Some(NameKind::Register { elements, .. }) => elements == vector,
                None => is_special(name) && !name.contains('.'),
                Some(_) => false,
            },
            _ => false,
        };
        let message = || format!("a vector of {vector} elements is expected on both sides");
        return (whole(to) && whole(from)).then_some(()).ok_or_else(message);
    }
    if ty == Type::Pred {
        predicate(names, to, Role::PredicateDest)?;
        return predicate(names, from, Role::Predicate);
    }
    match (parts(to), parts(from)) {
        (Some(list), _) => {
            if list.iter().all(|part| *part == Operand::Name("_")) {
                return Err("a register is expected among the parts".to_owned());
            }
            if list.iter().any(|part| matches!(part, Operand::Literal(_))) {
                return Err("a number cannot be written to".to_owned());
            }
            packed(list, names, ty)?;
            source(names, from, ty, false, true)
        }
        (None, Some(list)) => {
            packed(list, names, ty)?;
            dest(names, to, ty, false)
        }
        (None, None) => {
            dest(names, to, ty, false)?;
            if let Operand::Name(name) = from
                && names.find(name).is_none()
                && !special_fits(name, ty)
            {
                return Err(format!("the special register `{name}` is not {ty}"));
            }
            match from {
                Operand::Name(name) if addressable(names, name) => named(names, name, ty, true),
                Operand::Indexed(name, _) => named(names, name, ty, true),
                Operand::Offset(name, _) if addressable(names, name) => named(names, name, ty, false),
                Operand::Offset(name, _) => sum(names, name, ty),
                Operand::IndexedBy { .. } if !is_float(ty) => Ok(()),
                _ => source(names, from, ty, false, true),
            }
        }
    }
}

/// The address of what has that name; `whole` without a number added.
fn named(names: &Names<'_>, name: &str, ty: Type, whole: bool) -> Result<(), String> {
    match names.find(name) {
        Some(NameKind::Function) if !whole => {
            Err(format!("nothing is added to the address of the function `{name}`"))
        }
        Some(NameKind::Function) => Ok(()),
        _ if is_float(ty) => Err(format!("the address of `{name}` is not {ty}")),
        // ptxas asks for the whole address, but not of an element and not behind a sum.
        Some(NameKind::Variable { space: Space::Global, .. }) if whole && ty.size() == 4 => {
            Err(format!("the address of `{name}` in .global has 64 bits"))
        }
        _ => Ok(()),
    }
}

/// A register and a number: ptxas compares no sizes here.
fn sum(names: &Names<'_>, name: &str, ty: Type) -> Result<(), String> {
    match register(names, &Operand::Name(name)) {
        Some(found) if found != Type::Pred && (!is_integer(ty) || !is_float(found)) => Ok(()),
        Some(found) => Err(format!("`{name}` is {found}, and {ty} is expected")),
        None => Err(format!("`{name}` with an offset found where a value of type {ty} is expected")),
    }
}

/// The parts of `{a, b}`; not of `{a}`, which is `a`.
fn parts<'o, 'a>(operand: &'o Operand<'a>) -> Option<&'o [Operand<'a>]> {
    match operand {
        Operand::Vector(list) if list.len() > 1 => Some(list),
        _ => None,
    }
}

/// Whether the parts of a register of type `ty` are as wide as it together.
fn packed(list: &[Operand<'_>], names: &Names<'_>, ty: Type) -> Result<(), String> {
    let bits = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128);
    let size = ty.size() / list.len().max(1);
    let fits = |operand: &Operand<'_>| match register(names, operand) {
        Some(part) => part != Type::Pred && part.size() == size,
        None => matches!(operand, Operand::Literal(_) | Operand::Name("_")),
    };
    if bits && list.iter().all(fits) {
        return Ok(());
    }
    Err(format!("a vector of {} registers is not as wide as {ty}", list.len()))
}

/// Whether `mov` takes the address of what has that name.
fn addressable(names: &Names<'_>, name: &str) -> bool {
    matches!(names.find(name), Some(NameKind::Variable { .. } | NameKind::Param { .. } | NameKind::Function))
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
        Some(NameKind::List(at)) => lists(at),
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
