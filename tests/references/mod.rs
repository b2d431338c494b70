//! What the kernel tests share: a device, launch shapes, numbers, and comparing bit by bit.

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::launch::Dim3;
use cuda_launch::{CudaContext, CudaModule, CudaStream, DeviceBuffer, DeviceCopy, LaunchConfig};
use std::fmt::Debug;
use std::sync::OnceLock;

/// The chosen driver's first device, and a stream of the test's own.
pub struct Gpu {
    pub ctx: CudaContext,
    pub stream: CudaStream,
}

impl Gpu {
    /// One context serves all tests of a program: making one takes a GPU a fifth of a second.
    pub fn new() -> Self {
        static CONTEXT: OnceLock<CudaContext> = OnceLock::new();
        let ctx = CONTEXT.get_or_init(|| CudaContext::new(0).unwrap()).clone();
        Self { stream: ctx.new_stream().unwrap(), ctx }
    }

    pub fn module(&self, image: impl cuda_launch::module::KernelImage) -> CudaModule {
        self.ctx.load_module(image).unwrap()
    }

    /// A device buffer that holds these elements.
    pub fn put<T: DeviceCopy>(&self, elements: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_host(&self.stream, elements).unwrap()
    }

    pub fn zeros<T: DeviceCopy>(&self, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer::zeroed(&self.stream, len).unwrap()
    }

    /// The elements, once the stream is done; any fault of its kernels shows here.
    pub fn get<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        buffer.to_host_vec(&self.stream).unwrap()
    }

    /// The one place that asks who executes: the emulator takes PTX only, and says more about faults.
    pub fn is_emulator(&self) -> bool {
        self.ctx.device_name().unwrap().to_lowercase().contains("emulator")
    }
}

pub fn shape(grid_dim: Dim3, block_dim: Dim3) -> LaunchConfig {
    LaunchConfig::new(grid_dim, block_dim)
}

/// One-dimensional: this many blocks of this many threads.
pub fn line(blocks: u32, threads: u32) -> LaunchConfig {
    shape((blocks, 1, 1), (threads, 1, 1))
}

/// `line` with dynamic shared memory.
pub fn line_with(blocks: u32, threads: u32, shared_mem_bytes: u32) -> LaunchConfig {
    line(blocks, threads).with_shared(shared_mem_bytes)
}

/// Lengths where blocks and warps begin and end.
pub const SIZES: [usize; 12] = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 1024, 5003];

/// splitmix64: the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.u64() % n
    }

    /// In [-1, 1), with 24 random bits.
    pub fn f32(&mut self) -> f32 {
        self.u32() as i32 as f32 / 2f32.powi(31)
    }

    /// In [-1, 1).
    pub fn f64(&mut self) -> f64 {
        self.u64() as i64 as f64 / 2f64.powi(63)
    }

    pub fn u32s(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.u32()).collect()
    }

    pub fn f32s(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.f32()).collect()
    }

    /// Any bit patterns, a part of them infinities, NaN and subnormals.
    pub fn any_f32s(&mut self, n: usize) -> Vec<f32> {
        const RARE: [u32; 8] =
            [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 0x0000_0001, 0x807f_ffff];
        (0..n)
            .map(|_| match self.below(16) {
                0 => RARE[self.below(8) as usize],
                _ => self.u32(),
            })
            .map(f32::from_bits)
            .collect()
    }
}

/// A number that is compared by its bits, so that -0 is not 0 and a NaN equals itself.
pub trait Bits: Copy + Debug {
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(impl Bits for $ty {
        fn bits(self) -> u64 {
            self as u64
        }
    })*};
}
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Bits for f32 {
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Compares bit by bit; a failure shows where the first differences are.
#[track_caller]
pub fn same<T: Bits>(got: &[T], expected: &[T], what: impl std::fmt::Display) {
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let different: Vec<usize> = (0..got.len()).filter(|&i| got[i].bits() != expected[i].bits()).collect();
    if different.is_empty() {
        return;
    }
    let shown: Vec<String> = different
        .iter()
        .take(8)
        .map(|&i| {
            let (g, e) = (got[i], expected[i]);
            format!("  [{i}] {g:?} ({:#x}), expected {e:?} ({:#x})", g.bits(), e.bits())
        })
        .collect();
    panic!("{what}: {} of {} differ\n{}", different.len(), got.len(), shown.join("\n"));
}

/// Every element of `got` is what `expected` says about its index.
#[track_caller]
pub fn each<T: Bits>(got: &[T], what: impl std::fmt::Display, expected: impl FnMut(usize) -> T) {
    let expected: Vec<T> = (0..got.len()).map(expected).collect();
    same(got, &expected, what);
}
