//! Errors of creating and configuring spies.

use std::time::Duration;

/// An error before any driver call is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The maximum number of spies are alive.
    #[error(
        "all {slots} spies of this process are in use, and none was dropped in {waited:?}: drop one with all its drivers, \
         run fewer tests at a time (`--test-threads`), or wait longer (`SpyOptions::patience`)"
    )]
    NoSlot {
        /// The maximum number.
        slots: usize,
        /// How long the call waited for one of them.
        waited: Duration,
    },
    /// A function that has no [short](crate::Fault::short) result, or no [malformed](crate::Fault::malformed) one.
    #[error("`{name}` has no such result; the functions that have one are {}", .known.join(", "))]
    NoShortAnswer {
        /// The function.
        name: String,
        /// The functions that support it.
        known: &'static [&'static str],
    },
    /// An environment variable with an invalid value.
    #[error("{name} is {value:?}: it should be {wanted}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value, or the part of it that is wrong.
        value: String,
        /// What it should be.
        wanted: String,
    },
    /// No function of the driver API has this name.
    #[error("there is no driver function `{name}`: `cuda_driver_sys::FUNCTIONS` and `ALIASES` list them")]
    NoSuchFunction {
        /// The requested name.
        name: String,
    },
    /// A fault that returns `CUDA_SUCCESS` for calls that were not made.
    #[error("CUDA_SUCCESS is not an error: name one, or inject nothing")]
    SuccessIsNoFault,
}
