//! Runs a program once for each of its driver calls, with that call failing, and counts what comes of it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// What the program ends with if an error reaches it.
pub(crate) const TOLD: u8 = 3;

/// What came of the failures of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) calls: usize,
    /// The program got an error, or did not.
    pub(crate) told: usize,
    pub(crate) untold: usize,
    /// It ended otherwise: a panic, a signal.
    pub(crate) broken: usize,
    /// Failures after which something was not given back, by what it was.
    pub(crate) left: BTreeMap<String, usize>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { calls, told, untold, broken, left } = self;
        write!(f, "{calls} | {told} | {untold} | {broken} | ")?;
        let left: Vec<String> = left.iter().map(|(what, times)| format!("{what}: {times}")).collect();
        f.write_str(&left.join(", "))
    }
}

/// Runs the program with each of its calls failing. `start` starts it with these variables.
pub(crate) fn every_failure(
    log: &Path,
    start: impl Fn(&[(&str, &str)]) -> io::Result<Output>,
) -> Result<BTreeMap<String, Row>, Box<dyn Error>> {
    let calm = start(&[("CUDA_LAUNCH_HARNESS_LOG", &log.to_string_lossy())])?;
    if !calm.status.success() {
        return Err(format!("it fails anyway: {}", String::from_utf8_lossy(&calm.stderr)).into());
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    // `#7 [thread 1, 0.123 ms] cuMemAlloc_v2(..)`
    for line in std::fs::read_to_string(log)?.lines() {
        let call = line
            .split_once("] ")
            .and_then(|(_, call)| call.split_once('('))
            .filter(|_| line.starts_with('#'));
        let Some((function, _)) = call else { continue };
        let row = rows.entry(function.to_owned()).or_default();
        row.calls += 1;
        let fault = format!("{function}@{}=OUT_OF_MEMORY", row.calls);
        let run = start(&[("CUDA_LAUNCH_HARNESS_FAIL", &fault), ("CUDA_LAUNCH_HARNESS_LEAKS", "1")])?;
        match run.status.code() {
            Some(0) => row.untold += 1,
            Some(code) if code == i32::from(TOLD) => row.told += 1,
            _ => row.broken += 1,
        }
        // `live: memory#1 (4000 bytes), created by call 20, cuMemAllocAsync`
        for left in
            String::from_utf8_lossy(&run.stderr).lines().filter_map(|line| line.strip_prefix("live: "))
        {
            *row.left.entry(left.split('#').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    Ok(rows)
}

/// The program, if there is an argument; otherwise a table of what it does where a call fails.
pub(crate) fn main_of(program: fn() -> Result<(), Box<dyn Error>>) -> ExitCode {
    if std::env::args().nth(1).is_some() {
        return match program() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(TOLD)
            }
        };
    }
    let log = std::env::temp_dir().join(format!("every-failure-{}.log", std::process::id()));
    let start = |variables: &[(&str, &str)]| {
        Command::new(std::env::current_exe()?).arg("program").envs(variables.iter().copied()).output()
    };
    let rows = every_failure(&log, start);
    let _ = std::fs::remove_file(log);
    match rows {
        Ok(rows) => {
            println!(
                "| function | calls | reported | not reported | panics | left behind |\n|---|---|---|---|---|---|"
            );
            rows.iter().for_each(|(function, row)| println!("| `{function}` | {row} |"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
