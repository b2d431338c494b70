//! Whether an instruction has a form of the ISA, and the operands that go with it.

use std::collections::HashMap;

use cuda_ptx::{Instruction, Operand, Space, Type};

use super::super::table::Form;
use super::forms::{Role, Row, Slot, Typed, rows};
use super::modifiers;
use super::names::{NameKind, Names};
use super::operands::{
    address, declared, dest, elements_of_arrays, is_float, is_special, predicate, register, source,
    special_fits,
};
use super::{Signature, constants};

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
        let Some(rows) = rows(mnemonic) else { return Known::Other };
        // ptxas takes a modifier that is no type twice.
        let mut seen = Vec::new();
        let mut once = |part: &&'a str| {
            let again = seen.contains(part) && Type::from_name(part).is_none();
            seen.push(*part);
            !again
        };
        let parts: Vec<&'a str> = parts.filter(|part| once(part)).collect();
        // Patterns take modifiers in any order, but the order of types says which is the result's.
        let types = || parts.iter().filter_map(|part| Type::from_name(part));
        let matching = rows.iter().filter_map(|row| Some((row, row.pattern.matches(parts.iter().copied())?)));
        let matching = matching.filter(|(_, form)| form.types().eq(types()));
        let matching: Vec<_> = matching.collect();
        if matching.is_empty() {
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
    pub(super) fn check(
        &mut self,
        instruction: &Instruction<'a>,
        names: &Names<'a>,
        signature: impl Fn(&str) -> Option<Signature>,
    ) -> Result<(), String> {
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
            "call" => return call(instruction, names, signature).map_err(wrong),
            "bra" => branch(instruction, names).map_err(wrong)?,
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
                        Err(message) => first.get_or_insert(message),
                    };
                }
                Err(wrong(first.unwrap_or_default()))
            }
        }
    }
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
        Role::Anything => Ok(()),
        Role::Policy => source(names, operand, Type::B64, false, false),
        // What `atom` and comparisons give need not be taken.
        Role::Dest | Role::PredicateDest if discards && (name.starts_with("atom") || slot.pair) => Ok(()),
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
            packed(list, names, ty)?;
            source(names, from, ty, false, true)
        }
        (None, Some(list)) => {
            packed(list, names, ty)?;
            dest(names, to, ty, false)
        }
        (None, None) => {
            dest(names, to, ty, false)?;
            let named = matches!(from, Operand::Name(name) if addressable(names, name));
            let sum = matches!(from, Operand::Offset(..) | Operand::Indexed(..) | Operand::IndexedBy { .. });
            if let Operand::Name(name) = from
                && names.find(name).is_none()
                && !special_fits(name, ty)
            {
                return Err(format!("the special register `{name}` is not {ty}"));
            }
            if named && register(names, to).is_some() || sum && !is_float(ty) {
                return Ok(());
            }
            source(names, from, ty, false, true)
        }
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

/// `bra` goes to a label.
fn branch(instruction: &Instruction<'_>, names: &Names<'_>) -> Result<(), String> {
    match instruction.operands.as_slice() {
        [Operand::Name(name)] if matches!(names.find(name), Some(NameKind::Label)) => Ok(()),
        _ => Err("a label is expected".to_owned()),
    }
}

/// A call has as many arguments and results as the function that it names; of others nothing is known.
fn call(
    instruction: &Instruction<'_>,
    names: &Names<'_>,
    signature: impl Fn(&str) -> Option<Signature>,
) -> Result<(), String> {
    let operands = instruction.operands.as_slice();
    let (returns, rest) = match operands {
        [Operand::List(list), rest @ ..] => (list.len(), rest),
        rest => (0, rest),
    };
    let [Operand::Name(callee), rest @ ..] = rest else { return Err("a function is expected".to_owned()) };
    let arguments = match rest {
        [Operand::List(list), ..] => list.len(),
        _ => 0,
    };
    match (names.find(callee), signature(callee)) {
        (Some(NameKind::Function), Some(Signature { entry: true, .. })) => {
            Err(format!("the kernel `{callee}` cannot be called"))
        }
        (Some(NameKind::Function), Some(Signature { params, open, .. }))
            if params != arguments && !(open && params == arguments + 1) =>
        {
            Err(format!("`{callee}` takes {params} parameters, {arguments} found"))
        }
        (Some(NameKind::Function), Some(signature)) if signature.returns != returns => {
            Err(format!("`{callee}` returns {} results, {returns} found", signature.returns))
        }
        (Some(NameKind::Function | NameKind::Register { .. }), _) => Ok(()),
        _ => Err(format!("`{callee}` is not a function")),
    }
}
