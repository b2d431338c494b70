//! Why a driver refused the grid of a cooperative launch: all of its blocks have to run at once.
//!
//! The driver decides, because only it knows all limits: this only counts the blocks that fit.
//!
//! Relies on: callers pass live handles of the kind that they state, as duties 1 and 2 of `why` require.
#![allow(unsafe_code)]

use super::kernel::{device, function_of, of_device};
use crate::current;
use crate::launch::Raw;
use cuda_driver_sys::{
    CUdevResource, CUdevResourceType, CUdevice_attribute as Device, CUresult, CUstream, Driver,
};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// What is wrong with the grid of a launch that returned `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
///
/// # Safety
///
/// 1. The function of the launch is one of the driver, or a kernel if `of_library`, and is live until this returns.
/// 2. Its stream is null, or one of the driver that is live until this returns.
pub(super) unsafe fn why(driver: &Driver, raw: &Raw, of_library: bool) -> String {
    let ([gx, gy, gz], [bx, by, bz]) = (raw.grid, raw.block);
    let blocks = raw.grid.iter().fold(1_u64, |product, size| product.saturating_mul(u64::from(*size)));
    let asked = format!("a cooperative grid of ({gx}, {gy}, {gz}) has {blocks} blocks");
    // SAFETY: 1: duty 1.
    let function = if of_library { unsafe { function_of(driver, raw.function) } } else { Some(raw.function) };
    // SAFETY: 1: the handle itself, or the function that the driver has just returned for it, which lives as long: duty 1.
    let on_each = function.and_then(|function| unsafe { on_each(driver, raw, function) });
    // The function of a library's kernel is that of the current device.
    // SAFETY: 1: duty 2.
    let is_here =
        || unsafe { device_of(driver, with_exposed_provenance_mut(raw.stream as usize)) } == device(driver);
    let on_each = on_each.filter(|_| !of_library || is_here());
    // SAFETY: 1: duty 2.
    let multiprocessors = unsafe { multiprocessors(driver, raw.stream) };
    match on_each.zip(multiprocessors) {
        Some((on_each, (number, whose))) if on_each.saturating_mul(number) < blocks => format!(
            "{asked}, but {} fit at once: {on_each} of ({bx}, {by}, {bz}) threads and {} bytes of dynamic shared memory on each of {number} multiprocessors of the {whose}",
            on_each.saturating_mul(number),
            raw.shared
        ),
        _ => format!("{asked}, more than fit at once"),
    }
}

/// The blocks of this size and shared memory that a multiprocessor runs at once.
///
/// # Safety
///
/// 1. It is a function of the driver, and is live until this returns.
unsafe fn on_each(driver: &Driver, raw: &Raw, function: u64) -> Option<u64> {
    let threads = raw.block.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
    let (mut blocks, threads) = (0, i32::try_from(threads).ok()?);
    let function = with_exposed_provenance_mut(function as usize);
    // SAFETY: the output outlives the call; the function belongs to the driver and is live, by the caller's duty 1.
    let answer = unsafe {
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks,
            function,
            threads,
            raw.shared as usize,
        )
    };
    if answer == CUresult::SUCCESS { u64::try_from(blocks).ok() } else { None }
}

/// The multiprocessors that run the work of a stream, and whose they are: a green context has some of the device's.
///
/// # Safety
///
/// 1. The stream is null, or one of the driver that is live until this returns.
unsafe fn multiprocessors(driver: &Driver, stream: u64) -> Option<(u64, &'static str)> {
    let (mut green, mut part) = (null_mut(), CUdevResource::default());
    let stream = with_exposed_provenance_mut(stream as usize);
    // SAFETY: the output outlives the call; the stream is null or live, by the caller's duty 1.
    let answer = unsafe { driver.cuStreamGetGreenCtx(stream, &mut green) };
    if answer == CUresult::SUCCESS && !green.is_null() {
        let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
        // SAFETY: the output outlives the call; the driver has just returned the green context of a stream that is live, by duty 1.
        let answer = unsafe { driver.cuGreenCtxGetDevResource(green, &mut part, kind) };
        // SAFETY: the call has written the member of this kind; before that, it was zeros, which are a valid number.
        let number = unsafe { part.__bindgen_anon_1.sm.smCount };
        return (answer == CUresult::SUCCESS).then_some((u64::from(number), "green context"));
    }
    // SAFETY: 1: the caller's duty 1.
    let device = unsafe { device_of(driver, stream)? };
    let number = of_device(driver, device, Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Some((u64::from(number), "device"))
}

/// The device of a stream; on drivers before CUDA 12.8 only if its context is current.
///
/// # Safety
///
/// 1. The stream is null, or one of the driver that is live until this returns.
unsafe fn device_of(driver: &Driver, stream: CUstream) -> Option<i32> {
    let (mut of, mut context) = (0, null_mut());
    // SAFETY: the output outlives the call; the stream is null or live, by the caller's duty 1.
    if unsafe { driver.cuStreamGetDevice(stream, &mut of) } == CUresult::SUCCESS {
        return Some(of);
    }
    // SAFETY: as above.
    let answer = unsafe { driver.cuStreamGetCtx(stream, &mut context) };
    let is_current = current::context(driver) == context.expose_provenance() as u64;
    if answer == CUresult::SUCCESS && is_current { device(driver) } else { None }
}
