//! `cargo xtask gate flakes`: runs all tests repeatedly, on a machine that is busy with other programs.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::cargo::{cargo, run};

/// Programs that want all of a core, for each core.
const BUSY: usize = 4;

/// The default number of rounds.
pub(crate) const ROUNDS: u32 = 10;

/// Runs all tests that often; fails at the end if any round did.
pub(crate) fn flakes(rounds: u32) -> Result<()> {
    // Nothing is compiled beside the busy programs but what the tests compile themselves.
    run(&mut cargo(&["test", "--workspace", "--no-run"])?)?;
    let cores = std::thread::available_parallelism()?.get();
    let _busy: Vec<Busy> = (0..BUSY * cores).map(|_| Busy::new()).collect::<Result<_>>()?;
    let mut failed = Vec::new();
    for round in 1..=rounds {
        let start = Instant::now();
        let outcome = run(&mut cargo(&["test", "--workspace", "--no-fail-fast"])?);
        let word = if outcome.is_ok() { "passed" } else { "FAILED" };
        println!("=== flakes: round {round} of {rounds} {word}, {:.0} s", start.elapsed().as_secs_f64());
        failed.extend(outcome.is_err().then_some(round));
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {rounds} rounds failed: {failed:?}").into()),
    }
}

/// A process that does nothing as fast as it can, until this is dropped or this program ends.
struct Busy(Child);

impl Busy {
    fn new() -> Result<Busy> {
        let mut command = Command::new(std::env::current_exe()?);
        Ok(Busy(command.arg("busy").stdin(Stdio::piped()).spawn()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What such a process does: it ends when its parent closes the pipe, also by being killed.
pub(crate) fn busy() -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    loop {
        std::hint::spin_loop();
    }
}
