//! Rust names for the names in an image.

use std::collections::HashMap;

use crate::model::Kernel;

/// Keywords that need `r#`; those that cannot have it (`self`, `crate`, ..) get an underscore.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
const NEVER_RAW: &[&str] = &["self", "Self", "super", "crate", "_"];
/// Names that are in use.
pub(super) type Taken = HashMap<String, u32>;

/// Methods that a typed module has of its own.
const TAKEN: &[&str] = &["functions", "as_module"];

/// A valid Rust identifier, with `r#` if necessary.
pub(super) fn identifier(name: &str) -> String {
    let name = plain(name);
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// Letters, digits and underscores, not beginning with a digit.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        // `tiled<float, 16>` is tiled_float_16.
        if c != '_'
            || !plain.ends_with('_')
            || name.is_ascii() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
        {
            plain.push(c);
        }
    }
    if plain.is_empty() || plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    if NEVER_RAW.contains(&plain.as_str()) {
        plain.push('_');
    }
    plain
}

/// The same in snake case, as for modules.
pub(super) fn snake(name: &str) -> String {
    let plain = plain(name).to_lowercase();
    if KEYWORDS.contains(&plain.as_str()) { format!("{plain}_") } else { plain }
}

/// The name of the method for a kernel, different from earlier ones.
pub(super) fn method(kernel: &Kernel, taken: &mut Taken) -> String {
    let source = kernel.source_name.as_ref().and_then(|source| before_parameters(source));
    let name = source.unwrap_or(&kernel.name);
    let short =
        name.rsplit_once("::").filter(|(scope, _)| !scope.contains('<')).map_or(name, |(_, short)| short);
    let mut name = identifier(short.trim_end_matches('>'));
    if TAKEN.contains(&name.as_str()) {
        name.push_str("_kernel");
    }
    unlike(name, taken)
}

/// The name without the parameters at its end.
fn before_parameters(source: &str) -> Option<&str> {
    let mut depth = 0;
    let open = source.rfind(|c| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        c == '(' && depth == 0
    })?;
    source.get(..open)
}

/// The name, with a number appended if it is already taken. `taken` has the last number for each name.
pub(super) fn unlike(name: String, taken: &mut Taken) -> String {
    let mut number = *taken.entry(name.clone()).and_modify(|number| *number += 1).or_insert(1);
    if number == 1 {
        return name;
    }
    loop {
        let candidate = format!("{}_{number}", name.trim_start_matches("r#"));
        if !taken.contains_key(&candidate) {
            taken.insert(candidate.clone(), 1);
            taken.insert(name, number);
            return candidate;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rust() {
        let named = |name: &str, source: Option<&str>| {
            let kernel =
                Kernel { name: name.into(), source_name: source.map(Into::into), ..Kernel::default() };
            method(&kernel, &mut Taken::new())
        };
        assert_eq!(named("vecadd", None), "vecadd");
        assert_eq!(named("_Z5", Some("tiled<float, 16>(float const*, float*, int)")), "tiled_float_16");
        assert_eq!(named("_Z6", Some("ns::scale(void (*)(int))")), "scale");
        assert_eq!(named("match", None), "r#match");
        assert_eq!(named("functions", None), "functions_kernel");
        assert_eq!(named("$odd.name", None), "_odd_name");
        assert_eq!((identifier("self"), snake("3D-Kernels")), ("self_".into(), "_3d_kernels".into()));
        let mut taken = Taken::from([("a".to_owned(), 1), ("a_3".to_owned(), 1)]);
        let mut next = || unlike("a".into(), &mut taken);
        assert_eq!([next(), next(), next()], ["a_2", "a_4", "a_5"]);
    }
}
