//! Operations against the bare driver calls in the same run: one that is awaited, one that is submitted, a chain of a hundred, the
//! chain as a graph, and the processor time of a thousand futures that wait.
//!
//! - `cargo bench --bench async_cost`: times and ratios; a number sets the rounds.
//! - `.. -- check`: fails over a limit; the limits are for an H200.
//!
//! Each round times ours and the bare calls in turns as to which is first; the table shows medians.

#![allow(unsafe_code)] // Launches of saxpy on buffers of the length it is told.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

#[path = "../tests/operation_support/executor.rs"]
mod executor;

use cuda_launch::operation::{
    BoxedOperation, DeviceOperation, OperationGraph, OwnedKernelLaunch, RoundRobin, SchedulingPolicy,
    SingleStream, block_on, value, zeroed,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaFunction, CudaStream, DeviceBuffer, LaunchConfig, cuda_launch_async,
};
use std::ffi::c_void;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

const N: usize = 32;
const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const CHAIN: usize = 100;
const BATCH: usize = 100;
const GRAPHS: usize = 16;
const FUTURES: usize = 1000;
const WAIT: Duration = Duration::from_millis(100);
/// Most of a core that the futures may take while they wait.
const MOST_CPU: f64 = 0.05;

type Buffers = (DeviceBuffer<f32>, DeviceBuffer<f32>);

struct Bench {
    stream: CudaStream,
    saxpy: CudaFunction,
    buffers: Option<Buffers>,
    /// The chain, recorded for buffers of its own each time: where its memory lies makes a difference to a graph.
    graphs: [OperationGraph<Buffers>; GRAPHS],
    replays: usize,
    /// That of the bare calls.
    same: Arc<dyn SchedulingPolicy>,
    /// What the bare call points at.
    held: (u32, f32, u64, u64),
}

/// Ours and the bare calls, each so many times.
struct Kind {
    name: &'static str,
    /// The limit, as a multiple of the bare calls.
    limit: f64,
    /// How often a round does each.
    times: usize,
    ours: fn(&mut Bench),
    bare: fn(&mut Bench),
}

/// In this order: once kernels ran on a second stream of the process, the device takes a fifth longer for each replay of a graph,
/// also where the driver is asked by bare calls (`docs/performance.md`). The first two have one stream, as the bare calls.
const KINDS: &[Kind] = &[
    Kind {
        name: "await a chain as a graph",
        limit: 0.35,
        times: 1,
        ours: Bench::replayed,
        bare: Bench::bare_chain,
    },
    Kind { name: ".. launch, synchronize", ..REPLAY_AND_WAIT },
    Kind {
        name: "await one launch",
        limit: 1.25,
        times: BATCH,
        ours: Bench::awaited,
        bare: Bench::bare_and_wait,
    },
    Kind { name: "async_on", limit: 1.05, times: BATCH, ours: Bench::submitted, bare: Bench::bare },
    Kind {
        name: "await a chain of 100",
        limit: 1.1,
        times: 1,
        ours: Bench::chained,
        bare: Bench::bare_chain,
    },
    Kind {
        name: "as a graph, in a pool",
        limit: f64::INFINITY,
        times: 1,
        ours: Bench::replayed_in_pool,
        bare: Bench::bare_chain,
    },
    Kind { name: ".. launch, synchronize", ..REPLAY_AND_WAIT },
];

/// Nobody's limit: what the driver itself takes for a replay.
const REPLAY_AND_WAIT: Kind =
    Kind { name: "", limit: f64::INFINITY, times: 1, ours: Bench::launched, bare: Bench::bare_chain };

impl Bench {
    fn new(ctx: &CudaContext) -> Self {
        let stream = ctx.new_stream().unwrap();
        let module = ctx.load_module(include_str!("../examples/kernels/saxpy.ptx")).unwrap();
        let saxpy = module.load_function("saxpy").unwrap();
        let buffers = || (zeroed::<f32>(N).sync().unwrap(), zeroed::<f32>(N).sync().unwrap());
        let graphs = std::array::from_fn(|_| chain(&saxpy, buffers()).graph().unwrap());
        let (x, y) = buffers();
        let held = (N as u32, 1.0, x.cu_deviceptr(), y.cu_deviceptr());
        let same = Arc::new(SingleStream::new(&stream));
        Self { stream, saxpy, buffers: Some((x, y)), graphs, replays: 0, same, held }
    }

    fn bare(&mut self) {
        let driver = self.stream.context().driver();
        let (n, factor, x, y) = &mut self.held;
        let mut arguments: [*mut c_void; 4] =
            [(&raw mut *n).cast(), (&raw mut *factor).cast(), (&raw mut *x).cast(), (&raw mut *y).cast()];
        let (function, stream, none) = (self.saxpy.raw(), self.stream.raw(), std::ptr::null_mut());
        let packet = arguments.as_mut_ptr();
        let code = unsafe { driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, packet, none) };
        assert!(code == CUresult::SUCCESS);
    }

    fn wait(&mut self) {
        let code = unsafe { self.stream.context().driver().cuStreamSynchronize(self.stream.raw()) };
        assert!(code == CUresult::SUCCESS);
    }

    fn bare_and_wait(&mut self) {
        self.bare();
        self.wait();
    }

    fn bare_chain(&mut self) {
        (0..CHAIN).for_each(|_| self.bare());
        self.wait();
    }

    fn awaited(&mut self) {
        let (x, y) = self.buffers.as_mut().unwrap();
        let op = unsafe {
            cuda_launch_async! { function: self.saxpy, config: CONFIG, args: [N as u32, 1.0f32, ptr(x), ptr_mut(y)] }
        };
        block_on(op).unwrap();
    }

    fn submitted(&mut self) {
        let (x, y) = self.buffers.as_mut().unwrap();
        unsafe {
            cuda_launch_async! { function: self.saxpy, config: CONFIG, args: [N as u32, 1.0f32, ptr(x), ptr_mut(y)] }
                .async_on(&self.stream)
        }
        .unwrap();
    }

    fn chained(&mut self) {
        let buffers = self.buffers.take().unwrap();
        self.buffers = Some(block_on(chain(&self.saxpy, buffers)).unwrap());
    }

    /// Each graph in turn.
    fn next(&mut self) -> &mut OperationGraph<Buffers> {
        self.replays += 1;
        &mut self.graphs[self.replays % GRAPHS]
    }

    fn replayed(&mut self) {
        let same = self.same.clone();
        block_on(self.next().replay().into_future().schedule(same)).unwrap();
    }

    fn launched(&mut self) {
        let stream = self.stream.clone();
        self.next().launch_on(&stream).unwrap();
        self.wait();
    }

    fn replayed_in_pool(&mut self) {
        block_on(self.next().replay()).unwrap();
    }

    /// Nanoseconds of one of `times`, which are waited for before and afterwards.
    fn time(&mut self, times: usize, what: fn(&mut Self)) -> f64 {
        self.wait();
        let start = Instant::now();
        (0..times).for_each(|_| what(self));
        let time = start.elapsed().as_nanos() as f64 / times as f64;
        self.wait();
        time
    }
}

/// A hundred launches as one operation, put together in a loop.
fn chain(saxpy: &CudaFunction, buffers: Buffers) -> BoxedOperation<'static, Buffers> {
    (0..CHAIN).fold(value(buffers).boxed(), |op, _| {
        let saxpy = saxpy.clone();
        op.and_then(move |buffers| unsafe {
            OwnedKernelLaunch::new(buffers, move |(x, y): &mut Buffers| {
                let mut launch = AsyncKernelLaunch::new(saxpy);
                launch.value(&(N as u32)).value(&1.0f32).ptr(x).ptr_mut(y);
                launch.set_launch_config(CONFIG);
                Ok(launch)
            })
        })
        .boxed()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints a line; whether the limit is kept.
fn compare(bench: &mut Bench, kind: &Kind, rounds: usize) -> bool {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds + 10 {
        let (a, b) = if round % 2 == 0 {
            let bare = bench.time(kind.times, kind.bare);
            (bench.time(kind.times, kind.ours), bare)
        } else {
            (bench.time(kind.times, kind.ours), bench.time(kind.times, kind.bare))
        };
        // The first rounds warm everything up.
        if round >= 10 {
            ours.push(a);
            bare.push(b);
        }
    }
    let (ours, bare) = (median(ours), median(bare));
    let ratio = ours / bare;
    println!("{:24} {ours:>10.0} {bare:>10.0} {ratio:>8.3} {:>8.2}", kind.name, kind.limit);
    ratio <= kind.limit
}

/// Processor time of this process so far, user and system.
fn cpu() -> Duration {
    #[repr(C)]
    struct Usage {
        /// Seconds and microseconds: user, then system.
        times: [i64; 4],
        rest: [i64; 14],
    }
    unsafe extern "C" {
        fn getrusage(who: i32, usage: *mut Usage) -> i32;
    }
    let mut usage = Usage { times: [0; 4], rest: [0; 14] };
    assert_eq!(unsafe { getrusage(0, &mut usage) }, 0);
    let [user, user_us, system, system_us] = usage.times.map(|n| u64::try_from(n).unwrap());
    Duration::from_secs(user + system) + Duration::from_micros(user_us + system_us)
}

/// A thousand futures on the streams of a pool that are kept busy without the processor: microseconds of it to submit each, the
/// share of a core while they wait, and that of a thread that sleeps as long.
fn waiting(ctx: &CudaContext) -> [f64; 3] {
    let policy = Arc::new(RoundRobin::new(ctx, 4).unwrap());
    let (last, others) = policy.streams().split_last().unwrap();
    policy.streams().iter().for_each(|stream| drop(zeroed::<u32>(8).sync_on(stream).unwrap()));
    let (release, released) = mpsc::channel::<()>();
    last.call_host(move || released.recv().unwrap_or_default()).unwrap();
    others.iter().for_each(|stream| stream.join(last).unwrap());
    let before = cpu();
    let submit = |_| {
        let shared: Arc<dyn SchedulingPolicy> = policy.clone();
        let mut future = zeroed::<u32>(8).schedule(shared).future();
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        future
    };
    let futures: Vec<_> = (0..FUTURES).map(submit).collect();
    let submission = (cpu() - before).as_secs_f64() * 1e6 / FUTURES as f64;
    let asleep = || {
        let (begin, before) = (Instant::now(), cpu());
        std::thread::sleep(WAIT);
        (cpu() - before).as_secs_f64() / begin.elapsed().as_secs_f64()
    };
    let share = asleep();
    drop(release);
    executor::run_all(futures.into_iter().map(|future| async { drop(future.await.unwrap()) }));
    [submission, share, asleep()]
}

fn main() -> ExitCode {
    let ctx = CudaContext::new(0).unwrap();
    let name = ctx.device_name().unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = arguments.iter().any(|argument| argument == "check");
    let asked = arguments.iter().find_map(|argument| argument.parse().ok());
    let rounds = asked.unwrap_or(if name.contains("emulator") { 20 } else { 500 });
    let mut bench = Bench::new(&ctx);
    println!("device: {name}, driver {}, {rounds} rounds", ctx.driver_version());
    println!("{:24} {:>10} {:>10} {:>8} {:>8}", "", "ns", "bare ns", "ratio", "limit");
    let over: Vec<_> = KINDS.iter().filter(|kind| !compare(&mut bench, kind, rounds)).collect();
    let runs: Vec<_> = (0..5).map(|_| waiting(&ctx)).collect();
    let [submission, share, idle] = [0, 1, 2].map(|of| median(runs.iter().map(|run| run[of]).collect()));
    println!(
        "\n{FUTURES} futures that wait for {WAIT:?}: {:.2} % of a core, {:.2} without them",
        100.0 * share,
        100.0 * idle
    );
    println!("at most {:.0} %; {submission:.1} us to submit each", 100.0 * MOST_CPU);
    let busy = share - idle > MOST_CPU;
    if check && (busy || !over.is_empty()) {
        let over: Vec<_> = over.iter().map(|kind| kind.name).chain(busy.then_some("the wait")).collect();
        println!("over the limit: {}", over.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
