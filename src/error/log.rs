//! What the driver's own log says about a call that failed. Drivers from CUDA 12.9 on have one, and so has the emulator.

#![allow(unsafe_code)] // One call, which fills a buffer of this file.

use cuda_driver_sys::{CUresult, Driver};

use super::{arguments::joined, in_callback};

/// Most bytes of the driver's log, the NUL included (driver API, `cuLogsDumpToMemory`).
pub(crate) const LONGEST: usize = 25_601;

/// What a driver says of a failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Why the call failed.
    pub(crate) reason: Option<String>,
    /// What to do: the emulator's log has lines that begin with `help: `.
    pub(crate) help: Option<String>,
}

/// What it says of the newest failure of `call`, with `code`: the lines before `Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuX`. Nothing
/// if that had another code: then this one is not the driver's, but injected.
#[cold]
pub(crate) fn of_call(driver: &Driver, call: &str, code: CUresult) -> Said {
    text(driver).map(|text| said(&text, call, code)).unwrap_or_default()
}

/// What it says of a kernel that faulted with `code`: so far the emulator's does, and drivers to 13.0 do not.
#[cold]
pub(crate) fn of_fault(driver: &Driver, code: CUresult) -> Option<String> {
    let (text, name) = (text(driver)?, code.name()?);
    let told = |line: &Line<'_>| !line.is_answer() && words(line.message).any(|word| word == name);
    text.lines().map(Line::new).find(told).map(|line| line.message.to_owned())
}

/// All that the driver still has; `None` where it has no log, or cannot be asked.
fn text(driver: &Driver) -> Option<String> {
    if in_callback() || !driver.has("cuLogsDumpToMemory") {
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

fn said(text: &str, call: &str, code: CUresult) -> Said {
    let lines: Vec<Line<'_>> = text.lines().map(Line::new).collect();
    let names = |line: &Line<'_>| line.is_answer() && words(line.message).any(|word| word.starts_with(call));
    let newest = lines.iter().rposition(names).and_then(|at| lines.get(..=at)?.split_last());
    let number = code.0.to_string();
    let Some((answer, before)) = newest.filter(|(line, _)| words(line.message).any(|word| word == number))
    else {
        return Said::default();
    };
    let (mut reasons, mut help) = (Vec::new(), None);
    let same_thread = before.iter().rev().filter(|line| line.thread == answer.thread);
    for line in same_thread.take_while(|line| !line.is_answer()) {
        match line.message.strip_prefix("help: ") {
            Some(advice) => help = Some(advice.to_owned()),
            None => reasons.push(line.message),
        }
    }
    reasons.reverse();
    Said { reason: (!reasons.is_empty()).then(|| joined(reasons, "; ")), help }
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
    use super::{CUresult, Line, Said, said};

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
        let reason = |reason: &str| Said { reason: Some(reason.into()), help: None };
        assert_eq!(said(REAL, "cuLaunchKernelEx", CUresult(1)), reason(expected));
        assert_eq!(
            said(REAL, "cuDeviceGet", CUresult(101)),
            reason("Parameter ordinal must be between 0 and 1")
        );
        for (without, code) in
            [("cuMemFree", 1), ("cuCtxSynchronize", 700), ("cuNothing", 1), ("cuDeviceGet", 1)]
        {
            assert_eq!(said(REAL, without, CUresult(code)), Said::default(), "{without}");
        }
    }

    #[test]
    fn advice_of_the_emulator_is_apart_from_the_reason() {
        let log = "[CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuInit\n[CUDA][E] it is full\n[CUDA][E] help: empty it\n\
                   [CUDA][E] Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2\n";
        let expected = Said { reason: Some("it is full".into()), help: Some("empty it".into()) };
        assert_eq!(said(log, "cuMemAlloc", CUresult(2)), expected);
    }

    #[test]
    fn brackets_in_front_are_left_out() {
        for (line, message) in [("[CUDA][E] no [b] c", "no [b] c"), ("plain", "plain"), ("[open", "[open")] {
            assert_eq!(Line::new(line).message, message);
        }
    }
}
