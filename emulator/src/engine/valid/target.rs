//! Targets of code, and which of them have a feature.

use std::fmt;

use cuda_ptx::image::Arch;

/// A target: its number, and the letter of one for a single architecture or a family; none is older than all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) number: u32,
    letter: Option<char>,
}

impl From<Arch> for Target {
    fn from(Arch { sm, suffix }: Arch) -> Target {
        Target { number: sm, letter: suffix }
    }
}

impl Target {
    /// The target of that name.
    fn named(name: &str) -> Target {
        Arch::from_name(name).map(Target::from).unwrap_or_default()
    }

    /// Whether code for this target may use features of `needed`: of all later ones too, with `a` of that one only, and with `f` of
    /// targets with a letter that are in its family, the same major version.
    fn has(self, needed: Target) -> bool {
        match needed.letter {
            None => self.number >= needed.number,
            Some('f') => {
                // It was renamed.
                let number = if self.number == 101 { 110 } else { self.number };
                self.letter.is_some() && number / 10 == needed.number / 10 && number >= needed.number
            }
            Some(_) => self == needed,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.letter.map_or(Ok(()), |letter| write!(f, "{letter}"))
    }
}

/// The targets that have a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Targets {
    /// That number or higher.
    From(u32),
    /// Any of these, with letters, between bars.
    Listed(&'static str),
}

impl Targets {
    /// Reads a column of the table.
    pub(super) fn read(text: &'static str) -> Targets {
        match Target::named(text) {
            Target { number, letter: None } if !text.contains('|') => Targets::From(number),
            _ => Targets::Listed(text),
        }
    }

    fn listed(text: &str) -> impl Iterator<Item = Target> {
        text.split('|').map(Target::named)
    }

    /// Whether code for that target may use the feature.
    pub(super) fn include(self, target: Target) -> bool {
        match self {
            Targets::From(number) => target.number >= number,
            Targets::Listed(text) => Targets::listed(text).any(|needed| target.has(needed)),
        }
    }

    /// The stricter of the two: a list, or the later one.
    pub(super) fn and(self, other: Targets) -> Targets {
        let rank = |targets| match targets {
            Targets::From(number) => (false, Target { number, letter: None }),
            Targets::Listed(text) => (true, Targets::listed(text).next().unwrap_or_default()),
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl fmt::Display for Targets {
    /// As a reader is told: `sm_80 or higher`, `sm_90a`, `sm_100f, sm_110f or sm_120f`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Targets::From(number) => write!(f, "sm_{number} or higher"),
            Targets::Listed(text) => match text.rsplit_once('|') {
                Some((first, last)) => write!(f, "{} or {last}", first.replace('|', ", ")),
                None => f.write_str(text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_targets() {
        let has = |module: &str, needed: &'static str| Targets::read(needed).include(Target::named(module));
        for (module, needed) in [
            ("sm_90", "sm_80"),
            ("sm_90a", "sm_90"),
            ("sm_90a", "sm_90a"),
            ("sm_50", "-"),
            ("sm_103f", "sm_100f"),
            ("sm_103a", "sm_100a|sm_103a"),
            ("sm_121a", "sm_100f|sm_110f|sm_120f"),
            ("sm_101a", "sm_110f"),
        ] {
            assert!(has(module, needed), "{module} {needed}");
        }
        for (module, needed) in [
            ("sm_75", "sm_80"),
            ("sm_90", "sm_90a"),
            ("sm_100a", "sm_90a"),
            ("sm_103", "sm_100f"),
            ("sm_100a", "sm_103f"),
            ("sm_120a", "sm_100f"),
            ("sm_103f", "sm_100a|sm_103a"),
        ] {
            assert!(!has(module, needed), "{module} {needed}");
        }
    }

    #[test]
    fn the_stricter_one_counts() {
        let (plain, list) = (Targets::From(100), Targets::read("sm_100a|sm_103a"));
        assert_eq!((plain.and(list), list.and(plain)), (list, list));
        assert_eq!(Targets::From(90).and(plain), plain);
        assert_eq!(list.to_string(), "sm_100a or sm_103a");
    }
}
