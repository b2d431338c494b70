//! `cargo xtask mutants`: whether the tests notice when the code is wrong.
//!
//! cargo-mutants changes one expression or function at a time, and the tests that belong to its file must fail. What it changes
//! is a copy of the tree in `target/mutants/`, which keeps what it builds: a mutant takes one build of the library and the run of
//! a few test programs.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::root;
use crate::tool::pinned;
use plan::Plan;

/// What cargo-mutants ends with where it tried all mutants: all caught, some missed, some that did not end.
const TRIED: [Option<i32>; 3] = [Some(0), Some(2), Some(3)];

/// What became of the mutants of some files.
#[derive(Debug, Default)]
struct Outcome {
    /// Also those whose tests did not end in time.
    caught: usize,
    /// Did not compile.
    unviable: usize,
    /// As cargo-mutants names them: `src/a.rs:1:2: replace x with y in f`.
    missed: Vec<String>,
}

impl Outcome {
    /// Reads the lists that cargo-mutants leaves in a folder.
    fn read(folder: &Path) -> Result<Outcome> {
        let list = |name: &str| -> Result<Vec<String>> {
            Ok(fs::read_to_string(folder.join(name))?.lines().map(str::to_owned).collect())
        };
        Ok(Outcome {
            caught: list("caught.txt")?.len() + list("timeout.txt")?.len(),
            unviable: list("unviable.txt")?.len(),
            missed: list("missed.txt")?,
        })
    }

    fn add(&mut self, other: Outcome) {
        self.caught += other.caught;
        self.unviable += other.unviable;
        self.missed.extend(other.missed);
    }

    /// Of those that compile.
    fn percent(&self) -> f64 {
        match self.caught + self.missed.len() {
            0 => 100.0,
            viable => 100.0 * self.caught as f64 / viable as f64,
        }
    }
}

/// Which mutants are tried.
#[derive(Debug, Default, PartialEq)]
struct Chosen<'a> {
    /// How the paths of their files begin.
    only: &'a str,
    shard: Option<Shard>,
}

/// Of each so many mutants one: an even sample of every file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shard {
    /// From 0.
    number: usize,
    of: usize,
}

impl Shard {
    fn read(text: &str) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let (number, of) = (number.parse().ok()?, of.parse().ok()?);
        (number < of).then_some(Self { number, of })
    }

    /// That of the group of files with this number: of groups with fewer mutants than there are shards, each shard has some.
    fn of_group(self, group: usize) -> Self {
        Self { number: (self.number + group) % self.of, ..self }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.number, self.of)
    }
}

impl<'a> Chosen<'a> {
    fn read(mut options: &[&'a str]) -> Result<Self> {
        let mut chosen = Self::default();
        while let [option, value, rest @ ..] = options {
            match *option {
                "--in" => chosen.only = value,
                "--shard" => {
                    let shard =
                        Shard::read(value).ok_or_else(|| format!("mutants: --shard {value}: K/N, K < N"))?;
                    chosen.shard = Some(shard);
                }
                _ => break,
            }
            options = rest;
        }
        match options {
            [] => Ok(chosen),
            [option, ..] => Err(format!("mutants: what is {option}? [--in PATH] [--shard K/N]").into()),
        }
    }
}

/// Tries the mutants that the options choose, or all; fails where too few are caught, or where one is missed that is not on the
/// list of those that are accepted.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let chosen = Chosen::read(options)?;
    let root = root()?;
    let plan = Plan::read(&fs::read_to_string(root.join("xtask/mutants.toml"))?)?;
    let work = root.join("target/mutants");
    let files = copy(root, &work.join("tree"))?;
    let version_arguments = ["mutants", "--version"];
    let own = root.join("target/xtask");
    let tool = pinned(&own, "cargo-mutants", "cargo-mutants", &plan.version, &version_arguments)?;
    let (mut table, mut unlisted, mut poor, mut begun) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for folder in &plan.folders {
        let all = files.iter().filter(|file| folder.has(file)).collect::<Vec<_>>();
        if all.is_empty() {
            return Err(format!("xtask/mutants.toml: {} has no file", folder.name).into());
        }
        let groups = plan.by_tests(all.into_iter().filter(|file| file.starts_with(chosen.only)))?;
        if groups.is_empty() {
            continue;
        }
        let mut sum = Outcome::default();
        for (tests, files) in groups {
            let shard = chosen.shard.map(|shard| shard.of_group(begun));
            sum.add(one(&tool, &work, &files, tests, &plan, shard)?);
            begun += 1;
        }
        let (listed, others): (Vec<_>, Vec<_>) = sum.missed.iter().partition(|m| plan.accepts(m));
        let (percent, counts) = (sum.percent(), [sum.caught, sum.missed.len(), listed.len(), sum.unviable]);
        let [caught, missed, listed, unviable] = counts.map(|count| count.to_string());
        table.push(format!(
            "{:16} {caught:>7} {missed:>7} {listed:>7} {unviable:>9} {percent:>7.1}",
            folder.name
        ));
        if percent < plan.percent {
            poor.push(folder.name.as_str());
        }
        unlisted.extend(others.into_iter().cloned());
    }
    if table.is_empty() {
        return Err(format!("no file of xtask/mutants.toml begins with {}", chosen.only).into());
    }
    println!(
        "\n{:16} {:>7} {:>7} {:>7} {:>9} {:>7}",
        "folder", "caught", "missed", "listed", "unviable", "%"
    );
    table.iter().for_each(|line| println!("{line}"));
    unlisted.iter().for_each(|mutant| println!("missed: {mutant}"));
    verdict(&poor, unlisted.len(), plan.percent)
}

fn verdict(poor: &[&str], unlisted: usize, percent: f64) -> Result<()> {
    match (poor, unlisted) {
        ([], 0) => Ok(()),
        ([], count) => Err(format!(
            "{count} missed: write a test that fails, or add each to xtask/mutants.toml with the reason"
        )
        .into()),
        (poor, _) => Err(format!("under {percent} %: {}", poor.join(" ")).into()),
    }
}

/// Runs cargo-mutants over files that have the same tests.
fn one(
    tool: &Path,
    work: &Path,
    files: &BTreeSet<&str>,
    tests: &str,
    plan: &Plan,
    shard: Option<Shard>,
) -> Result<Outcome> {
    let output = work.join("out");
    let mut command = Command::new(tool);
    command.args(["mutants", "--in-place", "--no-shuffle", "--colors", "never", "--package", "cuda-launch"]);
    command.arg("--dir").arg(work.join("tree")).arg("--output").arg(&output);
    // Not `--timeout`, which also ends the tests without a mutant: at least so long, and five times what those take.
    command.args(["--minimum-test-timeout", &plan.seconds.to_string()]);
    command.args(files.iter().flat_map(|file| ["--file", file]));
    command.args(plan.excluded.iter().flat_map(|mutants| ["--exclude-re", mutants]));
    if let Some(shard) = shard {
        // Round-robin: every shard has some of each file.
        command.args(["--sharding", "round-robin", "--shard", &shard.to_string()]);
    }
    // Arguments after `--` would choose what is run, but not what is built.
    command.args(tests.split_whitespace().map(|test| match (test, test.strip_prefix("feature:")) {
        (_, Some(feature)) => format!("--features={feature}"),
        ("lib", _) => "--cargo-arg=--lib".to_owned(),
        _ => format!("--cargo-arg=--test={test}"),
    }));
    println!("\n=== {} with {tests}", files.iter().copied().collect::<Vec<_>>().join(" "));
    // Incremental: all but the first build changes one function.
    command.env("CARGO_TARGET_DIR", work.join("build")).env("CARGO_INCREMENTAL", "1");
    // Nobody reads a backtrace of a mutant, and lines of functions below the change would change with it.
    command.env("CARGO_PROFILE_DEV_DEBUG", "none");
    command.env("CUDA_LAUNCH_DRIVER", "emulator");
    let status = command.status().map_err(|error| format!("{}: {error}", tool.display()))?;
    if !TRIED.contains(&status.code()) {
        return Err(format!("cargo-mutants: {status}; do the tests pass without a mutant?").into());
    }
    let output = output.join("mutants.out");
    has_space(&output.join("log"))?;
    Outcome::read(&output)
}

/// An error where the disk was full: cargo-mutants takes that for a mutant that does not compile.
fn has_space(logs: &Path) -> Result<()> {
    for log in fs::read_dir(logs)? {
        let log = log?.path();
        if String::from_utf8_lossy(&fs::read(&log)?).contains("No space left on device") {
            return Err(format!("the disk was full: {}", log.display()).into());
        }
    }
    Ok(())
}

/// Makes `to` a copy of the files that git knows or would add; files that are the same stay untouched, for cargo. Their paths.
fn copy(from: &Path, to: &Path) -> Result<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(from);
    let listed = crate::wheels::run(&mut git)?;
    let exist = |path: &&str| from.join(path).is_file();
    let files: BTreeSet<_> = listed.split_terminator('\0').filter(exist).map(str::to_owned).collect();
    for file in &files {
        let (source, target) = (from.join(file), to.join(file));
        let bytes = fs::read(&source)?;
        if fs::read(&target).is_ok_and(|there| there == bytes) {
            continue;
        }
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::write(target, bytes)?;
    }
    remove_others(to, to, &files)?;
    Ok(files)
}

/// Removes what an earlier copy had.
fn remove_others(root: &Path, folder: &Path, files: &BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.is_dir() {
            remove_others(root, &path, files)?;
        } else if path.strip_prefix(root).is_ok_and(|path| !files.contains(&*path.to_string_lossy())) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Files by the tests that they have in common.
type ByTests<'p, 'f> = BTreeMap<&'p str, BTreeSet<&'f str>>;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{BTreeSet, Chosen, Outcome, Shard, verdict};

    #[test]
    fn the_options_choose() {
        assert_eq!(Chosen::read(&[]).unwrap(), Chosen { only: "", shard: None });
        let both = Chosen::read(&["--shard", "0/8", "--in", "src/a"]).unwrap();
        assert_eq!(both, Chosen { only: "src/a", shard: Some(Shard { number: 0, of: 8 }) });
        assert!(Chosen::read(&["--shard", "8/8"]).is_err() && Chosen::read(&["--shard", "8"]).is_err());
        assert!(Chosen::read(&["--in"]).unwrap_err().to_string().contains("--in?"));
        assert!(Chosen::read(&["--inn", "src/a"]).is_err());
    }

    #[test]
    fn the_shards_of_a_group_are_all_of_it() {
        let (mut all, last) = (BTreeSet::new(), Shard { number: 2, of: 3 });
        all.extend((0..3).map(|number| Shard { number, of: 3 }.of_group(7).to_string()));
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["0/3", "1/3", "2/3"]);
        assert_eq!(
            (last.of_group(0).to_string(), last.of_group(1).to_string()),
            ("2/3".into(), "0/3".into())
        );
    }

    #[test]
    fn what_is_missed_counts_against_what_compiles() {
        let outcome = Outcome { caught: 19, unviable: 70, missed: vec!["m".into()] };
        assert!((outcome.percent() - 95.0).abs() < 1e-9);
        assert!((Outcome::default().percent() - 100.0).abs() < 1e-9);
        verdict(&[], 0, 95.0).unwrap();
        assert!(verdict(&[], 1, 95.0).unwrap_err().to_string().contains("1 missed"));
        assert!(verdict(&["a"], 0, 95.0).unwrap_err().to_string().contains("under 95 %: a"));
    }
}
