//! `src/enums.rs` has the enums of `cuda_driver_sys` that functions take. `UPDATE_ENUMS=1` writes it.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

macro_rules! types {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        const TYPES: &[&str] = &[$($(stringify!($type),)*)*];
    };
}
cuda_driver_sys::for_each_function!(types);

/// Each enum with its values, the first name of each.
fn enums(types: &str) -> BTreeMap<String, BTreeMap<u32, String>> {
    let mut enums: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    let text = types.split_whitespace().collect::<Vec<_>>().join(" ");
    for item in text.split("pub const ").skip(1) {
        // NAME: Type = Type(1);
        let Some((name, rest)) = item.split_once(": ") else { continue };
        let Some((ty, value)) = rest.split_once(';').and_then(|(value, _)| value.split_once(" = ")) else {
            continue;
        };
        let value =
            value.strip_prefix(ty).and_then(|value| value.strip_prefix('(')?.strip_suffix(')')?.parse().ok());
        if let Some(value) = value {
            enums.entry(ty.to_owned()).or_default().entry(value).or_insert_with(|| name.to_owned());
        }
    }
    enums
}

#[test]
fn the_names_are_those_of_the_bindings() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = enums(&fs::read_to_string(here.join("../sys/src/generated/types.rs")).unwrap());
    let mut used: BTreeSet<&str> = TYPES.iter().filter_map(|ty| ty.rsplit([':', ' ']).next()).collect();
    // Under other names in the list; and the codes have their own table.
    used.insert("CUlaunchAttributeID");
    used.remove("CUresult");
    let mut text = String::from(
        "// Made by `UPDATE_ENUMS=1 cargo test -p cuda-harness --test enums` from the types of `cuda_driver_sys`: do not edit.\n\n\
         /// Enums that are arguments of driver functions: values and names.\n\
         pub(crate) static ENUMS: &[(&str, &[(u32, &str)])] = &[\n",
    );
    for (name, values) in all.iter().filter(|(name, _)| used.contains(name.as_str())) {
        writeln!(text, "    (\"{name}\", &[").unwrap();
        values.iter().for_each(|(value, name)| writeln!(text, "        ({value}, \"{name}\"),").unwrap());
        writeln!(text, "    ]),").unwrap();
    }
    text += "];\n";
    let file = here.join("src/enums.rs");
    if std::env::var_os("UPDATE_ENUMS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert!(text.lines().count() > 600, "the types are not read");
    assert!(
        fs::read_to_string(&file).unwrap() == text,
        "src/enums.rs is not what the bindings have: UPDATE_ENUMS=1 writes it"
    );
}
