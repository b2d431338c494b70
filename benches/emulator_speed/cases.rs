//! The kernels, their data, and the loops that do the same.

use crate::case::Value::{Buffer, Double, Float, Null, Word};
use crate::case::{Case, Shape};
use std::ops::{AddAssign, Mul};

const OWN: &str = include_str!("kernels.ptx");
const MATMUL: &str = include_str!("../../examples/kernels/matmul.ptx");
const SAXPY: &str = include_str!("../../examples/kernels/saxpy.ptx");
const HISTOGRAM: &str = include_str!("../../examples/kernels/histogram.ptx");
const SCAN: &str = include_str!("../../examples/kernels/scan.ptx");
const MANDELBROT: &str = include_str!("../../examples/kernels/mandelbrot.ptx");
const REDUCE: &str = include_str!("../../examples/kernels/reduce.ptx");
const TRANSPOSE: &str = include_str!("../../examples/kernels/transpose.ptx");
const LOCAL: &str = include_str!("../../tests/kernels/local.ptx");
const CONTROL: &str = include_str!("../../tests/kernels/control.ptx");

macro_rules! bytes {
    ($numbers:expr) => {
        $numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
    };
}

/// Numbers that look random.
fn noise(n: usize) -> Vec<u32> {
    (0..n as u32)
        .map(|i| (i ^ 0x5bd1).wrapping_mul(0x9e37_79b9).rotate_right(15).wrapping_mul(0x85eb_ca6b))
        .collect()
}

fn floats(n: usize, below: u32) -> Vec<f32> {
    noise(n).iter().map(|x| (x % below) as f32).collect()
}

/// All cases: large enough to measure, or `small` enough to count their instructions in a simulator.
pub(crate) fn all(small: bool) -> Vec<Case> {
    let size = |large: usize, little: usize| if small { little } else { large };
    let side = size(512, 64);
    vec![
        matmul("matmul naive", "matmul_naive", side),
        matmul("matmul tiled f32", "matmul", side),
        matmul_f64(side),
        saxpy(size(16 << 20, 1 << 16)),
        histogram(size(16 << 20, 1 << 16)),
        scan(size(4 << 20, 1 << 15)),
        mandelbrot_f32(size(512, 64)),
        mandelbrot_f64(size(512, 64)),
        nbody(size(2048, 256)),
        reduce(size(16 << 20, 1 << 16)),
        transpose(size(2048, 128)),
        bitonic(size(1 << 19, 1 << 11)),
        sort_16(size(1 << 16, 1 << 9)),
        collatz(size(1 << 18, 1 << 10)),
        shuffles(size(1 << 15, 1 << 9)),
        calls(size(1 << 15, 1 << 9)),
    ]
}

fn matmul(name: &'static str, kernel: &str, n: usize) -> Case {
    let (a, b) = (floats(n * n, 13), floats(n * n, 7));
    let size = Word(n as u32);
    Case::new(
        name,
        (MATMUL, kernel),
        Shape([n as u32 / 16, n as u32 / 16, 1], [16, 16, 1]),
        vec![bytes!(a), bytes!(b), vec![0; 4 * n * n]],
        &[Buffer(0), Buffer(1), Buffer(2), size, size, size],
        move || bytes!(product(&a, &b, n)),
    )
}

fn matmul_f64(n: usize) -> Case {
    let [a, b] = [13, 7].map(|below| floats(n * n, below).into_iter().map(f64::from).collect::<Vec<_>>());
    Case::new(
        "matmul tiled f64",
        (OWN, "matmul_f64"),
        Shape([n as u32 / 16, n as u32 / 16, 1], [16, 16, 1]),
        vec![bytes!(a), bytes!(b), vec![0; 8 * n * n]],
        &[Buffer(0), Buffer(1), Buffer(2), Word(n as u32)],
        move || bytes!(product(&a, &b, n)),
    )
}

/// Rows innermost, so that it vectorises; the numbers are small and whole, so that no order of additions matters.
fn product<T: Copy + Default + Mul<Output = T> + AddAssign>(a: &[T], b: &[T], n: usize) -> Vec<T> {
    let mut c = vec![T::default(); n * n];
    for (row, out) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (factor, line) in row.iter().zip(b.chunks_exact(n)) {
            out.iter_mut().zip(line).for_each(|(sum, x)| *sum += *factor * *x);
        }
    }
    c
}

fn saxpy(n: usize) -> Case {
    let (x, y) = (floats(n, 1000), floats(n, 100));
    let buffers = vec![bytes!(x), bytes!(y)];
    let values = [Word(n as u32), Float(3.0), Buffer(0), Buffer(1)];
    Case::new("saxpy", (SAXPY, "saxpy"), Shape::of(n), buffers, &values, move || {
        let mut out = y.clone();
        out.iter_mut().zip(&x).for_each(|(y, x)| *y += 3.0 * x);
        bytes!(out)
    })
}

fn histogram(n: usize) -> Case {
    let data: Vec<u8> = noise(n).into_iter().map(|x| (x >> 8) as u8).collect();
    let buffers = vec![data.clone(), vec![0; 1024]];
    let values = [Buffer(0), Word(n as u32), Buffer(1)];
    let shape = Shape::of(n / 16);
    Case::new("histogram", (HISTOGRAM, "histogram_shared"), shape, buffers, &values, move || {
        let mut bins = [0u32; 256];
        data.iter().for_each(|byte| bins[usize::from(*byte)] += 1);
        bytes!(bins)
    })
}

/// Sums within each block.
fn scan(n: usize) -> Case {
    let data = noise(n);
    let buffers = vec![bytes!(data), vec![0; 4 * n]];
    let values = [Buffer(0), Buffer(1), Null, Word(n as u32)];
    Case::new("scan", (SCAN, "scan_blocks"), Shape::of(n), buffers, &values, move || {
        let mut out = data.clone();
        for block in out.chunks_exact_mut(256) {
            (1..256).for_each(|i| block[i] = block[i].wrapping_add(block[i - 1]));
        }
        bytes!(out)
    })
}

macro_rules! mandelbrot {
    ($function:ident, $name:literal, $kernel:literal, $number:ty, $value:ident) => {
        fn $function(side: usize) -> Case {
            let (corner, step) = ([-2.0, -1.25], 2.5 / side as $number);
            let buffers = vec![vec![0; 4 * side * side]];
            let size = Word(side as u32);
            let [x, y] = corner.map($value);
            let values = [Buffer(0), size, size, x, y, $value(step), $value(step), Word(256)];
            let shape = Shape([side as u32 / 16, side as u32 / 16, 1], [16, 16, 1]);
            Case::new($name, (MANDELBROT, $kernel), shape, buffers, &values, move || {
                let point = |i: usize| {
                    let place = |at: usize, axis: usize| (at as $number).mul_add(step, corner[axis]);
                    let (cx, cy): ($number, $number) = (place(i % side, 0), place(i / side, 1));
                    let (mut x, mut y, mut count) = (0.0 as $number, 0.0 as $number, 0u32);
                    while count < 256 && x.mul_add(x, y * y) <= 4.0 {
                        (x, y) = (x.mul_add(x, (-y).mul_add(y, cx)), (2.0 * x).mul_add(y, cy));
                        count += 1;
                    }
                    count
                };
                let out: Vec<u32> = (0..side * side).map(point).collect();
                bytes!(out)
            })
        }
    };
}
mandelbrot!(mandelbrot_f32, "mandelbrot f32", "mandelbrot_f32", f32, Float);
mandelbrot!(mandelbrot_f64, "mandelbrot f64", "mandelbrot_f64", f64, Double);

fn nbody(n: usize) -> Case {
    let bodies: Vec<f32> = floats(4 * n, 1000).iter().map(|x| x / 500.0 - 1.0).collect();
    let buffers = vec![bytes!(bodies), vec![0; 12 * n]];
    let values = [Buffer(0), Buffer(1), Word(n as u32)];
    let case = Case::new("n-body", (OWN, "nbody"), Shape::of(n), buffers, &values, move || {
        let pull = |body: &[f32]| {
            bodies.chunks_exact(4).fold([0.0f32; 3], |sum, other| {
                let [x, y, z] = [0, 1, 2].map(|axis| other[axis] - body[axis]);
                let inverse = 1.0 / (x * x + y * y + z * z + 0.01).sqrt();
                let weight = inverse * inverse * inverse;
                [sum[0] + x * weight, sum[1] + y * weight, sum[2] + z * weight]
            })
        };
        let out: Vec<f32> = bodies.chunks_exact(4).flat_map(pull).collect();
        bytes!(out)
    });
    case.nearly()
}

/// Sums of blocks.
fn reduce(n: usize) -> Case {
    let data = floats(n, 16);
    let blocks = (n / 4096).min(1024);
    let buffers = vec![bytes!(data), vec![0; 4 * blocks]];
    let values = [Buffer(0), Word(n as u32), Buffer(1)];
    let shape = Shape::of(256 * blocks);
    Case::new("block reduction", (REDUCE, "reduce_f32"), shape, buffers, &values, move || {
        let mut sums = vec![0.0f32; blocks];
        for (at, line) in data.chunks_exact(256).enumerate() {
            sums[at % blocks] += line.iter().sum::<f32>();
        }
        bytes!(sums)
    })
}

fn transpose(side: usize) -> Case {
    let data = floats(side * side, 1 << 20);
    // The result comes first among the parameters.
    let buffers = vec![bytes!(data), vec![0; 4 * side * side]];
    let values = [Buffer(1), Buffer(0), Word(side as u32), Word(side as u32)];
    let shape = Shape([side as u32 / 32, side as u32 / 32, 1], [32, 8, 1]);
    Case::new("transpose", (TRANSPOSE, "transpose"), shape, buffers, &values, move || {
        let mut out = vec![0.0f32; side * side];
        for (y, line) in data.chunks_exact(side).enumerate() {
            line.iter().enumerate().for_each(|(x, value)| out[x * side + y] = *value);
        }
        bytes!(out)
    })
}

/// Each block sorts its numbers; the loop sorts them as the standard library does.
fn bitonic(n: usize) -> Case {
    let data = noise(n);
    Case::new("bitonic", (OWN, "bitonic"), Shape::of(n), vec![bytes!(data)], &[Buffer(0)], move || {
        let mut out = data.clone();
        out.chunks_exact_mut(256).for_each(<[u32]>::sort_unstable);
        bytes!(out)
    })
}

/// Each thread sorts an array of 16 numbers by insertion.
fn sort_16(threads: usize) -> Case {
    let data: Vec<i32> = noise(threads * 16).into_iter().map(|x| x as i32).collect();
    let buffers = vec![bytes!(data), vec![0; 64 * threads]];
    let values = [Buffer(0), Buffer(1)];
    Case::new("local arrays", (LOCAL, "sort_16"), Shape::of(threads), buffers, &values, move || {
        let mut out = data.clone();
        for array in out.chunks_exact_mut(16) {
            for end in 1..16 {
                let (value, mut at) = (array[end], end);
                while at > 0 && array[at - 1] > value {
                    array[at] = array[at - 1];
                    at -= 1;
                }
                array[at] = value;
            }
        }
        bytes!(out)
    })
}

fn collatz(n: usize) -> Case {
    let values = [Word(1), Buffer(0), Word(n as u32)];
    Case::new("branches", (CONTROL, "collatz"), Shape::of(n), vec![vec![0; 4 * n]], &values, move || {
        let steps = |start: u64| {
            let (mut x, mut steps) = (start, 0u32);
            while x != 1 {
                x = if x.is_multiple_of(2) { x / 2 } else { 3 * x + 1 };
                steps += 1;
            }
            steps
        };
        let out: Vec<u32> = (1..=n as u64).map(steps).collect();
        bytes!(out)
    })
}

fn shuffles(n: usize) -> Case {
    const ROUNDS: u32 = 64;
    let data = noise(n);
    let values = [Buffer(0), Word(ROUNDS)];
    Case::new("shuffles", (OWN, "shuffles"), Shape::of(n), vec![bytes!(data)], &values, move || {
        let mut out = data.clone();
        for warp in out.chunks_exact_mut(32) {
            let mut v: [u32; 32] = std::array::from_fn(|lane| warp[lane]);
            for round in 0..ROUNDS {
                v = std::array::from_fn(|lane| v[lane].wrapping_add(v[lane ^ 16]));
                v = std::array::from_fn(
                    |lane| if lane > 0 { v[lane].wrapping_add(v[lane - 1]) } else { v[lane] },
                );
                v = std::array::from_fn(|lane| v[lane] ^ v[if lane < 28 { lane + 4 } else { lane }]);
                let chosen = v[round as usize % 32];
                v = v.map(|x| x.wrapping_mul(3).wrapping_add(chosen));
            }
            warp.copy_from_slice(&v);
        }
        bytes!(out)
    })
}

fn calls(n: usize) -> Case {
    const ROUNDS: u32 = 64;
    let data = noise(n);
    let values = [Buffer(0), Word(ROUNDS)];
    Case::new("device calls", (OWN, "calls"), Shape::of(n), vec![bytes!(data)], &values, move || {
        #[inline(never)]
        fn stir(value: u32, key: u32) -> u32 {
            let mixed = (value ^ key).wrapping_mul(0x9e37_79b9);
            mixed ^ mixed >> 15
        }
        let out: Vec<u32> = data.iter().map(|value| (0..ROUNDS).fold(*value, stir)).collect();
        bytes!(out)
    })
}
