//! Why a spy cannot be made or cannot do what it is told.

use std::time::Duration;

/// What goes wrong before any driver call is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// As many spies as there can be are alive.
    #[error(
        "all {slots} spies of this process are in use, and none was dropped in {waited:?}: drop one with all its drivers, \
         run fewer tests at a time (`--test-threads`), or wait longer (`SpyOptions::patience`)"
    )]
    NoSlot {
        /// How many there can be.
        slots: usize,
        /// How long it was waited for one of them.
        waited: Duration,
    },
    /// A function whose answer cannot be [short](crate::Fault::short).
    #[error("`{name}` has no short answer: these have one: {}", .known.join(", "))]
    NoShortAnswer {
        /// The function.
        name: String,
        /// The functions that have one.
        known: &'static [&'static str],
    },
    /// A variable of the environment that cannot be understood.
    #[error("{name} is {value:?}: it should be {wanted}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value, or the part of it that is wrong.
        value: String,
        /// What it should be.
        wanted: String,
    },
    /// No function of the driver API is called so.
    #[error("there is no driver function `{name}`: `cuda_driver_sys::FUNCTIONS` and `ALIASES` list them")]
    NoSuchFunction {
        /// The name that was asked for.
        name: String,
    },
}
