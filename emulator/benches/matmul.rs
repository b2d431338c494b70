//! How long the engine takes for one PTX instruction of one thread: the naive `f32` matrix product of 512 x 512 x 512
//! on one core. Prints nanoseconds; asserts nothing.
//!
//! `cargo bench -p cuda-emulator --bench matmul`
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Instant;

use cuda_emulator::engine::{Launch, Program, run};
use cuda_emulator::memory::Memory;

const SIZE: u32 = 512;

fn main() {
    let text = include_str!("../../examples/kernels/matmul.ptx");
    let memory = Arc::new(Memory::new(1 << 30));
    let program = Program::load(text, &memory).unwrap();
    let elements = (SIZE * SIZE) as usize;
    let values: Vec<u8> = (0..elements).flat_map(|i| ((i % 7) as f32).to_le_bytes()).collect();
    let buffers = [0; 3].map(|_| memory.allocate(values.len() as u64).unwrap());
    memory.write(buffers[0], &values).unwrap();
    memory.write(buffers[1], &values).unwrap();
    let parameters: Vec<u8> = buffers
        .iter()
        .flat_map(|address| address.to_le_bytes())
        .chain([SIZE; 3].iter().flat_map(|extent| extent.to_le_bytes()))
        .collect();
    for (name, workers) in [("matmul_naive", 1), ("matmul", 1), ("matmul_naive", 0)] {
        let kernel = program.kernel(name).unwrap();
        let workers = if workers == 0 { std::thread::available_parallelism().unwrap().get() } else { workers };
        let launch = Launch {
            grid: [SIZE / 16, SIZE / 16, 1],
            block: [16, 16, 1],
            parameters: parameters.clone().into(),
            ..Launch::default()
        };
        let mut best = f64::INFINITY;
        let mut instructions = 0;
        for _ in 0..5 {
            let start = Instant::now();
            instructions = run(&kernel, &launch, &memory, workers).unwrap().instructions;
            best = best.min(start.elapsed().as_secs_f64());
        }
        let each = best * 1e9 / instructions as f64;
        println!("{name} on {workers} workers: {instructions} instruction-threads, {best:.3} s, {each:.3} ns each");
    }
}
