//! `--check`: the kernel runs on the emulator more than once, and what it leaves is compared.
//!
//! The emulator stops a kernel at an access outside its memory, at a barrier that diverges or never ends, at a trap. What is left
//! are kernels that end, with the wrong result. Outputs are filled with one byte, then with another: an element that keeps both
//! was never written; one that differs otherwise was made of memory that nobody wrote. What differs between two runs that
//! begin alike depends on the order of the threads: a race, or a sum of floats.

use super::data::Input;
use super::launch::{Fill, Finished, Launcher};
use crate::failure::Failure;

/// Two bytes without a bit in common, neither of them a number that kernels write often.
const FILLS: [u8; 2] = [0xa5, 0x5a];

/// Something that is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// Index of the `--arg`.
    pub(crate) argument: usize,
    /// How many elements, and the first of them.
    pub(crate) elements: usize,
    pub(crate) first: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nobody wrote them.
    NeverWritten,
    /// They are made of memory that nobody wrote.
    Uninitialised,
    /// They differ from run to run.
    Unstable,
}

impl Kind {
    /// For programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NeverWritten => "never-written",
            Self::Uninitialised => "uninitialised",
            Self::Unstable => "unstable",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::NeverWritten => "never written",
            Self::Uninitialised => "made of memory that was never written",
            Self::Unstable => "different from run to run: a race, or floats added in another order",
        }
    }
}

/// The last run, and what is wrong.
pub(super) fn run(launcher: &Launcher, inputs: &[Input<'_>]) -> Result<(Finished, Vec<Finding>), Failure> {
    let mut runs = Vec::new();
    for byte in [FILLS[0], FILLS[0], FILLS[1]] {
        match launcher.once(inputs, Fill::Byte(byte))? {
            Finished::Outputs(outputs) => runs.push(outputs),
            fault => return Ok((fault, Vec::new())),
        }
    }
    let mut found = Vec::new();
    if let [first, again, other] = runs.as_slice() {
        for (argument, input) in inputs.iter().enumerate() {
            let Some((_, scalar)) = input.memory() else { continue };
            let outputs = [first, again, other].map(|run| run.get(argument).map_or(&[][..], Vec::as_slice));
            found.extend(compare(argument, outputs, scalar.size()));
        }
    }
    let last = runs.pop().unwrap_or_default();
    Ok((Finished::Outputs(last), found))
}

fn compare(argument: usize, [first, again, other]: [&[u8]; 3], size: usize) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let elements = first.chunks_exact(size).zip(again.chunks_exact(size)).zip(other.chunks_exact(size));
    for (index, ((first, again), other)) in elements.enumerate() {
        let is = |bytes: &[u8], fill| bytes.iter().all(|byte| *byte == fill);
        let kind = if first != again {
            Kind::Unstable
        } else if is(first, FILLS[0]) && is(other, FILLS[1]) {
            Kind::NeverWritten
        } else if first != other {
            Kind::Uninitialised
        } else {
            continue;
        };
        match found.iter_mut().find(|finding| finding.kind == kind) {
            Some(finding) => finding.elements += 1,
            None => found.push(Finding { kind, argument, elements: 1, first: index }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_says_why() {
        let first = [0xa5, 0xa5, 1, 2, 7, 7, 0xa5, 3];
        let again = [0xa5, 0xa5, 1, 2, 7, 8, 0xa5, 3];
        let other = [0x5a, 0x5a, 1, 2, 7, 7, 0x5a, 3];
        let found = compare(0, [&first, &again, &other], 2);
        let seen: Vec<_> = found.iter().map(|f| (f.kind, f.first, f.elements)).collect();
        assert_eq!(seen, [(Kind::NeverWritten, 0, 1), (Kind::Unstable, 2, 1), (Kind::Uninitialised, 3, 1)]);
    }
}
