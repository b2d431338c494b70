//! Expectations about which calls are made, and in which order.

use crate::call::{Call, Calls};
use crate::functions::symbol;
use crate::spy::Spy;
use std::fmt::Write as _;

/// A record of calls: a [`Spy`], or [`Calls`] that were taken from one.
pub trait Recorded {
    /// The calls.
    fn recorded(&self) -> Calls;
}

impl Recorded for Spy {
    fn recorded(&self) -> Calls {
        self.calls()
    }
}

impl Recorded for Calls {
    fn recorded(&self) -> Calls {
        self.clone()
    }
}

impl<T: Recorded + ?Sized> Recorded for &T {
    fn recorded(&self) -> Calls {
        (**self).recorded()
    }
}

/// Panics unless the calls are these, in this order. Each is written as a function's name (`"cuMemAlloc"` or `"cuMemAlloc_v2"`), or as
/// the whole call in the words of a [snapshot](Calls::snapshot) (`"cuMemFree(dptr: memory#1)"`).
///
/// The first argument is a [`Spy`] or [`Calls`]. The message shows both lists, with missing and unexpected calls.
///
/// ```
/// use cuda_harness::{Spy, assert_calls};
///
/// let spy = Spy::over(&cuda_emulator::driver())?;
/// let cuda = spy.driver();
/// let mut count = 0;
/// assert!(cuda.version().is_ok());
/// unsafe { cuda.cuInit(0) };
/// assert_calls!(spy, ["cuDriverGetVersion", "cuInit(Flags: 0)"]);
/// # Ok::<(), cuda_harness::Error>(())
/// ```
///
/// ```should_panic
/// # let spy = cuda_harness::Spy::over(&cuda_emulator::driver()).unwrap();
/// # assert!(spy.driver().version().is_ok());
/// //   cuDriverGetVersion(driverVersion -> 13000)
/// // - cuInit
/// cuda_harness::assert_calls!(spy, ["cuDriverGetVersion", "cuInit"]);
/// ```
#[macro_export]
macro_rules! assert_calls {
    ($record:expr, $expected:expr $(,)?) => {
        if let Err(difference) =
            $crate::compare(&$crate::Recorded::recorded(&$record), &$expected.map(|call: &str| call))
        {
            panic!("{difference}");
        }
    };
}

/// Runs an expression, and panics if a driver call was made meanwhile, by any thread. Its value is the expression's.
///
/// ```
/// # let spy = cuda_harness::Spy::over(&cuda_emulator::driver())?;
/// assert_eq!(cuda_harness::assert_no_calls!(spy, 6 * 7), 42);
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[macro_export]
macro_rules! assert_no_calls {
    ($spy:expr, $work:expr $(,)?) => {
        $crate::assert_at_most!($spy, 0, $work)
    };
}

/// Runs an expression, and panics if more than this number of driver calls were made meanwhile, by any thread. Its value is the expression's.
///
/// ```
/// # let spy = cuda_harness::Spy::over(&cuda_emulator::driver())?;
/// let version = cuda_harness::assert_at_most!(spy, 1, spy.driver().version());
/// assert!(version.is_ok());
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[macro_export]
macro_rules! assert_at_most {
    ($spy:expr, $most:expr, $work:expr $(,)?) => {{
        let before = $spy.made();
        let (result, calls) = $spy.during(|| $work);
        // The spy need not have kept all of them.
        let made = $spy.made() - before;
        let most: usize = $most;
        if made > most {
            panic!("{made} driver calls, but at most {most} expected:\n{}", calls.snapshot());
        }
        result
    }};
}

/// Compares calls with those that are expected, written as for [`assert_calls!`].
///
/// # Errors
///
/// A text that shows both lists: `-` marks expected calls that are missing, `+` calls that were not expected.
pub fn compare(calls: &Calls, expected: &[&str]) -> Result<(), String> {
    let edits = edits(calls, expected);
    if edits.iter().all(|edit| matches!(edit, Edit::Both(_))) {
        return Ok(());
    }
    let mut text =
        String::from("the driver calls are not the expected ones (- is missing, + is unexpected):\n");
    for edit in edits {
        // Writing to a string does not fail.
        let _ = match edit {
            Edit::Both(call) => writeln!(text, "  {call:#}"),
            Edit::Missing(expected) => writeln!(text, "- {expected}"),
            Edit::Unexpected(call) => writeln!(text, "+ {call:#}"),
        };
    }
    Err(text)
}

enum Edit<'a> {
    Both(&'a Call),
    Missing(&'a str),
    Unexpected(&'a Call),
}

fn is_it(call: &Call, expected: &str) -> bool {
    let (name, arguments) = expected.find('(').map_or((expected, None), |at| {
        let (name, arguments) = expected.split_at(at);
        (name, Some(arguments))
    });
    let is_same = |arguments| call.snapshot().strip_prefix(call.name()) == Some(arguments);
    call.name() == symbol(name) && arguments.is_none_or(is_same)
}

/// The shortest list of edits from one list to the other.
fn edits<'a>(calls: &'a Calls, expected: &'a [&'a str]) -> Vec<Edit<'a>> {
    let (rows, columns) = (calls.len(), expected.len());
    let same = |row: usize, column: usize| {
        calls.get(row).zip(expected.get(column)).is_some_and(|(call, expected)| is_it(call, expected))
    };
    // The length of the longest common subsequence of the rest of both lists, for each pair of positions.
    let mut longest = vec![vec![0usize; columns + 1]; rows + 1];
    let at = |longest: &[Vec<usize>], row: usize, column: usize| {
        longest.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0)
    };
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let value = match same(row, column) {
                true => at(&longest, row + 1, column + 1) + 1,
                false => at(&longest, row + 1, column).max(at(&longest, row, column + 1)),
            };
            if let Some(place) = longest.get_mut(row).and_then(|row| row.get_mut(column)) {
                *place = value;
            }
        }
    }
    let (mut row, mut column, mut edits) = (0, 0, Vec::new());
    while row < rows || column < columns {
        match (calls.get(row), expected.get(column)) {
            (Some(call), Some(_)) if same(row, column) => {
                edits.push(Edit::Both(call));
                (row, column) = (row + 1, column + 1);
            }
            (Some(call), _)
                if column == columns || at(&longest, row + 1, column) >= at(&longest, row, column + 1) =>
            {
                edits.push(Edit::Unexpected(call));
                row += 1;
            }
            (_, Some(expected)) => {
                edits.push(Edit::Missing(expected));
                column += 1;
            }
            // Unreachable: one of the lists is not at its end.
            _ => break,
        }
    }
    edits
}
