//! What ptxas refuses is refused when a module is loaded, and what it takes is not: over the PTX of this repository and of a folder, each file
//! changed in one place. `cargo xtask mutate-ptx` fetches ptxas 13.0 and runs this, which takes some minutes:
//!
//! `PTXAS=path CUDA_LAUNCH_CORPUS=FOLDER cargo test -p cuda-emulator --test mutate_ptx -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod mutation_support;

use cuda_emulator::engine::{LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use mutation_support::{Random, change};
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

#[test]
#[ignore = "needs ptxas and some minutes: cargo xtask mutate-ptx"]
fn what_ptxas_refuses_is_refused() {
    let ptxas = std::env::var("PTXAS").expect("PTXAS is the path of ptxas 13.0");
    let (seed, wanted) = (number("CUDA_LAUNCH_SEED", 1), number("CUDA_LAUNCH_MUTANTS", 2000));
    let scratch = std::env::temp_dir().join(format!("cuda-emulator-mutate-ptx-{}.ptx", std::process::id()));
    let (texts, whole) = corpus(&ptxas);
    let mut random = Random(seed);
    let (mut both, mut neither, mut crashes) = (0, 0, 0);
    let (mut only_here, mut only_there): (BTreeMap<String, Vec<String>>, BTreeMap<String, Vec<String>>) =
        Default::default();
    while both + only_here.values().map(Vec::len).sum::<usize>() < wanted as usize {
        let text = &texts[random.below(texts.len())];
        let Some((what, changed)) = change(text, &mut random) else { continue };
        std::fs::write(&scratch, &changed).unwrap();
        let line = || {
            let line = changed.lines().zip(text.lines()).find(|(a, b)| a != b).map_or("", |(a, _)| a).trim();
            format!("{what}: {line}")
        };
        match (assembles(&ptxas, &scratch), loads(&changed)) {
            (Some(Err(_)), Err(_)) => both += 1,
            (Some(Err(message)), Ok(())) => only_here.entry(cause(&message)).or_default().push(line()),
            (Some(Ok(())), Ok(())) => neither += 1,
            (Some(Ok(())), Err(message)) => {
                let example = format!("{} | {message}", line());
                only_there.entry(cause(&message)).or_default().push(example);
            }
            (None, _) => crashes += 1,
        }
    }
    let _ = std::fs::remove_file(&scratch);
    println!("{} files that ptxas takes; refused here: {}", texts.len(), whole.len());
    whole.iter().for_each(|refusal| println!("      {refusal}"));
    println!("seed {seed}; refused by both: {both}; taken by both: {neither}; ptxas crashes: {crashes}");
    print("taken here only", &only_here);
    print("refused here only", &only_there);
    let missed: usize = only_here.values().map(Vec::len).sum();
    println!("taken here only: {:.2} % of what ptxas refuses", 100.0 * missed as f64 / wanted.max(1) as f64);
    assert!(whole.is_empty() && only_there.is_empty() && missed as u64 * 50 <= wanted);
}
