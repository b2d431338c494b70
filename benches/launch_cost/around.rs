//! What stands around launches.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use crate::{Bench, CONFIG, Owned, Variant, floor_ex};
use cuda_launch::operation::{OwnedKernelLaunch, ThreadAffine, block_on};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    AsyncKernelLaunch, CudaEvent, CudaStream, DeviceBuffer, DeviceOperation, cuda_launch_async,
};
use std::ffi::CString;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Arc;

/// What the variants below work with.
pub(crate) struct Around {
    pool: Arc<ThreadAffine>,
    event: CudaEvent,
    /// Made by the first that needs them.
    many: Vec<CudaStream>,
    image: String,
    /// The same for a driver.
    text: CString,
}

impl Around {
    pub(crate) fn new(stream: &CudaStream) -> Self {
        let context = stream.context();
        let pool = Arc::new(ThreadAffine::new(context, 4).unwrap());
        let text = CString::new(image(24)).unwrap();
        Self { pool, event: context.new_event().unwrap(), many: Vec::new(), image: image(24), text }
    }
}

/// Machine code of a few kernels, all of whose tables are checked before a driver follows them.
const CUBIN: &[u8] = include_bytes!("../../ptx/tests/data/features.sm_90.cubin");

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

/// Waits for one launch that writes one buffer, on the stream that the thread keeps, of four.
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
    // A launch may have had the address: the memory is freed after the work of all streams, and nobody waits for it.
    ("alloc-address-drop", |b| {
        let x = DeviceBuffer::<f32>::uninit(&b.stream, 32).unwrap();
        let _ = black_box(x.as_device_ptr());
    }),
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
                let mut launch = AsyncKernelLaunch::new(function);
                launch.slice(x).slice(x).slice_mut(y).value(&32u32).set_launch_config(CONFIG);
                Ok(launch)
            })
        };
        b.owned = Some(block_on(launch.schedule(b.around.pool.clone())).unwrap());
    }),
    ("module-ptx", |b| drop(b.stream.context().load_module(&b.around.image).unwrap())),
    ("module-cubin", |b| drop(b.stream.context().load_module(CUBIN).unwrap())),
];

fn ok(code: CUresult) {
    assert!(code == CUresult::SUCCESS);
}

/// What a careful person calls instead, with the context current.
pub(crate) fn floor_of(variant: &str) -> Option<fn(&mut Bench)> {
    Some(match variant {
        "alloc-drop" | "alloc-address-drop" => |b| unsafe {
            let (driver, mut address) = (b.stream.context().driver(), 0);
            ok(driver.cuMemAllocAsync(&mut address, 128, b.stream.raw()));
            ok(driver.cuMemFreeAsync(address, b.stream.raw()));
        },
        "event-drop" => |b| unsafe {
            let (driver, mut event) = (b.stream.context().driver(), null_mut());
            ok(driver.cuEventCreate(&mut event, 2));
            ok(driver.cuEventDestroy(event));
        },
        "stream-drop" | "stream-10000" => |b| unsafe {
            let (driver, mut stream) = (b.stream.context().driver(), null_mut());
            ok(driver.cuStreamCreateWithPriority(&mut stream, 1, 0));
            ok(driver.cuStreamDestroy(stream));
        },
        "event-record" => |b| unsafe {
            ok(b.stream.context().driver().cuEventRecord(b.around.event.raw(), b.stream.raw()));
        },
        "synchronize" => |b| unsafe {
            ok(b.stream.context().driver().cuStreamSynchronize(b.stream.raw()));
        },
        "sync" | "await" => |b| {
            floor_ex(b);
            ok(unsafe { b.stream.context().driver().cuStreamSynchronize(b.stream.raw()) });
        },
        "module-cubin" => |b| unsafe {
            let (driver, mut module) = (b.stream.context().driver(), null_mut());
            let image = CUBIN.as_ptr().cast();
            ok(driver.cuModuleLoadDataEx(&mut module, image, 0, null_mut(), null_mut()));
            ok(driver.cuModuleUnload(module));
        },
        "module-ptx" => |b| unsafe {
            let (driver, mut module) = (b.stream.context().driver(), null_mut());
            let text = b.around.text.as_ptr().cast();
            ok(driver.cuModuleLoadDataEx(&mut module, text, 0, null_mut(), null_mut()));
            ok(driver.cuModuleUnload(module));
        },
        _ => return None,
    })
}
