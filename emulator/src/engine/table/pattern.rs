//! Patterns of instruction names.

use super::Form;

/// A modifier of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Modifier {
    /// What it can be.
    values: Vec<&'static str>,
    /// Whether it may be missing.
    optional: bool,
}

/// A pattern: a mnemonic and its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Pattern {
    mnemonic: &'static str,
    modifiers: Vec<Modifier>,
}

impl Pattern {
    /// Reads a pattern of the table.
    pub(in super::super) fn new(text: &'static str) -> Pattern {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (mnemonic, mut rest) = text.split_at(end);
        let mut modifiers = Vec::new();
        while !rest.is_empty() {
            rest = rest.trim_start_matches(']');
            let optional = rest.starts_with('[');
            rest = rest.trim_start_matches(['[', '.']);
            let end = match rest.strip_prefix('{') {
                Some(inner) => inner.find('}').map_or(rest.len(), |end| end + 2),
                None => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
            };
            let values = rest[..end].trim_matches(['{', '}']).split('|').collect();
            if end > 0 {
                modifiers.push(Modifier { values, optional });
            }
            rest = &rest[end..];
        }
        Pattern { mnemonic, modifiers }
    }

    /// The name up to the first dot.
    pub(in super::super) fn mnemonic(&self) -> &'static str {
        self.mnemonic
    }

    /// The modifiers of an instruction with these parts behind its mnemonic, if they fit: each part takes the first
    /// free modifier that has its value.
    pub(in super::super) fn matches<'n>(&self, parts: impl Iterator<Item = &'n str>) -> Option<Form<'n>> {
        let mut values = vec![""; self.modifiers.len()];
        for part in parts {
            let fits =
                |(modifier, value): (&Modifier, &&str)| value.is_empty() && modifier.values.contains(&part);
            let at = self.modifiers.iter().zip(&values).position(fits)?;
            values[at] = part;
        }
        let complete = self.modifiers.iter().zip(&values).all(|(m, value)| m.optional || !value.is_empty());
        complete.then_some(Form { values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &'static str, name: &'static str) -> Option<Vec<&'static str>> {
        let mut parts = name.split('.');
        let pattern = Pattern::new(pattern);
        assert_eq!(parts.next(), Some(pattern.mnemonic()));
        pattern.matches(parts).map(|form| form.values)
    }

    #[test]
    fn modifiers_are_optional_or_not() {
        let pattern = "add[.{rn|rz}][.ftz].f32";
        assert_eq!(matches(pattern, "add.f32"), Some(vec!["", "", "f32"]));
        assert_eq!(matches(pattern, "add.rz.ftz.f32"), Some(vec!["rz", "ftz", "f32"]));
        assert_eq!(matches(pattern, "add.ftz"), None);
        assert_eq!(matches(pattern, "add.sat.f32"), None);
        assert_eq!(matches(pattern, "add.f32.f32"), None);
    }

    #[test]
    fn equal_modifiers_keep_their_order() {
        assert_eq!(matches("cvt.{u32|f32}.{f32|u32}", "cvt.u32.f32"), Some(vec!["u32", "f32"]));
        assert_eq!(matches("cvt.{u32|f32}.{f32|u32}", "cvt.f32.f32"), Some(vec!["f32", "f32"]));
    }

    #[test]
    fn values_may_have_colons() {
        assert_eq!(matches("ld[.L2::128B].b32", "ld.L2::128B.b32"), Some(vec!["L2::128B", "b32"]));
        assert_eq!(matches("ret[.uni]", "ret"), Some(vec![""]));
    }
}
