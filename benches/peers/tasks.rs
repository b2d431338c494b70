//! A thousand tasks on tokio that each await launches, one after the other.

use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cuda_async::device_operation::DeviceOp;
use cuda_async::scheduling_policies::StreamPoolRoundRobin;
use cuda_launch::sys::{self, Driver};
use cuda_launch::{CudaStream, DeviceBuffer, cuda_launch_async};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::bare::ok;
use crate::measure::{Effort, median};
use crate::ours::CONFIG;
use crate::with_cuda_rust::operation;
use crate::{ALPHA, Bench};

pub(crate) const NAME: &str = "tasks";
const TASKS: usize = 1000;
/// Those that all ways use in turn.
const STREAMS: usize = 4;
/// Worker threads of tokio; with none, everything runs on the thread that waits.
const WORKERS: [usize; 4] = [0, 1, 4, 8];

/// It returns what it used, which is dropped when the clock has stopped.
type Task = Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>>;
/// Makes a task that awaits so often.
type Way = Box<dyn Fn(usize) -> Task>;

/// Measures and prints a table: awaits per second, of all tasks together.
pub(crate) fn print(bench: &Bench, effort: &Effort) {
    let ways = [bare(bench), ours(bench), cuda_async(bench)];
    println!(
        "\n{TASKS} tasks on tokio, {} awaits each; thousands of awaits per second, and times the bare calls:\n",
        effort.awaits
    );
    println!("| worker threads | bare callbacks | cuda-launch | cuda-async |\n|---|---|---|---|");
    for workers in WORKERS {
        let mut rates = [const { Vec::new() }; 3];
        // The first round warms everything up.
        for round in 0..=effort.rounds {
            for place in 0..ways.len() {
                let way = (place + round) % ways.len();
                let rate = rate(bench, workers, &ways[way], effort.awaits);
                if round > 0 {
                    rates[way].push(rate);
                }
            }
        }
        let [bare, ours, cuda_async] = rates.map(median);
        println!(
            "| {workers} | {bare:.0} | {ours:.0} ({:.2}) | {cuda_async:.0} ({:.2}) |",
            ours / bare,
            cuda_async / bare
        );
    }
}

/// The context is current on all its threads.
fn runtime(bench: &Bench, workers: usize) -> Runtime {
    let (driver, context) = (bench.bare.driver.clone(), bench.ours.context.raw() as usize);
    let mut builder = if workers == 0 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    // SAFETY: the context lives as long as the bench.
    builder.on_thread_start(move || ok(unsafe { driver.cuCtxSetCurrent(context as sys::CUcontext) }));
    builder.worker_threads(workers.max(1)).build().unwrap()
}

/// Thousands of awaits per second.
fn rate(bench: &Bench, workers: usize, way: &Way, awaits: usize) -> f64 {
    let runtime = runtime(bench, workers);
    let tasks: Vec<_> = (0..TASKS).map(|_| way(awaits)).collect();
    bench.bare.wait_for_all();
    let start = Instant::now();
    runtime.block_on(async {
        let running: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
        let mut used = Vec::with_capacity(TASKS);
        for task in running {
            used.push(task.await.unwrap());
        }
        let time = start.elapsed();
        drop(used);
        (TASKS * awaits) as f64 / time.as_secs_f64() / 1e3
    })
}

/// What the bare calls use. A task has arguments of its own.
struct Calls {
    driver: Arc<Driver>,
    function: usize,
    streams: Vec<CudaStream>,
    next: AtomicUsize,
}

impl Calls {
    /// Launches on the next stream, and has the driver call back behind it.
    fn launch(&self, (x, y): (u64, u64)) -> oneshot::Receiver<()> {
        let stream = self.streams[self.next.fetch_add(1, Ordering::Relaxed) % STREAMS].raw();
        let (sender, receiver) = oneshot::channel::<()>();
        let (mut n, mut alpha) = (0u32, ALPHA);
        let (mut x, mut y) = (x, y);
        let mut arguments: [*mut c_void; 4] =
            [(&raw mut x).cast(), (&raw mut y).cast(), (&raw mut n).cast(), (&raw mut alpha).cast()];
        let (arguments, none) = (arguments.as_mut_ptr(), std::ptr::null_mut());
        let function = self.function as sys::CUfunction;
        let data = Box::into_raw(Box::new(sender)).cast();
        // SAFETY: the kernel has these parameters; `wake` takes the box, once.
        unsafe {
            ok(self.driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, none));
            ok(self.driver.cuLaunchHostFunc(stream, Some(wake), data));
        }
        receiver
    }
}

unsafe extern "C" fn wake(sender: *mut c_void) {
    // SAFETY: `launch` made it for this call.
    let sender = unsafe { Box::from_raw(sender.cast::<oneshot::Sender<()>>()) };
    let _ = sender.send(());
}

fn bare(bench: &Bench) -> Way {
    let streams = (0..STREAMS).map(|_| bench.ours.context.new_stream().unwrap()).collect();
    let calls = Arc::new(Calls {
        driver: bench.bare.driver.clone(),
        function: bench.bare.function as usize,
        streams,
        next: AtomicUsize::new(0),
    });
    let memory = bench.bare.memory();
    Box::new(move |awaits| {
        let calls = calls.clone();
        Box::pin(async move {
            for _ in 0..awaits {
                calls.launch(memory).await.unwrap();
            }
            Box::new(()) as _
        })
    })
}

fn ours(bench: &Bench) -> Way {
    let (stream, function) = (bench.ours.context.new_stream().unwrap(), bench.ours.function.clone());
    Box::new(move |awaits| {
        let function = function.clone();
        let buffer = || DeviceBuffer::<f32>::zeroed(&stream, 32).unwrap();
        let (x, mut y) = (buffer(), buffer());
        Box::pin(async move {
            for _ in 0..awaits {
                // SAFETY: 1: the kernel has these parameters; 2: it writes 16 bytes, the first of `y`; 3, 4: the buffers are this task's, and
                // nothing else uses them; 5: it writes floats; 6: it ends.
                let launch = unsafe {
                    cuda_launch_async! { function: function, config: CONFIG, args: [ptr(x), ptr_mut(y), 0u32, ALPHA] }
                };
                launch.await.unwrap();
            }
            Box::new((x, y)) as _
        })
    })
}

fn cuda_async(bench: &Bench) -> Way {
    let pool = Arc::new(StreamPoolRoundRobin::new(&bench.cuda_rust.context, STREAMS).unwrap());
    let (function, memory) = (bench.cuda_rust.function.clone(), bench.cuda_rust.memory());
    Box::new(move |awaits| {
        let (pool, function) = (pool.clone(), function.clone());
        Box::pin(async move {
            for _ in 0..awaits {
                operation(&function, memory, 0).schedule(&pool).unwrap().await.unwrap();
            }
            Box::new(()) as _
        })
    })
}
