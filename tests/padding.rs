//! Structures with padding, through every kind of copy and as an argument: what is no number is never read as one. Runs under
//! Miri (`cargo miri test --test padding`), with the emulator's own copies.

#![allow(unsafe_code)] // A launch: the comment above the kernel tells its arguments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::memory::{CopyBatch, CopySource, CopyTarget, Extent, PinnedFlags, RowLayout};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, DeviceCopy, LaunchConfig, PinnedBuffer, cuda_launch,
};

/// Seven bytes of padding in front of `b`, and six behind `c`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Padded {
    a: u8,
    b: f64,
    c: u16,
}

/// out[t] = (t, p.b + in[t].b, p.c + in[t].c), for threads 0 to 2
const ADD: &str = ".version 7.8\n.target sm_75\n.address_size 64
    .visible .entry add(.param .u64 out, .param .u64 in, .param .align 8 .b8 p[24])
    {
        .reg .u32 %t; .reg .u16 %c, %d; .reg .f64 %b, %e; .reg .u64 %out, %in, %o;
        mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 24;
        ld.param.u64 %out, [out]; add.u64 %out, %out, %o;
        ld.param.u64 %in, [in]; add.u64 %in, %in, %o;
        ld.global.f64 %b, [%in+8]; ld.param.f64 %e, [p+8]; add.f64 %b, %b, %e;
        ld.global.u16 %c, [%in+16]; ld.param.u16 %d, [p+16]; add.u16 %c, %c, %d;
        st.global.u8 [%out], %t; st.global.f64 [%out+8], %b; st.global.u16 [%out+16], %c;
        ret;
    }";

fn stream() -> CudaStream {
    // Miri has no other driver.
    let ctx = if cfg!(miri) {
        CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap()
    } else {
        CudaContext::new(0).unwrap()
    };
    ctx.new_stream().unwrap()
}

fn three() -> [Padded; 3] {
    [1, 2, 3].map(|i: u8| Padded { a: i, b: f64::from(i) / 4.0, c: 1000 + u16::from(i) })
}

#[test]
fn buffers() {
    let (stream, sent) = (stream(), three());
    let first = DeviceBuffer::from_host(&stream, &sent).unwrap();
    let mut second = DeviceBuffer::<Padded>::uninit(&stream, 3).unwrap();
    second.view_mut().copy_from_device(&stream, &first).unwrap();
    assert_eq!(second.to_host_vec(&stream).unwrap(), sent);
    let mut got = [Padded { a: 0, b: 0.0, c: 0 }; 2];
    second.slice(1..).copy_to_host(&stream, &mut got).unwrap();
    assert_eq!(got, sent[1..]);
    // Into memory whose padding came from elsewhere.
    second.slice_mut(..2).copy_from_host(&stream, &got).unwrap();
    assert_eq!(second.to_host_vec(&stream).unwrap(), [sent[1], sent[2], sent[2]]);
}

#[test]
fn pinned_memory() {
    let (stream, sent) = (stream(), three());
    let pinned = PinnedBuffer::from_slice(stream.context(), &sent, PinnedFlags::empty()).unwrap();
    let mut back = PinnedBuffer::<Padded>::zeroed(stream.context(), 3, PinnedFlags::empty()).unwrap();
    let mut device = DeviceBuffer::<Padded>::uninit(&stream, 3).unwrap();
    device.view_mut().copy_from_pinned(&stream, &pinned).unwrap();
    device.view().copy_to_pinned(&stream, &mut back).unwrap();
    assert_eq!(back.as_slice().unwrap(), sent);
}

#[test]
fn regions_and_batches() {
    let (stream, sent) = (stream(), three());
    let mut device = DeviceBuffer::<Padded>::zeroed(&stream, 6).unwrap();
    // A column of three becomes every second element.
    let source = CopySource::host(&sent, RowLayout::packed::<Padded>(1, 3));
    let mut target = CopyTarget::device(&mut device, RowLayout::packed::<Padded>(2, 3));
    stream.copy_region(&source, &mut target, Extent { width: 1, height: 3, depth: 1 }).unwrap();
    let mut got = [Padded { a: 9, b: 9.0, c: 9 }; 6];
    let mut batch = CopyBatch::new();
    batch.push_to_host(&mut got, &device).unwrap();
    batch.submit(&stream).unwrap();
    let zero = Padded { a: 0, b: 0.0, c: 0 };
    assert_eq!(got, [sent[0], zero, sent[1], zero, sent[2], zero]);
}

#[test]
#[cfg_attr(miri, ignore = "the interpreter of kernels takes Miri minutes")]
fn a_kernel_sees_the_fields() {
    let (stream, sent) = (stream(), three());
    let module = stream.context().load_module(ADD).unwrap();
    let input = DeviceBuffer::from_host(&stream, &sent).unwrap();
    let mut out = DeviceBuffer::from_host(&stream, &sent).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (3, 1, 1));
    unsafe {
        cuda_launch! { kernel: add, module: module, stream: stream, config: config,
        args: [out.as_mut_device_ptr(), input.as_device_ptr(), Padded { a: 0, b: 0.5, c: 7 }] }
    }
    .unwrap();
    let wanted = [0, 1, 2].map(|t: u8| {
        let of = sent[usize::from(t)];
        Padded { a: t, b: of.b + 0.5, c: of.c + 7 }
    });
    assert_eq!(out.to_host_vec(&stream).unwrap(), wanted);
}
