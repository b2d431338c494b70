//! `cargo xtask gate build`: checks that the build of a program without features stays within limits.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::Result;
use crate::cargo::{cargo, root};

/// Crates that it takes beside the program itself.
const MOST_CRATES: usize = 12;
/// The stripped program, in KiB, with x86-64's instructions; 798 where the path of the sources, which it contains, is short.
const MOST_KIB: u64 = 806;

/// A kernel, buffers, a stream, `cuda_launch!` and errors: what nearly every program has.
const PROGRAM: &str = include_str!("build/user.rs");

/// Builds the program and all it takes anew, prints what that costs, and fails over the limits.
pub(crate) fn check() -> Result<()> {
    let folder = root()?.join("target/user");
    write(&folder)?;
    println!("{:8} {:>6} {:>12} {:>13}", "profile", "crates", "KiB stripped", "CPU seconds");
    let (crates, _) = build(&folder, "dev")?;
    let (_, bytes) = build(&folder, "release")?;
    let kib = bytes.div_ceil(1024);
    if crates > MOST_CRATES {
        return Err(format!("it takes {crates} crates; at most {MOST_CRATES} are allowed").into());
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) && kib > MOST_KIB {
        return Err(format!("it has {kib} KiB; at most {MOST_KIB} are allowed").into());
    }
    Ok(())
}

/// The package, as somebody else would have it: in no workspace, with no profile but for the symbols.
fn write(folder: &Path) -> Result<()> {
    // Nothing may be there from the last time.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"user\"\nedition = \"2024\"\n[dependencies]\ncuda-launch.path = {:?}\n[workspace]\n\
         [profile]\ndev.strip = true\nrelease.strip = true\n",
        root()?
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/main.rs"), PROGRAM)?;
    std::fs::copy(root()?.join("examples/kernels/vecadd.ptx"), folder.join("src/vecadd.ptx"))?;
    std::fs::copy(root()?.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// Crates and bytes of the program, built one crate at a time.
fn build(folder: &Path, profile: &str) -> Result<(usize, u64)> {
    let before = children_ticks();
    let mut command = cargo(&["build", "--jobs=1", "--message-format=json", "--profile", profile])?;
    // The settings for this workspace's own builds are none of a user's.
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target")).stderr(Stdio::inherit());
    for variable in ["RUSTFLAGS", "CARGO_PROFILE_DEV_DEBUG", "CARGO_INCREMENTAL"] {
        command.env_remove(variable);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("cargo build of {}: {}", folder.display(), output.status).into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let program = executable(&messages)?.ok_or("cargo named no program")?;
    let (crates, bytes) = (crates(&messages)?, std::fs::metadata(program)?.len());
    let seconds = before.zip(children_ticks()).map(|(before, after)| (after - before) as f64 / 100.0);
    let seconds = seconds.map_or("?".into(), |seconds| format!("{seconds:.1}"));
    println!("{profile:8} {crates:>6} {:>12} {seconds:>13}", bytes.div_ceil(1024));
    Ok((crates, bytes))
}

/// The packages that cargo reports to have built, without the program's own (the Cargo book, "External tools", artifact messages).
fn crates(messages: &str) -> Result<usize> {
    let mut packages = BTreeSet::new();
    for message in messages.lines() {
        let message: Value = serde_json::from_str(message)?;
        if message["reason"] == "compiler-artifact" && message["executable"].is_null() {
            packages.extend(message["package_id"].as_str().map(str::to_string));
        }
    }
    Ok(packages.len())
}

/// The program among what cargo built.
fn executable(messages: &str) -> Result<Option<String>> {
    let messages: Vec<Value> =
        messages.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    Ok(messages.iter().find_map(|message| message["executable"].as_str()).map(str::to_string))
}

/// User time of the children that have ended, in hundredths of a second (`cutime` of proc_pid_stat(5)); only on Linux.
fn children_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name, is in parentheses; `cutime` is the 16th.
    stat.rsplit_once(") ")?.1.split(' ').nth(13)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{crates, executable};

    #[test]
    fn crates_are_counted_once_and_without_the_program() {
        let library = r#"{"reason":"compiler-artifact","package_id":"a","executable":null}"#;
        let script = r#"{"reason":"build-script-executed","package_id":"b"}"#;
        let program = r#"{"reason":"compiler-artifact","package_id":"user","executable":"t/user"}"#;
        let all = [library, library, script, program].join("\n");
        assert_eq!(crates(&all).unwrap(), 1);
        assert_eq!(executable(&all).unwrap().as_deref(), Some("t/user"));
        assert_eq!(executable(library).unwrap(), None);
    }
}
