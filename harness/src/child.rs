//! Runs one test again in a separate process: for tests that make CUDA unusable in their process, such as a kernel that faults on a
//! GPU; for settings that are read once per process, such as environment variables; and for tests of printed output.
//!
//! ```
//! use cuda_harness::child;
//!
//! // #[test]
//! fn a_kernel_that_faults() -> Result<(), cuda_harness::Error> {
//!     const NAME: &str = "a_kernel_that_faults"; // with the path of its module: `tests::a_kernel_that_faults`
//!     if !child::is_child(NAME) {
//!         let ended = child::run(NAME)?;
//!         assert_eq!(ended.code, Some(0), "{}", ended.stderr);
//!         return Ok(());
//!     }
//!     // .. what the separate process does
//!     Ok(())
//! }
//! ```

use crate::error::Error;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable with the name of the test, in the child.
const VARIABLE: &str = "CUDA_LAUNCH_TEST_CHILD";

/// A child that takes longer is killed.
const LIMIT: Duration = Duration::from_secs(60);

/// The time to read the last output of a child whose time is over.
const LAST: Duration = Duration::from_secs(1);

/// How a child ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output. Bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Whether this process is the child that runs the test of this name.
///
/// ```
/// assert!(!cuda_harness::child::is_child("a_kernel_that_faults"));
/// ```
pub fn is_child(test: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|name| name == test)
}

/// Runs the test of this name of this test program again, in a child where [`is_child`] returns true for it. It has a minute.
///
/// The name is the one that `cargo test` prints. If no test has this name, the child runs nothing and ends with code 0:
/// [`ran`](Ended::ran) then returns false. Output of processes that the child has started is awaited for the rest of
/// that minute.
///
/// # Errors
///
/// [`Error::NoChild`] if the process cannot be started, [`Error::ChildHangs`] if it did not end within a minute, and was killed.
pub fn run(test: &str) -> Result<Ended, Error> {
    run_on(test, &[], Stdio::null())
}

/// As [`run`], with these environment variables in addition.
///
/// # Errors
///
/// As for [`run`].
pub fn run_with(test: &str, variables: &[(&str, String)]) -> Result<Ended, Error> {
    run_on(test, variables, Stdio::null())
}

/// As [`run_with`], with this standard input.
///
/// # Errors
///
/// As for [`run`].
pub fn run_on(test: &str, variables: &[(&str, String)], input: Stdio) -> Result<Ended, Error> {
    run_limited(test, variables, input, LIMIT)
}

fn run_limited(
    test: &str,
    variables: &[(&str, String)],
    input: Stdio,
    limit: Duration,
) -> Result<Ended, Error> {
    let no_child = |error: std::io::Error| Error::NoChild { test: test.to_owned(), why: error.to_string() };
    let mut child = Command::new(std::env::current_exe().map_err(no_child)?)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(VARIABLE, test)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no_child)?;
    let (stdout, stderr) = (Printed::by(child.stdout.take()), Printed::by(child.stderr.take()));
    let start = Instant::now();
    let text = |printed: &Printed| printed.text(limit.saturating_sub(start.elapsed()).max(LAST));
    loop {
        if let Some(status) = child.try_wait().map_err(no_child)? {
            return Ok(Ended { code: status.code(), stdout: text(&stdout), stderr: text(&stderr) });
        }
        if start.elapsed() > limit {
            // It may have ended in the meantime; its output is reported either way.
            let _ = child.kill().and_then(|()| child.wait().map(drop));
            let (stdout, stderr) = (text(&stdout), text(&stderr));
            return Err(Error::ChildHangs { test: test.to_owned(), limit, stdout, stderr });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Ended {
    /// Whether there was a test of that name and it succeeded.
    pub fn ran(&self) -> bool {
        self.code == Some(0) && self.stdout.contains("running 1 test")
    }
}

/// The output of a child, read on a thread, so that a child that prints much is not blocked.
struct Printed {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Printed {
    fn by(pipe: Option<impl Read + Send + 'static>) -> Printed {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (sender, ended) = mpsc::channel();
        let place = bytes.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            if let Some(mut pipe) = pipe {
                while let Ok(count @ 1..) = pipe.read(&mut part) {
                    let part = part.get(..count).unwrap_or_default();
                    place.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
                }
            }
            // The receiver is gone if the time was over.
            let _ = sender.send(());
        });
        Printed { bytes, ended }
    }

    /// The whole output; or what there is after `patience`, because a process that the child has started may keep the pipe
    /// open for any time.
    fn text(&self, patience: Duration) -> String {
        let _ = self.ended.recv_timeout(patience);
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::{is_child, run_limited};
    use crate::error::Error;
    use std::process::Stdio;
    use std::time::Duration;

    #[test]
    fn a_child_that_hangs_is_killed() {
        const NAME: &str = "child::tests::a_child_that_hangs_is_killed";
        if is_child(NAME) {
            eprintln!("it begins");
            loop {
                std::thread::park();
            }
        }
        let limit = Duration::from_millis(500);
        match run_limited(NAME, &[], Stdio::null(), limit) {
            Err(Error::ChildHangs { test, limit: waited, .. }) => assert_eq!((&*test, waited), (NAME, limit)),
            other => panic!("{other:?}"),
        }
    }

    /// Such a process holds the pipe that the child prints to.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_outlives_the_child_is_not_awaited() {
        const NAME: &str = "child::tests::a_process_that_outlives_the_child_is_not_awaited";
        if is_child(NAME) {
            println!("\nprocess {}", std::process::Command::new("sleep").arg("60").spawn().unwrap().id());
            return;
        }
        let ended =
            run_limited(NAME, &[], Stdio::null(), Duration::from_secs(2)).unwrap_or_else(
                |error| match error {
                    // On a slow machine the child was killed, after it has printed.
                    Error::ChildHangs { stdout, stderr, .. } => super::Ended { code: None, stdout, stderr },
                    other => panic!("{other:?}"),
                },
            );
        let number = ended.stdout.lines().find_map(|line| line.strip_prefix("process "));
        let Some(number) = number else { return assert_eq!(ended.code, None) };
        assert!(std::path::Path::new("/proc").join(number).exists(), "it was awaited");
        assert!(std::process::Command::new("kill").arg(number).status().unwrap().success());
    }
}
