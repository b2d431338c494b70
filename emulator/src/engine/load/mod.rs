//! From PTX text to an [`Image`]: symbols, and variables placed in device memory.

mod check;
mod constant;
mod initial;
mod shared;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cuda_ptx::image::Arch;
use cuda_ptx::{Function, FunctionKind, Linkage, Module, ParseError, ParseErrorKind, Space, Variable};

use super::image::{
    FunctionEntry, Global, Image, LoadFailure, LoadFailureKind, SharedVariable, declaration, element_bytes,
};
use super::windows;
use crate::architecture::Architecture;
use crate::memory::Memory;
use check::Nested;

/// The newest `.version` that is known, of CUDA 13.5. A driver may read less.
pub(crate) const NEWEST_PTX: (u32, u32) = (9, 5);
/// The same as `major * 10 + minor`.
const NEWEST_VERSION: u32 = NEWEST_PTX.0 * 10 + NEWEST_PTX.1;
/// The last minor version of each major one, from 1 on.
const LAST_MINORS: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, 5];
/// The maximum size of a variable that is initialised through a host buffer.
const LARGEST_INITIALISED: u64 = 1 << 32;

/// Reads and checks a module, and places and initialises its variables; `symbols` are those defined elsewhere, and `linked`
/// is the text of the linker.
pub(super) fn load(
    text: &str,
    memory: &Arc<Memory>,
    symbols: &[(String, u64)],
    linked: bool,
) -> Result<Image, LoadFailure> {
    // Declarations are identified by their position in this text.
    let text: Arc<str> = text.trim_end_matches('\0').into();
    let module = cuda_ptx::parse(&text).map_err(|error| refused(&error))?;
    ascii(&text)?;
    let mut image = Image {
        text: Arc::clone(&text),
        version: version(&module)?,
        target: target(&module, memory.architecture())?,
        debug: module.targets.contains(&"debug"),
        files: module.files.iter().map(|(index, name)| (*index, (*name).to_owned())).collect(),
        ..Image::default()
    };
    collect_functions(&module, &mut image)?;
    image.first_function = windows::place_functions(image.functions.len());
    collect_shared(&module, &mut image)?;
    place_elsewhere(&module, symbols, &mut image);
    let nested = check::functions(&module, &image, linked)?;
    constant::check(&module, &nested.variables)?;
    shared::check(&module, &image, &nested.variables, memory.architecture())?;
    let placed = place(&module, memory, &mut image).and_then(|()| place_nested(&nested, memory, &mut image));
    if let Err(failure) = placed {
        release(&image, memory);
        return Err(failure);
    }
    Ok(image)
}

/// Refuses other characters, which ptxas takes nowhere, comments and names of files included.
fn ascii(text: &str) -> Result<(), LoadFailure> {
    if text.is_ascii() {
        return Ok(());
    }
    let line = 1 + text.bytes().take_while(u8::is_ascii).filter(|byte| *byte == b'\n').count() as u32;
    Err(failure(LoadFailureKind::Invalid, line, "unexpected non-ASCII character"))
}

/// Gives the device memory of the variables back.
pub(super) fn release(image: &Image, memory: &Memory) {
    let all = image.globals.values().chain(image.nested.values());
    for global in all.filter(|global| global.owned) {
        // Allocated by `place` and freed only here; a failure cannot be handled.
        let _ = memory.free(global.address);
    }
}

/// A failure of `kind` at `line`.
pub(super) fn failure(kind: LoadFailureKind, line: u32, message: impl Into<String>) -> LoadFailure {
    LoadFailure { line, message: message.into(), kind }
}

/// The parser's error as ours.
pub(super) fn refused(error: &ParseError) -> LoadFailure {
    let kind = match error.kind {
        ParseErrorKind::NotPtx => LoadFailureKind::NotPtx,
        _ => LoadFailureKind::Syntax,
    };
    let message = format!("column {}: {}\n{}", error.column, error.message, error.pointed_excerpt());
    failure(kind, error.line, message)
}

fn version(module: &Module<'_>) -> Result<u32, LoadFailure> {
    let (major, minor) = module.version;
    let version = major.saturating_mul(10).saturating_add(minor);
    if version <= NEWEST_VERSION && !is_version(major, minor) {
        let message = format!("there is no PTX .version {major}.{minor}");
        return Err(failure(LoadFailureKind::Version, 0, message));
    }
    if version > NEWEST_VERSION {
        let newest = format!("{}.{}", NEWEST_VERSION / 10, NEWEST_VERSION % 10);
        let message =
            format!("PTX .version {major}.{minor} is newer than {newest}, the newest that is supported");
        return Err(failure(LoadFailureKind::Version, 0, message));
    }
    Ok(version)
}

/// Whether there is such a `.version`, up to the newest that is read.
pub(crate) fn is_version(major: u32, minor: u32) -> bool {
    let last = major.checked_sub(1).and_then(|at| LAST_MINORS.get(at as usize));
    last.is_some_and(|last| minor <= *last)
}

fn target(module: &Module<'_>, device: Architecture) -> Result<u32, LoadFailure> {
    let target = match (module.arch(), module.targets.first()) {
        (Some(arch), _) => arch,
        (None, None) => Arch { sm: 50, suffix: None },
        (None, Some(name)) => {
            return Err(failure(LoadFailureKind::Target, 0, format!("unknown .target {name}")));
        }
    };
    if let Some(other) = module.targets.iter().skip(1).find(|other| !is_option(other)) {
        return Err(failure(LoadFailureKind::Target, 0, format!("unknown .target {other}")));
    }
    if !device.runs(target) {
        let name = module.targets.first().copied().unwrap_or_default();
        let message = format!("PTX for {name} does not run on {device}");
        return Err(failure(LoadFailureKind::Target, 0, message));
    }
    if module.address_size != 64 {
        return Err(failure(LoadFailureKind::Unsupported, 0, "PTX with .address_size 32 is not supported"));
    }
    Ok(target.sm)
}

/// What may stand behind the first target: an option, or another target.
fn is_option(name: &str) -> bool {
    matches!(name, "debug" | "texmode_unified" | "texmode_independent" | "map_f64_to_f32")
        || name.starts_with("sm_")
        || name.starts_with("compute_")
}

fn collect_functions(module: &Module<'_>, image: &mut Image) -> Result<(), LoadFailure> {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(module.functions.len());
    for function in &module.functions {
        first.entry(function.name).or_insert(function.name.as_ptr().addr());
    }
    for function in module.functions.iter().filter(|f| f.body.is_some()) {
        let index = image.functions.len();
        if image.by_name.insert(function.name.to_owned(), index).is_some() {
            return Err(duplicate(function.name, function.line));
        }
        image.functions.push(FunctionEntry {
            name: function.name.to_owned(),
            kind: function.kind,
            span: function.span.clone(),
            line: function.line,
            declaration: first.get(function.name).copied().unwrap_or_default(),
        });
    }
    collect_aliases(module, image)?;
    for function in module.functions.iter().filter(|f| f.body.is_none() && f.linkage != Linkage::Extern) {
        if !image.by_name.contains_key(function.name) {
            let message = match function.kind {
                FunctionKind::Entry => format!("kernel `{}` is declared and not defined", function.name),
                _ => format!("unresolved extern function `{}`", function.name),
            };
            return Err(failure(LoadFailureKind::Unresolved, function.line, message));
        }
    }
    let missing = |f: &&Function<'_>| f.body.is_none() && !image.by_name.contains_key(f.name);
    image.externs = module.functions.iter().filter(missing).map(|f| f.name.to_owned()).collect();
    Ok(())
}

/// Functions that have a second name: `.alias`.
fn collect_aliases(module: &Module<'_>, image: &mut Image) -> Result<(), LoadFailure> {
    if module.aliases.is_empty() {
        return Ok(());
    }
    let defined: HashMap<&str, &Function<'_>> =
        module.functions.iter().filter(|f| f.body.is_some()).map(|f| (f.name, f)).collect();
    let declared: HashMap<&str, &Function<'_>> = module.functions.iter().map(|f| (f.name, f)).collect();
    for (alias, target) in &module.aliases {
        let line = || image.line_of(alias);
        let wrong = |message: String| Err(failure(LoadFailureKind::Invalid, line(), message));
        let Some(function) = defined.get(target) else {
            let message = format!("`{target}`, of which `{alias}` is an alias, is not defined");
            return Err(failure(LoadFailureKind::Unresolved, line(), message));
        };
        if function.kind == FunctionKind::Entry || function.linkage == Linkage::Weak {
            return wrong(format!("kernel or weak function `{target}` cannot have an alias"));
        }
        if !declared.contains_key(alias) {
            return wrong(format!("alias `{alias}` is not declared as a function"));
        }
        let index = image.by_name.get(*target).copied().unwrap_or_default();
        if image.by_name.insert((*alias).to_owned(), index).is_some() {
            return Err(duplicate(alias, image.line_of(alias)));
        }
    }
    Ok(())
}

fn duplicate(name: &str, line: u32) -> LoadFailure {
    failure(LoadFailureKind::Duplicate, line, format!("duplicate definition of `{name}`"))
}

fn collect_shared(module: &Module<'_>, image: &mut Image) -> Result<(), LoadFailure> {
    for variable in module.variables.iter().filter(|v| v.space == Space::Shared) {
        if variable.linkage == Linkage::Extern
            && image.shared.get(variable.name).is_some_and(|old| !old.dynamic)
        {
            continue;
        }
        let entry = SharedVariable::of(variable);
        if image.shared.insert(variable.name.to_owned(), entry).is_some_and(|old| !old.dynamic) {
            return Err(duplicate(variable.name, variable.line));
        }
    }
    Ok(())
}

/// Records the addresses of variables that the module does not define but the caller provides.
fn place_elsewhere(module: &Module<'_>, symbols: &[(String, u64)], image: &mut Image) {
    // If a name has two addresses, the first counts.
    let known: HashMap<&str, u64> =
        symbols.iter().rev().map(|(name, address)| (name.as_str(), *address)).collect();
    if known.is_empty() {
        return;
    }
    let defined = module.variables.iter().filter(|v| v.linkage != Linkage::Extern);
    let defined: HashSet<&str> = defined.map(|v| v.name).collect();
    let elsewhere = |v: &&Variable<'_>| v.space == Space::Global && !defined.contains(v.name);
    for variable in module.variables.iter().filter(elsewhere) {
        if let Some(address) = known.get(variable.name) {
            let (address, bytes, element) = (*address, variable.size(), element_bytes(variable));
            let global = Global { address, bytes, constant: false, element, owned: false };
            image.globals.insert(variable.name.to_owned(), global);
        }
    }
}

/// Places every `.global` and `.const` variable and writes its initial value. A variable that is only declared and
/// not defined elsewhere is defined by its declaration, as in a whole-program compilation; that is not possible for
/// an array without a length.
fn place(module: &Module<'_>, memory: &Arc<Memory>, image: &mut Image) -> Result<(), LoadFailure> {
    let here = |v: &&Variable<'_>| matches!(v.space, Space::Global | Space::Const);
    let declared = |v: &&Variable<'_>| v.linkage == Linkage::Extern;
    let mut initialised = Vec::new();
    for variable in module.variables.iter().filter(here).filter(|v| !declared(v)) {
        if image.globals.contains_key(variable.name) {
            return Err(duplicate(variable.name, variable.line));
        }
        place_one(variable, memory, image)?;
        initialised.push(variable);
    }
    for variable in module.variables.iter().filter(here).filter(declared) {
        if image.globals.contains_key(variable.name) {
            continue;
        }
        if variable.size() == 0 {
            let message = format!("unresolved extern variable `{}`", variable.name);
            return Err(failure(LoadFailureKind::Unresolved, variable.line, message));
        }
        place_one(variable, memory, image)?;
        initialised.push(variable);
        image.unresolved.push(variable.name.to_owned());
    }
    // An initial value may be the address of any of them.
    for variable in initialised {
        if let Some(global) = image.globals.get(variable.name) {
            initialise(variable, global.address, memory, &Symbols { image, nested: None })?;
        }
    }
    Ok(())
}

/// Places the variables that functions declare: there is one instance of each, shared by all calls of the function.
fn place_nested(nested: &Nested<'_>, memory: &Arc<Memory>, image: &mut Image) -> Result<(), LoadFailure> {
    for variable in nested.variables.iter().filter(|variable| variable.space != Space::Shared) {
        let global = allocated(variable, memory)?;
        image.nested.insert(declaration(variable), global.clone());
        let symbols = Symbols { image, nested: nested.named.get(&declaration(variable)) };
        initialise(variable, global.address, memory, &symbols)?;
    }
    Ok(())
}

fn place_one(variable: &Variable<'_>, memory: &Arc<Memory>, image: &mut Image) -> Result<(), LoadFailure> {
    image.globals.insert(variable.name.to_owned(), allocated(variable, memory)?);
    Ok(())
}

fn allocated(variable: &Variable<'_>, memory: &Memory) -> Result<Global, LoadFailure> {
    let (bytes, constant) = (variable.size(), variable.space == Space::Const);
    let address = memory
        .allocate(bytes)
        .map_err(|error| failure(LoadFailureKind::OutOfMemory, variable.line, error.to_string()))?;
    Ok(Global { address, bytes, constant, element: element_bytes(variable), owned: true })
}

fn initialise(
    variable: &Variable<'_>,
    address: u64,
    memory: &Memory,
    symbols: &Symbols<'_>,
) -> Result<(), LoadFailure> {
    let at = |message: String| failure(LoadFailureKind::Syntax, variable.line, message);
    let Some(init) = &variable.init else {
        if variable.space == Space::Const
            && memory.checker().is_some_and(|checker| checker.checks().unset_constants)
        {
            return Ok(());
        }
        // It was just allocated, and is zero.
        return memory.count_as_written(address, variable.size()).map_err(|error| at(error.to_string()));
    };
    if variable.size() > LARGEST_INITIALISED {
        return Err(at(format!("initialised variable `{}` is too large", variable.name)));
    }
    let bytes = initial::bytes(variable, init, symbols).map_err(|(kind, message)| {
        failure(kind, variable.line, format!("initialiser of `{}`: {message}", variable.name))
    })?;
    memory.write(address, &bytes).map_err(|error| at(error.to_string()))
}

/// Addresses of the symbols that initialisers may name.
pub(super) struct Symbols<'i> {
    image: &'i Image,
    /// Of a function's variable: the names that mean other variables of functions, each with its declaration.
    nested: Option<&'i HashMap<String, usize>>,
}

impl Symbols<'_> {
    fn neighbour(&self, name: &str) -> Option<&Global> {
        self.image.nested.get(self.nested?.get(name)?)
    }

    /// Whether a function has that name.
    fn is_function(&self, name: &str) -> bool {
        self.neighbour(name).is_none()
            && !self.image.globals.contains_key(name)
            && self.image.by_name.contains_key(name)
    }

    /// The address of `name`: in its own space, or with `generic` the generic one.
    fn address(&self, name: &str) -> Option<u64> {
        if let Some(neighbour) = self.neighbour(name) {
            return Some(neighbour.address);
        }
        let global = self.image.globals.get(name).map(|global| global.address);
        global.or_else(|| self.image.function(name).map(|(_, address)| address))
    }
}
