//! `cuMemsetD*`: returns before the memory is filled, as on a GPU; only without `Async`, and for memory that the host has too, it waits ("API
//! synchronization behavior" in the driver's manual).

use cuda_driver_sys::*;
use std::ffi::{c_uchar, c_uint, c_ushort};
use std::sync::Arc;

use super::copy::Mode;
use crate::driver::entry::{Outcome, entries};
use crate::driver::state::Call;
use crate::driver::stream::{Pace, Stream};
use crate::driver::work::Work;
use crate::driver::work::fill::Fill;

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

/// Fills smaller than this are done at once if nothing is before them.
const SMALL: usize = 1 << 20;

/// Where a fill is: address, pitch, elements of a row, rows.
type Area = (u64, usize, usize, usize);

fn line(target: CUdeviceptr, count: usize) -> Area {
    (target, 0, count, 1)
}

/// `element` is the size of the value.
fn fill(call: &Call, stream: &Arc<Stream>, area: Area, value: u32, element: usize, mode: Mode) -> Outcome {
    let state = call.healthy()?;
    let (target, pitch, width, height) = area;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let fill =
        Fill { target, pitch, value, element: element as u32, width, height, origin: None, context: 0 };
    let pace = match fill.check(state)? {
        _ if mode == Mode::Blocking && state.is_on_host(target) => Pace::Blocking,
        ..=SMALL => Pace::Small,
        _ => Pace::Queued,
    };
    stream.give(call, Work::Fill(fill), pace).map(|_| ())
}

macro_rules! fills {
    ($($name:ident $name_async:ident $rows:ident $rows_async:ident $type:ty;)*) => {$(
        fn $name(call: &Call, target: CUdeviceptr, value: $type, count: usize) -> Outcome {
            fill(call, &call.default_stream()?, line(target, count), value.into(), size_of::<$type>(), Mode::Blocking)
        }

        fn $name_async(call: &Call, target: CUdeviceptr, value: $type, count: usize, stream: CUstream) -> Outcome {
            fill(call, &call.stream(stream)?, line(target, count), value.into(), size_of::<$type>(), Mode::Asynchronous)
        }

        fn $rows(call: &Call, target: CUdeviceptr, pitch: usize, value: $type, width: usize, height: usize) -> Outcome {
            fill(call, &call.default_stream()?, (target, pitch, width, height), value.into(), size_of::<$type>(), Mode::Blocking)
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
            fill(call, &call.stream(stream)?, (target, pitch, width, height), value.into(), size_of::<$type>(), Mode::Asynchronous)
        }
    )*};
}

fills! {
    d8 d8_async rows8 rows8_async c_uchar;
    d16 d16_async rows16 rows16_async c_ushort;
    d32 d32_async rows32 rows32_async c_uint;
}
