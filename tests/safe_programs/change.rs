//! What happens to half a buffer, on a device and on paper.

#![deny(unsafe_code)]

use crate::pause::Pace;
use cuda_launch::{CudaStream, DeviceView, DeviceViewMut, Error, LaunchConfig, cuda_module};

#[cuda_module("tests/kernels/ordering.ptx")]
pub(crate) mod kernels {
    unsafe extern "C" {
        /// x = x * m + a
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
        /// y = y * 31 + x
        pub safe fn collect(y: &mut [u32], x: &[u32]);
    }
}

/// Elements of half a buffer: the two halves may differ, the elements of a half do not.
pub(crate) const HALF: usize = 600;
pub(crate) const CONFIG: LaunchConfig = LaunchConfig::new((5, 1, 1), (256, 1, 1));

/// What a buffer should hold.
pub(crate) type Halves = [u32; 2];

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn number(&mut self) -> u32 {
        self.below(1 << 30) as u32
    }

    pub(crate) fn pace(&mut self) -> Pace {
        Pace { busy: [0, 0, 300, 800][self.below(4)], pause: [0, 0, 100, 200][self.below(4)] }
    }
}

/// What happens to half a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Fill(u32),
    Step(u32, u32),
    /// Of the same half of another buffer, as the next.
    Copy,
    Collect,
}

impl Change {
    pub(crate) fn random(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Fill(random.number()),
            1 => Self::Copy,
            2 => Self::Collect,
            _ => Self::Step(2 * random.number() + 1, random.number()),
        }
    }

    /// The same with other numbers.
    pub(crate) fn again(self, random: &mut Random) -> Self {
        match self {
            Self::Fill(_) => Self::Fill(random.number()),
            Self::Step(..) => Self::Step(2 * random.number() + 1, random.number()),
            Self::Copy | Self::Collect => self,
        }
    }

    /// Does it on a stream.
    pub(crate) fn submit(
        self,
        kernels: &kernels::Module,
        stream: &CudaStream,
        target: &mut DeviceViewMut<'_, u32>,
        source: &DeviceView<'_, u32>,
    ) -> Result<(), Error> {
        match self {
            Self::Fill(value) => target.fill(stream, value),
            Self::Step(m, a) => kernels.step(stream, CONFIG, target, m, a),
            Self::Copy => target.copy_from_device(stream, source),
            Self::Collect => kernels.collect(stream, CONFIG, target, source),
        }
    }

    /// Does it to what should be there.
    pub(crate) fn apply(self, target: &mut u32, source: u32) {
        *target = match self {
            Self::Fill(value) => value,
            Self::Step(m, a) => target.wrapping_mul(m).wrapping_add(a),
            Self::Copy => source,
            Self::Collect => target.wrapping_mul(31).wrapping_add(source),
        }
    }
}

/// A change of half a buffer, by another one.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    /// The buffers, by their places in the program or by their ids.
    pub(crate) to: usize,
    pub(crate) from: usize,
    pub(crate) half: usize,
    pub(crate) change: Change,
}

impl Planned {
    /// Whether it is of the buffer with this id; not every change has a source.
    pub(crate) fn uses(self, id: usize) -> bool {
        self.to == id || self.from == id && matches!(self.change, Change::Copy | Change::Collect)
    }

    /// Does it to what should be there, by the buffers' ids.
    pub(crate) fn apply(self, holds: &mut [Halves]) {
        let source = holds[self.from][self.half];
        self.change.apply(&mut holds[self.to][self.half], source);
    }
}

/// The elements of a half.
pub(crate) fn range(half: usize) -> std::ops::Range<usize> {
    half * HALF..(half + 1) * HALF
}

pub(crate) fn assert_all<T: PartialEq + std::fmt::Display>(seen: &[T], expected: T, what: &str) {
    if let Some(wrong) = seen.iter().position(|x| *x != expected) {
        panic!("{what}: element {wrong} is {}, not {expected}", seen[wrong]);
    }
}

pub(crate) fn assert_halves(seen: &[u32], expected: Halves, what: &str) {
    for (half, expected) in expected.into_iter().enumerate() {
        assert_all(&seen[range(half)], expected, &format!("half {half} of {what}"));
    }
}
