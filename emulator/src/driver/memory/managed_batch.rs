//! Prefetches and discards of many ranges of managed memory by one call. Where pages are makes no difference here. What was discarded is
//! undefined: it is zeros then, in whole pages, as what the host had is for the kernels of an H200, and uninitialised for the checks.
//!
//! Relies on the program: the lists have as many elements as it says: C1 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_ulonglong;
use std::ops::Range;
use std::sync::Arc;

use super::copy_batch::own_stream;
use super::location::Location;
use super::managed::{self, MANAGED};
use crate::driver::entry::{INVALID_VALUE, In, Outcome, entries};
use crate::driver::state::Call;
use crate::driver::stream::Stream;
use crate::memory::Memory;

entries! {
    cuMemPrefetchBatchAsync(addresses: *mut CUdeviceptr, sizes: *mut usize, count: usize, locations: *mut CUmemLocation, starts: *mut usize, location_count: usize, flags: c_ulonglong, stream: CUstream) = prefetch::<false>;
    cuMemDiscardBatchAsync(addresses: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: c_ulonglong, stream: CUstream) = discard;
    cuMemDiscardAndPrefetchBatchAsync(addresses: *mut CUdeviceptr, sizes: *mut usize, count: usize, locations: *mut CUmemLocation, starts: *mut usize, location_count: usize, flags: c_ulonglong, stream: CUstream) = prefetch::<true>;
}

/// What is discarded: whole pages alone.
const PAGE: u64 = 4096;

fn discard(
    call: &Call,
    addresses: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    flags: c_ulonglong,
    stream: CUstream,
) -> Outcome {
    each(call, (addresses, sizes, count), flags, stream, true, &[])
}

/// Prefetches the ranges, of which the contents are discarded if `DISCARDS`.
#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn prefetch<const DISCARDS: bool>(
    call: &Call,
    addresses: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    locations: In<CUmemLocation>,
    starts: In<usize>,
    location_count: usize,
    flags: c_ulonglong,
    stream: CUstream,
) -> Outcome {
    let places = places(count, locations, starts, location_count)?;
    each(call, (addresses, sizes, count), flags, stream, DISCARDS, &places)
}

/// The locations, each with the range that is the first to go there: ascending, from 0.
fn places(
    count: usize,
    locations: In<CUmemLocation>,
    starts: In<usize>,
    location_count: usize,
) -> Outcome<Vec<(usize, Location)>> {
    if location_count == 0 || location_count > count {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: lists and `location_count` are the caller's, so by C1 each is null or has as many elements.
    let (locations, starts) =
        unsafe { (locations.read_array(location_count)?, starts.read_array(location_count)?) };
    let beyond = starts.last().is_some_and(|last| *last >= count);
    if starts.first() != Some(&0) || !starts.is_sorted() || beyond {
        return Err(INVALID_VALUE);
    }
    let place = |location| Location::numbered(location).anywhere().map_err(|_| INVALID_VALUE);
    starts.into_iter().zip(locations).map(|(start, location)| Ok((start, place(location)?))).collect()
}

/// The location of a range. Of two with the same start an H200 takes the first for range 0.
fn place_of(places: &[(usize, Location)], index: usize) -> Option<Location> {
    let after = if index == 0 { 1 } else { places.partition_point(|(start, _)| *start <= index) };
    places.get(after.checked_sub(1)?).map(|(_, location)| *location)
}

/// Does it for one range after the other: those before one that is wrong are done.
fn each(
    call: &Call,
    (addresses, sizes, count): (In<CUdeviceptr>, In<usize>, usize),
    flags: c_ulonglong,
    stream: CUstream,
    discards: bool,
    places: &[(usize, Location)],
) -> Outcome {
    // The default stream is refused before a context is missed.
    let stream = own_stream(call, stream).map_err(|code| match code {
        CUresult::CUDA_ERROR_INVALID_CONTEXT => INVALID_VALUE,
        code => code,
    })?;
    if count == 0 || flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: lists and `count` are the caller's, so by C1 each is null or has `count` elements.
    let (addresses, sizes) = unsafe { (addresses.read_array(count)?, sizes.read_array(count)?) };
    let state = call.state()?;
    for (index, (address, bytes)) in addresses.into_iter().zip(sizes).enumerate() {
        let range = managed::range(state, address, bytes)?;
        let memory = discards.then(|| Arc::clone(&state.memory));
        give(&stream, memory, range, place_of(places, index))?;
    }
    Ok(())
}

/// Gives the work of one range to the stream.
fn give(
    stream: &Arc<Stream>,
    discarded: Option<Arc<Memory>>,
    range: (u64, Range<u64>),
    place: Option<Location>,
) -> Outcome {
    stream.give_apart_small(move || {
        if let Some(memory) = &discarded {
            forget(memory, &range.1);
        }
        if let Some(place) = place {
            MANAGED.say(range.clone(), |said| said.prefetched = place);
        }
        Ok(())
    })
}

/// The contents of the whole pages in a range are gone, unless the memory is, too.
fn forget(memory: &Memory, range: &Range<u64>) {
    let (start, end) = (range.start.next_multiple_of(PAGE), range.end / PAGE * PAGE);
    let Some(bytes) = end.checked_sub(start).filter(|bytes| *bytes > 0) else { return };
    // It may be freed by now.
    if memory.fill(start, &[0], bytes).is_ok() {
        let _ = memory.forget_written(start, bytes);
    }
}
