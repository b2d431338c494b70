//! What the driver's own log says about a call that failed. Drivers from CUDA 12.9 on have one, and so has the emulator.

#![allow(unsafe_code)] // One call, which fills a buffer of this file.

use cuda_driver_sys::{CUresult, Driver};

use super::arguments::joined;

/// Most bytes of the driver's log, the NUL included (driver API, `cuLogsDumpToMemory`).
pub(crate) const LONGEST: usize = 25_601;

/// What it says of the newest failure of `call`: the lines before `Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuX`.
#[cold]
pub(crate) fn of_call(driver: &Driver, call: &str) -> Option<String> {
    reason(&text(driver)?, call)
}

/// What it says of a kernel that faulted with `code`: so far the emulator's does, and drivers to 13.0 do not.
#[cold]
pub(crate) fn of_fault(driver: &Driver, code: CUresult) -> Option<String> {
    let (text, name) = (text(driver)?, code.name()?);
    let told = |line: &Line<'_>| !line.is_answer() && words(line.message).any(|word| word == name);
    text.lines().map(Line::new).find(told).map(|line| line.message.to_owned())
}

/// All that the driver still has; `None` where it has no log.
fn text(driver: &Driver) -> Option<String> {
    if !driver.has("cuLogsDumpToMemory") {
        return None;
    }
    let (mut text, mut size) = (vec![0_u8; LONGEST], LONGEST);
    // SAFETY: the buffer has `size` bytes; it and `size` are locals, which outlive the call; a null iterator means the whole log; 0 is
    // the only value of the flags.
    let code =
        unsafe { driver.cuLogsDumpToMemory(std::ptr::null_mut(), text.as_mut_ptr().cast(), &mut size, 0) };
    let written = text.split(|byte| *byte == 0).next().unwrap_or_default();
    (code == CUresult::SUCCESS).then(|| String::from_utf8_lossy(written).into_owned())
}

fn reason(text: &str, call: &str) -> Option<String> {
    let lines: Vec<Line<'_>> = text.lines().map(Line::new).collect();
    let names = |line: &Line<'_>| line.is_answer() && words(line.message).any(|word| word.starts_with(call));
    let at = lines.iter().rposition(names)?;
    let (before, answer) = (lines.get(..at)?, lines.get(at)?);
    let same_thread = before.iter().rev().filter(|line| line.thread == answer.thread);
    let mut reasons: Vec<&str> =
        same_thread.take_while(|line| !line.is_answer()).map(|line| line.message).collect();
    reasons.reverse();
    (!reasons.is_empty()).then(|| joined(reasons, "; "))
}

/// Names and numbers. Not a search for a substring, which no other part of a small program needs.
fn words(message: &str) -> impl Iterator<Item = &str> {
    message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// A line of the log: `[time][thread][CUDA][E] message`, where the emulator leaves out the first two.
struct Line<'a> {
    thread: Option<&'a str>,
    message: &'a str,
}

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        let (mut brackets, mut rest) = (Vec::new(), line.trim());
        while let Some((inside, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            brackets.push(inside);
            rest = behind.trim_start();
        }
        Self { thread: brackets.get(1).copied().filter(|_| brackets.len() > 3), message: rest }
    }

    /// Whether it says what a call answered, not why.
    fn is_answer(&self) -> bool {
        self.message.starts_with("Returning ") || self.message.starts_with("Sticky error")
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, reason};

    /// As driver 580 on an H200 wrote it.
    const REAL: &str = "\
[04:50:04.845][1404][CUDA][E] Parameter ordinal must be between 0 and 1
[04:50:04.845][1404][CUDA][E] Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet
[04:50:04.846][1404][CUDA][E] Requested dynamic shared memory size of 1048576 bytes exceeds maximum
[04:50:04.846][1777][CUDA][E] something else
[04:50:04.846][1404][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernelEx
[04:50:04.849][1404][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2
[04:50:05.346][1404][CUDA][E] Sticky error detected
[04:50:05.346][1404][CUDA][E] Returning 700 (CUDA_ERROR_ILLEGAL_ADDRESS) from cuCtxSynchronize
";

    #[test]
    fn the_reason_stands_before_the_answer_of_the_same_thread() {
        let expected = "Requested dynamic shared memory size of 1048576 bytes exceeds maximum";
        assert_eq!(reason(REAL, "cuLaunchKernelEx").as_deref(), Some(expected));
        assert_eq!(reason(REAL, "cuDeviceGet").as_deref(), Some("Parameter ordinal must be between 0 and 1"));
        for without in ["cuMemFree", "cuCtxSynchronize", "cuNothing"] {
            assert_eq!(reason(REAL, without), None, "{without}");
        }
    }

    #[test]
    fn brackets_in_front_are_left_out() {
        for (line, message) in [("[CUDA][E] no [b] c", "no [b] c"), ("plain", "plain"), ("[open", "[open")] {
            assert_eq!(Line::new(line).message, message);
        }
    }
}
