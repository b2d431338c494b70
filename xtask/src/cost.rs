//! `cargo xtask cost`: instructions of a warm launch, counted by callgrind against a driver that does nothing.
//!
//! The bench runs twice with different numbers of launches; the difference divided by the number of launches more is the
//! cost of one. Functions named `noop_*` are the driver's and left out; the variant `empty` is the loop, subtracted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, cargo};

const FEW: u64 = 2_000;
const MANY: u64 = 12_000;

/// Most instructions that each variant may take; the floor stands beside them for comparison.
const LIMITS: &[(&str, f64)] = &[
    ("function", 71.0),
    ("kernel-module", 102.0),
    // Whether each slice is ready for the stream, in one word.
    ("function-slices", 89.0),
    ("kernel-module-slices", 119.0),
    // Of two launches.
    ("two-readers", 180.0),
    ("typed", 90.0),
    // Gathered before each launch, and dropped after it.
    ("builder", 250.0),
    ("builder-slices", 250.0),
    ("prepared", 250.0),
    // Described, given to a chain, and submitted.
    ("async", 437.0),
    ("async-macro", 437.0),
];

/// Counts every variant, prints a table, and fails where a limit is passed or a launch with one uses the heap.
pub(crate) fn run() -> Result<()> {
    let bench = build()?;
    let names = output(Command::new(&bench).arg("list"))?;
    let empty = instructions(&bench, "empty")?;
    let floor = instructions(&bench, "floor")? - empty;
    println!("{:24} {:>12} {:>8} {:>6}", "variant", "instructions", "x floor", "limit");
    let mut passed = Vec::new();
    for name in names.lines().filter(|n| *n != "empty") {
        let cost = instructions(&bench, name)? - empty;
        let limit = LIMITS.iter().find(|(n, _)| *n == name).map(|(_, limit)| *limit);
        let shown = limit.map_or(String::new(), |l| format!("{l:.0}"));
        println!("{name:24} {cost:>12.1} {:>8.2} {shown:>6}", cost / floor);
        if limit.is_some_and(|l| cost.round() > l) {
            passed.push(name.to_string());
        }
    }
    passed.extend(heap_users(&output(Command::new(&bench).arg("count"))?));
    if passed.is_empty() { Ok(()) } else { Err(format!("over the limit: {}", passed.join(", ")).into()) }
}

/// The variants with a limit that use the heap, from a table of variant, driver calls and heap calls a launch. None may.
fn heap_users(counts: &str) -> Vec<String> {
    let mut users = Vec::new();
    for line in counts.lines() {
        let mut cells = line.split_whitespace();
        let (name, heap) =
            (cells.next().unwrap_or_default(), cells.nth(1).and_then(|calls| calls.parse().ok()));
        if LIMITS.iter().any(|(limited, _)| *limited == name) && heap != Some(0.0) {
            users.push(format!("{name} (heap calls)"));
        }
    }
    users
}

/// Builds the bench and returns its executable.
fn build() -> Result<PathBuf> {
    let built = cargo::build(&["bench", "--package", "cuda-launch", "--bench", "launch_cost", "--no-run"])?;
    let bench = built.into_iter().find(|program| program.kind == "bench");
    bench.map(|program| program.path).ok_or_else(|| "cargo named no executable for the bench".into())
}

fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(std::process::Stdio::inherit()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Instructions of one launch, those of the driver left out.
fn instructions(bench: &Path, variant: &str) -> Result<f64> {
    let few = total(bench, variant, FEW)?;
    let many = total(bench, variant, MANY)?;
    Ok((many - few) as f64 / (MANY - FEW) as f64)
}

fn total(bench: &Path, variant: &str, launches: u64) -> Result<i64> {
    let file = std::env::temp_dir().join(format!("callgrind-{}-{variant}-{launches}", std::process::id()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(bench).args(["loop", variant, &launches.to_string()]);
    output(&mut command)?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let _ = std::fs::remove_file(&file);
    Ok(self_cost(&text).iter().filter(|(name, _)| !name.contains("noop_")).map(|(_, cost)| cost).sum())
}

/// Self cost of each function in a file of callgrind's (format: "Callgrind Format Specification", valgrind manual).
fn self_cost(text: &str) -> HashMap<String, i64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut costs = HashMap::new();
    let (mut current, mut skip) = ("", false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = resolve(&mut names, name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            resolve(&mut names, name);
        } else if line.starts_with("calls=") {
            // The next line is the inclusive cost of the call.
            skip = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-' || c == '*') {
            let cost = line.split(' ').nth(1).and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
            if !std::mem::take(&mut skip) {
                *costs.entry(current.to_string()).or_insert(0) += cost;
            }
        }
    }
    costs
}

/// `(12) name` defines a short form, `(12)` uses it.
fn resolve<'a>(names: &mut HashMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    match text.split_once(' ') {
        Some((short, name)) => {
            names.insert(short, name);
            name
        }
        None => names.get(text).copied().unwrap_or(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{heap_users, self_cost};

    #[test]
    fn calls_count_for_the_callee_only() {
        let text =
            "fn=(1) main\n16 5\n+1 2\ncfn=(2) noop_launch\ncalls=1 50\n+3 40\nfn=(2)\n50 40\nfn=(1)\n20 1\n";
        let costs = self_cost(text);
        assert_eq!((costs["main"], costs["noop_launch"]), (8, 40));
    }

    #[test]
    fn a_launch_that_uses_the_heap_is_named() {
        let counts =
            "variant   driver calls   heap calls\nfunction 1.00 0.00\nasync 1.00 2.00\nfloor 1.00 3.00";
        assert_eq!(heap_users(counts), ["async (heap calls)"]);
    }
}
