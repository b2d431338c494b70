//! The line of a kernel that runs for long, on a terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use support::{emulator_library, finished, scratch, tool};

/// Blocks that take some time each, and are too many to end.
const LONG: &str = "\
.version 7.8
.target sm_75
.address_size 64
.visible .entry long(.param .u32 n)
{
.reg .u32 %r<2>;
.reg .pred %p<2>;
    ld.param.u32 %r1, [n];
L:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra L;
    ret;
}
";

/// A kernel that is stopped after four seconds.
fn long(folder: &std::path::Path, grid: &str, turns: &str) -> Command {
    let file = folder.join("long.ptx");
    std::fs::write(&file, LONG).unwrap();
    let mut command = tool();
    command.arg("run").arg(file).args(["long", "--grid", grid, "--block", "32", "--arg", turns]);
    command.env("CUDA_LAUNCH_EMULATOR_TIMEOUT", "4").env_remove("CUDA_LAUNCH_QUIET");
    command
}

/// The two ends of a terminal.
#[allow(unsafe_code)]
fn terminal() -> (std::fs::File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: both places outlive the call; null is no name, no settings and no size, as POSIX systems document it.
    let code = unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), null.cast()) };
    assert_eq!(code, 0);
    // SAFETY: the call succeeded, so that both are open, and nobody else has them.
    unsafe { (std::fs::File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// What the command writes to standard error, which is a terminal: all, or until there is what is waited for, when it is killed.
fn seen(mut command: Command, until: Option<&str>) -> String {
    let (mut ours, theirs) = terminal();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::from(theirs)).spawn().unwrap();
    // Its end of the terminal.
    drop(command);
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // Linux answers an error where the other end is closed.
    while let Ok(count @ 1..) = ours.read(&mut part) {
        text.extend_from_slice(&part[..count]);
        if until.is_some_and(|until| String::from_utf8_lossy(&text).contains(until)) {
            child.kill().unwrap();
            break;
        }
    }
    child.wait().unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_long_kernel_shows_how_far_it_is() {
    let folder = scratch("progress");
    // Blocks that end, and one that does not.
    let many = seen(long(&folder, "1000000000", "u32:100"), Some(" left"));
    // A busy machine may show the first line late.
    let after = many.split_once(" of 1000000000 blocks, ").unwrap().1;
    assert!(after.split_once(" s, about ").unwrap().0.parse::<u32>().unwrap() >= 1, "{many:?}");
    assert!(!many.contains("long: 0 of "), "{many:?}");
    let one = seen(long(&folder, "1", "u32:0"), None);
    let lines = one.split("\r\x1b[K\x1b[?7llong: 0 of 1 blocks, ").skip(1);
    let seconds: Vec<u32> =
        lines.map(|line| line.split_once(" s\x1b[?7h").unwrap().0.parse().unwrap()).collect();
    assert!(seconds.is_sorted() && seconds[0] >= 1, "from the second second on: {one:?}");
    let span = 1 + seconds[seconds.len() - 1] - seconds[0];
    assert!(seconds.len() as u32 <= 4 * span, "at most a few times a second: {one:?}");
    // Erased at the end: what comes after the last line begins with that.
    assert!(one.rsplit_once("\x1b[?7h").unwrap().1.starts_with("\r\x1b[K"), "{one:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The program is one that does not ask for it: the tool, whose own emulator does not run here.
#[test]
fn a_program_on_the_emulator_shows_how_far_its_kernels_are() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("progress-emulate");
    for command in ["emulate", "harness"] {
        let kernel = long(&folder, "1000000000", "u32:100");
        let mut program = tool();
        program.args([command, "--"]).arg(kernel.get_program()).args(kernel.get_args());
        program.env("CUDA_LAUNCH_EMULATOR_TIMEOUT", "4").env_remove("CUDA_LAUNCH_QUIET");
        let shown = seen(program, Some(" of 1000000000 blocks, "));
        assert!(shown.contains("long: "), "{command}: {shown:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_is_shown_where_nobody_looks() {
    let folder = scratch("progress-quiet");
    let run = finished(&long(&folder, "1", "u32:0").output().unwrap());
    assert!(run.code == 1 && !run.err.contains("blocks"), "{}", run.err);
    let mut quiet = long(&folder, "1", "u32:0");
    quiet.env("CUDA_LAUNCH_QUIET", "1");
    let quiet = seen(quiet, None);
    assert!(!quiet.contains(" blocks,") && !quiet.contains('\x1b'), "{quiet:?}");
    let short = seen(long(&folder, "1", "u32:5"), None);
    assert_eq!(short, "", "a short kernel has no line");
    std::fs::remove_dir_all(folder).unwrap();
}
