//! Whether launches are run under several orders of their warps and blocks, chosen by the program or the environment.

use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::{report, slot, state};
use crate::schedule::{OneOrder, Report, ScheduleDifference, Scheduler, Schedules};
use crate::tool_report::ToolReport;

/// What the program requested of the process's driver.
static ASKED: OnceLock<Schedules> = OnceLock::new();

/// From the first `cuInit` on, runs each launch under several orders of its warps and blocks, and keeps what differs for
/// [`take_differences`]. `CUDA_LAUNCH_EMULATOR_SCHEDULES` then has no effect. Returns false, without effect, if the emulator is already
/// initialised or this was called before.
///
/// The results that the program sees are those of the ordinary order. A kernel runs on one thread, and each order costs about forty
/// times as much as the launch itself. Kernels whose effects cannot be undone run in the ordinary order only: [`take_one_order`] lists them.
pub fn set_schedules(schedules: Schedules) -> bool {
    state::get().is_none() && ASKED.set(schedules).is_ok()
}

/// How completed launches differed in other orders from the ordinary one, since the last call.
///
/// ```
/// use cuda_emulator::{DifferenceKind, Schedules, driver, set_schedules, take_differences};
/// # use std::ptr::{from_mut, null_mut};
///
/// assert!(set_schedules(Schedules::new(20)));
/// let cuda = driver();
/// // Each thread adds one, but not atomically: another thread may run between the load and the store.
/// let ptx = c".version 8.0 .target sm_90 .address_size 64
///     .visible .entry count(.param .u64 p) {
///         .reg .b64 %a; .reg .b32 %n;
///         ld.param.u64 %a, [p];
///         ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }";
/// # let (mut context, mut module, mut count, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
/// // .. `count` is loaded from it, and runs on four blocks of one thread each.
/// # unsafe {
/// #     cuda.cuInit(0);
/// #     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
/// #     cuda.cuCtxSetCurrent(context);
/// #     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast());
/// #     cuda.cuModuleGetFunction(&mut count, module, c"count".as_ptr());
/// #     cuda.cuMemAlloc(&mut memory, 4);
/// #     cuda.cuMemsetD32(memory, 0, 1);
/// #     let mut parameters = [from_mut(&mut memory).cast()];
/// #     cuda.cuLaunchKernel(count, 4, 1, 1, 1, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut());
/// #     cuda.cuCtxSynchronize();
/// # }
/// let differences = take_differences();
/// let DifferenceKind::Memory(bytes) = &differences[0].kind else { panic!("{differences:?}") };
/// // The ordinary order counts to four, and another one does not.
/// assert_eq!(bytes.contents[0], [4, 0, 0, 0]);
/// assert_eq!(bytes.ptx_lines, [5, 5]);
/// ```
pub fn take_differences() -> Vec<ScheduleDifference> {
    state::get()
        .and_then(|state| state.scheduler.clone())
        .map(|scheduler| scheduler.take())
        .unwrap_or_default()
}

/// The kernels whose launches ran in the ordinary order only since the last call, although [`set_schedules`] requested others: of these no
/// difference was looked for.
pub fn take_one_order() -> Vec<OneOrder> {
    state::get()
        .and_then(|state| state.scheduler.clone())
        .map(|scheduler| scheduler.take_one_order())
        .unwrap_or_default()
}

/// The number of orders, besides the ordinary one, that launches have been run under to their end. Less than was
/// [requested](set_schedules) if a launch faulted, has [one order](take_one_order), or was ended early.
///
/// ```
/// use cuda_emulator::{Schedules, driver, orders_run, set_schedules};
/// # use std::ptr::null_mut;
///
/// assert!(set_schedules(Schedules::new(20)));
/// let cuda = driver();
/// let ptx = c".version 8.0 .target sm_90 .address_size 64 .visible .entry nothing() { ret; }";
/// # let (mut context, mut module, mut nothing) = (null_mut(), null_mut(), null_mut());
/// // .. `nothing` is loaded from it, and runs twice.
/// # unsafe {
/// #     cuda.cuInit(0);
/// #     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
/// #     cuda.cuCtxSetCurrent(context);
/// #     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast());
/// #     cuda.cuModuleGetFunction(&mut nothing, module, c"nothing".as_ptr());
/// #     cuda.cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut());
/// #     cuda.cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut());
/// #     cuda.cuCtxSynchronize();
/// # }
/// assert_eq!(orders_run(), 40);
/// ```
pub fn orders_run() -> u64 {
    state::get().and_then(|state| state.scheduler.clone()).map_or(0, |scheduler| scheduler.orders_run())
}

/// The scheduler that runs launches under several orders.
pub(super) fn scheduler(config: &Config) -> Option<Arc<Scheduler>> {
    let asked = ASKED.get().filter(|_| slot::current() == slot::PROCESS).copied();
    let prints = asked.is_none() && config.prints_differences;
    let schedules = asked.or(config.schedules).filter(|schedules| schedules.count() > 0)?;
    let print = |report: Report<'_>| match report {
        Report::Difference(difference) => {
            report::line(format_args!("{difference}"));
            ToolReport::Difference.send();
        }
        Report::OneOrder(kernel) => report::line(format_args!("{kernel}")),
    };
    let scheduler = if prints { Scheduler::with_sink(schedules, print) } else { Scheduler::new(schedules) };
    Some(Arc::new(scheduler))
}
