//! Parameter lists of every shape: values arrive as they were, lists that do not fit are refused before the driver.

#![recursion_limit = "256"] // An argument is a step of the macro: one launch here has 100.
#![allow(unsafe_code)] // Launches: the kernels write what they got to the output, whose size is that of the value.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::{CudaModule, DeviceBuffer, DeviceCopy, DevicePtr, Error, ErrorKind, cuda_launch};
use references::{Gpu, Random, each, line, same};
use std::fmt::Debug;

fn module(gpu: &Gpu) -> CudaModule {
    gpu.module(include_str!("kernels/parameters.ptx"))
}

/// Passes `value` to `kernel` and reads it back from the output.
fn back<T: Copy + 'static>(gpu: &Gpu, module: &CudaModule, kernel: &str, value: T) -> T {
    let mut out = gpu.put(&vec![0xa5u8; size_of::<T>() + 16]);
    unsafe {
        cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, 1),
        args: [byval(value), out.as_mut_device_ptr()] }
    }
    .unwrap();
    let bytes = gpu.get(&out);
    assert_eq!(bytes[size_of::<T>()..], [0xa5; 16], "{kernel} writes its size");
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

fn arrives<T: Copy + PartialEq + Debug + 'static>(gpu: &Gpu, module: &CudaModule, kernel: &str, value: T) {
    assert_eq!(back(gpu, module, kernel, value), value, "{kernel}");
    refuses_other_sizes(gpu, module, kernel, value);
}

/// One byte less, one byte more, nothing at all, and one argument more than there are parameters.
fn refuses_other_sizes<T: Copy + 'static>(gpu: &Gpu, module: &CudaModule, kernel: &str, value: T) {
    let p = DevicePtr::<u8>::from_raw(0);
    macro_rules! refused {
        ($at:expr; $($argument:tt)*) => {{
            let result = unsafe {
                cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, 1), args: [$($argument)*] }
            };
            let error: Error = result.unwrap_err();
            let ErrorKind::Arguments(mismatch) = error.kind() else { panic!("{kernel}: {error}") };
            assert_eq!((mismatch.kernel.as_str(), mismatch.wanted.len(), mismatch.at), (kernel, 2, $at), "{error}");
        }};
    }
    macro_rules! neighbours {
        ($($n:literal)*) => {$(
            if size_of::<T>().abs_diff($n) == 1 {
                refused!(0; [0u8; $n], p);
            }
        )*};
    }
    neighbours!(1 2 3 4 5 7 8 9 11 13 15 17 23 25 31 33 55 57 63 65 127 129);
    refused!(0;);
    refused!(1; byval(value));
    refused!(1; byval(value), 0u32);
    refused!(2; byval(value), p, p);
}

#[repr(C, align(32))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Align32([u8; 32]);
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Align64([u8; 64]);
#[repr(C, align(128))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Align128([u8; 128]);

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Twelve {
    a: u32,
    b: u16,
    c: u16,
    d: f32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Padded {
    a: u8,
    b: f64,
    c: u16,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Nested {
    t: [Twelve; 2],
    p: Padded,
    flag: u8,
}

const TWELVE: Twelve = Twelve { a: 0x0102_0304, b: 0xfffe, c: 7, d: -1.25 };
const PADDED: Padded = Padded { a: 200, b: -2.5e300, c: 0xabcd };

/// 0, 3, 6, ..
fn bytes<const N: usize>() -> [u8; N] {
    std::array::from_fn(|i| (i * 3) as u8)
}

#[test]
fn every_scalar_arrives() {
    let gpu = Gpu::new();
    let m = module(&gpu);
    arrives(&gpu, &m, "one_bool", true);
    arrives(&gpu, &m, "one_bool", false);
    arrives(&gpu, &m, "one_i8", -128i8);
    arrives(&gpu, &m, "one_u8", 255u8);
    arrives(&gpu, &m, "one_i16", -32768i16);
    arrives(&gpu, &m, "one_u16", 65535u16);
    arrives(&gpu, &m, "one_i32", i32::MIN);
    arrives(&gpu, &m, "one_u32", 0xfedc_ba98u32);
    arrives(&gpu, &m, "one_i64", i64::MIN + 1);
    arrives(&gpu, &m, "one_u64", 0xfedc_ba98_7654_3210u64);
    arrives(&gpu, &m, "one_f32", -0.0f32);
    arrives(&gpu, &m, "one_f64", f64::MIN_POSITIVE / 2.0);
    arrives(&gpu, &m, "one_f16", half::f16::from_f32(-65504.0));
    arrives(&gpu, &m, "one_bf16", half::bf16::from_f32(3e38));
    arrives(&gpu, &m, "one_u128", 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128);
    arrives(&gpu, &m, "one_pointer", DevicePtr::<f32>::from_raw(0xdead_beef_0000_0001));
    // A signalling NaN stays what it is, as nothing computes with it.
    assert_eq!(back(&gpu, &m, "one_f32", f32::from_bits(0xff80_0001)).to_bits(), 0xff80_0001);
    assert_eq!(
        back(&gpu, &m, "one_f64", f64::from_bits(0x7ff0_0000_0000_0001)).to_bits(),
        0x7ff0_0000_0000_0001
    );
}

#[test]
fn every_vector_array_and_struct_arrives() {
    let gpu = Gpu::new();
    let m = module(&gpu);
    arrives(&gpu, &m, "one_float2", [1.5f32, -2.5]);
    arrives(&gpu, &m, "one_float3", [1.5f32, -2.5, 3.5]);
    arrives(&gpu, &m, "one_float4", [1.5f32, -2.5, 3.5, f32::INFINITY]);
    arrives(&gpu, &m, "one_uchar3", [1u8, 255, 3]);
    arrives(&gpu, &m, "one_short4", [1i16, -2, 3, -4]);
    arrives(&gpu, &m, "one_double2", [1e300f64, -1e-300]);
    arrives(&gpu, &m, "one_align1", bytes::<1>());
    arrives(&gpu, &m, "one_align2", bytes::<2>());
    arrives(&gpu, &m, "one_align4", bytes::<4>());
    arrives(&gpu, &m, "one_align8", bytes::<8>());
    arrives(&gpu, &m, "one_align16", bytes::<16>());
    arrives(&gpu, &m, "one_align32", Align32(bytes()));
    arrives(&gpu, &m, "one_align64", Align64(bytes()));
    arrives(&gpu, &m, "one_align128", Align128(bytes()));
    // Bytes without that alignment are as good: the packet has a pointer for each.
    arrives(&gpu, &m, "one_align128", bytes::<128>());
    arrives(&gpu, &m, "one_array_i32x4", [1i32, -2, 3, i32::MIN]);
    arrives(&gpu, &m, "one_array_u8x3", [7u8, 8, 9]);
    arrives(&gpu, &m, "one_array_f64x3", [0.1f64, 0.2, 0.3]);
    arrives(&gpu, &m, "one_twelve", TWELVE);
    arrives(&gpu, &m, "one_padded", PADDED);
    arrives(&gpu, &m, "one_nested", Nested { t: [TWELVE, Twelve { a: 1, ..TWELVE }], p: PADDED, flag: 1 });
}

#[test]
fn plain_values_need_no_byval() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let mut out = gpu.zeros::<u64>(11);
    unsafe {
        cuda_launch! { kernel: scalars, module: module, stream: gpu.stream, config: line(1, 1),
        args: [1u8, -2i8, 3u8, -4i16, 5u16, -6i32, 7u32, -8i64, 9u64, 1.5f32, -2.5f64, out.as_mut_device_ptr()] }
    }
    .unwrap();
    let minus = |n: u64| n.wrapping_neg();
    let floats = [1.5f32.to_bits().into(), (-2.5f64).to_bits()];
    let expected = [&[1, minus(2), 3, minus(4), 5, minus(6), 7, minus(8), 9][..], &floats].concat();
    same(&gpu.get(&out), &expected, "scalars");
    let mut out = gpu.zeros::<Twelve>(1);
    unsafe {
        cuda_launch! { kernel: one_twelve, module: module, stream: gpu.stream, config: line(1, 1),
        args: [TWELVE, out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [TWELVE]);
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Mixed {
    a: i8,
    b: f64,
    c: u8,
    d: Pair,
    e: [f32; 3],
    f: Float4,
    h: u64,
    i: i16,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Pair(i8, i16);

#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, Debug, DeviceCopy)]
struct Float4([f32; 4]);

/// `rows(first, x, x_len, out, out_len, width, last)`: `out[i] = x[i / width] + first + last`.
const ROWS: &str = "
.version 7.8
.target sm_52
.address_size 64
.visible .entry rows(.param .u8 first, .param .u64 x, .param .u64 x_len, .param .u64 out, .param .u64 out_len,
    .param .u64 width, .param .u16 last)
{
    .reg .pred %p<3>;
    .reg .b16 %h<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<10>;
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd1, %r1;
    ld.param.u64 %rd2, [out_len];
    setp.ge.u64 %p1, %rd1, %rd2;
    @%p1 bra DONE;
    ld.param.u64 %rd3, [width];
    div.u64 %rd4, %rd1, %rd3;
    ld.param.u64 %rd5, [x_len];
    setp.ge.u64 %p2, %rd4, %rd5;
    @%p2 bra DONE;
    ld.param.u64 %rd6, [x];
    shl.b64 %rd7, %rd4, 2;
    add.u64 %rd6, %rd6, %rd7;
    ld.global.u32 %r2, [%rd6];
    ld.param.u8 %h1, [first];
    cvt.u32.u16 %r3, %h1;
    add.u32 %r2, %r2, %r3;
    ld.param.u16 %h2, [last];
    cvt.u32.u16 %r4, %h2;
    add.u32 %r2, %r2, %r4;
    ld.param.u64 %rd8, [out];
    shl.b64 %rd9, %rd1, 2;
    add.u64 %rd8, %rd8, %rd9;
    st.global.u32 [%rd8], %r2;
DONE:
    ret;
}
";

#[test]
fn the_width_of_rows_follows_its_slice() {
    let gpu = Gpu::new();
    let module = gpu.module(ROWS);
    let (x, mut out) = (gpu.put(&[1000u32, 2000, 3000]), gpu.zeros::<u32>(14));
    unsafe {
        cuda_launch! { kernel: rows, module: module, stream: gpu.stream, config: line(1, 32),
        args: [3u8, slice(x), slice_mut(out), 4u64, 500u16] }
    }
    .unwrap();
    // Three rows of four; there is no fourth.
    let row = |i: usize| if i < 12 { 1000 * (i as u32 / 4 + 1) + 503 } else { 0 };
    each(&gpu.get(&out), "rows", row);
    // Without the width there is a parameter too few, with a smaller one it is of another size.
    let few = unsafe {
        cuda_launch! { kernel: rows, module: module, stream: gpu.stream, config: line(1, 32),
        args: [3u8, slice(x), slice_mut(out), 500u16] }
    };
    let small = unsafe {
        cuda_launch! { kernel: rows, module: module, stream: gpu.stream, config: line(1, 32),
        args: [3u8, slice(x), slice_mut(out), 4u32, 500u16] }
    };
    for error in [few.unwrap_err(), small.unwrap_err()] {
        let ErrorKind::Arguments(mismatch) = error.kind() else { panic!("{error}") };
        assert_eq!((mismatch.wanted.len(), mismatch.at), (7, 5), "{error}");
    }
}

#[test]
fn small_and_large_in_turn() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let m = Mixed {
        a: -7,
        b: 0.1,
        c: 1,
        d: Pair(-3, 0x1234),
        e: [1.0, 2.0, 3.0],
        f: Float4([4.0, 5.0, 6.0, 7.0]),
        h: 1 << 60,
        i: -9,
    };
    let mut out = gpu.zeros::<Mixed>(1);
    // The seventh is an empty C++ struct: one byte.
    unsafe {
        cuda_launch! { kernel: mixed, module: module, stream: gpu.stream, config: line(1, 1),
        args: [m.a, m.b, m.c, m.d, m.e, m.f, 0u8, m.h, m.i, out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [m]);
    let mut flag = gpu.zeros::<u32>(1);
    unsafe {
        cuda_launch! { kernel: empty_struct, module: module, stream: gpu.stream, config: line(1, 1),
        args: [0u8, flag.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&flag), [1]);
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Over {
    a: i32,
    b: Align32,
    c: i32,
    d: Align64,
    e: i32,
    f: Align128,
}

#[test]
fn parameters_aligned_over_16_bytes() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let o = Over { a: -1, b: Align32(bytes()), c: -2, d: Align64(bytes()), e: -3, f: Align128(bytes()) };
    let mut out = gpu.zeros::<u8>(size_of::<Over>());
    unsafe {
        cuda_launch! { kernel: over_aligned, module: module, stream: gpu.stream, config: line(1, 1),
        args: [o.a, byval(o.b), o.c, byval(o.d), o.e, byval(o.f), out.as_mut_device_ptr()] }
    }
    .unwrap();
    let bytes = gpu.get(&out);
    assert_eq!(unsafe { bytes.as_ptr().cast::<Over>().read_unaligned() }, o);
}

#[test]
fn nothing_and_unused() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let none = || ();
    unsafe {
        cuda_launch! { kernel: none, module: module, stream: gpu.stream, config: line(3, 64), args: [] }
            .unwrap();
        // What has no size is no parameter.
        cuda_launch! { kernel: none, module: module, stream: gpu.stream, config: line(1, 1), args: [byval(none), [0u8; 0]] }
            .unwrap();
        let one = cuda_launch! { kernel: none, module: module, stream: gpu.stream, config: line(1, 1), args: [1u8] };
        assert!(one.unwrap_err().is_argument_mismatch());
        let x = gpu.zeros::<f32>(3);
        let mut y = gpu.zeros::<f32>(0);
        cuda_launch! { kernel: seven, module: module, stream: gpu.stream, config: line(1, 32),
        args: [slice(x), slice(x), slice_mut(y), 3u32] }
        .unwrap();
    }
    gpu.stream.synchronize().unwrap();
}

#[test]
fn sizes_out_of_order_are_refused() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let launch = |kernel: &str, swap: bool, out: &mut DeviceBuffer<u64>| unsafe {
        let p = out.as_mut_device_ptr();
        if swap {
            cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, 1), args: [2.5f64, 7u32, p] }
        } else {
            cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, 1), args: [7u32, 2.5f64, p] }
        }
    };
    let (seven, real) = (7u64, 2.5f64.to_bits());
    let mut out = gpu.zeros::<u64>(2);
    for (kernel, swap, expected) in [("u32_f64", false, [seven, real]), ("f64_u32", true, [real, seven])] {
        launch(kernel, swap, &mut out).unwrap();
        same(&gpu.get(&out), &expected, kernel);
        let error = launch(kernel, !swap, &mut out).unwrap_err();
        let ErrorKind::Arguments(mismatch) = error.kind() else { panic!("{error}") };
        assert_eq!((mismatch.at, mismatch.guess.is_some()), (0, true), "{error}");
    }
    let p = out.as_mut_device_ptr();
    unsafe {
        cuda_launch! { kernel: f32_u32, module: module, stream: gpu.stream, config: line(1, 1), args: [-1.5f32, 9u32, p] }
    }
    .unwrap();
    same(&gpu.get(&out), &[(-1.5f32).to_bits().into(), 9], "f32_u32");
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Table {
    n: u32,
    v: [f32; 15],
}

#[test]
fn parameters_read_in_place() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    for n in [0, 1, 7, 15] {
        let table = Table { n, v: std::array::from_fn(|i| i as f32 + 0.5) };
        for kernel in ["grid_constant", "indexed"] {
            let mut out = gpu.zeros::<f32>(32);
            unsafe {
                cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, 32),
                args: [table, out.as_mut_device_ptr()] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("{kernel} of {n}"), |i| {
                if (i as u32) < n { (n as usize - 1 - i) as f32 + 0.5 } else { 0.0 }
            });
        }
        if n == 0 {
            continue;
        }
        let mut out = gpu.zeros::<f32>(40);
        unsafe {
            cuda_launch! { kernel: changed, module: module, stream: gpu.stream, config: line(1, 40),
            args: [table, out.as_mut_device_ptr()] }
        }
        .unwrap();
        each(&gpu.get(&out), format!("changed {n}"), |t| 2.0 * table.v[t % n as usize]);
    }
}

#[test]
fn many_parameters() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let mut out = gpu.zeros::<u64>(24);
    let p = out.as_mut_device_ptr();
    unsafe {
        cuda_launch! { kernel: many_25, module: module, stream: gpu.stream, config: line(1, 1),
        args: [
            1u8, 2u16, 3u32, 4u64, 5.0f32, 6.0f64, 7u8, 8u16, 9u32, 10u64, 11.0f32, 12.0f64,
            13u8, 14u16, 15u32, 16u64, 17.0f32, 18.0f64, 19u8, 20u16, 21u32, 22u64, 23.0f32, 24.0f64, p
        ] }
    }
    .unwrap();
    each(&gpu.get(&out), "many_25", |k| match k % 6 {
        4 => (k as f32 + 1.0).to_bits().into(),
        5 => (k as f64 + 1.0).to_bits(),
        _ => k as u64 + 1,
    });

    let w: [u32; 99] = std::array::from_fn(|i| (i as u32 + 1) * 0x0101_0101);
    let mut out = gpu.zeros::<u32>(99);
    #[rustfmt::skip]
    let launched = unsafe {
        cuda_launch! { kernel: many_100, module: module, stream: gpu.stream, config: line(1, 1), args: [
            w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
            w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23],
            w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31], w[32], w[33], w[34], w[35],
            w[36], w[37], w[38], w[39], w[40], w[41], w[42], w[43], w[44], w[45], w[46], w[47],
            w[48], w[49], w[50], w[51], w[52], w[53], w[54], w[55], w[56], w[57], w[58], w[59],
            w[60], w[61], w[62], w[63], w[64], w[65], w[66], w[67], w[68], w[69], w[70], w[71],
            w[72], w[73], w[74], w[75], w[76], w[77], w[78], w[79], w[80], w[81], w[82], w[83],
            w[84], w[85], w[86], w[87], w[88], w[89], w[90], w[91], w[92], w[93], w[94], w[95],
            w[96], w[97], w[98],
            out.as_mut_device_ptr()
        ] }
    };
    launched.unwrap();
    same(&gpu.get(&out), &w, "many_100");
}

/// What bytes_* compute of the words from `first` on.
fn weighted(words: &[u32], first: usize) -> u32 {
    words.iter().enumerate().skip(first).fold(0, |sum, (i, w)| sum.wrapping_add(w.wrapping_mul(i as u32 + 1)))
}

#[test]
fn as_many_bytes_as_a_launch_can_have() {
    let gpu = Gpu::new();
    let module = module(&gpu);
    let words = Random::new(9).u32s(8191);
    let mut out = gpu.zeros::<u32>(1);
    let old: [u32; 1022] = words[..1022].try_into().unwrap();
    let more: [u32; 1024] = words[..1024].try_into().unwrap();
    unsafe {
        cuda_launch! { kernel: bytes_4096, module: module, stream: gpu.stream, config: line(1, 1),
        args: [old, out.as_mut_device_ptr()] }
        .unwrap();
        assert_eq!(gpu.get(&out), [weighted(&old, 0)]);
        cuda_launch! { kernel: bytes_4104, module: module, stream: gpu.stream, config: line(1, 1),
        args: [byval(more), out.as_mut_device_ptr()] }
        .unwrap();
        assert_eq!(gpu.get(&out), [weighted(&more, 0)]);
    }
    let mut all: [u32; 8191] = words.try_into().unwrap();
    all[0] = out.cu_deviceptr() as u32;
    all[1] = (out.cu_deviceptr() >> 32) as u32;
    unsafe {
        cuda_launch! { kernel: bytes_32764, module: module, stream: gpu.stream, config: line(1, 1), args: [byval(all)] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [weighted(&all, 2)]);
    let short = unsafe {
        cuda_launch! { kernel: bytes_32764, module: module, stream: gpu.stream, config: line(1, 1), args: [more] }
    };
    assert!(short.unwrap_err().is_argument_mismatch());
}
