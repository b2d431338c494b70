//! A program that uses cudarc, run once for each of its driver calls with that call failing: how does it react, and what does it leak?
//!
//! It starts itself, with the variables of the emulator's library, so that a run that panics does not affect the others.
//!
//! ```console
//! $ cargo build -p cuda-launch-interop --example every_failure
//! $ cuda-launch harness -- target/debug/examples/every_failure
//! ```

#![allow(unsafe_code)] // Vouches for the arguments of a launch.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// What the program ends with if an error reaches it.
pub(crate) const TOLD: u8 = 3;

/// The program that is tested.
pub(crate) fn saxpy() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(include_str!("../kernels/saxpy.ptx")))?;
    let saxpy = module.load_function("saxpy")?;
    let x = stream.clone_htod(&[1.0f32; 1000])?;
    let mut y = stream.clone_htod(&[3.0f32; 1000])?;
    let (count, factor) = (1000u32, 2.0f32);
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&count).arg(&factor).arg(&x).arg(&mut y);
    // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats; 3, 4: the builder borrows, keeps and
    // orders both buffers; 5: it writes floats; 6: it ends.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?;
    let result = stream.clone_dtoh(&y)?;
    stream.synchronize()?;
    if result == [5.0; 1000] { Ok(()) } else { Err("a wrong result".into()) }
}

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

#[allow(dead_code)] // A test calls the parts.
fn main() -> ExitCode {
    if std::env::args().nth(1).is_some() {
        return match saxpy() {
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
