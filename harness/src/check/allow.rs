//! Suppressions: `RULE`, or `RULE:KERNEL` with `*` for any text.

use super::rule::{Finding, Rule};
use crate::glob::matches;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_named_as_in_the_report() {
        assert!(Allow::of("leak").is_some() && Allow::of(" bad-pointer : a* ").is_some());
        assert_eq!((Allow::of("leaks"), Allow::of("")), (None, None));
    }
}
