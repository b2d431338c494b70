//! What the code of a kernel shows about its parameters: which are addresses, and of which type.
//!
//! Compilers declare an address only as `.u64`. But the body adds to it and loads or stores through it, with a type; and a
//! value that is loaded as bits (`.b32`) is a float if a float instruction uses it. This follows registers from the parameters
//! in the order of the text, twice, so that values carried around a loop are seen. It guesses, but only from what the body
//! shows.

use cuda_ptx::{Instruction, Operand, Statement, Type};
use std::collections::HashMap;

use crate::model::{Access, Meaning};
use crate::scalar::Scalar;

/// The origin of a register's value.
#[derive(Clone, Copy)]
enum Origin {
    /// A parameter, or a parameter plus something.
    Parameter(usize),
    /// It was loaded through a parameter.
    Element(usize),
}

/// The observed uses of one parameter.
#[derive(Default)]
struct Seen {
    /// Types of accesses through it.
    accessed: HashMap<&'static str, u32>,
    /// The types with which its elements were used.
    used: HashMap<&'static str, u32>,
    /// The types with which it was used itself.
    own: HashMap<&'static str, u32>,
    access: Access,
}

struct Flow<'a> {
    parameters: HashMap<&'a str, usize>,
    seen: Vec<Seen>,
    origins: HashMap<&'a str, Origin>,
    /// The type with which a register was written last.
    written: HashMap<&'a str, &'static str>,
}

/// One meaning for each parameter.
pub(super) fn meanings(declared: &[cuda_ptx::Parameter], statements: &[Statement<'_>]) -> Vec<Meaning> {
    let parameters = declared.iter().enumerate().map(|(index, p)| (p.name.as_str(), index)).collect();
    let seen = declared.iter().map(|_| Seen::default()).collect();
    let mut flow = Flow { parameters, seen, origins: HashMap::new(), written: HashMap::new() };
    for _ in 0..2 {
        flow.walk(statements);
    }
    declared.iter().zip(&flow.seen).map(|(parameter, seen)| meaning(parameter, seen)).collect()
}

fn meaning(parameter: &cuda_ptx::Parameter, seen: &Seen) -> Meaning {
    if parameter.array {
        return Meaning::Bytes;
    }
    let is_address = parameter.size == 8 && (parameter.pointer.is_some() || !seen.accessed.is_empty());
    if is_address {
        let element = most(&seen.accessed).and_then(|name| refined(name, &seen.used));
        return Meaning::Pointer { element, access: seen.access };
    }
    // A parameter that is declared as unsigned may be signed, but is not a float.
    let is_number = |name: &str| !parameter.ty.name().starts_with('u') || name.starts_with(['s', 'u']);
    let own =
        seen.own.iter().filter(|(name, _)| is_number(name)).map(|(name, count)| (*name, *count)).collect();
    match refined(parameter.ty.name(), &own) {
        Some(scalar) => Meaning::Value(scalar),
        None => Meaning::Unknown,
    }
}

/// Bits and unsigned numbers may have another type: that of most uses, if it has the same size.
fn refined(name: &'static str, used: &HashMap<&'static str, u32>) -> Option<Scalar> {
    let plain = Scalar::of_ptx(name)?;
    if !matches!(name.as_bytes().first(), Some(b'b' | b'u')) {
        return Some(plain);
    }
    let alike =
        used.iter().filter(|(name, _)| Scalar::of_ptx(name).is_some_and(|s| s.size() == plain.size()));
    let used = alike.max_by_key(|(name, count)| (**count, **name)).and_then(|(name, _)| Scalar::of_ptx(name));
    Some(used.unwrap_or(plain))
}

fn most(votes: &HashMap<&'static str, u32>) -> Option<&'static str> {
    votes.iter().max_by_key(|(name, count)| (**count, **name)).map(|(name, _)| *name)
}

impl<'a> Flow<'a> {
    fn walk<'s: 'a>(&mut self, statements: &'s [Statement<'_>]) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => self.step(instruction),
                Statement::Block(inner) => self.walk(inner),
                _ => {}
            }
        }
    }

    fn step<'s: 'a>(&mut self, instruction: &'s Instruction<'_>) {
        let mut parts = instruction.name.split('.');
        let operation = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let ty = parts.iter().rev().find_map(|part| Type::from_name(part)).map(Type::name);
        let operands = &instruction.operands;
        let in_global = !parts.iter().any(|p| {
            ["param", "shared", "local", "const"].contains(p)
                || p.starts_with("shared::")
                || p.starts_with("param::")
        });
        match (operation, operands.as_slice()) {
            ("ld", [to, from]) if parts.iter().any(|p| p.starts_with("param")) => {
                self.load_parameter(to, from)
            }
            ("ld" | "ldu", [to, from, ..]) if in_global => self.load(to, from, ty),
            ("st", [to, from, ..]) if in_global => self.store(to, from, ty),
            ("atom" | "red", _) if in_global => self.atomic(operands, ty),
            ("mov" | "cvta", [to, from]) => self.copy(to, from),
            ("cvt", [to, from]) => self.convert(to, from, &parts),
            ("add" | "sub", [to, a, b]) if is_wide(ty) => {
                let origin = self.parameter_of(a).or_else(|| self.parameter_of(b));
                self.set(to, origin);
            }
            ("mad", [to, .., base]) if is_wide(ty) || parts.contains(&"wide") => {
                let origin = self.parameter_of(base);
                self.set(to, origin);
            }
            _ => self.other(operation, instruction, ty),
        }
    }

    fn load_parameter<'s: 'a>(&mut self, to: &'s Operand<'_>, from: &Operand<'_>) {
        let Operand::Address { base, .. } = from else { return };
        let Operand::Name(name) = &**base else { return };
        let origin = self.parameters.get(name).map(|index| Origin::Parameter(*index));
        self.set(to, origin);
    }

    /// The parameter from which an address was computed.
    fn address(&mut self, operand: &Operand<'_>) -> Option<usize> {
        let Operand::Address { base, .. } = operand else { return None };
        match self.parameter_of(base)? {
            Origin::Parameter(index) => Some(index),
            Origin::Element(_) => None,
        }
    }

    fn load<'s: 'a>(&mut self, to: &'s Operand<'_>, from: &Operand<'_>, ty: Option<&'static str>) {
        let index = self.address(from);
        if let Some(seen) = index.and_then(|index| self.seen.get_mut(index)) {
            seen.access.reads = true;
            vote(&mut seen.accessed, ty);
        }
        let origin = index.map(Origin::Element);
        match to {
            Operand::Vector(list) => list.iter().for_each(|to| self.set(to, origin)),
            to => self.set(to, origin),
        }
    }

    fn store(&mut self, to: &Operand<'_>, from: &Operand<'_>, ty: Option<&'static str>) {
        let Some(index) = self.address(to) else { return };
        let mut sources = Vec::new();
        from.names(&mut sources);
        let types: Vec<&'static str> =
            sources.iter().filter_map(|name| self.written.get(name).copied()).collect();
        if let Some(seen) = self.seen.get_mut(index) {
            seen.access.writes = true;
            vote(&mut seen.accessed, ty);
            types.into_iter().for_each(|ty| vote(&mut seen.used, Some(ty)));
        }
    }

    fn atomic(&mut self, operands: &[Operand<'_>], ty: Option<&'static str>) {
        let index = operands.iter().find_map(|operand| self.address(operand));
        if let Some(seen) = index.and_then(|index| self.seen.get_mut(index)) {
            seen.access = Access { reads: true, writes: true };
            vote(&mut seen.accessed, ty);
        }
    }

    fn copy<'s: 'a>(&mut self, to: &'s Operand<'_>, from: &'s Operand<'_>) {
        let origin = match from {
            Operand::Name(name) => self.origins.get(name).copied(),
            _ => None,
        };
        let known = match from {
            Operand::Name(name) => self.written.get(name).copied(),
            _ => None,
        };
        self.set(to, origin);
        if let (Operand::Name(to), Some(known)) = (to, known) {
            self.written.insert(to, known);
        }
    }

    /// The source's type is the last of the two.
    fn convert<'s: 'a>(&mut self, to: &'s Operand<'_>, from: &Operand<'_>, parts: &[&str]) {
        let mut types = parts.iter().filter_map(|part| Type::from_name(part)).map(Type::name);
        let (written, read) = (types.next(), types.next());
        self.use_of(from, read);
        self.set(to, None);
        if let (Operand::Name(to), Some(ty)) = (to, written) {
            self.written.insert(to, ty);
        }
    }

    fn other<'s: 'a>(&mut self, operation: &str, instruction: &'s Instruction<'_>, ty: Option<&'static str>) {
        // Sums and products of integers are the same instruction with and without a sign.
        let is_float = ty.is_some_and(|ty| ty.starts_with(['f']) || ty.starts_with("bf"));
        let tells = is_float
            || matches!(operation, "setp" | "set" | "div" | "rem" | "min" | "max" | "abs" | "neg")
            || operation == "mul" && !instruction.name.contains(".lo");
        let Some((to, from)) = instruction.operands.split_first() else { return };
        if tells {
            from.iter().for_each(|operand| self.use_of(operand, ty));
        }
        self.set(to, None);
        if let (Operand::Name(to), Some(ty), true) = (to, ty, tells && operation != "setp") {
            self.written.insert(to, ty);
        }
    }

    fn use_of(&mut self, operand: &Operand<'_>, ty: Option<&'static str>) {
        let Operand::Name(name) = operand else { return };
        match self.origins.get(name).copied() {
            Some(Origin::Element(index)) => {
                if let Some(seen) = self.seen.get_mut(index) {
                    vote(&mut seen.used, ty);
                }
            }
            Some(Origin::Parameter(index)) => {
                if let Some(seen) = self.seen.get_mut(index) {
                    vote(&mut seen.own, ty);
                }
            }
            None => {}
        }
    }

    fn parameter_of(&self, operand: &Operand<'_>) -> Option<Origin> {
        match operand {
            Operand::Name(name) => {
                self.origins.get(name).copied().filter(|origin| matches!(origin, Origin::Parameter(_)))
            }
            _ => None,
        }
    }

    fn set<'s: 'a>(&mut self, to: &'s Operand<'_>, origin: Option<Origin>) {
        let Operand::Name(to) = to else { return };
        self.written.remove(to);
        match origin {
            Some(origin) => self.origins.insert(to, origin),
            None => self.origins.remove(to),
        };
    }
}

fn is_wide(ty: Option<&str>) -> bool {
    matches!(ty, Some("s64" | "u64" | "b64"))
}

fn vote(votes: &mut HashMap<&'static str, u32>, ty: Option<&'static str>) {
    if let Some(ty) = ty {
        *votes.entry(ty).or_default() += 1;
    }
}
