//! `cargo xtask cost`: instructions of a warm launch and of what stands around it, counted by callgrind against a driver that does
//! nothing; calls of that driver, and of the heap.
//!
//! The bench runs twice with different numbers of launches; the difference divided by the number of launches more is the
//! cost of one. Functions named `noop_*` are the driver's and left out; the variant `empty` is the loop, subtracted.

pub(crate) mod emulator;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, cargo};

const FEW: u64 = 2_000;
const MANY: u64 = 12_000;

/// The limits of a variant for each iteration: instructions, driver calls, allocations and frees.
struct Limit(&'static str, f64, f64, f64);

/// The floor stands beside them for comparison.
const LIMITS: &[Limit] = &[
    Limit("function", 61.0, 1.0, 0.0),
    Limit("kernel-module", 79.0, 1.0, 0.0),
    // Whether each slice is ready for the stream, in one word.
    Limit("function-slices", 70.0, 1.0, 0.0),
    Limit("kernel-module-slices", 90.0, 1.0, 0.0),
    // Of two launches.
    Limit("two-readers", 148.0, 2.0, 0.0),
    // The stream of a thread, and one of more than have a bit in a word of memory: through the list behind the lock.
    Limit("per-thread", 146.0, 1.0, 0.0),
    Limit("stream-60", 1400.0, 1.0, 0.0),
    Limit("typed", 72.0, 1.0, 0.0),
    // Gathered before each launch, and dropped after it.
    Limit("builder", 241.0, 1.0, 0.0),
    Limit("builder-slices", 241.0, 1.0, 0.0),
    Limit("prepared", 90.0, 1.0, 0.0),
    // Each compares names and types.
    Limit("prepared-set-4", 300.0, 1.0, 0.0),
    Limit("name-at-run-time", 132.0, 1.0, 0.0),
    Limit("function-attribute", 95.0, 1.0, 0.0),
    Limit("function-cluster", 116.0, 1.0, 0.0),
    // Described, given to a chain, and submitted. The macro clones its kernel.
    Limit("async", 425.0, 1.0, 0.0),
    Limit("async-macro", 443.0, 1.0, 0.0),
    // Memory of a pool: an allocation and its free, the free such that no capture of other code minds it.
    Limit("alloc-drop", 536.0, 4.0, 2.0),
    Limit("alloc-address-drop", 1740.0, 4.0, 8.0),
    Limit("event-drop", 150.0, 3.0, 0.0),
    Limit("stream-drop", 1180.0, 3.0, 2.1),
    Limit("stream-10000", 1090.0, 3.0, 1.1),
    Limit("event-record", 108.0, 1.0, 0.0),
    Limit("synchronize", 95.0, 1.0, 0.0),
    // One launch on the stream that the thread keeps, and the wait, such that no capture of other code minds it.
    Limit("sync", 1720.0, 4.0, 6.0),
    Limit("await", 2290.0, 4.0, 8.0),
    // Of 24 kernels, read when one of them is asked for.
    Limit("module-ptx", 77_000.0, 4.0, 20.0),
    // Checked as a whole, for a driver crashes on what is wrong in one.
    Limit("module-cubin", 96_000.0, 4.0, 70.0),
];

/// Counts every variant, prints a table, and fails where a limit is passed.
pub(crate) fn run() -> Result<()> {
    let bench = build()?;
    let counts = output(Command::new(&bench).arg("count"))?;
    let counts: Vec<_> = counts.lines().filter_map(count).collect();
    let empty = instructions(&bench, "empty")?;
    let floor = instructions(&bench, "floor")? - empty;
    println!(
        "{:24} {:>12} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6}",
        "variant", "instructions", "x floor", "limit", "calls", "limit", "heap", "limit"
    );
    let mut passed = Vec::new();
    for (name, calls, heap) in counts.into_iter().filter(|(name, ..)| *name != "empty") {
        let cost = instructions(&bench, name)? - empty;
        let limit = LIMITS.iter().find(|limit| limit.0 == name);
        let [most, calls_most, heap_most] = limit
            .map_or(Default::default(), |limit| [limit.1, limit.2, limit.3].map(|most| format!("{most:.0}")));
        let ratio = cost / floor;
        println!(
            "{name:24} {cost:>12.1} {ratio:>8.2} {most:>6} {calls:>6.1} {calls_most:>6} {heap:>6.1} {heap_most:>6}"
        );
        passed.extend(limit.into_iter().flat_map(|limit| over(limit, cost, calls, heap)));
    }
    if passed.is_empty() { Ok(()) } else { Err(format!("over the limit: {}", passed.join(", ")).into()) }
}

/// Variant, calls of the driver and of the heap, of a line of the table that the bench prints.
fn count(line: &str) -> Option<(&str, f64, f64)> {
    let mut cells = line.split_whitespace();
    Some((cells.next()?, cells.next()?.parse().ok()?, cells.next()?.parse().ok()?))
}

/// Which limits are passed.
fn over(limit: &Limit, instructions: f64, calls: f64, heap: f64) -> Vec<String> {
    let name = limit.0;
    let all = [
        (instructions.round() > limit.1, "instructions"),
        (calls > limit.2, "calls of the driver"),
        (heap > limit.3, "heap"),
    ];
    all.into_iter().filter(|(over, _)| *over).map(|(_, what)| format!("{name} ({what})")).collect()
}

/// Builds the bench and returns its executable.
fn build() -> Result<PathBuf> {
    let built = cargo::build(&["bench", "--package", "cuda-launch-cost", "--no-run"])?;
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
    use super::{Limit, count, over, self_cost};

    #[test]
    fn calls_count_for_the_callee_only() {
        let text =
            "fn=(1) main\n16 5\n+1 2\ncfn=(2) noop_launch\ncalls=1 50\n+3 40\nfn=(2)\n50 40\nfn=(1)\n20 1\n";
        let costs = self_cost(text);
        assert_eq!((costs["main"], costs["noop_launch"]), (8, 40));
    }

    #[test]
    fn what_is_over_a_limit_is_named() {
        assert_eq!(count("async-chain   100.00  2.50"), Some(("async-chain", 100.0, 2.5)));
        assert_eq!(count("variant   driver calls   heap calls"), None);
        let limit = Limit("sync", 70.0, 2.0, 0.5);
        assert!(over(&limit, 70.4, 2.0, 0.5).is_empty());
        assert_eq!(over(&limit, 71.0, 2.0, 0.5), ["sync (instructions)"]);
        assert_eq!(over(&limit, 1.0, 2.1, 0.6), ["sync (calls of the driver)", "sync (heap)"]);
    }
}
