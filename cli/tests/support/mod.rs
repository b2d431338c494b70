//! Runs the tool that was built, in the folder of the workspace, on the emulator.
#![allow(dead_code)] // each test file uses a part of it

#[path = "../../../tests/kernel_files/mod.rs"]
mod kernel_files;

use cuda_harness::or_skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The file of the tool.
pub(crate) const TOOL: &str = env!("CARGO_BIN_EXE_cuda-launch");

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A folder for what this test writes.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The tool, with nothing of this machine's settings.
pub(crate) fn tool() -> Command {
    settled(Command::new(TOOL))
}

/// The same; it is ended when it has used a processor for so long, however busy the machine is with other things.
pub(crate) fn tool_within(seconds: u32) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -t {seconds} && exec \"$0\" \"$@\""), TOOL]);
    settled(command)
}

fn settled(mut command: Command) -> Command {
    command
        .current_dir(root())
        .env("CUDA_LAUNCH_DRIVER", "emulator")
        .env("CUDA_LAUNCH_EMULATOR_MEMORY", "2G");
    for name in [
        "CLICOLOR_FORCE",
        "COLUMNS",
        "CUDA_VISIBLE_DEVICES",
        "CUDA_EMULATOR_DEVICES",
        "CUDA_LAUNCH_EMULATOR_DEVICES",
        "CUDA_LAUNCH_EMULATOR_CHECK",
        "CUDA_LAUNCH_EMULATOR_SCHEDULES",
        "CUDA_LAUNCH_EMULATOR_SEED",
    ] {
        command.env_remove(name);
    }
    command
}

/// The recorder, which cargo builds with the tool; `None` on a machine that only runs tests.
pub(crate) fn recorder() -> Option<PathBuf> {
    let built = option_env!("CARGO_BIN_EXE_cuda-launch-recorder").map(PathBuf::from);
    or_skip(built.filter(|file| file.exists()), "the recorder is not here")
}

/// The emulator's library, which cargo builds with the tool, too.
pub(crate) fn emulator_library() -> Option<PathBuf> {
    let built = option_env!("CARGO_BIN_EXE_cuda-launch-emulator").map(PathBuf::from);
    or_skip(built.filter(|file| file.exists()), "the emulator's library is not here")
}

/// A program or a library made of C; `None` where there is no compiler.
pub(crate) fn compiled(folder: &Path, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let (file, made) = (folder.join(name).with_extension("c"), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut command = Command::new("cc");
    command.args(["-o"]).arg(&made).arg(&file).args(options).arg("-ldl");
    let output = or_skip(command.output().ok(), "there is no C compiler here")?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(made)
}

/// What a run of the tool leaves.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(arguments: &[&str]) -> Run {
    finished(&tool().args(arguments).output().unwrap())
}

/// The same, as on a terminal of so many columns.
pub(crate) fn run_in(columns: u32, arguments: &[&str]) -> Run {
    finished(&tool().args(arguments).env("COLUMNS", columns.to_string()).output().unwrap())
}

pub(crate) fn finished(output: &Output) -> Run {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let err = text(&output.stderr);
    assert!(!err.contains("panicked"), "{err}");
    Run { code: output.status.code().expect("ended by a signal"), out: text(&output.stdout), err }
}

/// The answer of a command with `--json`.
pub(crate) fn json(arguments: &[&str]) -> (i32, serde_json::Value) {
    let run = run(&[arguments, &["--json"]].concat());
    let value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}{}", run.out, run.err));
    (run.code, value)
}

/// Every kernel image of the tree.
pub(crate) fn images() -> Vec<PathBuf> {
    kernel_files::all(&root())
}

impl Run {
    /// Whether these words stand on standard error, wherever its lines end.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
    }
}
