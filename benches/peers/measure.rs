//! Samples in turn, medians, and under which conditions.

use std::hint::black_box;
use std::time::Instant;

use cuda_launch::CudaContext;

use crate::Bench;
use crate::rows::Row;

/// How often a row is timed: so many rounds, and in each a batch of every way.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    rounds: usize,
    batch: usize,
}

impl Size {
    pub(crate) const LAUNCH: Self = Self { rounds: 200, batch: 500 };
    pub(crate) const WAIT: Self = Self { rounds: 100, batch: 50 };
    pub(crate) const MODULE: Self = Self { rounds: 40, batch: 10 };
    pub(crate) const IMAGE: Self = Self { rounds: 20, batch: 1 };
}

/// How much is done. On the emulator as little as shows that it runs.
pub(crate) struct Effort {
    emulated: bool,
    /// In the linked image.
    pub(crate) kernels: usize,
    /// Rounds of the tables of `tasks` and `threads`.
    pub(crate) rounds: usize,
    /// How often a task awaits.
    pub(crate) awaits: usize,
    /// How many launches a thread describes.
    pub(crate) described: usize,
}

impl Effort {
    pub(crate) fn on(context: &CudaContext) -> Self {
        if context.device_name().unwrap().contains("emulator") {
            Self { emulated: true, kernels: 24, rounds: 1, awaits: 1, described: 1000 }
        } else {
            Self { emulated: false, kernels: 1500, rounds: 11, awaits: 10, described: 200_000 }
        }
    }

    fn size(&self, size: Size) -> Size {
        if self.emulated { Size { rounds: 3, batch: 2 } } else { size }
    }
}

/// Nanoseconds of one of each way, in their order.
pub(crate) fn in_turn(bench: &mut Bench, effort: &Effort, row: &Row) -> Vec<f64> {
    let size = effort.size(row.size);
    let mut samples = vec![Vec::new(); row.ways.len()];
    // The first round warms everything up.
    for round in 0..=size.rounds {
        for place in 0..row.ways.len() {
            let way = (place + round) % row.ways.len();
            (row.before)(bench, size.batch);
            let time = batch(bench, row.ways[way].1, size.batch);
            if round > 0 {
                samples[way].push(time);
            }
        }
    }
    samples.into_iter().map(median).collect()
}

fn batch(bench: &mut Bench, way: fn(&mut Bench), size: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..size {
        way(black_box(bench));
    }
    let time = start.elapsed().as_nanos() as f64 / size as f64;
    bench.bare.wait_for_all();
    time
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Prints what the figures depend on.
pub(crate) fn conditions(context: &CudaContext, effort: &Effort, image: usize) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let [launch, wait, module, linked] = [Size::LAUNCH, Size::WAIT, Size::MODULE, Size::IMAGE]
        .map(|size| effort.size(size))
        .map(|size| format!("{} x {}", size.rounds, size.batch));
    println!(
        "{}, driver {}; {}, {cores} cores; {}. One thread where no other number is given. Medians of batches: launches {launch}, \
         waits and objects {wait}, PTX {module}, linked image of {} kB {linked}.\n",
        context.device_name().unwrap(),
        context.driver_version(),
        processor(),
        ["cudarc", "cust", "cuda-core", "cuda-async", "tokio"].map(version).join(", "),
        image / 1000,
    );
}

/// The processor's name, as Linux has it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown processor", |(_, name)| name).into()
}

/// A crate's name with the version that this program was built with.
fn version(name: &str) -> String {
    let lock = include_str!("Cargo.lock");
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{name}\""));
    let version = lines.nth(1).and_then(|line| line.split('"').nth(1)).unwrap_or("?");
    format!("{name} {version}")
}
