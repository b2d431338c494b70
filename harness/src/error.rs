//! Errors of creating and configuring spies, and of what tests wait for.

use cuda_driver_sys::CUresult;
use std::time::Duration;

/// An error of the harness itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The maximum number of spies are alive.
    #[error(
        "all {slots} spies of this process are in use, and none was dropped in {waited:?}\n  help: drop one with all its drivers, \
         run fewer tests at a time (`--test-threads`), or wait longer (`SpyOptions::patience`)"
    )]
    NoSlot {
        /// The maximum number.
        slots: usize,
        /// How long the call waited for one of them.
        waited: Duration,
    },
    /// A function that has no [short](crate::Fault::short) result, or no [malformed](crate::Fault::malformed) one.
    #[error("this fault does not apply to `{name}`\n  help: it applies to {}", .known.join(", "))]
    NoShortAnswer {
        /// The function.
        name: String,
        /// The functions that support it.
        known: &'static [&'static str],
    },
    /// An environment variable with an invalid value.
    #[error("{name} is {value:?}\n  help: it should be {wanted}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value, or the part of it that is wrong.
        value: String,
        /// What it should be.
        wanted: String,
    },
    /// No function of the driver API has this name.
    #[error(
        "there is no driver function `{name}`\n  help: `cuda_driver_sys::FUNCTIONS` and `ALIASES` list them"
    )]
    NoSuchFunction {
        /// The requested name.
        name: String,
    },
    /// A fault that returns `CUDA_SUCCESS` for calls that were not made.
    #[error("CUDA_SUCCESS is not an error\n  help: name an error, or inject nothing")]
    SuccessIsNoFault,
    /// A fault of the 0th call.
    #[error("a fault of call 0 has no effect\n  help: `nth` and `from_nth` count from 1")]
    CallZero,
    /// A driver call that the harness made failed.
    #[error("{function} returned {code:?}")]
    Call {
        /// The function.
        function: &'static str,
        /// Its result.
        code: CUresult,
    },
    /// A stream went on before its [`Hold`](crate::Hold) was released.
    #[error(
        "the stream was held for {limit:?} and then went on\n  help: make no call that waits for the stream before `release`"
    )]
    HeldTooLong {
        /// The limit of the hold.
        limit: Duration,
    },
    /// What a test waited for did not happen.
    #[error("still not true after {waited:?}: {what}")]
    TimedOut {
        /// What the test said that it waits for.
        what: String,
        /// For how long.
        waited: Duration,
    },
    /// The [child](crate::child) process for a test cannot be started.
    #[error("no process for the test `{test}`: {why}")]
    NoChild {
        /// The test.
        test: String,
        /// The error of the system.
        why: String,
    },
    /// The [child](crate::child) process for a test did not end, and was killed.
    #[error("the process of the test `{test}` did not end within {limit:?}; it printed\n{stdout}\n{stderr}")]
    ChildHangs {
        /// The test.
        test: String,
        /// How long it had.
        limit: Duration,
        /// Its standard output until then.
        stdout: String,
        /// Its standard error until then.
        stderr: String,
    },
}
