//! Whether an instruction has a form of the ISA, and the operands that go with it.

use std::borrow::Cow;

use cuda_ptx::{Instruction, Operand, Type};
use rustc_hash::FxHashMap;

use super::super::table::{self, Form};
use super::constants;
use super::forms::{Role, Row, rows};
use super::moves::{mov, of_unknown_space};
use super::names::{NameKind, Names};
use super::operands::{declared, elements_of_arrays, is_bits, is_integer, predicate, source};
use super::slots::matches;
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
const BY_TABLE: &[&str] = &["ldmatrix", "mma", "movmatrix", "stmatrix", "wgmma", "wmma"];

/// A name whose mnemonic has no row here.
fn of_table<'a>(name: &'a str, mnemonic: &str) -> Known<'a> {
    // The table has products of doubles without the rounding that they may name.
    let rounded = [".rn.f64.f64", ".rz.f64.f64", ".rm.f64.f64", ".rp.f64.f64"];
    let plain = match rounded.iter().find(|rounded| mnemonic == "mma" && name.contains(**rounded)) {
        Some(rounded) => Cow::Owned(name.replace(rounded, ".f64.f64")),
        None => Cow::Borrowed(name),
    };
    match !BY_TABLE.contains(&mnemonic) || table::has(&plain, TWICE) || table::newer::refusal(name).is_some()
    {
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
            let all = parts.clone();
            return moved(parts.filter(move |part| !table::is_ignored(mnemonic, all.clone(), part)));
        }
        if !modifiers::leads_stand_first(mnemonic, &parts.clone().collect::<Vec<_>>()) {
            return Known::none();
        }
        let Some(rows) = rows(mnemonic) else { return of_table(name, mnemonic) };
        let (mut seen, all) = (Vec::new(), parts.clone());
        let mut once = |part: &&'a str| {
            if table::is_ignored(mnemonic, all.clone(), part) {
                return false;
            }
            let again = TWICE.contains(part) && seen.contains(part);
            seen.push(*part);
            !again
        };
        let parts: Vec<&'a str> = parts.filter(|part| once(part)).collect();
        // Patterns take modifiers in any order, but the order of types says which is the result's.
        let types = || parts.iter().filter_map(|part| Type::from_name(part));
        let matching = rows.iter().filter_map(|row| Some((row, row.pattern.matches(parts.iter().copied())?)));
        let matching = matching.filter(|(_, form)| form.types().eq(types()) && form.is_in_order(&parts));
        let matching: Vec<_> = matching.collect();
        let first = |(_, form): &(&Row, Form<'a>)| parts.first() == Some(&form.first());
        // What an operation of a barrier does more stands behind its name.
        let late = |part: &&str| matches!(*part, "expect_tx" | "parity");
        if mnemonic == "mbarrier" && parts.iter().skip(2).any(late) {
            return Known::none();
        }
        if matching.is_empty() && table::newer::refusal(name).is_some() {
            return Known::Other;
        }
        if matching.is_empty() && BY_TABLE.contains(&mnemonic) {
            return of_table(name, mnemonic);
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
                        Ok(()) if matches!(mnemonic, "txq" | "suq") => {
                            return textures::query(name, &instruction.operands, names).map_err(wrong);
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
