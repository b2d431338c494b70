//! A device for tests of the engine: memory, one module, typed transfers.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use cuda_emulator::engine::{Fault, Kernel, Launch, Program, Stats, run};
use cuda_emulator::memory::Memory;

/// A module loaded into a memory of its own.
pub struct Device {
    pub memory: Arc<Memory>,
    pub program: Program,
    pub workers: usize,
}

/// A number that device memory holds.
pub trait Plain: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from(bytes: &[u8]) -> Self {
                <$number>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl Device {
    pub fn new(text: &str) -> Device {
        let memory = Arc::new(Memory::new(1 << 30));
        let program = Program::load(text, &memory).unwrap_or_else(|failure| panic!("{failure}"));
        Device { memory, program, workers: 2 }
    }

    /// A kernel in a file of the repository.
    pub fn file(path: &str) -> Device {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        Device::new(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    pub fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self.memory.allocate(bytes.len() as u64).unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    pub fn zeroed<T: Plain>(&self, count: usize) -> u64 {
        self.upload(&vec![<T as Plain>::from(&vec![0; size_of::<T>()]); count])
    }

    pub fn download<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(size_of::<T>()).map(<T as Plain>::from).collect()
    }

    pub fn kernel(&self, name: &str) -> Arc<Kernel> {
        self.program.kernel(name).unwrap_or_else(|| panic!("no kernel {name}"))
    }

    /// Runs a kernel; grid and block as given, all else from `launch`.
    pub fn try_launch(&self, name: &str, launch: Launch) -> Result<Stats, Box<Fault>> {
        run(&self.kernel(name), &launch, &self.memory, self.workers)
    }

    pub fn launch(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Stats {
        self.try_launch(name, launch(self, name, grid, block, args)).unwrap_or_else(|fault| panic!("{fault}"))
    }

    pub fn fault(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Box<Fault> {
        self.try_launch(name, launch(self, name, grid, block, args)).expect_err("the kernel should fault")
    }
}

/// A launch with packed arguments.
pub fn launch(device: &Device, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Launch {
    Launch { grid, block, parameters: args.pack(&device.kernel(name)), ..Launch::default() }
}

/// Arguments of a launch.
#[derive(Default)]
pub struct Args(Vec<Vec<u8>>);

impl Args {
    pub fn new() -> Args {
        Args::default()
    }

    pub fn add<T: Plain>(mut self, value: T) -> Args {
        self.0.push(value.bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Args {
        self.0.push(bytes.to_vec());
        self
    }

    fn pack(&self, kernel: &Kernel) -> Box<[u8]> {
        assert_eq!(self.0.len(), kernel.parameters.len(), "arguments of {}", kernel.name);
        let mut packed = vec![0; kernel.parameter_bytes];
        for (bytes, parameter) in self.0.iter().zip(&kernel.parameters) {
            assert_eq!(bytes.len(), parameter.size, "argument {} of {}", parameter.name, kernel.name);
            packed[parameter.offset..parameter.offset + parameter.size].copy_from_slice(bytes);
        }
        packed.into()
    }
}
