//! How fast the emulator is: a naive f32 matrix product, in nanoseconds per PTX instruction and thread, and one of halves by `mma`, in
//! nanoseconds per multiplication and addition.
//!
//! `cargo bench --bench emulator_matmul [SIZE]`, a multiple of 64. The floor beside it is the first one's loop in Rust on one core, per
//! multiplication and addition. Prints the results on one core and on all, and fails if one is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::engine::{Kernel, Launch, Program, Stats, run};
use cuda_emulator::memory::Memory;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Product {
    memory: Arc<Memory>,
    kernel: Arc<Kernel>,
    launch: Launch,
    c: u64,
    wanted: Vec<f32>,
}

impl Product {
    /// By `fma`.
    fn naive(n: usize) -> Self {
        let text = include_str!("../examples/kernels/matmul.ptx");
        Product::new(n, (text, "matmul_naive"), bytes, &[n as u32; 3], (16, [16, 16, 1]))
    }

    /// By `mma`.
    fn of_halves(n: usize) -> Self {
        let text = include_str!("../tests/kernels/handwritten/gemm.ptx");
        let halves = |matrix: &[f32]| {
            matrix.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect::<Vec<u8>>()
        };
        Product::new(n, (text, "gemm_f16"), halves, &[n as u32], (64, [128, 1, 1]))
    }

    fn new(
        n: usize,
        (text, name): (&str, &str),
        stored: impl Fn(&[f32]) -> Vec<u8>,
        sizes: &[u32],
        (tile, block): (usize, [u32; 3]),
    ) -> Self {
        let memory = Arc::new(Memory::new(1 << 30));
        let kernel = Program::load(text, &memory).unwrap().kernel(name).unwrap();
        let a: Vec<f32> = (0..n * n).map(|i| (i % 13) as f32 - 6.0).collect();
        let b: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 * 0.5).collect();
        let addresses = [&a, &b].map(|matrix| {
            let stored = stored(matrix);
            let address = memory.allocate(stored.len() as u64).unwrap();
            memory.write(address, &stored).unwrap();
            address
        });
        let c = memory.allocate(4 * (n * n) as u64).unwrap();
        let mut parameters: Vec<u8> =
            [addresses[0], addresses[1], c].iter().flat_map(|a| a.to_le_bytes()).collect();
        parameters.extend(sizes.iter().flat_map(|n| n.to_le_bytes()));
        let blocks = n.div_ceil(tile) as u32;
        let grid = [blocks, blocks, 1];
        let launch = Launch { grid, block, parameters: parameters.into(), ..Launch::default() };
        Self { memory, kernel, launch, c, wanted: host_product(&a, &b, n) }
    }

    /// Best of three runs.
    fn run(&self, workers: usize) -> (Stats, Duration) {
        let once = || {
            let start = Instant::now();
            let stats = run(&self.kernel, &self.launch, &self.memory, workers).unwrap();
            (stats, start.elapsed())
        };
        let best = (0..3).map(|_| once()).min_by_key(|(_, time)| *time).unwrap();
        let mut result = vec![0u8; 4 * self.wanted.len()];
        self.memory.read(self.c, &mut result).unwrap();
        assert!(result == bytes(&self.wanted), "the product is wrong");
        best
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Sums in the kernel's order, fused as the kernel's `fma.rn` is.
fn host_product(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let element = |i: usize| (0..n).fold(0.0f32, |sum, k| a[i / n * n + k].mul_add(b[k * n + i % n], sum));
    (0..n * n).map(element).collect()
}

/// One core, plain Rust: the whole product, rows innermost so that it vectorises.
fn floor(n: usize) -> Duration {
    let (a, b) = (vec![1.5f32; n * n], vec![0.5f32; n * n]);
    let mut c = vec![0.0f32; n * n];
    let start = Instant::now();
    for (row, out) in black_box(&a).chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (factor, line) in row.iter().zip(black_box(&b).chunks_exact(n)) {
            out.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
        }
    }
    black_box(c);
    start.elapsed()
}

fn main() {
    let n = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(512);
    let product = Product::naive(n);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for workers in [1, cores] {
        let (stats, time) = product.run(workers);
        let each = time.as_nanos() as f64 * workers as f64 / stats.instructions as f64;
        println!(
            "{n} x {n} x {n} on {workers} cores: {:.0} million instructions of threads in {time:.0?}, {each:.3} ns each and core",
            stats.instructions as f64 / 1e6
        );
    }
    let product = Product::of_halves(n);
    for workers in [1, cores] {
        let (_, time) = product.run(workers);
        let each = time.as_nanos() as f64 * workers as f64 / (n as f64).powi(3);
        println!(
            "{n} x {n} x {n} of halves by `mma` on {workers} cores: {time:.0?}, {each:.3} ns for a multiplication and addition and core"
        );
    }
    let floor = floor(n);
    let pair = floor.as_nanos() as f64 / (n as f64).powi(3);
    println!("floor, plain Rust on one core: {floor:.0?}, {pair:.3} ns for a multiplication and addition");
}
