//! Copies against the bare driver call on the same memory in the same run: bandwidths, and their ratio.
//!
//! - `cargo bench --bench copy_bandwidth`: 1 KiB to 256 MiB, all kinds.
//! - `.. -- check`: fails where a required kind reaches less than 0.95 of the driver's bandwidth at 16 MiB or more.
//! - `.. -- smoke`: small sizes and few rounds, for the emulator.
//!
//! Each round times a batch of ours and one of the driver's, in turns as to which is first; the table shows medians. Pinned and
//! device copies are given to a stream in batches and waited for once; a copy of borrowed host memory waits each time.

#![allow(unsafe_code)] // The bare calls: both sides are as long as the copy and live until the stream is done.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_launch::memory::PinnedFlags;
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Driver, PinnedBuffer};
use std::process::ExitCode;
use std::time::Instant;

/// The limit for the required kinds, from this size on.
const TARGET: f64 = 0.95;
const COUNTS_FROM: usize = 16 << 20;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const SIZES: &[usize] = &[KIB, 16 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
const SMOKE_SIZES: &[usize] = &[KIB, 64 * KIB, MIB];

/// What a batch moves at least, so that small copies are timed many at a time.
const BATCH_BYTES: usize = 64 * MIB;
const MOST_IN_BATCH: usize = 200;

struct Memory {
    stream: CudaStream,
    device: DeviceBuffer<u8>,
    other: DeviceBuffer<u8>,
    pinned: PinnedBuffer<u8>,
    pageable: Vec<u8>,
    addresses: Addresses,
}

/// The same memory as the driver is told of it.
struct Addresses {
    device: u64,
    other: u64,
    pinned: *mut u8,
}

/// A kind of copy: ours and the driver's, each of the first `bytes` bytes.
struct Kind {
    name: &'static str,
    required: bool,
    ours: fn(&mut Memory, usize),
    bare: fn(&mut Memory, usize),
}

const KINDS: &[Kind] = &[
    Kind {
        name: "pinned host to device",
        required: true,
        ours: |m, n| {
            m.device.slice_mut(..n).copy_from_pinned(&m.stream, m.pinned.try_slice(..n).unwrap()).unwrap()
        },
        bare: |m, n| unsafe {
            let from = m.addresses.pinned.cast_const().cast();
            ok(m.driver().cuMemcpyHtoDAsync(m.addresses.device, from, n, m.stream.raw()))
        },
    },
    Kind {
        name: "device to pinned host",
        required: true,
        ours: |m, n| {
            let to = m.pinned.try_slice_mut(..n).unwrap();
            m.device.slice(..n).copy_to_pinned(&m.stream, to).unwrap()
        },
        bare: |m, n| unsafe {
            let to = m.addresses.pinned.cast();
            ok(m.driver().cuMemcpyDtoHAsync(to, m.addresses.device, n, m.stream.raw()))
        },
    },
    Kind {
        name: "device to device",
        required: true,
        ours: |m, n| m.other.slice_mut(..n).copy_from_device(&m.stream, &m.device.slice(..n)).unwrap(),
        bare: |m, n| unsafe {
            ok(m.driver().cuMemcpyDtoDAsync(m.addresses.other, m.addresses.device, n, m.stream.raw()))
        },
    },
    Kind {
        name: "pageable host to device",
        required: false,
        ours: |m, n| m.device.slice_mut(..n).copy_from_host(&m.stream, m.pageable.get(..n).unwrap()).unwrap(),
        bare: |m, n| unsafe {
            ok(m.driver().cuMemcpyHtoDAsync(
                m.addresses.device,
                m.pageable.as_ptr().cast(),
                n,
                m.stream.raw(),
            ));
            ok(m.driver().cuStreamSynchronize(m.stream.raw()))
        },
    },
    Kind {
        name: "device to pageable host",
        required: false,
        ours: |m, n| m.device.slice(..n).copy_to_host(&m.stream, m.pageable.get_mut(..n).unwrap()).unwrap(),
        bare: |m, n| unsafe {
            let to = m.pageable.as_mut_ptr().cast();
            ok(m.driver().cuMemcpyDtoHAsync(to, m.addresses.device, n, m.stream.raw()));
            ok(m.driver().cuStreamSynchronize(m.stream.raw()))
        },
    },
];

fn ok(code: CUresult) {
    assert!(code == CUresult::SUCCESS, "{code:?}");
}

impl Memory {
    fn new(ctx: &CudaContext, bytes: usize) -> Self {
        let stream = ctx.new_stream().unwrap();
        let device = DeviceBuffer::zeroed(&stream, bytes).unwrap();
        let other = DeviceBuffer::zeroed(&stream, bytes).unwrap();
        let mut pinned = PinnedBuffer::zeroed(ctx, bytes, PinnedFlags::empty()).unwrap();
        let addresses = Addresses {
            device: device.cu_deviceptr(),
            other: other.cu_deviceptr(),
            pinned: pinned.as_mut_slice().unwrap().as_mut_ptr(),
        };
        Self { stream, device, other, pinned, pageable: vec![1; bytes], addresses }
    }

    fn driver(&self) -> &Driver {
        self.stream.context().driver()
    }

    /// Nanoseconds a copy.
    fn time(&mut self, copy: fn(&mut Memory, usize), bytes: usize) -> f64 {
        let copies = (BATCH_BYTES / bytes).clamp(1, MOST_IN_BATCH);
        let start = Instant::now();
        (0..copies).for_each(|_| copy(self, bytes));
        self.stream.synchronize().unwrap();
        start.elapsed().as_nanos() as f64 / copies as f64
    }

    /// Medians of nanoseconds a copy: ours and the driver's.
    fn compare(&mut self, kind: &Kind, bytes: usize, rounds: usize) -> (f64, f64) {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        // The first two rounds warm everything up.
        for round in 0..rounds + 2 {
            let pair = if round % 2 == 0 {
                let own = self.time(kind.ours, bytes);
                (own, self.time(kind.bare, bytes))
            } else {
                let driver = self.time(kind.bare, bytes);
                (self.time(kind.ours, bytes), driver)
            };
            if round >= 2 {
                ours.push(pair.0);
                bare.push(pair.1);
            }
        }
        (median(ours), median(bare))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn size(bytes: usize) -> String {
    if bytes >= MIB { format!("{} MiB", bytes / MIB) } else { format!("{} KiB", bytes / KIB) }
}

fn main() -> ExitCode {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    let sizes = if asked("smoke") { SMOKE_SIZES } else { SIZES };
    let ctx = CudaContext::new(0).unwrap();
    let name = ctx.device_name().unwrap();
    let rounds = if asked("smoke") || name.contains("emulator") { 5 } else { 41 };
    println!("device: {name}, driver {}, medians of {rounds} rounds", ctx.driver_version());
    println!("{:26} {:>8} {:>11} {:>11} {:>7}", "copy", "size", "ours GB/s", "bare GB/s", "ratio");
    let mut memory = Memory::new(&ctx, sizes.iter().copied().max().unwrap_or(KIB));
    let mut slow = 0;
    for kind in KINDS {
        for &bytes in sizes {
            let (ours, bare) = memory.compare(kind, bytes, rounds);
            let counts = kind.required && bytes >= COUNTS_FROM;
            let mark = if counts && bare / ours < TARGET { "  under the target" } else { "" };
            slow += usize::from(!mark.is_empty());
            let speed = |ns: f64| bytes as f64 / ns;
            println!(
                "{:26} {:>8} {:>11.3} {:>11.3} {:>7.3}{mark}",
                kind.name,
                size(bytes),
                speed(ours),
                speed(bare),
                bare / ours
            );
        }
    }
    println!("{slow} required rows of {} or more are under {TARGET}", size(COUNTS_FROM));
    if asked("check") && slow > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
