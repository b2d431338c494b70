//! Checks beyond faults: reads of memory that nobody wrote, races, barriers that diverge.
//!
//! They are off unless asked for, and then cost nothing: kernels are decoded in another way where they are on
//! (`engine/watch`).

mod collect;
mod finding;

pub use collect::{Checker, Findings};
pub use finding::{Actor, Bytes, Finding, FindingKind, Space};

/// What launches are checked for besides faults.
///
/// ```
/// use cuda_emulator::Checks;
///
/// assert_eq!(Checks::parse("init,race,barrier"), Some(Checks::ALL));
/// assert_eq!(Checks::parse("race"), Some(Checks { races: true, ..Checks::NONE }));
/// assert_eq!(Checks::parse("leaks"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Reads of bytes that nobody wrote since they were allocated (`init`).
    pub uninitialised: bool,
    /// Accesses to the same bytes that nothing orders (`race`).
    pub races: bool,
    /// Barriers at which only a part of a warp is (`barrier`).
    pub barriers: bool,
}

impl Checks {
    /// Nothing.
    pub const NONE: Checks = Checks { uninitialised: false, races: false, barriers: false };
    /// Everything.
    pub const ALL: Checks = Checks { uninitialised: true, races: true, barriers: true };

    /// A list like `init,race,barrier`; `all` and `none` stand for all and none. `None` for words that it does not know.
    pub fn parse(text: &str) -> Option<Checks> {
        let mut checks = Checks::NONE;
        for word in text.split(',').map(str::trim) {
            match word {
                "init" => checks.uninitialised = true,
                "race" => checks.races = true,
                "barrier" => checks.barriers = true,
                "all" => checks = Checks::ALL,
                "none" | "" => {}
                _ => return None,
            }
        }
        Some(checks)
    }
}
