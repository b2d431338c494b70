//! The state after a kernel's fault: from then on every function that uses a context returns its code.

use cuda_driver_sys::CUresult;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::entry::Outcome;
use super::slot;
use super::state::lock;
use crate::engine::{Fault, FaultKind};
use crate::memory::BadRange;

/// The first fault's code, and all reports.
#[derive(Default)]
pub(super) struct FaultLatch {
    code: AtomicU32,
    reports: Mutex<Vec<Arc<Fault>>>,
}

impl FaultLatch {
    /// Answers with the code of the first fault.
    pub(super) fn check(&self) -> Outcome {
        match CUresult(self.code.load(Ordering::Acquire)) {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    /// Remembers a fault and prints its report. Kernels that ran beside the first one may add theirs; the code stays.
    pub(super) fn raise(&self, fault: Fault) {
        let code = code(fault.kind);
        let place = match slot::current() {
            slot::PROCESS => "process from now on",
            _ => "emulator's instance until it is reset",
        };
        super::report::line(format_args!("{fault}\n  {code:?}: CUDA is unusable in this {place}"));
        super::check::count_fault();
        super::logs::tell(vec![format!("{code:?}: {fault}")]);
        lock(&self.reports).push(Arc::new(fault));
        self.latch(code);
    }

    /// Records a code without a report: a bug of the emulator in the middle of a kernel.
    pub(super) fn latch(&self, code: CUresult) {
        let _ = self.code.compare_exchange(0, code.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Records such a code unless there is one already, and reports the reason before the code becomes visible.
    pub(super) fn latch_first(&self, code: CUresult, tell: impl FnOnce()) {
        let _one_by_one = lock(&self.reports);
        if self.check().is_ok() {
            tell();
            self.latch(code);
        }
    }

    /// All reports, the first fault first.
    pub(super) fn reports(&self) -> Vec<Arc<Fault>> {
        lock(&self.reports).clone()
    }
}

/// The driver's code for a fault (H200, driver 580; kinds that a GPU does not report get the nearest code).
fn code(kind: FaultKind) -> CUresult {
    match kind {
        FaultKind::IllegalAddress | FaultKind::StackOverflow => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::MisalignedAddress => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::Assert => CUresult::CUDA_ERROR_ASSERT,
        FaultKind::UnsupportedInstruction => CUresult::CUDA_ERROR_NOT_SUPPORTED,
        FaultKind::Deadlock | FaultKind::TimeLimit => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        FaultKind::InvalidCall => CUresult::CUDA_ERROR_INVALID_PC,
        FaultKind::InvalidSync => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        FaultKind::OutOfResources => CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        FaultKind::Trap => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    }
}

/// The report of an asynchronous copy or fill whose memory was freed before it ran.
pub(super) fn bad_range(function: &str, error: &BadRange) -> Box<Fault> {
    Box::new(Fault {
        kind: FaultKind::IllegalAddress,
        kernel: function.to_owned(),
        block: [0; 3],
        thread: [0; 3],
        address: Some(error.address),
        ptx_line: 0,
        source: None,
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an H200 answers endless recursion (`stack_overflow` in `docs/sanitizer.md`).
    #[test]
    fn a_stack_that_is_used_up_is_an_illegal_address() {
        assert_eq!(code(FaultKind::StackOverflow), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}
