//! Runs one test of this program again, in a process of its own: for what ends CUDA in a process, and for what is printed.

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const VARIABLE: &str = "CUDA_LAUNCH_TEST_CHILD";

/// A child that hangs is ended after this; the slowest takes a few seconds, under a sanitizer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a child process left.
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Whether this process is the child for the test of this name.
pub fn is_child(test: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|name| name == test)
}

/// Runs the test `test` again in a child, where [`is_child`] says so.
pub fn run(test: &str) -> Ended {
    run_with(test, &[])
}

/// [`run`] with these variables set as well.
pub fn run_with(test: &str, variables: &[(&str, String)]) -> Ended {
    run_on(test, variables, Stdio::null())
}

/// [`run_with`] with this standard input.
pub fn run_on(test: &str, variables: &[(&str, String)], input: Stdio) -> Ended {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(VARIABLE, test)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{test}: the child hangs\n{}\n{}", stdout.join().unwrap(), stderr.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ended { code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Reads on a thread, so that a child that prints much is not held up.
fn read(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
