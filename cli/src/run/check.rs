//! `--check`: finds mistakes that a GPU does not show. The kernel runs twice on the emulator, which checks each access; then the outputs
//! are compared.
//!
//! The emulator stops a kernel at an access outside its memory, at a barrier that never completes, at a trap. What remains are kernels
//! that complete with the wrong result. The emulator names the threads and lines that read uninitialised memory, that race, or that
//! are at different barriers although they are of one warp. Outputs are filled with one byte, then with another: an element that keeps
//! both was never written; one that differs otherwise was computed from uninitialised memory.

use super::data::Input;
use super::interrupt;
use super::launch::{Fill, Finished, Launcher};
use crate::failure::Failure;

/// Two bytes without a bit in common, neither of them a number that kernels write often.
const FILLS: [u8; 2] = [0xa5, 0x5a];

/// The findings.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the outputs.
    pub(crate) outputs: Vec<Finding>,
    /// By the emulator, while the kernel ran.
    pub(crate) accesses: cuda_emulator::Findings,
}

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
    /// They were never written.
    NeverWritten,
    /// They depend on uninitialised memory.
    Uninitialised,
}

impl Kind {
    /// For programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NeverWritten => "never-written",
            Self::Uninitialised => "uninitialised",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::NeverWritten => "are never written",
            Self::Uninitialised => "depend on uninitialised memory",
        }
    }
}

impl Found {
    /// Findings in all.
    pub(crate) fn count(&self) -> usize {
        self.outputs.len() + self.accesses.list.len()
    }
}

/// Makes the emulator check each access. Must be called before the first driver call.
pub(super) fn start() {
    // An error if a driver was called before; `run` calls none.
    cuda_emulator::set_checks(cuda_emulator::Checks::KERNELS);
}

/// The last run, and what is wrong.
pub(super) fn run(launcher: &Launcher, inputs: &[Input<'_>]) -> Result<(Finished, Found), Failure> {
    let mut runs = Vec::new();
    let mut found = Found::default();
    for byte in FILLS {
        match launcher.once(inputs, Fill::Unwritten(byte))? {
            Finished::Outputs(outputs) if !interrupt::came() => runs.push(outputs),
            ended => {
                found.accesses = accesses();
                return Ok((ended, found));
            }
        }
    }
    found.accesses = accesses();
    if let [first, other] = runs.as_slice() {
        for (argument, input) in inputs.iter().enumerate() {
            let Some((_, scalar)) = input.memory() else { continue };
            let outputs =
                [first, other].map(|run| run.arguments.get(argument).map_or(&[][..], Vec::as_slice));
            found.outputs.extend(compare(argument, outputs, scalar.size()));
        }
    }
    let last = runs.pop().unwrap_or_default();
    Ok((Finished::Outputs(last), found))
}

/// The findings in the kernel. The copies of the outputs are made by the tool, and [`compare`] reports elements that were never
/// written.
fn accesses() -> cuda_emulator::Findings {
    let mut found = cuda_emulator::take_findings();
    found.list.retain(|finding| finding.kind != cuda_emulator::FindingKind::UninitialisedCopy);
    found
}

fn compare(argument: usize, [first, other]: [&[u8]; 2], size: usize) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let elements = first.chunks_exact(size).zip(other.chunks_exact(size));
    for (index, (first, other)) in elements.enumerate() {
        let is = |bytes: &[u8], fill| bytes.iter().all(|byte| *byte == fill);
        let kind = if is(first, FILLS[0]) && is(other, FILLS[1]) {
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
        let other = [0x5a, 0x5a, 1, 2, 7, 7, 0x5a, 3];
        let found = compare(0, [&first, &other], 2);
        let seen: Vec<_> = found.iter().map(|f| (f.kind, f.first, f.elements)).collect();
        assert_eq!(seen, [(Kind::NeverWritten, 0, 1), (Kind::Uninitialised, 3, 1)]);
    }
}
