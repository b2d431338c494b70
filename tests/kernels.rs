//! Every example kernel on the chosen driver, in each build of it (nvcc, with line numbers, unoptimised, clang), compared
//! with the host. All results are exact.

#![allow(unsafe_code)] // Launches: arguments as examples/kernels/README.md tells, buffers as long as said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::{CudaModule, DeviceCopy, DevicePtrMut, LaunchConfig, cuda_launch};
use references::{Bits, Gpu, Random, SIZES, each, line, same, shape};
use std::fmt::Debug;

/// The builds of one example: in examples/kernels, and in folders of tests/kernels.
macro_rules! builds {
    ($file:literal $($folder:literal)*) => {
        &[
            ("nvcc", include_str!(concat!("../examples/kernels/", $file, ".ptx"))),
            $(($folder, include_str!(concat!("kernels/", $folder, "/", $file, ".ptx"))),)*
        ]
    };
}

type Builds = &'static [(&'static str, &'static str)];

/// Runs `test` with the module of each build.
fn on_each(builds: Builds, test: impl Fn(&Gpu, &CudaModule, &str)) {
    let gpu = Gpu::new();
    for (build, ptx) in builds {
        test(&gpu, &gpu.module(ptx), build);
    }
}

/// The NaN that f32 arithmetic gives.
fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

/// What lies behind a result, to see that nothing is written there.
const AFTER: [f32; 16] = [-7.25; 16];

#[test]
fn vecadd() {
    on_each(builds!("vecadd" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for n in SIZES {
            let mut random = Random::new(n as u64);
            let (a, b) = (random.any_f32s(n), random.any_f32s(n + 5));
            let (da, db) = (gpu.put(&a), gpu.put(&b));
            let mut dc = gpu.put(&[vec![0.0; n], AFTER.to_vec()].concat());
            let mut results = dc.slice_mut(..n);
            unsafe {
                cuda_launch! { kernel: vecadd, module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32 + 300), args: [slice(da), slice(db), slice_mut(results)] }
            }
            .unwrap();
            let c = gpu.get(&dc);
            each(&c[..n], format!("{build} vecadd of {n}"), |i| canonical(a[i] + b[i]));
            assert_eq!(c[n..], AFTER, "{build} vecadd of {n}: behind the slice");
        }
    });
}

#[test]
fn vecadd_stops_at_the_shortest_slice() {
    on_each(builds!("vecadd" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for (a_len, b_len) in [(100, 70), (70, 100), (0, 100), (100, 0)] {
            let (a, b) = (gpu.put(&vec![1.0f32; a_len]), gpu.put(&vec![2.0f32; b_len]));
            let mut c = gpu.zeros::<f32>(90);
            unsafe {
                cuda_launch! { kernel: vecadd, module: module, stream: gpu.stream, config: line(1, 128),
                args: [slice(a), slice(b), slice_mut(c)] }
            }
            .unwrap();
            let end = a_len.min(b_len);
            each(&gpu.get(&c), format!("{build} {a_len} {b_len}"), |i| if i < end { 3.0 } else { 0.0 });
        }
    });
}

#[test]
fn saxpy() {
    on_each(builds!("saxpy" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for n in SIZES {
            let mut random = Random::new(n as u64 + 1);
            let (x, y, alpha) = (random.any_f32s(n), random.any_f32s(n), 1.0 + random.f32());
            let (dx, mut dy) = (gpu.put(&x), gpu.put(&[y.clone(), AFTER.to_vec()].concat()));
            unsafe {
                cuda_launch! { kernel: saxpy, module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32),
                args: [n as u32, alpha, dx.as_device_ptr(), dy.as_mut_device_ptr()] }
            }
            .unwrap();
            let got = gpu.get(&dy);
            let fused = |i: usize| canonical(alpha.mul_add(x[i], y[i]));
            let apart = |i: usize| canonical(alpha * x[i] + y[i]);
            // Unoptimised, it is `mul.f32` and `add.f32` without `.rn`: the GPU's compiler may fuse them or not.
            each(&got[..n], format!("{build} saxpy of {n}"), |i| {
                if build == "debug" && got[i].bits() == apart(i).bits() { apart(i) } else { fused(i) }
            });
            assert_eq!(got[n..], AFTER, "{build} saxpy of {n}: behind the end");
        }
    });
}

#[test]
fn scale() {
    on_each(builds!("scale" "clang"), |gpu, module, build| {
        for n in SIZES {
            let x = Random::new(n as u64 + 2).any_f32s(n);
            let (dx, mut out) = (gpu.put(&x), gpu.put(&[vec![0.0; n], AFTER.to_vec()].concat()));
            unsafe {
                cuda_launch! { kernel: scale, module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32),
                args: [n as u32, -1.7f32, dx.as_device_ptr(), out.as_mut_device_ptr()] }
            }
            .unwrap();
            let got = gpu.get(&out);
            each(&got[..n], format!("{build} scale of {n}"), |i| canonical(-1.7 * x[i]));
            assert_eq!(got[n..], AFTER, "{build} scale of {n}: behind the end");
        }
    });
}

#[test]
fn fill() {
    on_each(builds!("fill" "lineinfo" "clang"), |gpu, module, build| {
        for n in SIZES {
            let mut out = gpu.zeros::<u32>(n + 16);
            unsafe {
                cuda_launch! { kernel: fill, module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32 + 100),
                args: [out.as_mut_device_ptr(), n as u32, 0xdead_beefu32] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("{build} fill of {n}"), |i| if i < n { 0xdead_beef } else { 0 });
        }
    });
}

#[test]
fn sin() {
    on_each(builds!("sin"), |gpu, module, build| {
        let mut random = Random::new(3);
        let mut x: Vec<f32> = (0..5000).map(|_| random.f32() * 20.0).collect();
        x.extend(random.any_f32s(2000)); // any magnitude, also where the argument is reduced with 128 bits of pi
        let (dx, mut out) = (gpu.put(&x), gpu.zeros::<f32>(x.len()));
        unsafe {
            cuda_launch! { kernel: sin_kernel, module: module, stream: gpu.stream,
            config: LaunchConfig::for_num_elems(x.len() as u32),
            args: [out.as_mut_device_ptr(), dx.as_device_ptr(), x.len() as i32] }
        }
        .unwrap();
        for (got, x) in gpu.get(&out).into_iter().zip(x) {
            let exact = f64::from(x).sin();
            // 2 units in the last place are at most 2.4e-7 of a normal result.
            let near = (f64::from(got) - exact).abs() <= exact.abs() * 2.4e-7 + 1e-44;
            assert!(
                near || got.is_nan() && exact.is_nan(),
                "{build} sin({x:e}) = {got:e}, exactly {exact:e}"
            );
        }
    });
}

#[test]
fn strided_copy() {
    on_each(builds!("strided_copy" "clang"), |gpu, module, build| {
        for (n, stride, config) in [
            (0, 3, line(1, 32)),
            (1, 1, line(1, 1)),
            (1000, 7, line(1, 33)),
            (1001, 2, line(9, 64)),
            (333, 1000, line(200, 256)),
        ] {
            let source = Random::new(4).any_f32s(n * stride);
            let (input, mut out) = (gpu.put(&source), gpu.zeros::<f32>(n));
            unsafe {
                cuda_launch! { kernel: strided_copy, module: module, stream: gpu.stream, config: config,
                args: [out.as_mut_device_ptr(), input.as_device_ptr(), n as u32, stride as u32] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("{build} {n} strided by {stride}"), |i| source[i * stride]);
        }
    });
}

#[test]
fn transpose() {
    on_each(builds!("transpose" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for (width, height) in [(1, 1), (32, 32), (31, 33), (33, 31), (100, 7), (3, 130), (64, 65)] {
            let source = Random::new(5).any_f32s(width * height);
            let (input, mut out) = (gpu.put(&source), gpu.zeros::<f32>(width * height));
            let grid = (width.div_ceil(32) as u32, height.div_ceil(32) as u32, 1);
            unsafe {
                cuda_launch! { kernel: transpose, module: module, stream: gpu.stream, config: shape(grid, (32, 8, 1)),
                args: [out.as_mut_device_ptr(), input.as_device_ptr(), width as u32, height as u32] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("{build} {width} x {height}"), |i| {
                source[i % height * width + i / height]
            });
        }
    });
}

/// The sum of each block, in the order that the README of the kernels tells.
fn block_sums<T: Copy>(input: &[T], grid: usize, block: usize, zero: T, add: impl Fn(T, T) -> T) -> Vec<T> {
    let warp_sum = |mut lanes: Vec<T>| {
        for offset in [16, 8, 4, 2, 1] {
            lanes =
                (0..32).map(|l| add(lanes[l], lanes[if l + offset < 32 { l + offset } else { l }])).collect();
        }
        lanes[0]
    };
    let sum_of_block = |b: usize| {
        let thread =
            |t: usize| input.iter().skip(b * block + t).step_by(grid * block).fold(zero, |s, &x| add(s, x));
        let warp = |w: usize| warp_sum((w * 32..w * 32 + 32).map(thread).collect());
        let mut warps: Vec<T> = (0..block / 32).map(warp).collect();
        warps.resize(32, zero);
        warp_sum(warps)
    };
    (0..grid).map(sum_of_block).collect()
}

fn reduce<T: DeviceCopy + Bits>(
    kernel: &str,
    zero: T,
    add: impl Fn(T, T) -> T,
    next: impl Fn(&mut Random) -> T,
) {
    on_each(builds!("reduce" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for n in [0, 1, 31, 33, 1000, 4097] {
            let mut random = Random::new(n as u64 + 6);
            let input: Vec<T> = (0..n).map(|_| next(&mut random)).collect();
            let dx = gpu.put(&input);
            for (grid, block) in [(1, 32), (2, 64), (3, 96), (5, 256), (1, 1024)] {
                let mut partial = gpu.zeros::<T>(grid);
                unsafe {
                    cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream,
                    config: line(grid as u32, block as u32),
                    args: [dx.as_device_ptr(), n as u32, partial.as_mut_device_ptr()] }
                }
                .unwrap();
                let what = format!("{build} {kernel} of {n} by {grid} x {block}");
                same(&gpu.get(&partial), &block_sums(&input, grid, block, zero, &add), what);
            }
        }
    });
}

#[test]
fn reduce_f32() {
    reduce("reduce_f32", 0.0f32, |a, b| a + b, Random::f32);
}

#[test]
fn reduce_f64() {
    reduce("reduce_f64", 0.0f64, |a, b| a + b, Random::f64);
}

#[test]
fn reduce_u32() {
    reduce("reduce_u32", 0u32, u32::wrapping_add, Random::u32);
}

fn matmul_reference(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..k).fold(0.0, |sum, l| a[i * k + l].mul_add(b[l * n + j], sum));
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

#[test]
fn matmul() {
    on_each(builds!("matmul" "lineinfo" "clang"), |gpu, module, build| {
        for [m, n, k] in
            [[1, 1, 1], [16, 16, 16], [17, 33, 5], [31, 32, 33], [1, 100, 64], [5, 3, 0], [40, 1, 70]]
        {
            let mut random = Random::new((m * 100 + k) as u64);
            let (a, b) = (random.f32s(m * k), random.f32s(k * n));
            let (da, db, expected) = (gpu.put(&a), gpu.put(&b), matmul_reference(&a, &b, [m, n, k]));
            let sizes = [m as u32, n as u32, k as u32];
            let tiles = (sizes[1].div_ceil(16), sizes[0].div_ceil(16), 1);
            let odd = (sizes[1].div_ceil(7), sizes[0].div_ceil(5), 1);
            let (tiled, naive) = (shape(tiles, (16, 16, 1)), shape(odd, (7, 5, 1)));
            for (kernel, config) in [("matmul", tiled), ("matmul_naive", tiled), ("matmul_naive", naive)] {
                let mut c = gpu.put(&vec![f32::NAN; m * n]);
                let pointers = (da.as_device_ptr(), db.as_device_ptr(), c.as_mut_device_ptr());
                unsafe {
                    cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: config,
                    args: [pointers.0, pointers.1, pointers.2, sizes[0], sizes[1], sizes[2]] }
                }
                .unwrap();
                same(&gpu.get(&c), &expected, format!("{build} {kernel} {m} x {n} x {k}"));
            }
        }
    });
}

#[test]
fn histogram() {
    on_each(builds!("histogram" "lineinfo" "clang"), |gpu, module, build| {
        for (n, config) in [(0, line(1, 64)), (1, line(1, 1)), (1000, line(2, 100)), (20_011, line(7, 256))] {
            let mut random = Random::new(n as u64);
            let data: Vec<u8> = (0..n).map(|_| (random.u32() & random.u32()) as u8).collect();
            let input = gpu.put(&data);
            for kernel in ["histogram_global", "histogram_shared"] {
                let mut bins = gpu.zeros::<u32>(256);
                unsafe {
                    cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: config,
                    args: [input.as_device_ptr(), n as u32, bins.as_mut_device_ptr()] }
                }
                .unwrap();
                each(&gpu.get(&bins), format!("{build} {kernel} of {n}"), |v| {
                    data.iter().filter(|&&x| usize::from(x) == v).count() as u32
                });
            }
        }
    });
}

#[test]
fn scan() {
    on_each(builds!("scan" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for (n, block) in [(1, 32), (31, 32), (33, 32), (1000, 64), (1024, 1024), (1025, 256), (5003, 160)] {
            let input = Random::new(n as u64).u32s(n);
            let blocks = n.div_ceil(block);
            let top = blocks.next_multiple_of(32);
            assert!(top <= 1024, "one block scans the sums of the blocks");
            let (dx, mut out, mut sums) = (gpu.put(&input), gpu.zeros::<u32>(n), gpu.zeros::<u32>(blocks));
            let (config, none) = (line(blocks as u32, block as u32), DevicePtrMut::<u32>::from_raw(0));
            unsafe {
                cuda_launch! { kernel: scan_blocks, module: module, stream: gpu.stream, config: config,
                args: [dx.as_device_ptr(), out.as_mut_device_ptr(), sums.as_mut_device_ptr(), n as u32] }
                .unwrap();
                // In place: each thread reads its element before it writes it.
                cuda_launch! { kernel: scan_blocks, module: module, stream: gpu.stream, config: line(1, top as u32),
                args: [sums.as_mut_device_ptr(), sums.as_mut_device_ptr(), none, blocks as u32] }
                    .unwrap();
                cuda_launch! { kernel: scan_add, module: module, stream: gpu.stream, config: config,
                args: [out.as_mut_device_ptr(), sums.as_device_ptr(), n as u32] }
                .unwrap();
            }
            let mut sum = 0u32;
            each(&gpu.get(&out), format!("{build} scan of {n} in blocks of {block}"), |i| {
                sum = sum.wrapping_add(input[i]);
                sum
            });
        }
    });
}

/// `fma` and `mul` of f32 or f64, which is all that the mandelbrot kernels are made of.
trait Real: DeviceCopy + Debug + PartialOrd {
    fn of(x: f64) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn minus(self) -> Self;
}

macro_rules! real {
    ($ty:ty) => {
        impl Real for $ty {
            fn of(x: f64) -> Self {
                x as $ty
            }
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn minus(self) -> Self {
                -self
            }
        }
    };
}
real!(f32);
real!(f64);

fn mandelbrot<T: Real>(kernel: &str) {
    let zero = T::of(0.0);
    let [x0, y0, dx, dy] = [-2.1, -1.3, 0.061, 0.053].map(T::of);
    let iterations = |px: usize, py: usize, most: u32| {
        let (cx, cy) = (T::of(px as f64).fma(dx, x0), T::of(py as f64).fma(dy, y0));
        let (mut x, mut y, mut i) = (zero, zero, 0);
        while i < most && x.fma(x, y.fma(y, zero)) <= T::of(4.0) {
            (x, y) = (x.fma(x, y.minus().fma(y, cx)), T::of(2.0).fma(x, zero).fma(y, cy));
            i += 1;
        }
        i
    };
    on_each(builds!("mandelbrot" "lineinfo" "debug" "clang"), |gpu, module, build| {
        for (width, height, block, most) in
            [(1, 1, (1, 1, 1), 10), (49, 50, (16, 8, 1), 200), (33, 17, (5, 3, 1), 0)]
        {
            let mut out = gpu.put(&vec![u32::MAX; width * height]);
            let (w, h) = (width as u32, height as u32);
            unsafe {
                cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream,
                config: shape((w.div_ceil(block.0), h.div_ceil(block.1), 1), block),
                args: [out.as_mut_device_ptr(), w, h, x0, y0, dx, dy, most] }
            }
            .unwrap();
            let what = format!("{build} {kernel} {width} x {height}");
            each(&gpu.get(&out), what, |i| iterations(i % width, i / width, most));
        }
    });
}

#[test]
fn mandelbrot_f32() {
    mandelbrot::<f32>("mandelbrot_f32");
}

#[test]
fn mandelbrot_f64() {
    mandelbrot::<f64>("mandelbrot_f64");
}
