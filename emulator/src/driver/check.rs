//! The checks of kernels, chosen by the program or the environment.

use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::{slot, state};
use crate::check::{Checker, Checks, Findings};
use crate::engine::windows;
use crate::tool_report::ToolReport;

/// What the program requested of the process's driver.
static ASKED: OnceLock<Checks> = OnceLock::new();

/// From the first `cuInit` on, checks kernels for more than faults, and keeps the findings for [`take_findings`].
/// `CUDA_LAUNCH_EMULATOR_CHECK` then has no effect. Returns false, without effect, if the emulator is already
/// initialised or this was called before.
///
/// Checked kernels are many times slower, and with [`Checks::races`] run on one thread.
pub fn set_checks(checks: Checks) -> bool {
    state::get().is_none() && ASKED.set(checks).is_ok()
}

/// The findings in kernels that have ended, since the last call. Faults are not included: see
/// [`faults`](super::faults).
///
/// ```
/// use cuda_emulator::{Checks, FindingKind, driver, set_checks, take_findings};
/// # use std::ptr::{from_mut, null_mut};
///
/// assert!(set_checks(Checks::KERNELS));
/// let cuda = driver();
/// let ptx = c".version 8.0 .target sm_90 .address_size 64
///     .visible .entry count(.param .u64 p) {
///         .reg .b64 %a; .reg .b32 %n;
///         ld.param.u64 %a, [p];
///         ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }";
/// # let (mut context, mut module, mut count, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
/// // .. `count` is loaded from it, and runs on `memory`, which is uninitialised: two threads on one number.
/// # unsafe {
/// #     cuda.cuInit(0);
/// #     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
/// #     cuda.cuCtxSetCurrent(context);
/// #     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast());
/// #     cuda.cuModuleGetFunction(&mut count, module, c"count".as_ptr());
/// #     cuda.cuMemAlloc(&mut memory, 4);
/// #     let mut parameters = [from_mut(&mut memory).cast()];
/// #     cuda.cuLaunchKernel(count, 1, 1, 1, 2, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut());
/// #     cuda.cuCtxSynchronize();
/// # }
/// let found = take_findings().list;
/// assert!(found.iter().any(|finding| finding.kind == FindingKind::Uninitialised && finding.access.ptx_line == 5));
/// assert!(found.iter().any(|finding| finding.kind == FindingKind::Race));
/// ```
pub fn take_findings() -> Findings {
    state::get().and_then(|state| state.checker.clone()).map(|checker| checker.take()).unwrap_or_default()
}

/// Marks bytes of device memory as uninitialised, without changing their contents: for programs that write a pattern
/// there and want to detect kernels that read it. Returns whether all of them are allocated.
pub fn forget_written(address: u64, bytes: u64) -> bool {
    state::get().is_some_and(|state| state.memory.forget_written(address, bytes).is_ok())
}

/// Gives the first device memory at an address that the caller has chosen, such as one that a program had on a GPU. It lives as long as the
/// device. Returns whether that could be done: not where something is already, where the emulator has shared and local memory, or
/// before `cuInit`; and only at multiples of 256.
pub fn allocate_at(address: u64, bytes: u64) -> bool {
    let is_window = |address| windows::inside_any(address);
    let Some(last) = address.checked_add(bytes).and_then(|end| end.checked_sub(1)) else { return false };
    // The windows are adjacent: a range that begins below and ends above them contains them.
    let covers = address < windows::SHARED && last > windows::SHARED;
    if is_window(address) || is_window(last) || covers {
        return false;
    }
    state::get().is_some_and(|state| state.memory.allocate_at(address, bytes))
}

/// The collector of findings.
pub(super) fn checker(config: &Config) -> Option<Arc<Checker>> {
    let checks = asked().unwrap_or(config.checks);
    let print = |finding: &_| {
        super::report::line(format_args!("{finding}"));
        ToolReport::Finding.send();
    };
    let checker = || if prints(config) { Checker::with_sink(checks, print) } else { Checker::new(checks) };
    (checks != Checks::NONE).then(|| Arc::new(checker()))
}

/// What the program has requested itself.
fn asked() -> Option<Checks> {
    ASKED.get().filter(|_| slot::current() == slot::PROCESS).copied()
}

/// Whether the variable has requested the checks: the program does not fetch the findings, which are printed and counted.
fn prints(config: &Config) -> bool {
    config.prints && config.checks != Checks::NONE && asked().is_none()
}

/// A kernel faulted. Where findings are counted, this is one.
pub(super) fn count_fault() {
    if state::get().is_some_and(|state| prints(&state.config)) {
        ToolReport::Finding.send();
    }
}
