//! `cuProfilerStart` and `cuProfilerStop`: there is nothing to start. They are not in the main header, so that the table
//! does not have them; `cuGetProcAddress` and the shared library do.

use cuda_driver_sys::CUresult;

use super::entry::{Outcome, Rule, call};
use super::state::Call;

pub(super) fn start() -> CUresult {
    call("cuProfilerStart", Rule::Ordinary, &mut nothing)
}

pub(super) fn stop() -> CUresult {
    call("cuProfilerStop", Rule::Ordinary, &mut nothing)
}

fn nothing(call: &Call) -> Outcome {
    call.context().map(|_| ())
}
