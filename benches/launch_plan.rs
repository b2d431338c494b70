//! Replaying a launch plan against launching one by one: 100 small kernels, times and ratios in one run.
//!
//! `cargo bench --bench launch_plan`; an argument sets the number of rounds. Host time to give the work to the driver, and time
//! until the device is done; the ratio that counts is that of the latter.

#![allow(unsafe_code)] // Launches of saxpy on buffers of the length it is told.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_launch::{
    CudaContext, CudaModule, CudaStream, DeviceBuffer, Error, LaunchConfig, LaunchPlan, cuda_launch,
};
use std::time::Instant;

const LAUNCHES: usize = 100;
const N: usize = 32;
const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
/// The limits for a replay, and for a replay with one argument changed, on an H200.
const TARGETS: [f64; 3] = [1.0, 0.30, 0.45];

struct Bench {
    stream: CudaStream,
    module: CudaModule,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

impl Bench {
    fn one_by_one(&mut self, stream: &CudaStream) -> Result<(), Error> {
        let Self { module, x, y, .. } = self;
        (0..LAUNCHES).try_for_each(|_| unsafe {
            cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
            args: [N as u32, 1.0f32, ptr(x), ptr_mut(y)] }
        })
    }

    fn plan(&mut self, ctx: &CudaContext) -> Result<LaunchPlan, Error> {
        let Self { module, x, y, .. } = self;
        LaunchPlan::record(ctx, |stream| {
            (0..LAUNCHES).try_for_each(|i| {
                let name = format!("alpha{i}");
                unsafe {
                    cuda_launch! { kernel: saxpy, module: module, stream: stream, config: CONFIG,
                    args: [N as u32, named(name, 1.0f32), ptr(x), ptr_mut(y)] }
                }
            })
        })
    }
}

/// Nanoseconds: until everything is given to the driver, and until it is done.
fn time(stream: &CudaStream, work: impl FnOnce()) -> (f64, f64) {
    stream.synchronize().unwrap();
    let start = Instant::now();
    work();
    let given = start.elapsed();
    stream.synchronize().unwrap();
    (given.as_nanos() as f64, start.elapsed().as_nanos() as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("../examples/kernels/saxpy.ptx")).unwrap();
    let x = DeviceBuffer::from_host(&stream, &[1.0f32; N]).unwrap();
    let y = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let mut bench = Bench { stream: stream.clone(), module, x, y };
    let (mut plan, mut changed) = (bench.plan(&ctx).unwrap(), bench.plan(&ctx).unwrap());
    let name = ctx.device_name().unwrap();
    let asked = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let rounds = asked.unwrap_or(if name.contains("emulator") { 20 } else { 1000 });
    println!("device: {name}, driver {}, {LAUNCHES} launches, {rounds} rounds", ctx.driver_version());
    let mut times: [(Vec<f64>, Vec<f64>); 3] = Default::default();
    for round in 0..rounds + 10 {
        let stream = bench.stream.clone();
        let measured = [
            time(&stream, || bench.one_by_one(&stream).unwrap()),
            time(&stream, || plan.launch(&stream).unwrap()),
            time(&stream, || {
                // Another argument each round, so that the change is one of a launch anywhere in the graph.
                let name = ["alpha0", "alpha50", "alpha99"][round % 3];
                unsafe { changed.set(name, round as f32) }.unwrap();
                changed.launch(&stream).unwrap();
            }),
        ];
        // The first rounds warm everything up.
        for (times, (given, done)) in times.iter_mut().zip(measured).skip(if round < 10 { 3 } else { 0 }) {
            times.0.push(given);
            times.1.push(done);
        }
    }
    let times = times.map(|(given, done)| (median(given), median(done)));
    let (base_given, base_done) = times[0];
    println!("{:28} {:>10} {:>8} {:>10} {:>8} {:>8}", "", "given ns", "ratio", "done ns", "ratio", "target");
    let names = ["one by one", "plan", "plan, one argument changed"];
    for ((name, (given, done)), target) in names.into_iter().zip(times).zip(TARGETS) {
        println!(
            "{name:28} {given:>10.0} {:>8.3} {done:>10.0} {:>8.3} {target:>8.2}",
            given / base_given,
            done / base_done
        );
    }
}
