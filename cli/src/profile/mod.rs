//! `cuda-launch profile FILE KERNEL`: the work of each line of a kernel, counted by the emulator.

mod lines;
mod page;
mod pictures;
mod text;

use std::path::PathBuf;

use cuda_emulator::{AllocationProfile, Counts, KernelProfile, Operations, lcov};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::files;
use crate::output::Outcome;
use crate::roofline::{self, Gpu, Place, Unplaced, operations_json};
use crate::run;
use lines::{Line, Listing};

#[derive(clap::Args)]
// The group of the flattened arguments has that name.
#[group(id = "profile")]
#[command(after_help = crate::failure::CODES)]
// Options of `run` only: `run::counted` refuses them.
#[command(
    mut_arg("check", |arg| arg.hide(true)),
    mut_arg("bench", |arg| arg.hide(true)),
    mut_arg("roofline", |arg| arg.hide(true)),
    mut_arg("schedules", |arg| arg.hide(true)),
    mut_arg("seed", |arg| arg.hide(true)),
    mut_arg("print", |arg| arg.hide(true)),
    // It must be the emulator.
    mut_arg("driver", |arg| arg.hide(true)),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    launch: run::Arguments,
    /// List lines of the PTX even if the lines of the source are known
    #[arg(long)]
    ptx: bool,
    /// Also write an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write a coverage report (lcov), for genhtml and similar tools
    #[arg(long, value_name = "FILE")]
    lcov: Option<PathBuf>,
    /// Compare with the published peaks of this GPU: t4, v100, a100, rtx3090, l4, l40s, rtx4090, h100 or h200
    /// [default: one with the architecture of the device]
    #[arg(long, value_name = "GPU")]
    roof: Option<String>,
}

/// The result of the command.
struct Answer {
    /// The kernel and the device.
    heading: String,
    /// Why the kernel was stopped, if it was.
    fault: Option<String>,
    profile: KernelProfile,
    total: Counts,
    operations: Operations,
    /// The GPU that it is compared with.
    gpu: Option<&'static Gpu>,
    /// Its position in the roofline of that GPU, or why there is none.
    place: Result<Place, String>,
    /// The address of each argument's memory.
    addresses: Vec<Option<u64>>,
    listing: Listing,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let asked = arguments.roof.as_deref().map(Gpu::of).transpose()?;
    let outputs = files::asked(&[("--html", &arguments.html), ("--lcov", &arguments.lcov)]);
    for (_, path) in &outputs {
        arguments.launch.keeps(path)?;
        files::try_to_write(path)?;
    }
    files::keep_apart(&outputs)?;
    let counted = run::counted(&arguments.launch)?;
    let Some(profile) = counted.profile else {
        let refused = counted.fault.unwrap_or_else(|| "the kernel did not run".to_owned());
        return Err(Failure::new(Exit::Driver, refused));
    };
    let (total, operations) = (profile.total(), profile.operations());
    let listing = Listing::of(&profile, arguments.ptx, &counted.file);
    let gpu = asked.or_else(|| Gpu::of_capability(counted.capability));
    let place = place(gpu, counted.capability, operations, &total);
    let (heading, fault, addresses) = (counted.heading, counted.fault, counted.addresses);
    let answer = Answer { heading, fault, profile, total, operations, gpu, place, addresses, listing };
    if let Some(path) = &arguments.html {
        files::write(path, page::draw(&answer).as_bytes())?;
    }
    if let Some(path) = &arguments.lcov {
        let name = |_: &str| std::fs::canonicalize(&counted.file).ok().map(|path| path.display().to_string());
        files::write(path, lcov(std::slice::from_ref(&answer.profile), name).as_bytes())?;
    }
    let mut outcome = Outcome::new(text::show(&answer), answer_json(&answer));
    if answer.fault.is_some() {
        outcome.exit = Exit::Found;
    }
    Ok(outcome)
}

/// The position in the roofline of a GPU, if its peaks are known.
fn place(
    gpu: Option<&Gpu>,
    (major, minor): (u32, u32),
    operations: Operations,
    total: &Counts,
) -> Result<Place, String> {
    let gpu = gpu.ok_or_else(|| {
        format!("no published peaks are known here of a GPU with the architecture sm_{major}{minor}; --roof GPU compares with another")
    })?;
    Place::of(&gpu.peaks, operations, roofline::bytes(total)).map_err(Unplaced::text)
}

fn answer_json(answer: &Answer) -> Value {
    let Answer { profile, fault, total, operations, listing, .. } = answer;
    let lines = listing.lines.iter().filter(|line| line.counts.is_some());
    json!({
        "schema": "cuda-launch.profile.1",
        "kernel": profile.kernel,
        "fault": fault,
        "launches": profile.launches,
        "blocks": profile.blocks,
        "threads": profile.threads,
        "total": counts_json(total),
        "operations": operations_json(*operations),
        "operations_per_byte": intensity(*operations, total),
        "roof": roof_json(answer),
        "not_covered": text::uncovered(answer).iter().map(text::Uncovered::json).collect::<Vec<_>>(),
        "missing_sources": listing.missing.iter().map(|missing| json!({ "file": missing.file, "why": missing.why })).collect::<Vec<_>>(),
        "allocations": profile.allocations.iter().map(|one| allocation_json(answer, one)).collect::<Vec<_>>(),
        "lines": lines.map(line_json).collect::<Vec<_>>(),
    })
}

fn roof_json(answer: &Answer) -> Value {
    let mut roof = match &answer.place {
        Ok(place) => place.json(),
        Err(_) => json!({ "limit": null, "operations_per_second": null, "ridge": null }),
    };
    roof["gpu"] = answer.gpu.map(|gpu| gpu.id).into();
    roof["reason"] = answer.place.as_ref().err().map(String::as_str).into();
    roof
}

fn allocation_json(answer: &Answer, allocation: &AllocationProfile) -> Value {
    json!({
        "argument": argument(answer, allocation),
        "address": allocation.address,
        "bytes": allocation.bytes,
        "column_time": allocation.column_time,
        "by_time": allocation.by_time,
        "by_place": allocation.by_place,
    })
}

/// The argument whose memory that is.
fn argument(answer: &Answer, allocation: &AllocationProfile) -> Option<usize> {
    answer.addresses.iter().position(|address| *address == Some(allocation.address))
}

fn line_json(line: &Line) -> Value {
    let mut value = counts_json(&line.counts.unwrap_or_default());
    value["operations"] = operations_json(line.operations);
    value["file"] = line.file.as_deref().into();
    value["line"] = line.number.into();
    value["function"] = line.function.as_deref().into();
    value["text"] = line.text.as_str().into();
    value
}

fn counts_json(counts: &Counts) -> Value {
    json!({
        "warps": counts.warps,
        "threads": counts.threads,
        "threads_on": counts.threads_on,
        "taken": counts.taken,
        "not_taken": counts.not_taken,
        "divergent": counts.divergent,
        "global_requests": counts.global_requests,
        "global_sectors": counts.global_sectors,
        "global_sectors_ideal": counts.global_sectors_ideal,
        "global_bytes": counts.global_bytes,
        "shared_requests": counts.shared_requests,
        "shared_wavefronts": counts.shared_wavefronts,
        "shared_wavefronts_ideal": counts.shared_wavefronts_ideal,
        "shared_bytes": counts.shared_bytes,
        "local_requests": counts.local_requests,
        "local_bytes": counts.local_bytes,
        "constant_requests": counts.constant_requests,
        "constant_bytes": counts.constant_bytes,
        "texture_requests": counts.texture_requests,
        "texture_bytes": counts.texture_bytes,
        "surface_requests": counts.surface_requests,
        "surface_bytes": counts.surface_bytes,
        "collisions": counts.collisions,
        "barrier_wait": counts.barrier_wait,
    })
}

/// Operations on floating-point numbers for each byte of the sectors of global memory that were moved.
fn intensity(operations: Operations, total: &Counts) -> Option<f64> {
    ratio(operations.floating_point(), roofline::bytes(total)).filter(|each| *each > 0.0)
}

/// `number / of`; `None` if `of` is zero.
fn ratio(number: u64, of: u64) -> Option<f64> {
    (of != 0).then(|| number as f64 / of as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_their_names() {
        let mut counts = Counts::default();
        (counts.warps, counts.threads, counts.threads_on) = (1, 2, 3);
        (counts.taken, counts.not_taken, counts.divergent) = (4, 5, 6);
        (counts.global_requests, counts.global_sectors) = (7, 8);
        (counts.global_sectors_ideal, counts.global_bytes) = (9, 10);
        (counts.shared_requests, counts.shared_wavefronts) = (11, 12);
        (counts.shared_wavefronts_ideal, counts.shared_bytes) = (13, 14);
        (counts.local_requests, counts.local_bytes) = (15, 16);
        (counts.collisions, counts.barrier_wait) = (17, 18);
        (counts.constant_requests, counts.constant_bytes) = (19, 20);
        (counts.texture_requests, counts.texture_bytes) = (21, 22);
        (counts.surface_requests, counts.surface_bytes) = (23, 24);
        let expected = json!({
            "warps": 1, "threads": 2, "threads_on": 3, "taken": 4, "not_taken": 5, "divergent": 6,
            "global_requests": 7, "global_sectors": 8, "global_sectors_ideal": 9, "global_bytes": 10,
            "shared_requests": 11, "shared_wavefronts": 12, "shared_wavefronts_ideal": 13, "shared_bytes": 14,
            "local_requests": 15, "local_bytes": 16, "collisions": 17, "barrier_wait": 18,
            "constant_requests": 19, "constant_bytes": 20, "texture_requests": 21, "texture_bytes": 22,
            "surface_requests": 23, "surface_bytes": 24,
        });
        assert_eq!(counts_json(&counts), expected);
    }
}
