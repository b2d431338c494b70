//! Several PTX modules combined into one, as a linker does: on their text, whose line numbers stay the same.
//!
//! Names that a module keeps to itself are renamed where another module has them too; of weak definitions one stays.

use cuda_driver_sys::CUresult;
use cuda_ptx::image::Arch;
use cuda_ptx::{FunctionKind, Linkage, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::log::Refusal;
use super::scan::{Kind, Token, tokens};

/// One input of a link.
#[derive(Clone)]
pub(super) struct Part {
    /// For logs.
    pub(super) name: String,
    pub(super) text: String,
    /// It is linked only where something needs it.
    pub(super) of_library: bool,
    /// It stands for NVIDIA's device runtime, whose prototypes are believed.
    pub(super) stands_in: bool,
}

/// What a driver answers to inputs that cannot be linked.
pub(super) const UNLINKABLE: CUresult = CUresult::CUDA_ERROR_UNKNOWN;

/// A definition that other modules can see.
struct Definition {
    part: usize,
    /// How many others come before it.
    number: usize,
    /// Neither weak nor common.
    strong: bool,
    /// Bytes of a function; `None` for a variable.
    span: Option<Range<usize>>,
}

/// The text of all parts together.
pub(super) fn merge(parts: &[Part]) -> Result<String, Refusal> {
    let parsed: Result<Vec<Module<'_>>, _> = parts.iter().map(|part| cuda_ptx::parse(&part.text)).collect();
    // Each was parsed when it was added.
    let modules = parsed.map_err(|error| Refusal::new(UNLINKABLE, error.to_string()))?;
    let mut merged = header(&modules);
    let cuts = resolve(parts, &modules)?;
    let mut files = 0;
    for (at, (part, cut)) in parts.iter().zip(cuts).enumerate() {
        let names = renamed(&modules, at);
        rewrite(&part.text, &cut, &names, files, &mut merged);
        files += modules.get(at).and_then(|m| m.files.iter().map(|(index, _)| *index).max()).unwrap_or(0);
        merged.push('\n');
    }
    Ok(merged)
}

fn header(modules: &[Module<'_>]) -> String {
    let (major, minor) = modules.iter().map(|module| module.version).max().unwrap_or((7, 0));
    let targets = modules.iter().filter_map(Module::arch);
    let target = targets.max_by_key(|arch| (arch.sm, arch.suffix)).unwrap_or(Arch { sm: 50, suffix: None });
    format!(".version {major}.{minor} .target {target} .address_size 64\n")
}

/// Which definition of each name stays; for each part, what is cut out of its text.
fn resolve(parts: &[Part], modules: &[Module<'_>]) -> Result<Vec<Vec<Range<usize>>>, Refusal> {
    let mut cuts = vec![Vec::new(); parts.len()];
    let (mut twice, mut homes) = (Vec::new(), BTreeMap::new());
    for (name, definitions) in definitions(modules) {
        let mut strong = definitions.iter().filter(|definition| definition.strong);
        let first = strong.next();
        if let (Some(first), Some(second)) = (first, strong.next()) {
            let name_of = |part: usize| parts.get(part).map_or("", |part| part.name.as_str());
            let (file, before) = (name_of(second.part), name_of(first.part));
            let line =
                format!("error   : Multiple definition of '{name}' in '{file}', first defined in '{before}'");
            twice.push((second.number, line));
        }
        let kept = first.or(definitions.first()).map(|definition| definition.part);
        homes.insert(name, kept);
        for other in definitions.iter().filter(|definition| Some(definition.part) != kept) {
            let text = parts.get(other.part).map_or("", |part| part.text.as_str());
            let span = other.span.clone().or_else(|| variable(text, name));
            if let (Some(span), Some(cut)) = (span, cuts.get_mut(other.part)) {
                cut.push(span);
            }
        }
    }
    // What another part defines need not be declared. `declared` has compared the parameters.
    for (part, (module, cut)) in modules.iter().zip(&mut cuts).enumerate() {
        let elsewhere = |name: &str| homes.get(name).copied().flatten().is_some_and(|home| home != part);
        let declared = module.functions.iter().filter(|f| f.body.is_none() && elsewhere(f.name));
        cut.extend(declared.map(|function| function.span.clone()));
    }
    // A driver's linker begins with the last one.
    twice.sort_unstable_by(|one, other| other.cmp(one));
    match twice.into_iter().map(|(_, line)| line).collect::<Vec<_>>() {
        lines if lines.is_empty() => Ok(cuts),
        lines => Err(Refusal::new(UNLINKABLE, lines.join("\n"))),
    }
}

fn definitions<'a>(modules: &[Module<'a>]) -> BTreeMap<&'a str, Vec<Definition>> {
    let mut all: BTreeMap<&str, Vec<Definition>> = BTreeMap::new();
    let strong = |linkage| !matches!(linkage, Linkage::Weak | Linkage::Common);
    let mut numbers = 0..;
    let mut number = || numbers.next().unwrap_or_default();
    for (part, module) in modules.iter().enumerate() {
        for function in module.functions.iter().filter(|f| f.body.is_some()) {
            if function.linkage != Linkage::Internal || function.kind == FunctionKind::Entry {
                let (strong, span) = (strong(function.linkage), Some(function.span.clone()));
                all.entry(function.name).or_default().push(Definition {
                    part,
                    number: number(),
                    strong,
                    span,
                });
            }
        }
        let shown = |linkage| !matches!(linkage, Linkage::Internal | Linkage::Extern);
        for variable in module.variables.iter().filter(|v| shown(v.linkage)) {
            let definition =
                Definition { part, number: number(), strong: strong(variable.linkage), span: None };
            all.entry(variable.name).or_default().push(definition);
        }
    }
    all
}

/// The new names of what a part keeps to itself and others have too.
fn renamed(modules: &[Module<'_>], at: usize) -> BTreeMap<String, String> {
    let Some(module) = modules.get(at) else { return BTreeMap::new() };
    let others = modules.iter().enumerate().filter(|(other, _)| *other != at);
    let taken: BTreeSet<&str> = others.flat_map(|(_, other)| names(other)).collect();
    let functions = module.functions.iter().filter(|f| f.body.is_some() && f.kind == FunctionKind::Function);
    let functions = functions.filter(|f| f.linkage == Linkage::Internal).map(|f| f.name);
    let variables = module.variables.iter().filter(|v| v.linkage == Linkage::Internal).map(|v| v.name);
    let own = functions.chain(variables).filter(|name| taken.contains(name));
    own.map(|name| (name.to_owned(), format!("{name}$part{at}"))).collect()
}

fn names<'a>(module: &Module<'a>) -> impl Iterator<Item = &'a str> {
    let functions: Vec<_> = module.functions.iter().map(|f| f.name).collect();
    functions.into_iter().chain(module.variables.iter().map(|v| v.name).collect::<Vec<_>>())
}

/// Where the definition of a weak or common variable stands: from that directive to the semicolon. Functions have none
/// behind their bodies.
fn variable(text: &str, name: &str) -> Option<Range<usize>> {
    // Where the definition begins, and its first name.
    let (mut depth, mut found) = (0_u32, None::<(usize, Option<&str>)>);
    for token in tokens(text) {
        let word = text.get(token.range.clone()).unwrap_or_default();
        match (word, token.kind) {
            ("{", _) => depth += 1,
            ("}", _) => depth = depth.saturating_sub(1),
            (".weak" | ".common", _) if depth == 0 => found = Some((token.range.start, None)),
            (".func" | ".entry", _) if depth == 0 => found = None,
            (";", _) if depth == 0 => match found.take() {
                Some((start, Some(first))) if first == name => return Some(start..token.range.end),
                _ => {}
            },
            (word, Kind::Word) => {
                if let Some((_, first)) = &mut found {
                    first.get_or_insert(word);
                }
            }
            _ => {}
        }
    }
    None
}

/// Copies a part's text without its header and what is cut, with new names and numbers of files.
fn rewrite(
    text: &str,
    cuts: &[Range<usize>],
    names: &BTreeMap<String, String>,
    files: u32,
    merged: &mut String,
) {
    let mut copied = 0;
    let mut before = [""; 2];
    let mut copy_to = |merged: &mut String, end: usize, next: usize| {
        merged.push_str(text.get(copied..end).unwrap_or_default());
        copied = next;
    };
    for Token { kind, range } in tokens(text) {
        let word = text.get(range.clone()).unwrap_or_default();
        let list = before[0] == ".target" && (kind == Kind::Word || word == ",");
        let header = matches!(before, [_, ".version" | ".address_size"])
            || matches!(word, ".version" | ".address_size" | ".target")
            || list;
        let file = kind == Kind::Number && matches!(before[1], ".file" | ".loc" | "inlined_at");
        if cuts.iter().any(|cut| cut.contains(&range.start)) || header {
            copy_to(merged, range.start, range.end);
        } else if file && let Ok(number) = word.parse::<u32>() {
            copy_to(merged, range.start, range.end);
            merged.push_str(&(number + files).to_string());
        } else if kind == Kind::Word
            && let Some(name) = names.get(word)
        {
            copy_to(merged, range.start, range.end);
            merged.push_str(name);
        }
        before = [if word == ".target" || list { ".target" } else { "" }, word];
    }
    copy_to(merged, text.len(), text.len());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn parts(texts: &[&str]) -> Vec<Part> {
        let header = ".version 7.0\n.target sm_52, debug\n.address_size 64\n";
        texts
            .iter()
            .zip('a'..)
            .map(|(text, name)| Part {
                name: name.into(),
                text: format!("{header}{text}"),
                of_library: false,
                stands_in: false,
            })
            .collect()
    }

    /// Private names may be those of instructions.
    #[test]
    fn instructions_are_not_renamed() {
        let text = ".global .u32 ret = 1;\n.func add() { add: ret; }\n.global .u64 table[2] = {add, add};\n\
                    .visible .entry k() { .reg .pred p; .reg .u64 mov; mov.u64 mov, ret; @p add.u64 mov, mov, 1; @!p add.u64 mov, mov, 1;\n\
                    L: .loc 1 2 3 add.u64 mov, mov, 1; { add.u64 mov, mov, 1; } add.u64 mov, mov, 1; call add; ret; }\n";
        let merged = merge(&parts(&[text, &text.replace(" k(", " l(")])).unwrap();
        let module = cuda_ptx::parse(&merged).unwrap();
        let mut count = 0;
        for function in &module.functions {
            for statement in function.statements().unwrap() {
                if let cuda_ptx::Statement::Instruction(instruction) = statement {
                    let known = ["add.u64", "mov.u64", "ret", "call"].contains(&instruction.name);
                    assert!(known, "{}", instruction.name);
                    count += 1;
                }
            }
        }
        assert_eq!(count, 16);
        let named = |init: &cuda_ptx::Init<'_>| matches!(init, cuda_ptx::Init::Address { symbol, .. } if symbol.starts_with("add$"));
        let tables = module.variables.iter().filter(|variable| variable.name.starts_with("table$"));
        for table in tables {
            assert!(
                matches!(&table.init, Some(cuda_ptx::Init::List(list)) if list.iter().all(named)),
                "{merged}"
            );
        }
    }

    #[test]
    fn private_names_stay_apart() {
        let text =
            ".global .u32 x = 1;\n.func helper() { ret; }\n.visible .entry k() { call helper; ret; }\n";
        let merged = merge(&parts(&[text, &text.replace(" k(", " l(")])).unwrap();
        let module = cuda_ptx::parse(&merged).unwrap();
        let names: Vec<_> = module.functions.iter().map(|f| f.name).collect();
        assert_eq!(names, ["helper$part0", "k", "helper$part1", "l"]);
        assert_eq!(module.variables.iter().map(|v| v.name).collect::<Vec<_>>(), ["x$part0", "x$part1"]);
        assert!(merged.contains("call helper$part1;"), "{merged}");
        assert_eq!(module.version, (7, 0));
    }

    #[test]
    fn one_of_the_weak_definitions_stays() {
        let weak = ".weak .global .align 4 .b8 w[8] = {1, 2};\n.weak .func f() { ret; }\n";
        let strong = ".visible .func f() { exit; }\n.visible .global .u32 s;";
        let merged = merge(&parts(&[weak, strong, weak])).unwrap();
        let module = cuda_ptx::parse(&merged).unwrap();
        assert_eq!(module.variables.iter().map(|v| v.name).collect::<Vec<_>>(), ["w", "s"]);
        assert_eq!(module.functions.iter().filter(|f| f.body.is_some()).count(), 1);
        assert!(merged.contains("exit;"), "{merged}");
    }

    #[test]
    fn two_strong_definitions_are_refused() {
        let text = ".visible .func f() { ret; }\n";
        let refusal = merge(&parts(&[text, text])).expect_err("it cannot be linked");
        assert!(
            refusal.log.contains("Multiple definition of 'f' in 'b', first defined in 'a'"),
            "{}",
            refusal.log
        );
    }

    #[test]
    fn files_get_numbers_of_their_own() {
        let text = ".file 1 \"a.cu\"\n.visible .func f() {\n.loc 1 2 3\nret;\n}\n";
        let merged = merge(&parts(&[text, &text.replace(" f(", " g(")])).unwrap();
        assert_eq!(cuda_ptx::parse(&merged).unwrap().files, [(1, "a.cu"), (2, "a.cu")]);
        assert!(merged.contains(".loc 2 2 3"), "{merged}");
    }
}
