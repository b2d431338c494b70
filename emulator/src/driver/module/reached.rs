//! What the kernels of a link reach: like a driver's linker, it only resolves names that reached code uses.

use cuda_ptx::{Function, FunctionKind, Init, Linkage, Module, Space, Variable};
use std::collections::{BTreeMap, BTreeSet};

use super::merge::Part;
use super::scan::{Kind, tokens};
use crate::engine::is_provided;

/// A function of a part: the numbers of both.
type Place = (usize, usize);

/// Removes functions that no kernel reaches and that have unresolved names; or returns the unresolved names, as lines of
/// the linker's log.
pub(super) fn keep_reached(parts: &mut [Part]) -> Result<(), String> {
    let parsed: Vec<Module<'_>> = parts.iter().filter_map(|part| cuda_ptx::parse(&part.text).ok()).collect();
    // Parts that cannot be parsed were refused when they were added.
    if parsed.len() != parts.len() {
        return Ok(());
    }
    let link = Link::new(&parsed, parts);
    let reached = link.reached();
    let lines = link.missing(&reached, parts);
    if !lines.is_empty() {
        return Err(lines.join("\n"));
    }
    let dead: Vec<_> = link.lacking(&reached);
    for (part, span) in dead {
        if let Some(part) = parts.get_mut(part) {
            // Each byte is replaced by a space, so that lines and offsets of the rest do not change.
            let bytes = part.text.get(span.clone()).unwrap_or_default().bytes();
            let blank: String = bytes.map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
            part.text.replace_range(span, &blank);
        }
    }
    Ok(())
}

struct Link<'a> {
    modules: &'a [Module<'a>],
    /// The words of each function's body.
    words: Vec<Vec<BTreeSet<&'a str>>>,
    /// The functions that each part defines.
    own: Vec<BTreeMap<&'a str, usize>>,
    /// Functions that other parts can use.
    visible: BTreeMap<&'a str, Place>,
    /// Variables that other parts can use.
    variables: BTreeSet<&'a str>,
}

impl<'a> Link<'a> {
    fn new(modules: &'a [Module<'a>], parts: &'a [Part]) -> Link<'a> {
        let words_of = |(module, part): (&'a Module<'a>, &'a Part)| {
            let words =
                |function: &Function<'a>| words(part.text.get(function.span.clone()).unwrap_or_default());
            module.functions.iter().map(words).collect()
        };
        let words = modules.iter().zip(parts).map(words_of).collect();
        let own = |module: &Module<'a>| {
            let defined = module.functions.iter().enumerate().filter(|(_, function)| function.body.is_some());
            defined.map(|(at, function)| (function.name, at)).collect()
        };
        let own = modules.iter().map(own).collect();
        let (mut visible, mut variables) = (BTreeMap::new(), BTreeSet::new());
        for (part, module) in modules.iter().enumerate() {
            let shown = |function: &&(usize, &Function<'a>)| {
                function.1.body.is_some() && function.1.linkage != Linkage::Internal
            };
            for (at, function) in module.functions.iter().enumerate().filter(|f| shown(&f)) {
                visible.entry(function.name).or_insert((part, at));
            }
            let shown =
                |variable: &&Variable<'a>| !matches!(variable.linkage, Linkage::Internal | Linkage::Extern);
            variables.extend(module.variables.iter().filter(shown).map(|variable| variable.name));
        }
        Link { modules, words, own, visible, variables }
    }

    /// Kernels, functions whose addresses are in variables, and everything that these name.
    fn reached(&self) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        let mut next: Vec<Place> = Vec::new();
        for (part, module) in self.modules.iter().enumerate() {
            let kernels = module.functions.iter().enumerate().filter(|(_, f)| f.kind == FunctionKind::Entry);
            next.extend(kernels.map(|(at, _)| (part, at)));
            next.extend(initial(module).into_iter().filter_map(|name| self.function(part, name)));
        }
        while let Some(place) = next.pop() {
            if found.insert(place) {
                next.extend(self.words_at(place).filter_map(|word| self.function(place.0, word)));
            }
        }
        found
    }

    fn words_at(&self, (part, at): Place) -> impl Iterator<Item = &'a str> {
        self.words.get(part).and_then(|words| words.get(at)).into_iter().flatten().copied()
    }

    /// The function that a part means by a name.
    fn function(&self, part: usize, name: &str) -> Option<Place> {
        let own = self.own.get(part)?.get(name);
        own.map(|at| (part, *at)).or_else(|| self.visible.get(name).copied())
    }

    /// The names that a part declares and nothing defines: of functions, then of variables.
    fn undefined(&self, part: usize) -> Vec<&'a str> {
        let Some(module) = self.modules.get(part) else { return Vec::new() };
        let functions = module.functions.iter().filter(|function| function.body.is_none()).map(|f| f.name);
        let functions = functions.filter(|name| self.function(part, name).is_none() && !is_provided(name));
        let declared = |variable: &&Variable<'a>| {
            variable.linkage == Linkage::Extern && matches!(variable.space, Space::Global | Space::Const)
        };
        let variables = module.variables.iter().filter(declared).map(|variable| variable.name);
        functions.chain(variables.filter(|name| !self.variables.contains(name))).collect()
    }

    /// The unresolved names of reached code, each once.
    fn missing(&self, reached: &BTreeSet<Place>, parts: &[Part]) -> Vec<String> {
        let mut told = BTreeSet::new();
        let mut lines = Vec::new();
        for (part, (module, Part { name: file, .. })) in self.modules.iter().zip(parts).enumerate() {
            let own = reached.iter().filter(|place| place.0 == part);
            let used: BTreeSet<&str> =
                own.flat_map(|place| self.words_at(*place)).chain(initial(module)).collect();
            for name in self.undefined(part).into_iter().filter(|name| used.contains(name)) {
                if told.insert(name) {
                    lines.push(format!("error   : Undefined reference to '{name}' in '{file}'"));
                }
            }
        }
        lines
    }

    /// Code that is not reached and uses unresolved names.
    fn lacking(&self, reached: &BTreeSet<Place>) -> Vec<(usize, std::ops::Range<usize>)> {
        let mut all = Vec::new();
        for (part, module) in self.modules.iter().enumerate() {
            let undefined: BTreeSet<&str> = self.undefined(part).into_iter().collect();
            for (at, function) in module.functions.iter().enumerate().filter(|(_, f)| f.body.is_some()) {
                let lacks = || self.words_at((part, at)).any(|word| undefined.contains(word));
                if !reached.contains(&(part, at)) && lacks() {
                    all.push((part, function.span.clone()));
                }
            }
        }
        all
    }
}

/// The names in a text.
pub(super) fn words(text: &str) -> BTreeSet<&str> {
    tokens(text).filter(|token| token.kind == Kind::Word).filter_map(|token| text.get(token.range)).collect()
}

/// The names in the initial values of a module's variables.
pub(super) fn initial<'a>(module: &Module<'a>) -> Vec<&'a str> {
    fn collect<'a>(init: &Init<'a>, names: &mut Vec<&'a str>) {
        match init {
            Init::Address { symbol, .. } => names.push(symbol),
            Init::List(list) => list.iter().for_each(|init| collect(init, names)),
            Init::Value(_) => {}
        }
    }
    let mut names = Vec::new();
    module
        .variables
        .iter()
        .filter_map(|variable| variable.init.as_ref())
        .for_each(|init| collect(init, &mut names));
    names
}
