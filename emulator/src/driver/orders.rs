//! How far launches are that run under several orders of their warps and blocks.

use super::state;

/// The number of orders, besides the ordinary one, that launches have been run under to their end. Where [`interrupt`](crate::interrupt) ended
/// a launch, it is less than was [asked for](crate::set_schedules).
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
