//! `cargo xtask clients`: runs third-party software, with its own tests, on the emulator.
//!
//! | file | part |
//! |---|---|
//! | `list` | `xtask/clients.toml`: which software, with which tests |
//! | `python` | what pip installs, by pytest |
//! | `rust` | what cargo installs, by its unit tests |
//! | `verdict` | which failures are known, and the table |
//!
//! Everything comes from the package registries that pip and cargo are set up for, and stays in `target/clients/`.

mod list;
mod python;
mod rust;
mod verdict;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::Result;
use crate::cargo::{build, root};
use list::Client;
use verdict::Counts;

/// What the clients' programs run on.
struct Place {
    /// `cuda-launch`, which starts them; none if they run on a GPU.
    tool: Option<PathBuf>,
    /// `target/clients/NAME`.
    folder: PathBuf,
    /// The virtual environment, which may be another client's.
    environment: PathBuf,
    /// Every how many-th test is run, where the list is not to decide.
    every: Option<usize>,
}

impl Place {
    /// What starts a program there.
    fn command(&self, program: &Path) -> Command {
        let Some(tool) = &self.tool else { return Command::new(program) };
        let mut command = Command::new(tool);
        command.args(["emulate", "--"]).arg(program);
        command
    }
}

/// How a test ended, and what a failure said.
struct Outcome {
    test: String,
    kind: Kind,
    text: String,
}

/// Of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Passed,
    Failed,
    Skipped,
}

/// The client whose requirements are in the environment.
fn environment_of<'a>(client: &'a Client, all: &'a [Client]) -> Result<&'a Client> {
    let Some(name) = &client.environment else { return Ok(client) };
    let found = all.iter().find(|other| other.name == *name);
    found.ok_or_else(|| format!("clients: {}: no client {name:?} with an environment", client.name).into())
}

/// Starts a program and waits for it; `None` where the time is over before: then it is ended, with what it has started.
fn waited(command: &mut Command, end: Instant) -> Result<Option<ExitStatus>> {
    let mut child = command.process_group(0).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs the named clients, or all; prints what each answered as it ends, and a table behind the last. With `--gpu` on the driver of this machine,
/// for which nothing is expected.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (on_gpu, arguments) = match arguments {
        ["--gpu", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (every, names) = match arguments {
        ["--every", every, names @ ..] => (Some(every.parse()?), names),
        names => (None, names),
    };
    let clients = list::read(&root()?.join("xtask/clients.toml"))?;
    if let Some(unknown) = names.iter().find(|name| clients.iter().all(|client| client.name != **name)) {
        let known: Vec<&str> = clients.iter().map(|client| client.name.as_str()).collect();
        return Err(format!("clients: no client {unknown:?}; there are: {}", known.join(" ")).into());
    }
    let tools =
        if on_gpu { Vec::new() } else { build(&["build", "--release", "--package", "cuda-launch-cli"])? };
    let tool = tools.iter().find(|tool| tool.name == "cuda-launch").map(|tool| tool.path.clone());
    if tool.is_none() && !on_gpu {
        return Err("cargo built no tool".into());
    }
    let chosen = |client: &&Client| names.is_empty() || names.contains(&client.name.as_str());
    let (mut table, mut wrong) = (verdict::heading(), Vec::new());
    for client in clients.iter().filter(chosen) {
        println!("\n=== {}", client.name);
        let all = root()?.join("target/clients");
        let folder = all.join(&client.name);
        let environment = all.join(client.environment.as_ref().unwrap_or(&client.name)).join("venv");
        std::fs::create_dir_all(&folder)?;
        let place = Place { tool: tool.clone(), folder, environment, every };
        let packages = environment_of(client, &clients)?;
        let outcomes = match &client.package {
            Some(package) => {
                if !packages.pip.is_empty() {
                    python::installed(packages, &place)?;
                }
                rust::run(client, package, &place)?
            }
            None => python::run(client, packages, &place)?,
        };
        let counts = Counts::of(client, &outcomes);
        print!("{}", counts.failures());
        table += &counts.row(client, every);
        if !on_gpu {
            wrong.extend(counts.wrong(client, every));
        }
    }
    println!("\n{table}");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::waited;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_program_is_ended_with_what_it_started() {
        let minute = Instant::now() + Duration::from_secs(60);
        assert!(waited(&mut Command::new("true"), minute).unwrap().unwrap().success());
        // Both hold the pipe until they end.
        let (mut read, write) = std::io::pipe().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & sleep 1000"]).stdout(write);
        assert!(waited(&mut shell, Instant::now()).unwrap().is_none());
        drop(shell);
        assert_eq!(std::io::Read::read(&mut read, &mut [0]).unwrap(), 0);
    }
}
