//! A kernel, its data, and the same work as a loop in Rust.

use crate::clock;
use cuda_emulator::engine::{Kernel, Launch, Program, run};
use cuda_emulator::memory::Memory;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Grid and block.
pub(crate) struct Shape(pub(crate) [u32; 3], pub(crate) [u32; 3]);

impl Shape {
    /// One thread for each of `n` elements, a multiple of 256.
    pub(crate) fn of(n: usize) -> Self {
        Shape([n as u32 / 256, 1, 1], [256, 1, 1])
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// Address of a buffer.
    Buffer(usize),
    Word(u32),
    Float(f32),
    Double(f64),
    Null,
}

impl Value {
    fn bytes(self, buffers: &[(u64, Vec<u8>)]) -> Vec<u8> {
        match self {
            Value::Buffer(index) => buffers[index].0.to_le_bytes().to_vec(),
            Value::Word(word) => word.to_le_bytes().to_vec(),
            Value::Float(float) => float.to_le_bytes().to_vec(),
            Value::Double(double) => double.to_le_bytes().to_vec(),
            Value::Null => vec![0; 8],
        }
    }
}

/// How a result is compared.
#[derive(Clone, Copy)]
pub(crate) enum Equal {
    /// Bit by bit.
    Exactly,
    /// As `f32`, within a hundred-thousandth: the kernel takes an approximate instruction.
    Nearly,
}

/// A kernel and what it runs on.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The text, and the kernel's name in it.
    source: (String, String),
    values: Vec<Value>,
    kernel: Arc<Kernel>,
    memory: Arc<Memory>,
    launch: Launch,
    buffers: Vec<(u64, Vec<u8>)>,
    native: Box<dyn Fn() -> Vec<u8>>,
    equal: Equal,
}

/// What a run took.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    pub(crate) time: Duration,
    /// Time of the processor, of all workers together.
    pub(crate) processor: Duration,
    /// PTX instructions, each counted once for every thread.
    pub(crate) instructions: u64,
}

impl Case {
    /// The kernel `text` has under that name, with buffers that hold this before each run; the last one gets the result.
    pub(crate) fn new(
        name: &'static str,
        (text, kernel): (&str, &str),
        Shape(grid, block): Shape,
        buffers: Vec<Vec<u8>>,
        values: &[Value],
        native: impl Fn() -> Vec<u8> + 'static,
    ) -> Self {
        let source = (text.to_owned(), kernel.to_owned());
        let none = Launch { grid, block, ..Launch::default() };
        let buffers = buffers.into_iter().map(|bytes| (0, bytes)).collect();
        let native = Box::new(native);
        Case::within(Memory::new(1 << 30), name, source, none, buffers, values.to_vec(), native)
    }

    /// The same, in memory whose kernels are looked at in some way.
    pub(crate) fn looked_at(self, memory: Memory) -> Self {
        let Case { name, source, launch, buffers, values, native, equal, .. } = self;
        Case { equal, ..Case::within(memory, name, source, launch, buffers, values, native) }
    }

    fn within(
        memory: Memory,
        name: &'static str,
        source: (String, String),
        launch: Launch,
        buffers: Vec<(u64, Vec<u8>)>,
        values: Vec<Value>,
        native: Box<dyn Fn() -> Vec<u8>>,
    ) -> Self {
        let memory = Arc::new(memory);
        let kernel = Program::load(&source.0, &memory).unwrap().kernel(&source.1).unwrap();
        let place = |(_, bytes): (u64, Vec<u8>)| (memory.allocate(bytes.len() as u64).unwrap(), bytes);
        let buffers: Vec<_> = buffers.into_iter().map(place).collect();
        let mut parameters: Vec<u8> = Vec::new();
        for value in &values {
            let bytes = value.bytes(&buffers);
            parameters.resize(parameters.len().next_multiple_of(bytes.len()), 0);
            parameters.extend(bytes);
        }
        let launch = Launch { parameters: parameters.into(), ..launch };
        Case { name, source, values, kernel, memory, launch, buffers, native, equal: Equal::Exactly }
    }

    /// With results that are only nearly those of the loop.
    pub(crate) fn nearly(self) -> Self {
        Case { equal: Equal::Nearly, ..self }
    }

    /// The kernel on that many workers, best of `runs`, and its result: of one worker the time is that of the processor.
    pub(crate) fn run(&self, workers: usize, runs: usize) -> (Time, Vec<u8>) {
        let once = |_| {
            self.buffers.iter().for_each(|(address, bytes)| self.memory.write(*address, bytes).unwrap());
            let (start, before) = (Instant::now(), clock::of_process());
            let stats = run(&self.kernel, &self.launch, &self.memory, workers).unwrap();
            let (passed, processor) = (start.elapsed(), clock::of_process() - before);
            let time = if workers == 1 { processor } else { passed };
            Time { time, processor, instructions: stats.instructions }
        };
        let times: Vec<Time> = (0..runs).map(once).collect();
        let best = Time {
            time: times.iter().map(|time| time.time).min().unwrap(),
            processor: times.iter().map(|time| time.processor).min().unwrap(),
            ..times[0]
        };
        let (address, bytes) = self.buffers.last().unwrap();
        let mut result = vec![0; bytes.len()];
        self.memory.read(*address, &mut result).unwrap();
        (best, result)
    }

    /// The loop in Rust, best of `runs`, and its result.
    pub(crate) fn native(&self, runs: usize) -> (Duration, Vec<u8>) {
        let once = |_| {
            let start = clock::of_thread();
            let result = (self.native)();
            (clock::of_thread() - start, result)
        };
        (0..runs).map(once).min_by_key(|(time, _)| *time).unwrap()
    }

    /// Stops the program where the kernel and the loop do not agree.
    pub(crate) fn compare(&self, kernel: &[u8], native: &[u8]) {
        let same = match self.equal {
            Equal::Exactly => kernel == native,
            Equal::Nearly => {
                let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
                let largest = native.chunks(4).map(|b| number(b).abs()).fold(0.0, f32::max);
                let near = |(a, b)| (number(a) - number(b)).abs() <= 1e-5 * largest;
                kernel.len() == native.len() && kernel.chunks(4).zip(native.chunks(4)).all(near)
            }
        };
        assert!(same, "{}: the kernel's result is not that of the loop", self.name);
    }
}
