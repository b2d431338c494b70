//! From bindgen's output to `types.rs`: declarations out, names that people use in.

use std::collections::BTreeMap;

/// `(types, functions)`: bindgen's output without its extern blocks, and those blocks.
pub(super) fn split(output: &str) -> (String, Vec<String>) {
    let (mut types, mut functions, mut block) = (String::new(), Vec::new(), None::<String>);
    for line in output.lines() {
        match &mut block {
            None if line == "unsafe extern \"C\" {" => block = Some(String::new()),
            None => types.extend([line, "\n"]),
            Some(text) if line == "}" => functions.push(std::mem::take(text)),
            Some(text) => text.extend([line.trim(), " "]),
        }
        if line == "}" {
            block = None;
        }
    }
    (types, functions)
}

/// Gives types the name they have in the API instead of their C tag (`CUresult`, not `cudaError_enum`), and nested
/// types the name of their field instead of a number that moves from release to release.
pub(super) fn rename(types: &str) -> String {
    let aliases = aliases(types);
    let tags = tags(types, &aliases);
    let renamed = replace(types, |word| {
        tags.iter().find_map(|(tag, name)| match word.strip_prefix(tag.as_str())? {
            rest if rest.is_empty() || rest.starts_with("__bindgen_ty_") => Some(format!("{name}{rest}")),
            _ => None,
        })
    });
    let defined: Vec<&String> = tags.values().collect();
    let kept = renamed.lines().filter(|line| match alias(line) {
        Some((name, _)) => !defined.iter().any(|d| *d == name),
        None => true,
    });
    name_nested(&kept.fold(String::new(), |text, line| text + line + "\n"))
}

/// `name = target` of a plain `pub type` or of an enum's `pub use`.
fn alias(line: &str) -> Option<(&str, &str)> {
    let pair = match line.strip_prefix("pub use self::") {
        Some(rest) => rest.strip_suffix(';')?.split_once(" as ").map(|(target, name)| (name, target)),
        None => line.strip_prefix("pub type ")?.strip_suffix(';')?.split_once(" = "),
    };
    pair.filter(|(_, target)| target.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

fn aliases(types: &str) -> BTreeMap<&str, &str> {
    types.lines().filter_map(alias).collect()
}

/// The API's name for each C tag: the tag without its ending if that means the same type, else its direct alias.
fn tags(types: &str, aliases: &BTreeMap<&str, &str>) -> BTreeMap<String, String> {
    let resolve = |name| std::iter::successors(Some(name), |name| aliases.get(name).copied()).last();
    let mut tags = BTreeMap::new();
    for tag in types.lines().filter_map(defined_type) {
        let Some(base) = ["_st", "_enum", "_union", "_struct"].iter().find_map(|end| tag.strip_suffix(end))
        else {
            continue;
        };
        let direct = || aliases.iter().find(|(_, target)| **target == tag).map(|(name, _)| *name);
        // C does not scope tags; bindgen writes the union before the structs declared in it.
        let is_union = |outer: &str| types.contains(&format!("pub union {outer} {{"));
        let inner = || {
            base.match_indices("_CU").find(|(at, _)| is_union(&base[..*at])).map(|(at, _)| &base[at + 1..])
        };
        let name = if resolve(base) == Some(tag) { Some(base) } else { direct().or_else(inner) };
        tags.extend(name.map(|name| (tag.to_owned(), name.to_owned())));
    }
    tags
}

fn defined_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub union "))?;
    rest.split(|c: char| !is_word(c)).next()
}

/// `Outer__bindgen_ty_1` becomes `Outer_field`, outermost first; a member without a name keeps its number.
fn name_nested(types: &str) -> String {
    let mut text = types.to_owned();
    loop {
        let found = text.lines().find_map(|line| {
            let (field, ty) = line.strip_prefix("    pub ")?.strip_suffix(',')?.split_once(": ")?;
            let (outer, number) = ty.rsplit_once("__bindgen_ty_")?;
            let plain = number.parse::<u32>().is_ok() && !field.starts_with("__bindgen");
            plain.then(|| (ty.to_owned(), format!("{outer}_{field}")))
        });
        let Some((old, new)) = found else { return text };
        text = replace(&text, |word| {
            let rest = word.strip_prefix(old.as_str())?;
            (rest.is_empty() || rest.starts_with('_')).then(|| format!("{new}{rest}"))
        });
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Replaces whole identifiers.
fn replace(text: &str, rename: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        out.push_str(&rest[..start]);
        out.push_str(rename(word).as_deref().unwrap_or(word));
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_taken_out() {
        let output = "pub type A = u8;\nunsafe extern \"C\" {\n    pub fn cuA(a: A) -> CUresult;\n}\npub type B = A;\n";
        let (types, functions) = split(output);
        assert_eq!(types, "pub type A = u8;\npub type B = A;\n");
        assert_eq!(functions, ["pub fn cuA(a: A) -> CUresult; "]);
    }

    #[test]
    fn types_get_the_name_of_the_api() {
        let types = "pub struct cudaError_enum(pub u32);\npub use self::cudaError_enum as CUresult;\n\
                     pub struct CUx_st {\n    pub r: CUresult,\n}\npub type CUx_v1 = CUx_st;\npub type CUx = CUx_v1;\n";
        let expected = "pub struct CUresult(pub u32);\npub struct CUx {\n    pub r: CUresult,\n}\npub type CUx_v1 = CUx;\n";
        assert_eq!(rename(types), expected);
        // The plain name means the second version: the first keeps its number.
        let types = "pub struct CUy_st {\n}\npub type CUy_v1 = CUy_st;\npub struct CUy_v2_st {\n}\n\
                     pub type CUy_v2 = CUy_v2_st;\npub type CUy = CUy_v2;\n";
        let expected = "pub struct CUy_v1 {\n}\npub struct CUy_v2 {\n}\npub type CUy = CUy_v2;\n";
        assert_eq!(rename(types), expected);
        // A handle's target is nobody's value.
        let types = "pub struct CUh_st {\n}\npub type CUhandle = *mut CUh_st;\n";
        assert_eq!(rename(types), types);
    }

    #[test]
    fn nested_types_get_the_name_of_their_field() {
        let types = "pub union CUv_union {\n    pub dim: CUv_union__bindgen_ty_1,\n    pub __bindgen_anon_1: CUv_union__bindgen_ty_2,\n}\n\
                     pub struct CUv_union__bindgen_ty_1 {\n    pub deep: CUv_union__bindgen_ty_1__bindgen_ty_1,\n}\n\
                     pub type CUv = CUv_union;\n";
        let expected = "pub union CUv {\n    pub dim: CUv_dim,\n    pub __bindgen_anon_1: CUv__bindgen_ty_2,\n}\n\
                        pub struct CUv_dim {\n    pub deep: CUv_dim_deep,\n}\n";
        assert_eq!(rename(types), expected);
        let types = "pub union CUo_union {\n    pub wait: CUo_union_CUwait_st,\n}\npub struct CUo_union_CUwait_st {\n}\n";
        let expected = "pub union CUo_union {\n    pub wait: CUwait,\n}\npub struct CUwait {\n}\n";
        assert_eq!(rename(types), expected);
    }
}
