//! Checks beyond faults: reads of uninitialised memory, races, divergent barriers.
//!
//! They are off by default, and then cost nothing: kernels are decoded differently when they are on
//! (`engine/watch`).

mod collect;
mod finding;
pub(crate) mod launches;

pub use collect::{Checker, Findings};
pub use finding::{Actor, Bytes, Finding, FindingKind, Space};

/// What launches are checked for besides faults. If one of the first three is on, accesses that go from one variable or allocation into
/// another are found too, and so are writes to constant memory.
///
/// ```
/// use cuda_emulator::Checks;
///
/// assert_eq!(Checks::parse("init,race,barrier"), Some(Checks::KERNELS));
/// assert_eq!(Checks::parse("all"), Some(Checks::ALL));
/// let mut races = Checks::NONE;
/// races.races = true;
/// assert_eq!(Checks::parse("race"), Some(races));
/// assert_eq!(Checks::parse("leaks"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checks {
    /// Reads of uninitialised bytes, which were not written since they were allocated; undefined values of registers and shuffles; copies
    /// of uninitialised bytes to the host (`init`).
    pub uninitialised: bool,
    /// Unordered accesses to the same bytes, by the threads of a kernel, or by kernels, copies and fills (`race`).
    pub races: bool,
    /// Barriers that only part of a warp reaches, and mbarriers that are initialised twice (`barrier`).
    pub barriers: bool,
    /// Blocks that a kernel allocated with `malloc` and that were not freed before the context was destroyed (`leak`). Not among
    /// [`KERNELS`](Self::KERNELS), as programs may leave that to the context.
    pub leaks: bool,
    /// Reads of `.const` variables that have no initial value and that the host never set, as reads of uninitialised bytes (`constant`, which
    /// includes `init`). Not among [`ALL`](Self::ALL): such a variable is zero, and programs may rely on it.
    pub unset_constants: bool,
}

impl Checks {
    /// Nothing.
    pub const NONE: Checks =
        Checks { uninitialised: false, races: false, barriers: false, leaks: false, unset_constants: false };
    /// All checks of what kernels do: everything but leaks, which concern the end of the context.
    pub const KERNELS: Checks = Checks { uninitialised: true, races: true, barriers: true, ..Checks::NONE };
    /// All checks of which a correct program is free.
    pub const ALL: Checks = Checks { leaks: true, ..Checks::KERNELS };

    /// A list like `init,race,barrier`; `all` means these and `leak`, `none` means no checks. `None` if it contains an unknown word.
    pub fn parse(text: &str) -> Option<Checks> {
        let mut checks = Checks::NONE;
        for word in text.split(',').map(str::trim) {
            match word {
                "init" => checks.uninitialised = true,
                "race" => checks.races = true,
                "barrier" => checks.barriers = true,
                "leak" => checks.leaks = true,
                "constant" => {
                    checks = Checks { uninitialised: true, unset_constants: true, ..checks };
                }
                "all" => checks = Checks { unset_constants: checks.unset_constants, ..Checks::ALL },
                "none" | "" => {}
                _ => return None,
            }
        }
        Some(checks)
    }
}
