//! Expectations about which work is done before other work begins.

use crate::call::{Call, Calls};
use crate::functions::symbol;
use crate::glob;
use cuda_driver_sys::CUresult;
use std::fmt::Write as _;

/// The calls between two that a message shows.
const MOST_SHOWN: usize = 30;

/// Panics unless some work is done before other work begins: each call that the second pattern names has to be
/// [ordered](crate::Calls::is_ordered) after all earlier calls that the first names, and there has to be such a pair. Calls that
/// failed do not count.
///
/// The first argument is a [`Spy`](crate::Spy) or [`Calls`](crate::Calls). A pattern is a function's name (`"cuMemcpyHtoDAsync"`), or the whole
/// call in the words of a [snapshot](crate::Calls::snapshot), with `*` for any text: `"cuLaunchKernel*stream#2*memory#1*"` is a launch
/// on the second stream with the first memory among its arguments. The message shows the two calls, those between them, and what would
/// order them.
///
/// ```
/// # use std::ptr::null_mut;
/// use cuda_harness::{Spy, assert_ordered};
///
/// let spy = Spy::over(&cuda_emulator::driver())?;
/// # let cuda = spy.driver();
/// # let (mut context, mut a, mut b, mut event, mut x) = (null_mut(), null_mut(), null_mut(), null_mut(), 0);
/// # unsafe {
/// # cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(&mut context, 0); cuda.cuCtxSetCurrent(context);
/// # cuda.cuStreamCreate(&mut a, 1); cuda.cuStreamCreate(&mut b, 1); cuda.cuEventCreate(&mut event, 0);
/// # cuda.cuMemAlloc(&mut x, 1024);
/// cuda.cuMemcpyHtoDAsync(x, [7_u8; 1024].as_ptr().cast(), 1024, a);
/// cuda.cuEventRecord(event, a);
/// cuda.cuStreamWaitEvent(b, event, 0);
/// cuda.cuMemsetD8Async(x, 3, 512, b);
/// # cuda.cuCtxSynchronize();
/// # cuda.cuMemFree(x); cuda.cuEventDestroy(event); cuda.cuStreamDestroy(a); cuda.cuStreamDestroy(b);
/// # cuda.cuDevicePrimaryCtxRelease(0);
/// # }
/// // Stream b waits for stream a before it writes to x.
/// assert_ordered!(spy, "cuMemcpyHtoDAsync(*hStream: stream#1)", "cuMemset*memory#1*stream#2*");
/// # Ok::<(), cuda_harness::Error>(())
/// ```
///
/// Without the wait:
///
/// ```text
/// nothing orders the work of the second call after that of the first:
///   cuMemcpyHtoDAsync_v2(dstDevice: memory#1, srcHost: .., ByteCount: 1024, hStream: stream#1)
///     cuEventRecord(hEvent: event#1, hStream: stream#1)
///   cuMemsetD8Async(dstDevice: memory#1, uc: 3, N: 512, hStream: stream#2)
/// what would: stream#2 waits for event#1, which is recorded after the first, before the second (cuStreamWaitEvent)
/// ```
#[macro_export]
macro_rules! assert_ordered {
    ($record:expr, $first:expr, $second:expr $(,)?) => {
        if let Err(why) = $crate::compare_order(&$crate::Recorded::recorded(&$record), $first, $second) {
            panic!("{why}");
        }
    };
}

/// Compares the order of calls with the expected one, written as for [`assert_ordered!`](crate::assert_ordered).
///
/// # Errors
///
/// A text that shows the two calls whose work is not ordered, or the pattern that names no call.
pub fn compare_order(calls: &Calls, first: &str, second: &str) -> Result<(), String> {
    match calls.unordered(|call| is_named(call, first), |call| is_named(call, second)) {
        Ok(1..) => return Ok(()),
        Ok(0) => {}
        Err((before, call, cure)) => return Err(why(calls, before, call, &cure)),
    }
    let missing = match calls.iter().any(|call| is_named(call, first)) {
        true => format!("no call after `{first}` is `{second}`"),
        false => format!("no call is `{first}`"),
    };
    let failed = |call: &Call| call.answer().is_some_and(|answer| answer != CUresult::SUCCESS);
    let is_left_out = |call: &Call| failed(call) && (is_named(call, first) || is_named(call, second));
    let left_out = if calls.iter().any(|call| is_left_out(call)) { ", of those that succeeded" } else { "" };
    Err(format!("{missing}{left_out}:\n{}", calls.snapshot()))
}

/// Whether a pattern names a call.
fn is_named(call: &Call, pattern: &str) -> bool {
    let end = pattern.find(['(', '*']).unwrap_or(pattern.len());
    let (name, rest) = pattern.split_at(end);
    match rest {
        "" => call.name() == symbol(name),
        _ if rest.starts_with('(') => is_matched(&format!("{}{rest}", symbol(name)), &call.snapshot()),
        _ => is_matched(pattern, &call.snapshot()),
    }
}

/// `stream#2*` is not `stream#20`.
fn is_matched(pattern: &str, call: &str) -> bool {
    glob::matches(&closed(pattern), &closed(call))
}

/// The text with an end behind each number of an object.
fn closed(text: &str) -> String {
    let mut parts = text.split('#');
    let mut closed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_at(part.bytes().take_while(u8::is_ascii_digit).count());
        let end = if number.is_empty() { "" } else { "\0" };
        closed.extend(["#", number, end, rest]);
    }
    closed
}

fn why(calls: &Calls, first: &Call, second: &Call, cure: &str) -> String {
    let mut text = String::from("nothing orders the work of the second call after that of the first:\n");
    let between = calls.filter(|call| (first.number() + 1..second.number()).contains(&call.number()));
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {first:#}");
    for call in between.iter().take(MOST_SHOWN) {
        let _ = writeln!(text, "    {call:#}");
    }
    if between.len() > MOST_SHOWN {
        let _ = writeln!(text, "    and {} more calls", between.len() - MOST_SHOWN);
    }
    let _ = writeln!(text, "  {second:#}");
    let _ = write!(text, "what would: {cure}");
    text
}

#[cfg(test)]
mod tests {
    use super::is_matched;

    #[test]
    fn numbers_of_objects_are_whole() {
        let call = "f(a: memory#1, b: stream#20)";
        for (pattern, expected) in [
            ("f(*stream#20)", true),
            ("f(*stream#20*", true),
            ("f*stream#2*", false),
            ("f(*memory#1*", true),
            ("f(*memory#*stream#*)", true),
            ("*stream#2", false),
        ] {
            assert_eq!(is_matched(pattern, call), expected, "{pattern}");
        }
    }
}
