//! The tables of the run-time compilers: one file each, types and functions in it.

use super::functions::results;
use super::tools::Tools;
use super::{opening, types};
use crate::Result;
use std::fmt::Write as _;

/// The generated file of one compiler.
pub(super) fn generate(tools: &Tools, name: &str) -> Result<String> {
    let result = tools
        .wheels
        .settings
        .get(name)
        .and_then(|table| table.get("bindgen")?.get("must-use-type")?.as_str())
        .ok_or_else(|| format!("bindgen.toml: [{name}.bindgen] needs must-use-type = \"...\""))?;
    let (types, declared) = types::split(&tools.bindgen(name, &[])?);
    let text = render(&types, &declared.concat(), result)?;
    Ok(opening(tools, name)? + &text)
}

fn render(types: &str, declared: &str, result: &str) -> Result<String> {
    let mut text = types.to_owned();
    text += "\ncrate::compiler::table! {\n";
    let mut rows: Vec<String> = declared.split(';').filter_map(row).collect();
    rows.sort();
    rows.iter().for_each(|row| text.extend(["    ", row, ";\n"]));
    let _ = write!(text, "}}\n\npub(crate) const RESULTS: &[(u32, &str)] = &[\n");
    for (code, name) in results(types, result)? {
        let _ = writeln!(text, "({code}, {name:?}),");
    }
    Ok(text + "];\n")
}

/// `name(parameters) -> type` of a declaration, under the name that every version of the library exports.
fn row(declaration: &str) -> Option<String> {
    let (_must_use, rest) = declaration.split_once("pub fn ")?;
    let (name, rest) = rest.split_once('(')?;
    // `__nvJitLinkCreate_13_0` is what the header's inline `nvJitLinkCreate` calls; both are exported, with one signature.
    let plain =
        name.strip_prefix("__").map_or(name, |name| name.trim_end_matches(|c: char| !c.is_alphabetic()));
    Some(format!("{plain}({rest}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_plain_names() {
        let types = "pub struct r(pub u32);\n    pub const OK: r = r(0);\n";
        let declared = "#[must_use] pub fn __nvB_13_0(n: u32) -> r; pub fn nvA(code: r) -> *const u8; ";
        let text = render(types, declared, "r").unwrap();
        assert!(
            text.contains("table! {\n    nvA(code: r) -> *const u8;\n    nvB(n: u32) -> r;\n}"),
            "{text}"
        );
        assert!(text.ends_with("[\n(0, \"OK\"),\n];\n"), "{text}");
    }
}
