//! Launches on streams that read the same memory; each writes its own.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use crate::{CONFIG, Variant};
use cuda_launch::{CudaStream, DeviceBuffer, cuda_launch};

/// The streams of the variants below, made by the first that needs them: to the others each would be one more that is busy.
#[derive(Default)]
pub(crate) struct Readers {
    other: Option<Lane>,
    per_thread: Option<Lane>,
    /// More than have a bit in a word of memory.
    many: Vec<Lane>,
}

/// A stream and what its launches write.
struct Lane {
    stream: CudaStream,
    target: DeviceBuffer<f32>,
}

impl Lane {
    fn new(stream: CudaStream) -> Self {
        Self { target: DeviceBuffer::uninit(&stream, 32).unwrap(), stream }
    }
}

/// A launch that reads the memory that all share.
macro_rules! launch {
    ($b:ident, $lane:expr) => {
        let lane = $lane;
        unsafe {
            cuda_launch! { function: $b.slices, stream: lane.stream, config: CONFIG,
            args: [slice($b.a), slice($b.b), slice_mut(lane.target), 32u32] }
        }
        .unwrap();
    };
}

pub(crate) const VARIANTS: &[Variant] = &[
    // Two streams in turn.
    ("two-readers", |b| {
        unsafe {
            cuda_launch! { function: b.slices, stream: b.stream, config: CONFIG,
            args: [slice(b.a), slice(b.b), slice_mut(b.c), 32u32] }
        }
        .unwrap();
        let context = b.stream.context();
        let lane = b.readers.other.get_or_insert_with(|| Lane::new(context.new_stream().unwrap()));
        launch!(b, lane);
    }),
    ("per-thread", |b| {
        let context = b.stream.context();
        let lane = b.readers.per_thread.get_or_insert_with(|| Lane::new(context.per_thread_stream()));
        launch!(b, lane);
    }),
    // The last of sixty.
    ("stream-60", |b| {
        while b.readers.many.len() < 60 {
            b.readers.many.push(Lane::new(b.stream.context().new_stream().unwrap()));
            launch!(b, b.readers.many.last_mut().unwrap());
        }
        launch!(b, &mut b.readers.many[59]);
    }),
];
