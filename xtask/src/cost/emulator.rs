//! What the emulator takes for each instruction of a thread, counted by callgrind: the kernels of `benches/emulator_speed`, run once, small,
//! without checks, profile or schedules; an empty launch with its wait; and a variable of a module.

use std::path::Path;
use std::process::Command;

use super::output;
use crate::{Result, cargo};

/// What the bench is asked to do, and the most instructions of the processor for one of it.
const LIMITS: &[(&str, f64)] = &[
    ("matmul naive", 1.7),
    ("matmul tiled f32", 2.98),
    ("matmul tiled f64", 3.71),
    ("saxpy", 3.37),
    ("histogram", 4.95),
    ("scan", 3.83),
    ("mandelbrot f32", 3.24),
    ("mandelbrot f64", 4.5),
    ("n-body", 2.1),
    ("block reduction", 2.56),
    ("transpose", 2.76),
    ("bitonic", 8.14),
    ("local arrays", 6.64),
    ("branches", 5.97),
    ("shuffles", 4.28),
    ("device calls", 4.27),
    ("launch and wait", 11_000.0),
    ("variable of a module", 19_300.0),
];

/// Launches, or variables, in the two runs whose difference counts.
const FEW: u64 = 2_000;
const MANY: u64 = 22_000;

/// Counts each, prints a table, and fails where a limit is passed.
pub(crate) fn run() -> Result<()> {
    let built = cargo::build(&["bench", "--bench", "emulator_speed", "--no-run"])?;
    let bench = built.into_iter().find(|program| program.kind == "bench");
    let bench = bench.ok_or("cargo named no executable for the bench")?.path;
    println!("{:18} {:>12} {:>8}", "emulator", "instructions", "limit");
    let mut over = Vec::new();
    for &(name, most) in LIMITS {
        let cost = match name {
            "launch and wait" => one_more(&bench, "--launches")?,
            "variable of a module" => one_more(&bench, "--variables")?,
            kernel => of_kernel(&bench, kernel)?,
        };
        println!("{name:18} {cost:>12.2} {most:>8.2}");
        if cost > most {
            over.push(name);
        }
    }
    if over.is_empty() { Ok(()) } else { Err(format!("over the limit: {}", over.join(", ")).into()) }
}

/// For each instruction of a thread, in the code that runs blocks.
fn of_kernel(bench: &Path, name: &str) -> Result<f64> {
    let (said, total) = callgrind(bench, &["--toggle-collect=*grid::Work::run*"], ["--count", name])?;
    let instructions = instructions(&said).ok_or_else(|| format!("{name}: the bench says {said:?}"))?;
    Ok(total / instructions)
}

/// The number in `NAME: 2850816 instructions of threads`.
fn instructions(said: &str) -> Option<f64> {
    said.trim().strip_suffix(" instructions of threads")?.rsplit(' ').next()?.parse().ok()
}

/// For one of what the bench does as often as it is told to.
fn one_more(bench: &Path, what: &str) -> Result<f64> {
    let total = |count: u64| callgrind(bench, &[], [what, &count.to_string()]).map(|(_, total)| total);
    Ok((total(MANY)? - total(FEW)?) / (MANY - FEW) as f64)
}

/// What the bench prints, and the instructions that it took.
fn callgrind(bench: &Path, options: &[&str], arguments: [&str; 2]) -> Result<(String, f64)> {
    let file = std::env::temp_dir().join(format!("callgrind-{}-emulator", std::process::id()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", file.display()));
    let said = output(command.args(options).arg(bench).args(arguments))?;
    let counts = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let _ = std::fs::remove_file(&file);
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.ok_or_else(|| format!("{}: no totals", file.display()))?;
    Ok((said, total.trim().parse()?))
}

#[cfg(test)]
mod tests {
    use super::instructions;

    #[test]
    fn the_bench_says_how_many_instructions_threads_executed() {
        assert_eq!(instructions("matmul naive: 2850816 instructions of threads\n"), Some(2_850_816.0));
        assert_eq!(instructions("no such kernel"), None);
    }
}
