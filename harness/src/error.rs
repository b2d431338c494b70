//! Errors of creating and configuring spies, and of what tests wait for.

use cuda_driver_sys::{ALIASES, CUresult, FUNCTIONS};
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
    #[error("there is no driver function `{name}`\n  help: {}", function_help(.name))]
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
    /// The event that a test waited for did not happen.
    #[error("still not true after {waited:?}: {what}")]
    TimedOut {
        /// The description of the awaited event.
        what: String,
        /// How long the test waited.
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

/// The function that was meant, if one has nearly that name.
fn function_help(name: &str) -> String {
    let names =
        FUNCTIONS.iter().map(|function| function.name()).chain(ALIASES.iter().map(|(alias, _)| *alias));
    let wanted = name.to_ascii_lowercase();
    let nearest = names
        .map(|known| (distance(&wanted, &known.to_ascii_lowercase()), known))
        .min_by_key(|(distance, known)| (*distance, known.len()));
    match nearest {
        Some((distance, known)) if distance <= name.len().div_ceil(4).min(4) => {
            format!("did you mean `{known}`?")
        }
        _ => "it should be a name of `cuda.h`, such as `cuMemAlloc`".to_owned(),
    }
}

/// How many letters are to be put in, left out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().take(100).enumerate() {
        let (mut diagonal, mut left) = (above, above + 1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (place, beside) in row.iter_mut().skip(1).zip(&other) {
            let changed = diagonal + usize::from(letter != *beside);
            diagonal = *place;
            left = changed.min(left + 1).min(*place + 1);
            *place = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, function_help};

    #[test]
    fn a_name_that_is_nearly_right_is_known() {
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")), (3, 2, 0));
        assert_eq!(function_help("cuMemAloc"), "did you mean `cuMemAlloc`?");
        assert_eq!(function_help("cumemalloc"), "did you mean `cuMemAlloc`?");
        assert!(function_help("foo").contains("cuda.h"));
    }
}
