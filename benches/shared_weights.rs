//! Kernels that read one buffer from many streams, from one thread and from several: launches of this crate against bare calls of the
//! driver in the same run.
//!
//! - `cargo bench --bench shared_weights`: times and ratios; a number sets the rounds.
//! - `.. -- check`: fails over a limit; the limits are for an H200.
//!
//! Each round times both in turns as to which is first; the table shows medians. The kernel is saxpy of 32 elements: what is timed is
//! the launch.

#![allow(unsafe_code)] // Launches of saxpy on buffers of the length it is told.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_launch::sys::{CUlaunchConfig, CUresult};
use cuda_launch::{CudaContext, CudaFunction, CudaStream, DeviceBuffer, LaunchConfig, cuda_launch};
use std::ffi::c_void;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

const N: usize = 32;
const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
/// Launches of each thread in a round.
const LAUNCHES: usize = 2000;
/// Most that one thread's round over 32 streams may take, and least launches of 16 threads, by the bare calls'.
const LIMITS: (f64, f64) = (1.05, 0.95);

/// A stream and what its launches write.
struct Lane {
    stream: CudaStream,
    y: DeviceBuffer<f32>,
}

struct Bench {
    f: CudaFunction,
    weights: DeviceBuffer<f32>,
}

impl Bench {
    fn ours(&self, lane: &mut Lane) {
        let Lane { stream, y } = lane;
        // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats: both buffers have N; 3, 4:
        // the launch orders them, and the bare launches are waited for; 5: it writes floats; 6: it ends.
        unsafe {
            cuda_launch! { function: self.f, stream: stream, config: CONFIG,
            args: [N as u32, 0.5f32, ptr(self.weights), ptr_mut(y)] }
        }
        .unwrap();
    }

    fn bare(&self, lane: &Lane, (x, y): (u64, u64)) {
        let (mut n, mut alpha, mut x, mut y) = (N as u32, 0.5f32, x, y);
        let mut params: [*mut c_void; 4] =
            [(&raw mut n).cast(), (&raw mut alpha).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 32,
            blockDimY: 1,
            blockDimZ: 1,
            hStream: lane.stream.raw(),
            ..Default::default()
        };
        let driver = self.f.context().driver();
        // SAFETY: the four parameters are saxpy's, and both buffers have N floats and are there until the context is
        // waited for, at the end of each measurement; `y` is this stream's alone, `x` is only read; function and stream
        // live as long as their handles, and whoever measures has made their context current; packet and configuration
        // are locals.
        let code = unsafe {
            driver.cuLaunchKernelEx(&config, self.f.raw(), params.as_mut_ptr(), std::ptr::null_mut())
        };
        assert!(code == CUresult::SUCCESS);
    }

    fn lanes(&self, count: usize) -> Vec<Lane> {
        let ctx = self.f.context();
        let lane = |_| {
            let stream = ctx.new_stream().unwrap();
            let y = DeviceBuffer::zeroed(&stream, N).unwrap();
            Lane { stream, y }
        };
        (0..count).map(lane).collect()
    }

    /// One thread, each stream in turn: nanoseconds a launch, ours and bare.
    fn one_thread(&self, streams: usize, rounds: usize) -> (f64, f64) {
        let (mut lanes, x) = (self.lanes(streams), self.weights.cu_deviceptr());
        let addresses: Vec<_> = lanes.iter().map(|lane| (x, lane.y.cu_deviceptr())).collect();
        let turns = (LAUNCHES / streams).max(1);
        compare(rounds, |ours| {
            let context = self.f.context();
            context.synchronize().unwrap();
            let start = Instant::now();
            for _ in 0..turns {
                for (lane, addresses) in lanes.iter_mut().zip(&addresses) {
                    if ours { self.ours(lane) } else { self.bare(lane, *addresses) }
                }
            }
            let time = start.elapsed();
            context.synchronize().unwrap();
            time.as_nanos() as f64 / (turns * streams) as f64
        })
    }

    /// A stream for each thread, or the thread's own (`CU_STREAM_PER_THREAD`): nanoseconds a launch of all of them together, ours and
    /// bare.
    fn threads(&self, threads: usize, rounds: usize, own: bool) -> (f64, f64) {
        let (mut lanes, x) = (self.lanes(threads), self.weights.cu_deviceptr());
        compare(rounds, |ours| {
            self.f.context().synchronize().unwrap();
            let start = Barrier::new(threads);
            let times: Vec<f64> = std::thread::scope(|scope| {
                let run = |lane: &mut Lane| {
                    let context = lane.stream.context().clone();
                    context.bind().unwrap();
                    if own {
                        lane.stream = context.per_thread_stream();
                    }
                    let addresses = (x, lane.y.cu_deviceptr());
                    start.wait();
                    let begin = Instant::now();
                    for _ in 0..LAUNCHES {
                        if ours { self.ours(lane) } else { self.bare(lane, addresses) }
                    }
                    begin.elapsed().as_nanos() as f64
                };
                let all: Vec<_> = lanes.iter_mut().map(|lane| scope.spawn(move || run(lane))).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            self.f.context().synchronize().unwrap();
            times.into_iter().fold(0.0, f64::max) / (threads * LAUNCHES) as f64
        })
    }
}

/// Medians of what `measure` says of ours and of the bare calls, in turns as to which is first.
fn compare(rounds: usize, mut measure: impl FnMut(bool) -> f64) -> (f64, f64) {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds + 2 {
        let first = round % 2 == 0;
        for which in [first, !first] {
            let time = measure(which);
            // The first rounds warm everything up.
            if round >= 2 {
                if which { &mut ours } else { &mut bare }.push(time);
            }
        }
    }
    (median(ours), median(bare))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let ctx = CudaContext::new(0).unwrap();
    let module = ctx.load_module(include_str!("../examples/kernels/saxpy.ptx")).unwrap();
    let weights = DeviceBuffer::from_host(&ctx.new_stream().unwrap(), &[1.0f32; N]).unwrap();
    let bench = Bench { f: module.load_function("saxpy").unwrap(), weights };
    let name = ctx.device_name().unwrap();
    let asked = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let rounds = asked.unwrap_or(if name.contains("emulator") { 3 } else { 41 });
    println!(
        "device: {name}, driver {}, {LAUNCHES} launches a thread, {rounds} rounds",
        ctx.driver_version()
    );
    println!("{:34} {:>9} {:>9} {:>7}", "nanoseconds a launch", "ours", "bare", "ratio");
    let mut over = Vec::new();
    let mut row = |what: String, (ours, bare): (f64, f64), limit: Option<f64>| {
        let ratio = ours / bare;
        let shown = limit.map_or(String::new(), |limit| format!("  (limit {limit:.3})"));
        println!("{what:34} {ours:>9.0} {bare:>9.0} {ratio:>7.3}{shown}");
        if limit.is_some_and(|limit| ratio > limit) {
            over.push(what);
        }
    };
    for streams in [1, 2, 8, 16, 32, 50] {
        let limit = (streams == 32).then_some(LIMITS.0);
        row(format!("1 thread, {streams} streams"), bench.one_thread(streams, rounds), limit);
    }
    for threads in [1, 4, 16] {
        let limit = (threads == 16).then_some(1.0 / LIMITS.1);
        row(format!("{threads} threads, a stream each"), bench.threads(threads, rounds, false), limit);
    }
    for threads in [1, 4, 16] {
        row(format!("{threads} threads, per-thread streams"), bench.threads(threads, rounds, true), None);
    }
    let check = std::env::args().any(|argument| argument == "check");
    if check && !over.is_empty() {
        println!("over the limit: {}", over.join("; "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
