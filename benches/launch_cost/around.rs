//! What stands around launches.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use crate::{CONFIG, Owned, Variant};
use cuda_launch::operation::{OwnedKernelLaunch, RoundRobin, block_on};
use cuda_launch::{
    AsyncKernelLaunch, CudaEvent, CudaStream, DeviceBuffer, DeviceOperation, cuda_launch_async,
};
use std::sync::Arc;

/// What the variants below work with.
pub(crate) struct Around {
    pool: Arc<RoundRobin>,
    event: CudaEvent,
    /// Made by the first that needs them.
    many: Vec<CudaStream>,
    image: String,
}

impl Around {
    pub(crate) fn new(stream: &CudaStream) -> Self {
        let context = stream.context();
        let pool = Arc::new(RoundRobin::new(context, 4).unwrap());
        Self { pool, event: context.new_event().unwrap(), many: Vec::new(), image: image(24) }
    }
}

/// A module of so many kernels of seven parameters, about 270 bytes each.
fn image(kernels: usize) -> String {
    let list =
        "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .f32 alpha, .param .u32 flags,";
    let kernel = |number: usize| {
        let code = "\t.reg .b32 r;\n\tld.param.u32 r, [n];\n\tadd.u32 r, r, 1;\n\tret;\n";
        format!(".visible .entry kernel_{number}{list} .param .align 8 .b8 shape[48])\n{{\n{code}}}\n")
    };
    let head = String::from(".version 7.8\n.target sm_52\n.address_size 64\n");
    (0..kernels).fold(head, |text, number| text + &kernel(number))
}

/// Waits for one launch that writes one buffer, on the next of four streams.
macro_rules! operation {
    ($b:ident) => {
        unsafe {
            cuda_launch_async! { function: $b.slices, config: CONFIG, args: [slice($b.a), slice($b.b), slice_mut($b.c), 32u32] }
        }
        .schedule($b.around.pool.clone())
    };
}

pub(crate) const VARIANTS: &[Variant] = &[
    ("alloc-drop", |b| drop(DeviceBuffer::<f32>::uninit(&b.stream, 32).unwrap())),
    ("event-drop", |b| drop(b.stream.context().new_event().unwrap())),
    ("stream-drop", |b| drop(b.stream.context().new_stream().unwrap())),
    ("stream-10000", |b| {
        let many = &mut b.around.many;
        while many.len() < 10_000 {
            many.push(b.stream.context().new_stream().unwrap());
        }
        drop(b.stream.context().new_stream().unwrap());
    }),
    ("event-record", |b| b.around.event.record(&b.stream).unwrap()),
    ("synchronize", |b| b.stream.synchronize().unwrap()),
    ("sync", |b| operation!(b).sync().unwrap()),
    ("await", |b| {
        let (buffers, function) = (b.owned.take().unwrap(), b.slices.clone());
        let launch = unsafe {
            OwnedKernelLaunch::new(buffers, move |(x, y): &mut Owned| {
                let mut launch = AsyncKernelLaunch::new(&function);
                launch.slice(x).slice(x).slice_mut(y).value(&32u32).set_launch_config(CONFIG);
                Ok(launch)
            })
        };
        b.owned = Some(block_on(launch.schedule(b.around.pool.clone())).unwrap());
    }),
    ("module-ptx", |b| drop(b.stream.context().load_module(&b.around.image).unwrap())),
];
