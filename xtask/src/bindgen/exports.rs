//! The list of what a driver's library exports: every function under its own symbol, older ABIs, and the forms whose NULL stream is the
//! calling thread's own.

use super::functions::{Function, declaration, numbered, qualify, since, typed, types};
use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Older ABIs with parameters of their own for which newer functions can stand in: `older_abi.rs` of the emulator has them.
const ADAPTED: &[&str] = &[
    "cuCtxCreate",
    "cuCtxCreate_v2",
    "cuGraphInstantiate",
    "cuGraphInstantiate_v2",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuStreamBeginCapture",
    "cuStreamGetCaptureInfo",
];

/// Older ABIs that look like the newer ones and do something else: of these a driver wants a parameter of its kernel module.
const OTHER: &[&str] = &[
    "cuStreamBatchMemOp",
    "cuStreamWaitValue32",
    "cuStreamWaitValue64",
    "cuStreamWriteValue32",
    "cuStreamWriteValue64",
];

/// A symbol of a driver's library.
pub(super) struct Export {
    symbol: String,
    /// What programs ask `cuGetProcAddress` for.
    name: String,
    since: u32,
    per_thread: bool,
    /// None, where nothing looks at the arguments.
    parameters: String,
    how: How,
}

/// What is behind a symbol.
#[derive(Clone)]
enum How {
    /// That function of the table, which takes the same.
    Same(String),
    /// What `ADAPTED` names.
    Adapted,
    /// Nothing; programs of today call this one.
    Refused(String),
}

/// Headers beside the main one, with the text of their typedefs: no function of theirs is in the table.
pub(super) struct Other {
    pub(super) header: String,
    pub(super) typedefs: String,
}

/// Those of the folder that the main header is in. The profiler's has typedefs only.
pub(super) fn others(header: &Path) -> Result<Vec<Other>> {
    let read = |name: String| fs::read_to_string(header.with_file_name(name));
    let other = |name: &str| {
        Ok(Other {
            header: read(format!("cuda{name}.h")).unwrap_or_default(),
            typedefs: read(format!("cuda{name}Typedefs.h"))?,
        })
    };
    ["GL", "EGL", "VDPAU", "Profiler"].into_iter().map(other).collect()
}

/// Every symbol, ascending. `all` declares those of the main header, older ABIs included.
pub(super) fn exports(
    functions: &[Function],
    all: &[String],
    typedefs: &str,
    others: &[Other],
) -> Result<Vec<Export>> {
    let families = families(all);
    let versions = since(all, typedefs)?;
    let mut exports = Vec::new();
    for (symbol, parameters) in all.iter().filter_map(|text| declaration(text)) {
        let how = behind(plain(symbol), functions, &families);
        let parameters = if matches!(how, How::Refused(_)) { "" } else { parameters };
        exports.push(Export::new(symbol, versions[symbol], parameters, how));
    }
    for Other { header, typedefs } in others {
        let mut names = declared(header);
        if names.is_empty() {
            names = typed(typedefs).map(|(name, _)| name).collect();
        }
        // Another system's.
        let names = names.into_iter().filter(|name| !name.starts_with("cuWGL"));
        let all: Vec<_> = names.map(|name| format!("pub fn {name}() -> CUresult;")).collect();
        for (symbol, version) in since(&all, typedefs)? {
            let is_adapted = ADAPTED.contains(&symbol.as_str());
            let how = if is_adapted { How::Adapted } else { How::Refused(symbol.clone()) };
            exports.push(Export::new(&symbol, version, "", how));
        }
    }
    exports.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    Ok(exports)
}

impl Export {
    fn new(symbol: &str, since: u32, parameters: &str, how: How) -> Export {
        Export {
            symbol: symbol.to_owned(),
            name: numbered(plain(symbol)).0,
            since,
            per_thread: plain(symbol) != symbol,
            parameters: parameters.to_owned(),
            how,
        }
    }
}

/// Without the ending of the forms whose NULL stream is the thread's own.
fn plain(symbol: &str) -> &str {
    let end = ["_ptsz", "_ptds"].iter().find_map(|end| symbol.strip_suffix(end));
    end.unwrap_or(symbol)
}

/// The plain symbols of each name, by the number of their ABI, with their parameters.
type Families<'a> = BTreeMap<String, BTreeMap<u32, (&'a str, &'a str)>>;

fn families(all: &[String]) -> Families<'_> {
    let mut families = Families::new();
    for (symbol, parameters) in all.iter().filter_map(|text| declaration(text)) {
        if plain(symbol) == symbol {
            let (base, number) = numbered(symbol);
            families.entry(base).or_default().insert(number.unwrap_or(1), (symbol, parameters));
        }
    }
    families
}

fn behind(symbol: &str, functions: &[Function], families: &Families<'_>) -> How {
    let row = |name: &str| functions.iter().find(|function| function.name == name);
    // The table has the first ABI of a name under a number of its own.
    if let Some(found) = row(symbol).or_else(|| row(&format!("{symbol}_v1"))) {
        return How::Same(found.name.clone());
    }
    if ADAPTED.contains(&symbol) {
        return How::Adapted;
    }
    let (base, number) = numbered(symbol);
    let abis = &families[&base];
    let number = number.unwrap_or(1);
    let newest = abis.values().next_back().map_or(symbol, |(newest, _)| newest);
    let next = abis.range(number + 1..).next().map(|(_, next)| *next);
    match next {
        Some((next, parameters))
            if types(parameters) == types(abis[&number].1) && !OTHER.contains(&symbol) =>
        {
            behind(next, functions, families)
        }
        _ => How::Refused(newest.to_owned()),
    }
}

/// `exports.rs`: the public macro that hands out the list.
pub(super) fn render(exports: &[Export]) -> String {
    let mut rows = String::new();
    for Export { symbol, name, since, per_thread, parameters, how } in exports {
        let default = if *per_thread { "per_thread" } else { "legacy" };
        let (how, target) = match how {
            How::Same(function) => ("same", function.as_str()),
            How::Adapted => ("adapted", plain(symbol)),
            How::Refused(newest) => ("refused", newest.as_str()),
        };
        let parameters = if parameters.is_empty() { String::new() } else { qualify(parameters) };
        let _ =
            writeln!(rows, "            {symbol}({parameters}) {since} {name:?} {default} {how} {target};");
    }
    format!(
        "\
/// Passes every symbol that a driver's library exports to a macro, for libraries that stand in for one: `for_each_export!(callback)` is
/// `callback! {{ cuInit(Flags: ::core::ffi::c_uint) 2000 \"cuInit\" legacy same cuInit; .. }}`.
///
/// Each row is `symbol(argument: Type, ..) since \"name\" default how target;`. Programs ask `cuGetProcAddress` for the name. A NULL stream
/// is the `legacy` one, or the calling thread's own (`per_thread`). The symbol does what `target` does, a function of
/// [`for_each_function!`](crate::for_each_function) with the `same` parameters. Where no function of the table takes the same,
/// the row is `adapted`, if newer ones can do what this older ABI did, or `refused`, without arguments: ABIs of before CUDA 3.2, with addresses of
/// 32 bits, and graphics; then `target` is what programs of today call.
#[macro_export]
macro_rules! for_each_export {{
    ($($callback:tt)+) => {{
        $($callback)+! {{
{rows}        }}
    }};
}}
"
    )
}

/// `exports.txt`: a line for each symbol, with its name, since when, and whether its NULL stream is the thread's own.
pub(super) fn render_names(exports: &[Export]) -> String {
    let line = |export: &Export| {
        let own = if export.per_thread { " per-thread" } else { "" };
        format!("{} {} {}{own}\n", export.symbol, export.name, export.since)
    };
    exports.iter().map(line).collect()
}

/// Fails unless the list has every function that the header's text declares or renames, and every one that the typedefs' text names. Neither is
/// what the list was made of: that is bindgen's output.
pub(super) fn walk(exports: &[Export], header: &str, typedefs: &str) -> Result<()> {
    let known: BTreeSet<&str> = exports.iter().map(|export| export.symbol.as_str()).collect();
    let lost: Vec<_> = declared(header).into_iter().filter(|name| !known.contains(name.as_str())).collect();
    let versions: BTreeSet<(String, u32)> = exports
        .iter()
        .map(|export| {
            let end = export.symbol.strip_prefix(plain(&export.symbol)).unwrap_or_default();
            (format!("{}{end}", export.name), export.since)
        })
        .collect();
    let unknown: BTreeSet<_> = typed(typedefs).filter(|typed| !versions.contains(typed)).collect();
    match lost.is_empty() && unknown.is_empty() {
        true => Ok(()),
        false => Err(format!("no export for {lost:?} of the header, {unknown:?} of the typedefs").into()),
    }
}

/// Every function that a header's text declares (`CUresult CUDAAPI cuX(`) or gives another name (`#define cuX cuX_v2`).
fn declared(header: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, rest) in header.match_indices("CUDAAPI").map(|(at, word)| header.split_at(at + word.len())) {
        let rest = rest.trim_start();
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        if rest.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('(')) {
            names.insert(name.to_owned());
        }
    }
    for line in header.lines() {
        let mut words = line.split_whitespace();
        let (Some("#define"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let value = value.trim_end_matches(')');
        let forms = [("__CUDA_API_PTDS(", "_ptds"), ("__CUDA_API_PTSZ(", "_ptsz")];
        match forms.iter().find_map(|(start, end)| Some((value.strip_prefix(start)?, end))) {
            Some((symbol, end)) => names.extend([symbol.to_owned(), format!("{symbol}{end}")]),
            // Not the header's inline function, which passes a flag of its own.
            None if name.starts_with("cu") && value != "cuGetProcAddress_v2_ptsz" => {
                names.insert(value.to_owned());
            }
            None => {}
        }
    }
    names.retain(|name| name.starts_with("cu") && !name.starts_with("cuda"));
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::functions::functions;
    use super::*;

    fn declare(names: &[(&str, &str)]) -> Vec<String> {
        names.iter().map(|(name, ty)| format!("pub fn {name}(a: {ty}) -> CUresult;")).collect()
    }

    const ALL: &[(&str, &str)] = &[
        ("cuA", "u32"),
        ("cuA_v2", "usize"),
        ("cuA_v2_ptsz", "usize"),
        ("cuB", "u32"),
        ("cuB_v2", "u32"),
        ("cuCtxCreate", "u32"),
    ];
    const TYPEDEFS: &str =
        "PFN_cuA_v2000 PFN_cuA_v3020 PFN_cuA_v7000_ptsz PFN_cuB_v2000 PFN_cuB_v4000 PFN_cuCtxCreate_v2000";

    fn rows() -> Vec<Export> {
        let table = declare(&[("cuA_v2", "usize"), ("cuB_v2", "u32")]);
        let functions = functions(&table, &declare(ALL), TYPEDEFS).unwrap();
        let other = Other {
            header: "CUresult CUDAAPI cuGLInit(void);\n#define cuGLMap __CUDA_API_PTDS(cuGLMap_v2)\n#define CUGL_H 1\n".into(),
            typedefs: "PFN_cuGLInit_v2000 PFN_cuGLMap_v3020 PFN_cuGLMap_v7000_ptds".into(),
        };
        exports(&functions, &declare(ALL), TYPEDEFS, &[other]).unwrap()
    }

    #[test]
    fn each_symbol_says_what_is_behind_it() {
        let text = render(&rows());
        for row in [
            "cuA() 2000 \"cuA\" legacy refused cuA_v2;",
            "cuA_v2(a: usize) 3020 \"cuA\" legacy same cuA_v2;",
            "cuA_v2_ptsz(a: usize) 7000 \"cuA\" per_thread same cuA_v2;",
            "cuB(a: u32) 2000 \"cuB\" legacy same cuB_v2;",
            "cuCtxCreate(a: u32) 2000 \"cuCtxCreate\" legacy adapted cuCtxCreate;",
            "cuGLInit() 2000 \"cuGLInit\" legacy refused cuGLInit;",
            "cuGLMap_v2_ptds() 7000 \"cuGLMap\" per_thread refused cuGLMap_v2_ptds;",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
        assert!(render_names(&rows()).contains("cuA_v2 cuA 3020\ncuA_v2_ptsz cuA 7000 per-thread\n"));
    }

    #[test]
    fn what_a_header_has_and_the_list_lacks_is_an_error() {
        let header = "CUresult CUDAAPI cuA(int a);\n#define cuA __CUDA_API_PTSZ(cuA_v2)\n";
        walk(&rows(), header, TYPEDEFS).unwrap();
        let error = walk(&rows(), "CUresult CUDAAPI cuNew(int a);", TYPEDEFS).unwrap_err().to_string();
        assert!(error.contains("cuNew"), "{error}");
        let error = walk(&rows(), header, "PFN_cuA_v9000").unwrap_err().to_string();
        assert!(error.contains("9000"), "{error}");
    }
}
