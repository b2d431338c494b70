//! What the parts of a link say of a name that several of them have: the prototype of a function, the size and the space of a variable, and
//! whether they define it. A driver's linker refuses what differs and what is defined twice (H200, driver 580, which this follows): when a
//! part is added, and all that comes after it.

use cuda_driver_sys::CUresult;
use cuda_ptx::{Function, FunctionKind, Linkage, Module, Space, Type, Variable};
use std::collections::{BTreeMap, BTreeSet};

use super::merge::Part;
use super::reached::{initial, words};

/// What a driver answers to it.
pub(super) const MISMATCH: CUresult = CUresult::CUDA_ERROR_INVALID_SOURCE;

/// The names that parts share with others.
#[derive(Default)]
pub(super) struct Names {
    known: BTreeMap<String, Known>,
    definitions: Definitions,
}

/// The part that was the first to define a name, and whether one has done so for good: neither weakly nor as common.
#[derive(Default)]
struct Definitions(BTreeMap<String, (String, bool)>);

impl Definitions {
    /// A line of the log if that name has a definition for good already, and this is another one.
    fn meet(&mut self, name: &str, linkage: Linkage, part: &str) -> Option<String> {
        let strong = !matches!(linkage, Linkage::Weak | Linkage::Common);
        let Some((first, is_strong)) = self.0.get_mut(name) else {
            self.0.insert(name.to_owned(), (part.to_owned(), strong));
            return None;
        };
        let twice = strong && *is_strong;
        *is_strong |= strong;
        twice.then(|| {
            format!("error   : Multiple definition of '{name}' in '{part}', first defined in '{first}'")
        })
    }
}

/// What is known of a name.
struct Known {
    what: What,
    part: String,
    is_defined: bool,
}

enum What {
    Function(Prototype),
    Variable {
        is_const: bool,
        is_common: bool,
        /// `None` for an array without a length.
        bytes: Option<u64>,
    },
}

/// A function's results and parameters.
struct Prototype {
    compared: [Vec<Passed>; 2],
    shown: String,
}

/// What is compared of a value that is passed: integers and bits are the same, an array of one element is that element, and alignment is not
/// looked at.
#[derive(PartialEq, Eq)]
struct Passed {
    bytes: usize,
    is_float: bool,
    elements: u64,
}

impl Names {
    /// Compares what a part says with what others have said, or answers the linker's log.
    pub(super) fn add(&mut self, part: &Part) -> Result<(), String> {
        // What cannot be parsed was refused before.
        let Ok(module) = cuda_ptx::parse(&part.text) else { return Ok(()) };
        // In a driver's order: functions from the last to the first, variables, prototypes.
        let mut lines = Vec::new();
        for function in module.functions.iter().rev().filter(|function| is_defined(function)) {
            lines.extend(self.definitions.meet(function.name, function.linkage, &part.name));
        }
        for variable in module.variables.iter().filter(|variable| is_shared(variable)) {
            let what = What::Variable {
                is_const: variable.space == Space::Const,
                is_common: variable.linkage == Linkage::Common,
                bytes: Some(variable.size()).filter(|bytes| *bytes > 0),
            };
            let is_defined = variable.linkage != Linkage::Extern;
            lines.extend(self.meet(variable.name, Known { what, part: part.name.clone(), is_defined }));
            if is_defined {
                lines.extend(self.definitions.meet(variable.name, variable.linkage, &part.name));
            }
        }
        for function in functions(&module, &part.text) {
            let what = What::Function(Prototype::of(function));
            let is_defined = function.body.is_some();
            lines.extend(self.meet(function.name, Known { what, part: part.name.clone(), is_defined }));
        }
        if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
    }

    /// A line of the log if they do not agree.
    fn meet(&mut self, name: &str, new: Known) -> Option<String> {
        let Some(old) = self.known.get_mut(name) else {
            self.known.insert(name.to_owned(), new);
            return None;
        };
        let line = differs(name, old, &new);
        let says_more = match (&old.what, &new.what) {
            (What::Variable { bytes: None, .. }, What::Variable { bytes: Some(_), .. }) => true,
            _ => new.is_defined && !old.is_defined,
        };
        if says_more && line.is_none() {
            *old = new;
        }
        line
    }
}

/// In the words of a driver's linker, and what each says.
fn differs(name: &str, old: &Known, new: &Known) -> Option<String> {
    let said = |what: &str, place: &str, [home, other]: [&Known; 2], [first, second]: [&str; 2]| {
        let (part, home, other) = (&new.part, &home.part, &other.part);
        format!(
            "error   : {what} doesn't match for '{name}' in '{part}', first {place} in '{home}': {first} there, {second} in '{other}'"
        )
    };
    match (&old.what, &new.what) {
        (What::Function(before), What::Function(now)) if before.compared != now.compared => {
            let (known, shown) = match new.is_defined && !old.is_defined {
                true => ([new, old], [&now.shown, &before.shown]),
                false => ([old, new], [&before.shown, &now.shown]),
            };
            Some(said("Prototype", "defined", known, shown.map(String::as_str)))
        }
        (
            What::Variable { is_const: was_const, is_common: was_common, bytes: before },
            What::Variable { is_const, is_common, bytes: now },
        ) => {
            if was_const != is_const {
                let spaces =
                    [*was_const, *is_const].map(|is_const| if is_const { ".const" } else { ".global" });
                return Some(said("Memory space", "specified", [old, new], spaces));
            }
            let (before, now) = before.zip(*now).filter(|(before, now)| before != now)?;
            // Of common variables the largest is taken.
            let is_common = *was_common && *is_common;
            let sizes = [before, now].map(|bytes| format!("{bytes} bytes"));
            (!is_common).then(|| said("Size", "specified", [old, new], [&sizes[0], &sizes[1]]))
        }
        _ => None,
    }
}

/// Whether it is a kernel, or a function that other parts see, with a body.
fn is_defined(function: &Function<'_>) -> bool {
    let is_shown = function.linkage != Linkage::Internal || function.kind == FunctionKind::Entry;
    function.body.is_some() && is_shown
}

fn is_shared(variable: &Variable<'_>) -> bool {
    variable.linkage != Linkage::Internal && matches!(variable.space, Space::Global | Space::Const)
}

/// The functions that others see, and those that a part only declares and uses.
fn functions<'m, 'a>(module: &'m Module<'a>, text: &'a str) -> Vec<&'m Function<'a>> {
    let all = || module.functions.iter().filter(|function| function.kind == FunctionKind::Function);
    let defined: BTreeSet<&str> = all().filter(|f| f.body.is_some()).map(|f| f.name).collect();
    let declares = |function: &Function<'a>| function.body.is_none() && !defined.contains(function.name);
    let declared: Vec<_> = all().filter(|function| declares(function)).collect();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    if !declared.is_empty() {
        let bodies = module.functions.iter().filter(|function| function.body.is_some());
        used.extend(bodies.flat_map(|function| words(text.get(function.span.clone()).unwrap_or_default())));
        used.extend(initial(module));
    }
    let shown = all().filter(|function| function.body.is_some() && function.linkage != Linkage::Internal);
    shown.chain(declared.into_iter().filter(|function| used.contains(function.name))).collect()
}

impl Prototype {
    fn of(function: &Function<'_>) -> Prototype {
        let passed = |values: &[Variable<'_>]| values.iter().map(Passed::of).collect();
        let (results, parameters) = (shown(&function.returns), shown(&function.params));
        let results = if function.returns.is_empty() { results } else { format!("({results}) ") };
        Prototype {
            compared: [passed(&function.returns), passed(&function.params)],
            shown: format!("{results}{}({parameters})", function.name),
        }
    }
}

impl Passed {
    fn of(variable: &Variable<'_>) -> Passed {
        Passed {
            bytes: variable.element_size(),
            is_float: matches!(variable.ty, Type::F32 | Type::F64),
            elements: variable.elements(),
        }
    }
}

/// `.b32, .b8[16]`
fn shown(values: &[Variable<'_>]) -> String {
    let one = |variable: &Variable<'_>| {
        let extents =
            variable.dims.iter().map(|extent| extent.map_or(String::new(), |extent| extent.to_string()));
        let extents: String = extents.map(|extent| format!("[{extent}]")).collect();
        format!(".{}{extents}", variable.ty.name())
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}
