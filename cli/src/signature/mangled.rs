//! The types in the mangled name of a C++ kernel.

use crate::model::{Access, Meaning};
use crate::scalar::Scalar;

/// The maximum length of a name: a demangled name can be far longer than the mangled one.
const LONGEST: usize = 1000;
/// The maximum length of a demangled name.
const SHOWN: usize = 4000;

/// The name as it stood in the source, if it is a mangled one.
pub(crate) fn demangled(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    let mut text = Bounded(String::new());
    cpp_demangle::Symbol::new(name).ok()?.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// Stops a name that repeats itself without end.
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > SHOWN {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The meanings of the parameters, if the name contains them.
pub(super) fn meanings(name: &str) -> Option<Vec<Meaning>> {
    let name = demangled(name)?;
    let list = name.strip_suffix(')')?;
    // From the end: template arguments may hold parentheses too.
    let mut depth = 0;
    let open = list.rfind(|c| {
        depth += match c {
            ')' => 1,
            '(' if depth == 0 => return true,
            '(' => -1,
            _ => 0,
        };
        false
    })?;
    Some(split(list.get(open + 1..)?).into_iter().map(meaning).collect())
}

/// Splits at the commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    let parts: Vec<&str> = parts.into_iter().map(str::trim).collect();
    if parts == ["void"] || parts == [""] { Vec::new() } else { parts }
}

fn meaning(ty: &str) -> Meaning {
    if let Some(target) = ty.strip_suffix('*') {
        let target = target.trim_end();
        let constant = target.ends_with("const");
        let element = Scalar::of_cpp(target.trim_end_matches("const").trim_end());
        return Meaning::Pointer { element, access: Access { reads: constant, writes: false } };
    }
    Scalar::of_cpp(ty.trim_end_matches("const").trim_end()).map_or(Meaning::Bytes, Meaning::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_types() {
        let read = Access { reads: true, writes: false };
        let pointer = |element, access| Meaning::Pointer { element, access };
        assert_eq!(
            meanings("_Z5tiledIdLi8EEvPKT_PS0_i"),
            Some(vec![
                pointer(Some(Scalar::F64), read),
                pointer(Some(Scalar::F64), Access::default()),
                Meaning::Value(Scalar::I32),
            ])
        );
        assert_eq!(meanings("_Z4nonev"), Some(Vec::new()));
        assert_eq!(meanings("_Z1k4Pair"), Some(vec![Meaning::Bytes]));
        assert_eq!(meanings("vecadd"), None);
        assert_eq!(meanings("_Zgarbage"), None);
    }
}
