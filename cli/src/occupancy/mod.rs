//! `cuda-launch occupancy FILE KERNEL`.

mod source;
mod svg;
mod text;

use cuda_emulator::architecture::{Fit, Machine, Resources};
use serde_json::{Value, json};
use std::path::PathBuf;

use crate::failure::Failure;
use crate::files;
use crate::kernel_file::File;
use crate::number;
use crate::output::Outcome;
use crate::run::DeviceOptions;

#[derive(clap::Args)]
#[command(after_help = crate::failure::CODES)]
pub(crate) struct Arguments {
    /// A PTX, cubin or fatbin; or .cu, .ll, .bc, .ltoir
    file: PathBuf,
    /// Its name, mangled or as in the source
    kernel: String,
    /// Threads per block, for the plot over shared memory [default: the size that
    /// fills a multiprocessor best]
    #[arg(long)]
    block: Option<u32>,
    /// Bytes of dynamic shared memory, for the plot over block sizes
    #[arg(long, default_value_t = 0, value_parser = number::shared_bytes)]
    shared: u32,
    /// Compute for this architecture, such as sm_86, without a driver; needs an image
    /// that records registers, or --registers
    #[arg(long)]
    arch: Option<String>,
    /// Registers per thread, instead of the number from the image or driver
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=255))]
    registers: Option<u32>,
    /// Also write both plots to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    place: DeviceOptions,
}

/// Everything that is shown.
struct Answer {
    kernel: String,
    /// The source of the numbers.
    origin: String,
    machine: Machine,
    resources: Resources,
    /// Whether the registers are an estimate.
    estimated: bool,
    shared: u32,
    block: u32,
    /// Over block sizes, with `shared` bytes.
    by_block: Vec<(u32, Fit)>,
    /// Over bytes of dynamic shared memory, with `block` threads.
    by_shared: Vec<(u32, Fit)>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let file = File::read(&arguments.file)?;
    let kernel = file.kernel(&arguments.kernel)?;
    if let Some(path) = &arguments.svg {
        files::keep(&arguments.file, path, "the kernel file")?;
        files::try_to_write(path)?;
    }
    let mut known = source::find(&file, kernel, arguments)?;
    if let Some(registers) = arguments.registers {
        known.resources.registers = registers;
        known.estimated = false;
    }
    let answer = answer(kernel.name.clone(), known, arguments)?;
    if let Some(path) = &arguments.svg {
        files::write(path, svg::draw(&answer).as_bytes())?;
    }
    Ok(Outcome::new(text::show(&answer), json(&answer)))
}

fn answer(kernel: String, known: source::Known, arguments: &Arguments) -> Result<Answer, Failure> {
    let source::Known { origin, machine, resources, estimated } = known;
    let largest = resources.max_threads.min(machine.max_block);
    let sizes = (1..=largest / 32).map(|warps| warps * 32).chain((largest < 32).then_some(largest.max(1)));
    let by_block: Vec<(u32, Fit)> =
        sizes.map(|threads| (threads, machine.fit(&resources, threads, arguments.shared))).collect();
    // The largest of the best: fewer blocks to start.
    let best = by_block.iter().max_by_key(|(threads, fit)| (fit.blocks * threads, *threads));
    let block = arguments.block.or(best.map(|(threads, _)| *threads)).unwrap_or(32);
    if block == 0 || block > machine.max_block {
        return Err(Failure::usage(format!(
            "--block {block}: a block has 1 to {} threads",
            machine.max_block
        )));
    }
    let room = machine.shared_optin.saturating_sub(resources.shared);
    let steps = std::iter::successors(Some(0u32), |bytes| {
        bytes.checked_add(room.max(1).div_ceil(64).next_multiple_of(1024))
    });
    let by_shared = steps
        .take_while(|bytes| *bytes <= room)
        .map(|bytes| (bytes, machine.fit(&resources, block, bytes)))
        .collect();
    Ok(Answer {
        kernel,
        origin,
        machine,
        resources,
        estimated,
        shared: arguments.shared,
        block,
        by_block,
        by_shared,
    })
}

fn json(answer: &Answer) -> Value {
    let Answer { machine, resources, .. } = answer;
    let row = |name: &str, list: &[(u32, Fit)], threads: Option<u32>| -> Vec<Value> {
        list.iter()
            .map(|(x, fit)| {
                let threads = threads.unwrap_or(*x);
                json!({
                    name: x,
                    "blocks": fit.blocks,
                    "warps": fit.blocks * threads.div_ceil(32),
                    "occupancy": machine.occupancy(fit, threads),
                    "limiter": fit.limiter.name(),
                })
            })
            .collect()
    };
    json!({
        "schema": "cuda-launch.occupancy.1",
        "kernel": answer.kernel,
        "origin": answer.origin,
        "registers": resources.registers,
        "registers_estimated": answer.estimated,
        "static_shared_bytes": resources.shared,
        "max_threads": resources.max_threads,
        "multiprocessor": {
            "threads": machine.threads, "blocks": machine.blocks, "registers": machine.registers,
            "shared_bytes": machine.shared, "shared_bytes_per_block": machine.shared_optin,
        },
        "dynamic_shared_bytes": answer.shared,
        "block": answer.block,
        "by_block": row("threads", &answer.by_block, None),
        "by_shared": row("dynamic_shared_bytes", &answer.by_shared, Some(answer.block)),
    })
}
