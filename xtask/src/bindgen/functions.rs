//! The lists made from the header's functions: which there are, since which driver, and under which other names.

use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// One function, as bindgen declared it.
pub(super) struct Function {
    pub(super) name: String,
    /// `Flags: ::core::ffi::c_uint, ...`
    parameters: String,
    /// As the driver counts: 12040 is 12.4.
    since: u32,
}

impl Function {
    /// `Flags, ...`
    fn arguments(&self) -> String {
        let names = self.parameters.split(", ").filter_map(|parameter| parameter.split_once(':'));
        names.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    }

    fn release(&self) -> String {
        format!("{}.{}", self.since / 1000, self.since % 1000 / 10)
    }
}

/// `pub fn cuInit(Flags: ::core::ffi::c_uint) -> CUresult;` as `(name, parameters)`.
pub(super) fn declaration(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix("pub fn ")?;
    rest.strip_suffix(") -> CUresult;")?.split_once('(')
}

/// The oldest driver that is supported.
const OLDEST: u32 = 11080;

/// Every declared function, and the older ABIs that some supported driver has in its place, by name.
///
/// `all` declares every symbol a driver exports, old ABIs included: `since` needs them (see [`since`]).
pub(super) fn functions(declared: &[String], all: &[String], typedefs: &str) -> Result<Vec<Function>> {
    let since = since(all, typedefs)?;
    let mut functions = Vec::new();
    for text in declared {
        let (name, parameters) = declaration(text).ok_or_else(|| format!("cannot read `{text}`"))?;
        let since =
            *since.get(name).ok_or_else(|| format!("{name}: the typedefs header does not have it"))?;
        functions.push(Function { name: name.to_owned(), parameters: parameters.to_owned(), since });
    }
    let older = older(&functions, all, &since);
    functions.extend(older);
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(functions)
}

/// The ABIs that are the newest of their name on a driver that is supported, and are not declared: `cuMemAdvise`, before 12.2 had
/// `cuMemAdvise_v2`. Not those whose parameters stayed the same: the table takes one symbol for the other.
///
/// The first ABI of a name is called `cuMemAdvise_v1`, because the header gives its symbol to the newest.
fn older(functions: &[Function], all: &[String], since: &BTreeMap<String, u32>) -> Vec<Function> {
    let mut families: BTreeMap<String, BTreeMap<u32, (&str, &str)>> = BTreeMap::new();
    for (name, parameters) in all.iter().filter_map(|text| declaration(text)) {
        let (base, number) = numbered(name);
        families.entry(base).or_default().insert(number.unwrap_or(1), (name, parameters));
    }
    let mut older = Vec::new();
    for (base, abis) in families.iter().filter(|(base, _)| !base.contains("_pt")) {
        let following = abis.values().skip(1);
        for ((number, (name, parameters)), (next, next_parameters)) in abis.iter().zip(following) {
            let is_declared = functions.iter().any(|function| function.name == *name);
            if is_declared || since[*next] <= OLDEST || types(parameters) == types(next_parameters) {
                continue;
            }
            older.push(Function {
                name: format!("{base}_v{number}"),
                parameters: (*parameters).to_owned(),
                since: since[*name],
            });
        }
    }
    older
}

/// The types of parameters, whatever their names.
pub(super) fn types(parameters: &str) -> Vec<&str> {
    let types = parameters.split(", ").filter_map(|parameter| parameter.split_once(": "));
    types.map(|(_, ty)| ty).collect()
}

/// Since which driver there is each symbol.
///
/// The typedefs header writes the driver's version where the symbol has the number of its ABI, so the symbols of one
/// name, by number, stand beside the typedefs of that name, by version: `cuMemAlloc`, `cuMemAlloc_v2` and
/// `PFN_cuMemAlloc_v2000`, `PFN_cuMemAlloc_v3020`.
pub(super) fn since(all: &[String], typedefs: &str) -> Result<BTreeMap<String, u32>> {
    let mut symbols: BTreeMap<String, BTreeSet<(u32, String)>> = BTreeMap::new();
    for text in all {
        let (name, _) = declaration(text).ok_or_else(|| format!("cannot read `{text}`"))?;
        let (base, number) = numbered(name);
        symbols.entry(base).or_default().insert((number.unwrap_or(1), name.to_owned()));
    }
    let mut versions: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (base, version) in typed(typedefs) {
        versions.entry(base).or_default().insert(version);
    }
    let mut since = BTreeMap::new();
    for (base, symbols) in symbols {
        let versions = versions.get(&base).ok_or_else(|| format!("{base}: no typedef"))?;
        if versions.len() != symbols.len() {
            return Err(format!("{base}: {symbols:?} but typedefs for {versions:?}").into());
        }
        since.extend(symbols.into_iter().zip(versions).map(|((_, name), version)| (name, *version)));
    }
    Ok(since)
}

/// `(cuX_ptsz, 7000)` of every typedef.
pub(super) fn typed(typedefs: &str) -> impl Iterator<Item = (String, u32)> {
    let words = typedefs.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let typed = words.filter_map(|word| word.strip_prefix("PFN_").map(numbered));
    typed.filter_map(|(name, version)| Some((name, version?)))
}

/// `cuX_v2_ptsz` as `("cuX_ptsz", Some(2))`.
pub(super) fn numbered(name: &str) -> (String, Option<u32>) {
    let ends = ["_ptsz", "_ptds"];
    let end = ends.iter().copied().find(|end| name.ends_with(end)).unwrap_or_default();
    let stem = name.strip_suffix(end).unwrap_or(name);
    let number = stem.rsplit_once("_v").and_then(|(stem, n)| Some((stem, n.parse().ok()?)));
    match number {
        Some((stem, number)) => (format!("{stem}{end}"), Some(number)),
        None => (name.to_owned(), None),
    }
}

/// `(unversioned name, symbol)` of every `#define cuX cuX_v2`, by name.
pub(super) fn aliases(header: &str, functions: &[Function]) -> BTreeMap<String, String> {
    let mut aliases = BTreeMap::new();
    for line in header.lines() {
        let mut words = line.split_whitespace();
        let (Some("#define"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        // Per-thread default streams are not bound: the macro leaves its argument as it is.
        let value = ["__CUDA_API_PTDS(", "__CUDA_API_PTSZ("]
            .iter()
            .find_map(|m| value.strip_prefix(m))
            .unwrap_or(value);
        let symbol = value.trim_end_matches(')');
        if name.starts_with("cu") && name != symbol && functions.iter().any(|f| f.name == symbol) {
            aliases.insert(name.to_owned(), symbol.to_owned());
        }
    }
    aliases
}

/// `functions.rs`: the public macro that hands out the list.
pub(super) fn render_list(functions: &[Function]) -> String {
    let mut rows = String::new();
    for Function { name, parameters, since } in functions {
        let _ = writeln!(rows, "            {name}({}) {since};", qualify(parameters));
    }
    format!(
        "\
/// Passes every function of the driver API, by name, to a macro: `for_each_function!(callback)` is
/// `callback! {{ cuInit(Flags: ::core::ffi::c_uint) 2000; .. }}`.
///
/// Each row is `symbol(argument: Type, ..) since;`, to be matched by
/// `$($name:ident($($argument:ident: $type:ty),*) $since:literal;)*`. All of them return [`CUresult`](crate::CUresult).
/// The types carry their path, so that the callback needs no imports. `since` is the driver version that brought the
/// symbol, as `cuDriverGetVersion` counts: 12040 is 12.4. `cuMemAdvise_v1` and the like are the first ABI of their name, whose symbol
/// in a driver has no number.
#[macro_export]
macro_rules! for_each_function {{
    ($($callback:tt)+) => {{
        $($callback)+! {{
{rows}        }}
    }};
}}
"
    )
}

/// `$crate::` before the names that are ours.
pub(super) fn qualify(parameters: &str) -> String {
    let ours = |word: &str| word.starts_with("CU") || word.starts_with("cuuint");
    let one = |parameter: &str| match parameter.split_once(": ") {
        Some((name, ty)) => {
            let words = ty.split(' ').map(|w| if ours(w) { format!("$crate::{w}") } else { w.to_owned() });
            format!("{name}: {}", words.collect::<Vec<_>>().join(" "))
        }
        None => parameter.to_owned(),
    };
    parameters.split(", ").map(one).collect::<Vec<_>>().join(", ")
}

/// `methods.rs`: the methods of `Driver` with their docs, exact symbols and aliases in one list, by name.
pub(super) fn render_methods(functions: &[Function], aliases: &BTreeMap<String, String>) -> String {
    let mut rows = BTreeMap::new();
    for function in functions {
        let (name, release) = (&function.name, function.release());
        let row = |method: &str, doc: &str| {
            let (parameters, arguments) = (&function.parameters, function.arguments());
            format!("            {doc:?} {method}({parameters}) = {name}({arguments});\n")
        };
        let doc = match name.strip_suffix("_v1") {
            Some(symbol) => {
                format!("The first ABI of [`{symbol}`](Self::{symbol}), in drivers since CUDA {release}.")
            }
            None => format!("`{name}`, in drivers since CUDA {release}."),
        };
        rows.insert(name, row(name, &doc));
        for (alias, _) in aliases.iter().filter(|(_, symbol)| *symbol == name) {
            let doc = format!(
                "[`{name}`](Self::{name}) under the header's name for it, in drivers since CUDA {release}."
            );
            rows.insert(alias, row(alias, &doc));
        }
    }
    let rows: String = rows.into_values().collect();
    format!(
        "macro_rules! for_each_method {{\n    ($callback:ident) => {{\n        $callback! {{\n{rows}        }}\n    }};\n}}\npub(crate) use for_each_method;\n"
    )
}

/// `names.rs`: aliases, and the names of the result codes.
pub(super) fn render_names(aliases: &BTreeMap<String, String>, types: &str) -> Result<String> {
    let mut text = String::from("pub(crate) const ALIASES: &[(&str, &str)] = &[\n");
    for (alias, symbol) in aliases {
        let _ = writeln!(text, "({alias:?}, {symbol:?}),");
    }
    text += "];\npub(crate) const RESULTS: &[(u32, &str)] = &[\n";
    for (code, name) in results(types, "CUresult")? {
        let _ = writeln!(text, "({code}, {name:?}),");
    }
    Ok(text + "];\n")
}

/// The codes of an enum of results, ascending.
pub(super) fn results(types: &str, of: &str) -> Result<BTreeMap<u32, String>> {
    let mut results = BTreeMap::new();
    let (middle, end) = (format!(": {of} = {of}("), ");");
    for line in types.lines() {
        let Some((name, value)) =
            line.trim().strip_prefix("pub const ").and_then(|c| c.split_once(middle.as_str()))
        else {
            continue;
        };
        let code: u32 = value.trim_end_matches(end).parse()?;
        if let Some(other) = results.insert(code, name.to_owned()) {
            return Err(format!("{name} and {other} are both {code}").into());
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn declare(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| format!("pub fn {name}(a: *mut CUx, n: usize) -> CUresult; ")).collect()
    }

    const ALL: &[&str] = &["cuA", "cuA_v2", "cuA_v2_ptsz", "cuB"];
    const TYPEDEFS: &str = "PFN_cuA_v3020)(..) PFN_cuA_v2000)(..) PFN_cuA_v7000_ptsz PFN_cuB_v12040 PFN_cuB";

    #[test]
    fn symbols_stand_beside_the_versions_of_their_name() {
        let since = since(&declare(ALL), TYPEDEFS).unwrap();
        let expected = [("cuA", 2000), ("cuA_v2", 3020), ("cuA_v2_ptsz", 7000), ("cuB", 12040)];
        assert_eq!(since, expected.map(|(name, version)| (name.to_owned(), version)).into());
    }

    #[test]
    fn a_symbol_without_a_version_is_an_error() {
        assert!(since(&declare(&["cuA"]), TYPEDEFS).unwrap_err().to_string().starts_with("cuA: "));
        assert_eq!(since(&declare(&["cuC"]), TYPEDEFS).unwrap_err().to_string(), "cuC: no typedef");
    }

    #[test]
    fn lists_are_made_of_symbols_and_aliases() {
        let functions = functions(&declare(&["cuB", "cuA_v2"]), &declare(ALL), TYPEDEFS).unwrap();
        let header = "#define cuA __CUDA_API_PTSZ(cuA_v2)\n#define cuB __CUDA_API_PTSZ(cuB)\n#define cuC cuC_v2 \n#define CUx 1\n";
        let aliases = aliases(header, &functions);
        assert_eq!(aliases, [("cuA".to_owned(), "cuA_v2".to_owned())].into());
        let list = render_list(&functions);
        assert!(list.contains("cuA_v2(a: *mut $crate::CUx, n: usize) 3020;\n            cuB(a: *mut $crate::CUx, n: usize) 12040;"));
        let methods = render_methods(&functions, &aliases);
        assert!(methods.contains("in drivers since CUDA 3.2.\" cuA(a: *mut CUx, n: usize) = cuA_v2(a, n);"));
        assert!(
            methods
                .contains("\"`cuB`, in drivers since CUDA 12.4.\" cuB(a: *mut CUx, n: usize) = cuB(a, n);")
        );
    }
}
