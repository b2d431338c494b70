//! `cargo xtask since`: which driver brought which value of an enumeration, from the headers that `bindgen.toml` pins: it writes the
//! table of `sys/src/since.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use crate::Result;
use crate::cargo::{root, write_changed};
use crate::wheels::Wheels;

const TABLE: &str = "sys/src/since.rs";
/// Between these is the table.
const BEGIN: &str = "\nlater! {\n";
const END: &str = "\n}\n";

/// Not read: a `CUresult` is returned, never passed, and whether there is a `CUjit_target` is decided by the device.
const LEFT_OUT: [&str; 2] = ["CUresult", "CUjit_target"];

/// The values of each enumeration by name, in the header's order.
type Enumerations = BTreeMap<String, Vec<(String, i64)>>;

/// Fetches the headers, and rewrites the table.
pub(crate) fn write() -> Result<()> {
    let root = root()?;
    let wheels = Wheels::read(root)?;
    let mut headers = Vec::new();
    for (version, table) in tables(&wheels)? {
        wheels.fetch(&table)?;
        headers.push((version, enumerations(&fs::read_to_string(wheels.file(&table, "header")?)?)?));
    }
    let path = root.join(TABLE);
    let text = fs::read_to_string(&path)?;
    let (before, rest) = text.split_once(BEGIN).ok_or(format!("{TABLE} has no table"))?;
    let (_, after) = rest.split_once(END).ok_or(format!("the table of {TABLE} does not end"))?;
    write_changed(&path, &format!("{before}{BEGIN}{}{END}{after}", later(&headers)?.trim_end()))
}

/// The pinned headers, the oldest first, each with its version (12080 for 12.8) and its table in `bindgen.toml`.
fn tables(wheels: &Wheels) -> Result<Vec<(u32, String)>> {
    let newest = wheels.setting("driver", "version")?;
    let names = wheels.settings.keys().filter_map(|key| Some((key.strip_prefix("cuda ")?, key.as_str())));
    let mut tables = names
        .chain([(newest, "driver")])
        .map(|(release, table)| Ok((number(release)?, table.to_owned())))
        .collect::<Result<Vec<_>>>()?;
    tables.sort();
    Ok(tables)
}

/// 12080 for `12.8` and `12.8.90`.
fn number(release: &str) -> Result<u32> {
    let mut parts = release.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok(major * 1000 + minor * 10),
        _ => Err(format!("`{release}` is not a release such as 12.8").into()),
    }
}

/// The enumerations of a header that have a name, without values that only count the others.
fn enumerations(header: &str) -> Result<Enumerations> {
    let text = without_comments(header);
    let (mut found, mut all) = (Enumerations::new(), BTreeMap::new());
    for part in text.split("typedef enum").skip(1) {
        let Some((values, name)) = part.split_once('{').and_then(|(_, body)| body.split_once('}')) else {
            continue;
        };
        let Some(enumeration) = word(name).filter(|name| !LEFT_OUT.contains(name)) else { continue };
        let (mut names, mut next) = (Vec::new(), 0);
        for value in values.split(',').filter(|value| !value.trim().is_empty()) {
            let name = word(value).ok_or_else(|| format!("{enumeration}: `{value}` has no name"))?;
            let number = value.split_once('=').map_or(Some(next), |(_, number)| sum(number, &all));
            let number =
                number.ok_or_else(|| format!("{enumeration}: what is the value of `{}`?", value.trim()))?;
            all.insert(name.to_owned(), number);
            next = number + 1;
            if !counts(name) {
                names.push((name.to_owned(), number));
            }
        }
        found.insert(enumeration.to_owned(), names);
    }
    Ok(found)
}

/// The value of numbers and `known` names that are added, shifted or combined with `|`, from the left to the right.
fn sum(text: &str, known: &BTreeMap<String, i64>) -> Option<i64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect();
    let operator = ["<<", "+", "|"].iter().filter_map(|sign| Some((text.rfind(sign)?, sign))).max();
    let Some((at, sign)) = operator else { return known.get(&text).copied().or_else(|| literal(&text)) };
    let (left, right) = (sum(&text[..at], known)?, sum(&text[at + sign.len()..], known)?);
    match *sign {
        "+" => left.checked_add(right),
        "|" => Some(left | right),
        _ => left.checked_shl(right.try_into().ok()?),
    }
}

fn literal(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The first word, if it is a name.
fn word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// Without comments and lines for the preprocessor.
fn without_comments(header: &str) -> String {
    let mut text = String::new();
    let mut rest = header;
    while let Some((code, comment)) = rest.split_once("/*") {
        text += code;
        rest = comment.split_once("*/").map_or("", |(_, code)| code);
    }
    text += rest;
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.filter(|line| !line.trim_start().starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}

/// The rows: the values that the newest header has and the oldest does not, in enumerations that the oldest has.
fn later(headers: &[(u32, Enumerations)]) -> Result<String> {
    let [(first, oldest), .., (_, newest)] = headers else {
        return Err("bindgen.toml has no older headers".into());
    };
    let mut rows = String::new();
    for (enumeration, values) in newest.iter().filter(|(name, _)| oldest.contains_key(*name)) {
        let has = |header: &Enumerations, number| {
            header.get(enumeration).is_some_and(|values| values.iter().any(|(_, known)| *known == number))
        };
        let mut by_version: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        let mut listed = BTreeSet::new();
        for (name, number) in values {
            let since = headers
                .iter()
                .find(|(_, header)| has(header, *number))
                .map_or(*first, |(version, _)| *version);
            if since > *first && listed.insert(number) {
                by_version.entry(since).or_default().push(name);
            }
        }
        if !by_version.is_empty() {
            writeln!(rows, "    {enumeration} {{")?;
        }
        for (version, names) in &by_version {
            writeln!(rows, "        {}_{:03}: {};", version / 1000, version % 1000, names.join(" "))?;
        }
        if !by_version.is_empty() {
            writeln!(rows, "    }}")?;
        }
    }
    Ok(rows)
}

/// Whether a value is the number of the others, or all of them at once: it changes with every header.
fn counts(name: &str) -> bool {
    name.ends_with("_MAX") || name.ends_with("_FLAGS_MASK") || name.contains("_NUM_")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_of_the_first_header_that_has_it_under_any_name() {
        let header = |values: &str, more: &str| {
            let text = format!(
                "/* typedef enum not {{ A }} not; */\ntypedef enum CUx_enum {{\n#if 1\n  X_A = 0, /**< a, b */ {values}\n  X_MAX // last\n\
                 #endif\n}} CUx;\n{more}typedef struct CUs_st {{ int a; }} CUs;"
            );
            enumerations(&text).unwrap()
        };
        let headers = [
            (11080, header("X_OLD = 7,", "")),
            (12000, header("X_B = 0x1 << 2,", "typedef enum CUy_enum { Y } CUy;")),
            (
                13010,
                header(
                    "X_C, X_B = 4u, X_D, X_E = (X_B + 8), X_NEW = 0x7, X_F = 12,",
                    "typedef enum CUy_enum { Y, Y_B } CUy;",
                ),
            ),
        ];
        assert_eq!(headers[0].1["CUx"], [("X_A".to_owned(), 0), ("X_OLD".to_owned(), 7)]);
        assert_eq!(
            later(&headers).unwrap(),
            "    CUx {\n        12_000: X_B;\n        13_010: X_C X_D X_E;\n    }\n"
        );
        assert!(enumerations("typedef enum E { A = B } E;").is_err());
    }

    #[test]
    fn releases_become_numbers_of_drivers() {
        assert_eq!((number("12.8").unwrap(), number("13.5.37").unwrap()), (12080, 13050));
        assert!(number("x.1").is_err() && number("12").is_err());
    }
}
