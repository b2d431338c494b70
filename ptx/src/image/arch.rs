use std::fmt;

/// An architecture: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    /// Major times ten plus minor: 90, 103, 120.
    pub sm: u32,
    /// `a` (that architecture only), `f` (its family), or none.
    pub suffix: Option<char>,
}

impl Arch {
    /// Parses `sm_90a` or `compute_90a`, as in `.target`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let suffix = rest.chars().last().filter(|c| matches!(c, 'a' | 'f'));
        let digits = suffix.map_or(rest, |_| &rest[..rest.len() - 1]);
        let shaped = (2..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if shaped { Some(Self { sm: digits.parse().ok()?, suffix }) } else { None }
    }

    /// Major version of the compute capability.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.sm / 10
    }

    /// Minor version of the compute capability.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.sm % 10
    }

    /// Whether machine code for this architecture runs on a device of this compute capability. Code runs on its own
    /// major version from its own minor version on; with `a`, only on exactly its own.
    #[must_use]
    pub const fn runs_on(self, major: u32, minor: u32) -> bool {
        let exact = matches!(self.suffix, Some('a'));
        self.major() == major && (self.minor() == minor || self.minor() < minor && !exact)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}
