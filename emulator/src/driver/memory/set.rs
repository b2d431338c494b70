//! `cuMemsetD*`: returns before the memory is filled, as on a GPU.

use cuda_driver_sys::*;
use std::ffi::{c_uchar, c_uint, c_ushort};
use std::sync::Arc;

use super::fault;
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::graph::fill::Fill;
use crate::driver::graph::operation::Operation;
use crate::driver::state::Call;
use crate::driver::stream::{Stream, Work};

entries! {
    cuMemsetD8_v2(target: CUdeviceptr, value: c_uchar, count: usize) = d8;
    cuMemsetD16_v2(target: CUdeviceptr, value: c_ushort, count: usize) = d16;
    cuMemsetD32_v2(target: CUdeviceptr, value: c_uint, count: usize) = d32;
    cuMemsetD8Async(target: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) [callback] = d8_async;
    cuMemsetD16Async(target: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream) [callback] = d16_async;
    cuMemsetD32Async(target: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) [callback] = d32_async;
    cuMemsetD2D8_v2(target: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize) = rows8;
    cuMemsetD2D16_v2(target: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize) = rows16;
    cuMemsetD2D32_v2(target: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize) = rows32;
    cuMemsetD2D8Async(target: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize, stream: CUstream) = rows8_async;
    cuMemsetD2D16Async(target: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize, stream: CUstream) = rows16_async;
    cuMemsetD2D32Async(target: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: CUstream) = rows32_async;
}

/// What is filled: `height` rows of `width` elements, the starts of which are `pitch` bytes apart.
#[derive(Clone, Copy)]
struct Area {
    target: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// Fills smaller than this are done at once if nothing is before them.
const SMALL: u64 = 1 << 20;

fn line(target: CUdeviceptr, count: usize) -> Area {
    Area { target, pitch: 0, width: count, height: 1 }
}

fn fill<const SIZE: usize>(call: &Call, stream: &Arc<Stream>, area: Area, value: [u8; SIZE]) -> Outcome {
    let (state, name) = (call.healthy()?, call.name);
    if area.width == 0 || area.height == 0 {
        return Ok(());
    }
    let row = area.width.checked_mul(SIZE).ok_or(INVALID_VALUE)?;
    let whole = area
        .pitch
        .checked_mul(area.height - 1)
        .and_then(|rows| rows.checked_add(row))
        .ok_or(INVALID_VALUE)?;
    let aligned = area.target.is_multiple_of(SIZE as u64) && area.pitch.is_multiple_of(SIZE);
    if !aligned || area.height > 1 && area.pitch < row || !state.is_device_range(area.target, whole as u64) {
        return Err(INVALID_VALUE);
    }
    if let Some(recorder) = recorder(stream)? {
        let (Area { target, pitch, width, height }, element) = (area, SIZE as u32);
        let value = value.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let fill = Fill { target, pitch, value, element, width, height };
        return recorder.add(state, Operation::Fill(fill)).map(|_| ());
    }
    let run = move || {
        (0..area.height as u64)
            .try_for_each(|index| {
                state.memory.fill(area.target + index * area.pitch as u64, &value, area.width as u64)
            })
            .map_err(|error| fault(name, &error))
    };
    if whole as u64 <= SMALL {
        return stream.submit_small(run);
    }
    stream.submit(None, Work::Run(Box::new(run))).map(|_| ())
}

macro_rules! fills {
    ($($name:ident $name_async:ident $rows:ident $rows_async:ident $type:ty;)*) => {$(
        fn $name(call: &Call, target: CUdeviceptr, value: $type, count: usize) -> Outcome {
            fill(call, &call.context()?.legacy(), line(target, count), value.to_ne_bytes())
        }

        fn $name_async(call: &Call, target: CUdeviceptr, value: $type, count: usize, stream: CUstream) -> Outcome {
            fill(call, &call.stream(stream)?, line(target, count), value.to_ne_bytes())
        }

        fn $rows(call: &Call, target: CUdeviceptr, pitch: usize, value: $type, width: usize, height: usize) -> Outcome {
            fill(call, &call.context()?.legacy(), Area { target, pitch, width, height }, value.to_ne_bytes())
        }

        fn $rows_async(
            call: &Call,
            target: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            stream: CUstream,
        ) -> Outcome {
            fill(call, &call.stream(stream)?, Area { target, pitch, width, height }, value.to_ne_bytes())
        }
    )*};
}

fills! {
    d8 d8_async rows8 rows8_async c_uchar;
    d16 d16_async rows16 rows16_async c_ushort;
    d32 d32_async rows32 rows32_async c_uint;
}
