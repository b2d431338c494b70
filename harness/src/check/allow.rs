//! What is not to be reported: `RULE`, or `RULE:KERNEL` with `*` for any text.

use super::rule::{Finding, Rule};

/// One suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    rule: Rule,
    kernel: Option<String>,
}

impl Allow {
    /// Reads `leak` or `bad-pointer:my_*`; none for an unknown rule.
    pub fn of(text: &str) -> Option<Allow> {
        let (rule, kernel) = match text.split_once(':') {
            Some((rule, kernel)) => (rule, Some(kernel.trim().to_owned())),
            None => (text, None),
        };
        Some(Allow { rule: Rule::named(rule.trim())?, kernel })
    }

    pub(super) fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule
            && match (&self.kernel, &finding.kernel) {
                (None, _) => true,
                (Some(glob), Some(kernel)) => matches(glob, kernel),
                (Some(_), None) => false,
            }
    }
}

/// Whether a text fits, where `*` is any text. Each part is looked for behind the one before: no text takes longer than its square.
fn matches(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_text() {
        for (glob, text, expected) in [
            ("saxpy", "saxpy", true),
            ("saxpy", "saxpy2", false),
            ("sax*", "saxpy", true),
            ("*py", "saxpy", true),
            ("s*p*", "saxpy", true),
            ("s*z*y", "saxpy", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_rule_is_named_as_in_the_report() {
        assert!(Allow::of("leak").is_some() && Allow::of(" bad-pointer : a* ").is_some());
        assert_eq!((Allow::of("leaks"), Allow::of("")), (None, None));
    }
}
