//! Rounds of everything that a program does all day, which must leave nothing behind: not a byte of host or device
//! memory, not a handle. The processes of these tests do nothing else: what a process has is counted.
//!
//! A short run is part of the tests. A long one, of a million rounds on the emulator and 200,000 on a GPU unless the
//! variable says otherwise:
//!
//! ```text
//! CUDA_LAUNCH_SOAK_ROUNDS=1000000 cargo test --release --test soak -- --ignored --nocapture
//! ```

#![allow(unsafe_code)] // Launches of a kernel whose argument is the buffer it takes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_emulator::{LiveHandles, live_handles};
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::PinnedFlags;
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaModule, CudaStream, DeviceBuffer, Error, GraphExec,
    LaunchConfig, PinnedBuffer, cuda_launch,
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const KERNELS: &str = include_str!("kernels/ordering.ptx");
/// Elements of the buffers.
const N: usize = 64;
/// Growth of the process that is no leak: the allocator's. After a million rounds, 4 bytes a round.
const SLACK_KIB: i64 = 4096;

/// What the rounds use and do not make anew.
struct Rig {
    ctx: CudaContext,
    stream: CudaStream,
    other: CudaStream,
    module: CudaModule,
    graph: GraphExec,
    counter: DeviceBuffer<u32>,
    replays: u32,
}

/// x[i] = x[i] * m + a
fn step(
    module: &CudaModule,
    stream: &CudaStream,
    x: &mut DeviceBuffer<u32>,
    m: u32,
    a: u32,
) -> Result<(), Error> {
    let config = LaunchConfig::for_num_elems(N as u32);
    unsafe {
        cuda_launch! { kernel: step, module: module, stream: stream, config: config, args: [slice_mut(x), m, a] }
    }
}

fn record(ctx: &CudaContext, module: &CudaModule, x: &mut DeviceBuffer<u32>) -> Result<GraphExec, Error> {
    CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| step(module, stream, x, 1, 1))?
        .instantiate(InstantiateFlags::empty())
}

impl Rig {
    fn new(ctx: &CudaContext) -> Result<Self, Error> {
        let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
        let module = ctx.load_module(KERNELS)?;
        let mut counter = DeviceBuffer::zeroed(&stream, N)?;
        let graph = record(ctx, &module, &mut counter)?;
        Ok(Self { ctx: ctx.clone(), stream, other, module, graph, counter, replays: 0 })
    }

    /// Allocate, copy, launch, event, copy back, free; the rarer things every so many rounds.
    fn round(&mut self, round: u32) -> Result<(), Error> {
        let mut buffer = DeviceBuffer::from_host(&self.stream, &[round; N])?;
        step(&self.module, &self.stream, &mut buffer, 3, 5)?;
        let event = self.ctx.new_event()?;
        event.record(&self.stream)?;
        self.other.wait(&event)?;
        assert_eq!(buffer.to_host_vec(&self.other)?, [round.wrapping_mul(3).wrapping_add(5); N]);
        match round {
            _ if round % 16 == 1 => self.pinned(&mut buffer, round),
            _ if round % 32 == 2 => self.replay(),
            _ if round % 128 == 3 => self.new_graph(&mut buffer, round),
            _ if round % 256 == 4 => self.new_objects(&mut buffer, round),
            _ => Ok(()),
        }
    }

    fn pinned(&self, buffer: &mut DeviceBuffer<u32>, round: u32) -> Result<(), Error> {
        let from = PinnedBuffer::from_slice(&self.ctx, &[round; N], PinnedFlags::empty())?;
        let mut to = PinnedBuffer::from_slice(&self.ctx, &[0; N], PinnedFlags::empty())?;
        buffer.view_mut().copy_from_pinned(&self.stream, &from)?;
        buffer.view().copy_to_pinned(&self.other, &mut to)?;
        assert_eq!(to.as_slice()?, [round; N]);
        Ok(())
    }

    fn replay(&mut self) -> Result<(), Error> {
        self.graph.launch(&self.other)?;
        self.replays += 1;
        assert_eq!(self.counter.to_host_vec(&self.stream)?, [self.replays; N]);
        Ok(())
    }

    fn new_graph(&self, buffer: &mut DeviceBuffer<u32>, round: u32) -> Result<(), Error> {
        buffer.copy_from_host(&self.stream, &[round; N])?;
        let mut graph = record(&self.ctx, &self.module, buffer)?;
        graph.launch(&self.stream)?;
        assert_eq!(buffer.to_host_vec(&self.other)?, [round.wrapping_add(1); N]);
        Ok(())
    }

    /// A module, a stream, a timed event and a host function of its own, dropped while the stream may still work.
    fn new_objects(&self, buffer: &mut DeviceBuffer<u32>, round: u32) -> Result<(), Error> {
        let (module, stream) = (self.ctx.load_module(KERNELS)?, self.ctx.new_stream()?);
        let (start, end) = (self.ctx.new_timing_event()?, self.ctx.new_timing_event()?);
        start.record(&stream)?;
        step(&module, &stream, buffer, 0, round)?;
        end.record(&stream)?;
        let held = vec![round; N];
        stream.call_host(move || drop(held))?;
        end.synchronize()?;
        assert!(start.elapsed_ms(&end)? >= 0.0);
        Ok(())
    }
}

/// What is counted: free bytes of the device, the emulator's ledger, and KiB of the process that are in memory.
struct Count {
    free: usize,
    live: LiveHandles,
    resident: i64,
}

impl Count {
    fn now(ctx: &CudaContext) -> Result<Self, Error> {
        ctx.synchronize()?;
        let (free, _) = ctx.memory_info()?;
        Ok(Self { free, live: live_handles(), resident: resident() })
    }
}

/// `VmRSS`, in KiB; 0 on systems that have no `/proc`.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim_end_matches("kB").trim().parse().unwrap()
}

fn soak(rounds: u32) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ctx = CudaContext::new(0).unwrap();
    let empty = Count::now(&ctx).unwrap();
    let mut rig = Rig::new(&ctx).unwrap();
    // What driver, allocator and crate keep for themselves, they have after the first rounds.
    (0..rounds.min(10_000)).for_each(|round| rig.round(round).unwrap());
    let (before, start) = (Count::now(&ctx).unwrap(), Instant::now());
    (0..rounds).for_each(|round| rig.round(round).unwrap());
    let after = Count::now(&ctx).unwrap();
    report(rounds, start.elapsed(), &before, &after);
    assert_eq!(after.free, before.free, "device memory");
    assert_eq!(after.live, before.live, "handles");
    assert!(after.resident - before.resident < SLACK_KIB, "{} -> {} KiB", before.resident, after.resident);
    drop(rig);
    assert_eq!(Count::now(&ctx).unwrap().live, empty.live, "handles after all is dropped");
}

fn report(rounds: u32, time: Duration, before: &Count, after: &Count) {
    println!(
        "{rounds} rounds in {:.1} s, {:.1} us each; resident {} -> {} KiB, device memory {:+} bytes",
        time.as_secs_f64(),
        time.as_secs_f64() * 1e6 / f64::from(rounds),
        before.resident,
        after.resident,
        after.free as i128 - before.free as i128,
    );
}

#[test]
fn a_few_thousand_rounds_leave_nothing_behind() {
    soak(3000);
}

#[test]
#[ignore = "minutes; see the head of this file"]
fn many_rounds_leave_nothing_behind() {
    let emulated = CudaContext::new(0).unwrap().device_name().unwrap().contains("emulator");
    let usual = if emulated { 1_000_000 } else { 200_000 };
    let asked = std::env::var("CUDA_LAUNCH_SOAK_ROUNDS").ok();
    soak(asked.map_or(usual, |rounds| rounds.parse().expect("a number of rounds")));
}
