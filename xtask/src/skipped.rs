//! Tests that were skipped because something is not on this machine: each adds a line to a file (`harness/src/skip.rs`).

#[cfg(test)]
mod returns;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::run;

/// Runs tests, and prints at the end which of them were skipped, and why.
pub(crate) fn told(root: &Path, tests: &mut Command) -> Result<()> {
    let file: PathBuf = root.join("target/xtask/skipped.txt");
    fs::create_dir_all(root.join("target/xtask"))?;
    fs::write(&file, "")?;
    run(tests.env("CUDA_LAUNCH_TEST_SKIPPED", &file))?;
    print!("{}", summary(&fs::read_to_string(file)?));
    Ok(())
}

/// The tests by the reason, from lines `skipped: file::test: why`. A test that runs itself again says it twice.
fn summary(lines: &str) -> String {
    let mut reasons = BTreeMap::<&str, BTreeSet<&str>>::new();
    for line in lines.lines().filter_map(|line| line.strip_prefix("skipped: ")) {
        let (test, why) = line.split_once(": ").unwrap_or((line, "no reason"));
        reasons.entry(why).or_default().insert(test);
    }
    let tests: BTreeSet<_> = reasons.values().flatten().collect();
    let mut text = format!("=== tests that were skipped, or a part of them: {}\n", tests.len());
    for (why, tests) in reasons {
        text += &format!("{:5}  {why}\n", tests.len());
        tests.iter().for_each(|test| text += &format!("         {test}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn tests_are_counted_once_and_stand_below_their_reason() {
        let lines = "skipped: peer::a: one device\nskipped: nvrtc::b: not here: /x\nskipped: peer::a: one device\n\
                     skipped: peer::c: one device\n";
        let expected = "=== tests that were skipped, or a part of them: 3\n    1  not here: /x\n         nvrtc::b\n    \
                        2  one device\n         peer::a\n         peer::c\n";
        assert_eq!(summary(lines), expected);
        assert_eq!(summary(""), "=== tests that were skipped, or a part of them: 0\n");
    }
}
