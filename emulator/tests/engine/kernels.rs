//! The kernels of the examples, as nvcc makes them (plain, with line information, for debugging) and as clang does,
//! against results computed on the host. Each runs once more with all checks, which find nothing, and once more
//! counted.

use crate::support::{Args, Device, launch};

/// The module in every form that there is.
fn each(name: &str, test: impl Fn(&Device)) {
    let folders =
        ["examples/kernels", "tests/kernels/lineinfo", "tests/kernels/debug", "tests/kernels/clang"];
    let mut found = 0;
    for folder in folders {
        let path = format!("{folder}/{name}.ptx");
        if std::path::Path::new(&format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).exists() {
            eprintln!("{path}");
            let text = Device::text(&path);
            test(&Device::new(&text));
            let checked = Device::checked(&text);
            test(&checked);
            assert_eq!(checked.findings(), [], "{path}");
            test(&Device::profiled(&text));
            found += 1;
        }
    }
    assert!(found > 0, "no {name}.ptx");
}

/// Numbers without a pattern.
fn noise(count: usize) -> Vec<u32> {
    let mut state = 12345u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(|_| next()).collect()
}

fn floats(count: usize) -> Vec<f32> {
    noise(count).into_iter().map(|bits| (bits >> 8) as f32 / 65536.0 - 128.0).collect()
}

#[test]
fn vecadd() {
    each("vecadd", |device| {
        let n = 1000usize;
        let (a, b) = (floats(n), floats(2 * n)[n..].to_vec());
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.zeroed::<f32>(n));
        let args = Args::new().add(da).add(n as u64).add(db).add(n as u64).add(dc).add(n as u64);
        let stats = device.launch("vecadd", [4, 1, 1], [256, 1, 1], &args);
        let c: Vec<f32> = device.download(dc, n);
        assert!(c.iter().zip(a.iter().zip(&b)).all(|(c, (a, b))| *c == a + b));
        assert!(stats.instructions > n as u64 * 10);
    });
}

#[test]
fn fill_scale_saxpy_and_strided_copy() {
    each("fill", |device| {
        let out = device.zeroed::<u32>(300);
        device.launch("fill", [2, 1, 1], [128, 1, 1], &Args::new().add(out).add(200u32).add(7u32));
        let values: Vec<u32> = device.download(out, 300);
        assert!(
            values[..200].iter().all(|value| *value == 7) && values[200..].iter().all(|value| *value == 0)
        );
    });
    let x = floats(777);
    each("scale", |device| {
        let (input, out) = (device.upload(&x), device.zeroed::<f32>(777));
        let args = Args::new().add(777u32).add(1.5f32).add(input).add(out);
        device.launch("scale", [7, 1, 1], [128, 1, 1], &args);
        assert!(device.download::<f32>(out, 777).iter().zip(&x).all(|(out, x)| *out == 1.5 * x));
    });
    each("saxpy", |device| {
        let (dx, dy) = (device.upload(&x), device.upload(&x));
        device.launch("saxpy", [7, 1, 1], [128, 1, 1], &Args::new().add(777u32).add(2.5f32).add(dx).add(dy));
        let y: Vec<f32> = device.download(dy, 777);
        let fused = y.iter().zip(&x).all(|(y, x)| *y == 2.5f32.mul_add(*x, *x));
        // Code for debugging has two instructions.
        assert!(fused || y.iter().zip(&x).all(|(y, x)| *y == 2.5f32 * x + x));
    });
    each("strided_copy", |device| {
        let (input, out) = (device.upload(&x), device.zeroed::<f32>(100));
        device.launch(
            "strided_copy",
            [1, 1, 1],
            [32, 1, 1],
            &Args::new().add(out).add(input).add(100u32).add(7u32),
        );
        let copied: Vec<f32> = device.download(out, 100);
        assert!((0..100).all(|i| copied[i] == x[i * 7]));
    });
}

#[test]
fn mix_and_apply() {
    each("mix", |device| {
        let n = 1000u32;
        let x = floats(n as usize);
        let (dx, dy) = (device.upload(&x), device.zeroed::<f32>(n as usize));
        let mut params = vec![0u8; 40];
        params[..4].copy_from_slice(&2.0f32.to_le_bytes());
        params[8..16].copy_from_slice(&0.5f64.to_le_bytes());
        params[16..18].copy_from_slice(&7u16.to_le_bytes());
        let idx = [1i32, -2, 3, 4];
        for (at, value) in idx.iter().enumerate() {
            params[20 + 4 * at..24 + 4 * at].copy_from_slice(&value.to_le_bytes());
        }
        let args = Args::new().bytes(&params).add(dx).add(dy).add(n).add(3.0f32);
        device.launch("mix", [4, 1, 1], [256, 1, 1], &args);
        let y: Vec<f32> = device.download(dy, n as usize);
        for (i, (y, x)) in y.iter().zip(&x).enumerate() {
            let expected = (f64::from(2.0f32 * 3.0 * x) + 0.5 + f64::from(idx[i % 4])) as f32;
            assert_eq!(*y, expected, "element {i}");
        }
        let out = device.zeroed::<u32>(16);
        let args = Args::new().bytes(&5u32.to_le_bytes()).add(out).add(16u64);
        device.launch("apply", [1, 1, 1], [32, 1, 1], &args);
        assert_eq!(device.download::<u32>(out, 16), (5..21).collect::<Vec<u32>>());
    });
}

#[test]
fn cluster_ranks() {
    each("mix", |device| {
        let out = device.zeroed::<u32>(8);
        let args = Args::new().add(out).add(8u64);
        if device.program.kernel("ranks").is_none() {
            return;
        }
        let mut launch = launch(device, "ranks", [8, 1, 1], [32, 1, 1], &args);
        launch.cluster = [4, 1, 1];
        device.try_launch("ranks", launch.clone()).unwrap();
        assert_eq!(device.download::<u32>(out, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
        launch.cluster = [2, 1, 1];
        device.try_launch("ranks", launch).unwrap();
        assert_eq!(device.download::<u32>(out, 8), [0, 1, 0, 1, 0, 1, 0, 1]);
        device.launch("ranks_fixed", [8, 1, 1], [32, 1, 1], &args);
        assert_eq!(device.download::<u32>(out, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(device.kernel("ranks_fixed").cluster, Some([4, 1, 1]));
    });
}

#[test]
fn grid_sum() {
    each("mix", |device| {
        if device.program.kernel("grid_sum").is_none() {
            return;
        }
        let x = noise(4096);
        let total = x.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
        let input = device.upload(&x);
        for (blocks, threads) in [(1, 32), (16, 256), (40, 64)] {
            let (partial, out) = (device.zeroed::<u32>(blocks as usize), device.zeroed::<u32>(1));
            let args = Args::new().add(input).add(4096u32).add(partial).add(out);
            let mut launch = launch(device, "grid_sum", [blocks, 1, 1], [threads, 1, 1], &args);
            launch.cooperative = true;
            for workers in [1, 2, 5] {
                cuda_emulator::engine::run(&device.kernel("grid_sum"), &launch, &device.memory, workers)
                    .unwrap();
                assert_eq!(device.download::<u32>(out, 1), [total]);
                device.memory.fill(out, &[0], 4).unwrap();
            }
        }
    });
}

#[test]
fn grid_barrier_without_cooperative_launch_traps() {
    let device = Device::file("examples/kernels/mix.ptx");
    let buffer = device.zeroed::<u32>(64);
    let args = Args::new().add(buffer).add(64u32).add(buffer).add(buffer);
    let fault = device.fault("grid_sum", [1, 1, 1], [32, 1, 1], &args);
    assert_eq!(fault.kind, cuda_emulator::engine::FaultKind::Trap);
}

#[test]
fn sin() {
    each("sin", |device| {
        let x: Vec<f32> = vec![
            0.0,
            -0.0,
            0.5,
            -1.0,
            2.0,
            3.0,
            100.0,
            -12345.678,
            1e6,
            1e20,
            -3.4e38,
            f32::INFINITY,
            f32::NAN,
        ];
        let n = x.len();
        let (input, out) = (device.upload(&x), device.zeroed::<f32>(n));
        device.launch("sin_kernel", [1, 1, 1], [32, 1, 1], &Args::new().add(out).add(input).add(n as i32));
        for (y, x) in device.download::<f32>(out, n).iter().zip(&x) {
            let expected = f64::from(*x).sin();
            let close = (f64::from(*y) - expected).abs() <= 2e-7 * expected.abs().max(1e-30) + 1e-12;
            assert!(if expected.is_nan() { y.is_nan() } else { close }, "sin({x}) = {y}, not {expected}");
        }
    });
}

#[test]
fn transpose() {
    each("transpose", |device| {
        let (width, height) = (70usize, 45usize);
        let x = floats(width * height);
        let (input, out) = (device.upload(&x), device.zeroed::<f32>(width * height));
        let args = Args::new().add(out).add(input).add(width as u32).add(height as u32);
        device.launch("transpose", [3, 2, 1], [32, 8, 1], &args);
        let y: Vec<f32> = device.download(out, width * height);
        for row in 0..height {
            for column in 0..width {
                assert_eq!(y[column * height + row], x[row * width + column]);
            }
        }
    });
}

/// Sums in the order of the kernel.
fn block_sums<T: Copy + Default + std::ops::Add<Output = T>>(
    x: &[T],
    blocks: usize,
    threads: usize,
) -> Vec<T> {
    let warp_sum = |mut values: Vec<T>| {
        for offset in [16, 8, 4, 2, 1] {
            values =
                (0..32).map(|i| values[i] + values[if i + offset < 32 { i + offset } else { i }]).collect();
        }
        values[0]
    };
    let block = |block: usize| {
        let thread = |thread: usize| {
            let mine = x.iter().skip(block * threads + thread).step_by(blocks * threads);
            mine.fold(T::default(), |sum, x| sum + *x)
        };
        let warps: Vec<T> =
            (0..threads / 32).map(|w| warp_sum((0..32).map(|l| thread(w * 32 + l)).collect())).collect();
        warp_sum((0..32).map(|lane| warps.get(lane).copied().unwrap_or_default()).collect())
    };
    (0..blocks).map(block).collect()
}

#[test]
fn reduce() {
    each("reduce", |device| {
        let n = 5000;
        let x = floats(n);
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x) * 1.1).collect();
        let whole: Vec<u32> = noise(n).into_iter().map(|x| x >> 16).collect();
        let (dx, dwide, dwhole) = (device.upload(&x), device.upload(&wide), device.upload(&whole));
        for (blocks, threads) in [(1, 32), (3, 96), (5, 256), (2, 1024)] {
            let (grid, block) = ([blocks as u32, 1, 1], [threads as u32, 1, 1]);
            let out = device.zeroed::<f64>(blocks);
            let args = |input: u64| Args::new().add(input).add(n as u32).add(out);
            device.launch("reduce_f32", grid, block, &args(dx));
            assert_eq!(device.download::<f32>(out, blocks), block_sums(&x, blocks, threads));
            device.launch("reduce_f64", grid, block, &args(dwide));
            assert_eq!(device.download::<f64>(out, blocks), block_sums(&wide, blocks, threads));
            device.launch("reduce_u32", grid, block, &args(dwhole));
            assert_eq!(device.download::<u32>(out, blocks), block_sums(&whole, blocks, threads));
        }
    });
}

#[test]
fn matmul() {
    each("matmul", |device| {
        let (m, n, k) = (37usize, 50usize, 29usize);
        let (a, b) = (floats(m * k), floats(k * n));
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.zeroed::<f32>(m * n));
        for kernel in ["matmul_naive", "matmul"] {
            let args = Args::new().add(da).add(db).add(dc).add(m as u32).add(n as u32).add(k as u32);
            device.memory.fill(dc, &[0xff], (m * n * 4) as u64).unwrap();
            device.launch(kernel, [4, 3, 1], [16, 16, 1], &args);
            let c: Vec<f32> = device.download(dc, m * n);
            for row in 0..m {
                for column in 0..n {
                    let sum = (0..k).fold(0.0f32, |sum, i| a[row * k + i].mul_add(b[i * n + column], sum));
                    assert_eq!(c[row * n + column], sum, "{kernel} ({row}, {column})");
                }
            }
        }
    });
}

#[test]
fn histogram() {
    each("histogram", |device| {
        let data: Vec<u8> = noise(10_000).into_iter().map(|x| (x >> 9) as u8 & 0x7f).collect();
        let mut expected = vec![0u32; 256];
        data.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
        let input = device.upload(&data);
        for kernel in ["histogram_global", "histogram_shared"] {
            let bins = device.zeroed::<u32>(256);
            device.launch(kernel, [5, 1, 1], [192, 1, 1], &Args::new().add(input).add(10_000u32).add(bins));
            assert_eq!(device.download::<u32>(bins, 256), expected, "{kernel}");
        }
    });
}

#[test]
fn scan() {
    each("scan", |device| {
        let (n, threads) = (3000usize, 256usize);
        let blocks = n.div_ceil(threads);
        let x = noise(n);
        let (input, out, sums) = (device.upload(&x), device.zeroed::<u32>(n), device.zeroed::<u32>(blocks));
        let shape = ([blocks as u32, 1, 1], [threads as u32, 1, 1]);
        let args = Args::new().add(input).add(out).add(sums).add(n as u32);
        device.launch("scan_blocks", shape.0, shape.1, &args);
        let args = Args::new().add(sums).add(sums).add(0u64).add(blocks as u32);
        device.launch("scan_blocks", [1, 1, 1], [32, 1, 1], &args);
        device.launch("scan_add", shape.0, shape.1, &Args::new().add(out).add(sums).add(n as u32));
        let mut sum = 0u32;
        let expected: Vec<u32> = x
            .iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect();
        assert_eq!(device.download::<u32>(out, n), expected);
    });
}

macro_rules! mandelbrot {
    ($name:ident, $real:ty) => {
        #[test]
        fn $name() {
            each("mandelbrot", |device| {
                let (width, height, limit) = (61u32, 37u32, 200u32);
                let (x0, y0, dx, dy): ($real, $real, $real, $real) = (-2.0, -1.2, 0.05, 0.065);
                let out = device.zeroed::<u32>((width * height) as usize);
                let args =
                    Args::new().add(out).add(width).add(height).add(x0).add(y0).add(dx).add(dy).add(limit);
                device.launch(stringify!($name), [4, 5, 1], [16, 8, 1], &args);
                let counts: Vec<u32> = device.download(out, (width * height) as usize);
                for py in 0..height {
                    for px in 0..width {
                        let (cx, cy) = ((px as $real).mul_add(dx, x0), (py as $real).mul_add(dy, y0));
                        let (mut x, mut y, mut i) = (0.0 as $real, 0.0 as $real, 0);
                        while i < limit && x.mul_add(x, y * y) <= 4.0 {
                            let next = x.mul_add(x, (-y).mul_add(y, cx));
                            y = (2.0 * x).mul_add(y, cy);
                            x = next;
                            i += 1;
                        }
                        assert_eq!(counts[(py * width + px) as usize], i, "({px}, {py})");
                    }
                }
            });
        }
    };
}
mandelbrot!(mandelbrot_f32, f32);
mandelbrot!(mandelbrot_f64, f64);
