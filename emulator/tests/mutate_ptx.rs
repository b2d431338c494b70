//! What ptxas refuses is refused when a module is loaded, and what it takes is not: over the PTX of this repository and of a folder, each file
//! changed in one place, and over single instructions of all kinds, each changed itself. `cargo xtask mutate-ptx` fetches ptxas 13.0 and runs
//! this, which takes some minutes:
//!
//! `PTXAS=path CUDA_LAUNCH_CORPUS=FOLDER cargo test -p cuda-emulator --test mutate_ptx -- --ignored --nocapture --test-threads=1`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod mutation_support;

use cuda_emulator::engine::{LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use mutation_support::{Random, change, singles};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The longest file, in bytes: longer ones take ptxas too long.
const LONGEST: u64 = 40_000;
/// Files of the folder: its first ones have most of what the others have.
const MOST_FILES: usize = 400;
/// Functions of the device runtime: ptxas leaves these to the linker, where [`Program::load`] must have them.
const LINKED: &str = ".extern .func  (.param .b32 func_retval0) cudaGraph";
/// Examples that are printed for each cause.
const EXAMPLES: usize = 6;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            files(&path, found);
        } else if name.ends_with(".ptx") && path.metadata().unwrap().len() < LONGEST {
            found.push(path);
        }
    }
}

/// Whether ptxas takes a file; else its first message. `None` where it crashes, which is no answer.
fn assembles(ptxas: &str, path: &Path) -> Option<Result<(), String>> {
    let mut command = Command::new(ptxas);
    let output =
        command.args(["-arch=sm_90a", "-o", "/dev/null"]).arg(path).stdin(Stdio::null()).output().unwrap();
    let errors =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let first = errors.lines().find(|line| line.contains("error") || line.contains("fatal"));
    output.status.code()?;
    Some(if output.status.success() { Ok(()) } else { Err(first.unwrap_or_default().to_owned()) })
}

fn loads(text: &str) -> Result<(), String> {
    let memory = Arc::new(Memory::new(1 << 30));
    match Program::load(text, &memory) {
        Err(failure) if failure.kind != LoadFailureKind::Unsupported => Err(failure.to_string()),
        _ => Ok(()),
    }
}

/// The files that ptxas takes, as text; what is refused here of them.
fn corpus(ptxas: &str) -> (Vec<String>, Vec<String>) {
    let mut found = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), &mut found);
    found.sort();
    if let Some(folder) = std::env::var_os("CUDA_LAUNCH_CORPUS") {
        let mut more = Vec::new();
        files(Path::new(&folder), &mut more);
        more.sort();
        let step = more.len().div_ceil(MOST_FILES).max(1);
        found.extend(more.into_iter().step_by(step));
    }
    let (mut texts, mut refused) = (Vec::new(), Vec::new());
    for path in &found {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if !text.contains(LINKED) && assembles(ptxas, path) == Some(Ok(())) {
            if let Err(message) = loads(&text) {
                refused.push(format!("{}: {message}", path.display()));
            }
            texts.push(text);
        }
    }
    (texts, refused)
}

/// A message without names and numbers.
fn cause(message: &str) -> String {
    let message = message.rsplit(';').next().unwrap_or_default();
    let message = message.split_once(':').map_or(message, |(_, rest)| rest).trim();
    let mut quoted = false;
    message.split(['\'', '`']).fold(String::new(), |mut text, part| {
        text.push_str(if quoted { "_" } else { part });
        quoted = !quoted;
        text
    })
}

/// Examples by cause, the most frequent first.
fn print(title: &str, examples: &BTreeMap<String, Vec<String>>) {
    let mut causes: Vec<_> = examples.iter().collect();
    causes.sort_by_key(|(_, examples)| std::cmp::Reverse(examples.len()));
    println!("{title}: {}", causes.iter().map(|(_, examples)| examples.len()).sum::<usize>());
    for (cause, examples) in causes {
        println!("  {} {cause}", examples.len());
        examples.iter().take(EXAMPLES).for_each(|example| println!("      {example}"));
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise)
}

/// A changed text: which kind of change it is, the line that differs, and the text.
struct Mutant {
    what: &'static str,
    line: String,
    text: String,
}

/// What became of changed texts, as many as `CUDA_LAUNCH_MUTANTS` says that ptxas refuses.
struct Verdicts {
    refused: u64,
    taken: u64,
    /// Those that are taken here, and those that are refused here only, by cause.
    missed: BTreeMap<String, Vec<String>>,
    wrong: BTreeMap<String, Vec<String>>,
}

impl Verdicts {
    fn of(ptxas: &str, mutant: impl Fn(&mut Random) -> Option<Mutant>) -> Verdicts {
        let (seed, wanted) = (number("CUDA_LAUNCH_SEED", 1), number("CUDA_LAUNCH_MUTANTS", 2000));
        let mut random = Random(seed);
        let scratch =
            std::env::temp_dir().join(format!("cuda-emulator-mutate-ptx-{}.ptx", std::process::id()));
        let (mut refused, mut taken, mut crashes) = (0, 0, 0);
        let (mut missed, mut wrong): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        while refused < wanted {
            let Some(Mutant { what, line, text }) = mutant(&mut random) else { continue };
            std::fs::write(&scratch, &text).unwrap();
            match (assembles(ptxas, &scratch), loads(&text)) {
                (Some(Err(message)), ours) => {
                    refused += 1;
                    if ours.is_ok() {
                        missed.entry(cause(&message)).or_default().push(format!("{what}: {line}"));
                    }
                }
                (Some(Ok(())), Ok(())) => taken += 1,
                (Some(Ok(())), Err(message)) => {
                    let example = format!("{what}: {line} | {message}");
                    wrong.entry(cause(&message)).or_default().push(example);
                }
                (None, _) => crashes += 1,
            }
        }
        let _ = std::fs::remove_file(&scratch);
        println!(
            "seed {seed}; refused by ptxas: {refused}; taken by both: {taken}; ptxas crashes: {crashes}"
        );
        print("taken here only", &missed);
        print("refused here only", &wrong);
        let verdicts = Verdicts { refused, taken, missed, wrong };
        println!("taken here only: {:.2} % of what ptxas refuses", verdicts.missed_percent());
        verdicts
    }

    fn missed_percent(&self) -> f64 {
        percent(&self.missed, self.refused)
    }

    fn wrong_percent(&self) -> f64 {
        percent(&self.wrong, self.taken)
    }
}

fn percent(some: &BTreeMap<String, Vec<String>>, of: u64) -> f64 {
    100.0 * some.values().map(Vec::len).sum::<usize>() as f64 / of.max(1) as f64
}

fn ptxas() -> String {
    std::env::var("PTXAS").expect("PTXAS is the path of ptxas 13.0")
}

#[test]
#[ignore = "needs ptxas and some minutes: cargo xtask mutate-ptx"]
fn what_ptxas_refuses_is_refused() {
    let ptxas = ptxas();
    let (texts, whole) = corpus(&ptxas);
    println!("{} files that ptxas takes; refused here: {}", texts.len(), whole.len());
    whole.iter().for_each(|refusal| println!("      {refusal}"));
    let verdicts = Verdicts::of(&ptxas, |random| {
        let text = &texts[random.below(texts.len())];
        let (what, changed) = change(text, random)?;
        let line = changed.lines().zip(text.lines()).find(|(a, b)| a != b);
        let line = line.map_or(String::new(), |(line, _)| line.trim().to_owned());
        Some(Mutant { what, line, text: changed })
    });
    assert!(whole.is_empty() && verdicts.wrong.is_empty() && verdicts.missed_percent() <= 2.0);
}

#[test]
#[ignore = "needs ptxas and some minutes: cargo xtask mutate-ptx"]
fn changed_instructions_are_refused_where_ptxas_refuses_them() {
    let singles = singles::singles();
    let verdicts = Verdicts::of(&ptxas(), |random| {
        let single = &singles[random.below(singles.len())];
        let instruction = single.instruction(random);
        let (what, line) = singles::change(&instruction, random)?;
        Some(Mutant { what, text: single.module(&line), line })
    });
    // docs/emulator.md has what ptxas ignores and the emulator refuses.
    assert!(verdicts.wrong_percent() <= 0.5 && verdicts.missed_percent() <= 1.0);
}
