//! Whether the PTX that compilers make can be run: every file of a folder is loaded, and every kernel in it decoded. `cargo xtask corpus` makes
//! the files, takes out what ptxas 13.0 refuses, and runs this; with `CUDA_LAUNCH_CORPUS_WHOLE`, there must be files of every producer:
//!
//! `CUDA_LAUNCH_CORPUS=FOLDER cargo test -p cuda-emulator --test corpus -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::Architecture;
use cuda_emulator::engine::Program;
use cuda_emulator::memory::Memory;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of the kernels, in percent.
const DECODED: usize = 99;
/// Of the files that compilers make.
const FILES: usize = 600;
/// Who makes a whole corpus, and how many files at least.
const PRODUCERS: &[(&str, usize)] = &[
    ("clang", 15),
    ("cub", 40),
    ("cutlass", 10),
    ("numba", 60),
    ("nvcc", 200),
    ("nvrtc", 40),
    ("rustc", 5),
    (SINGLES, 300),
    ("tinygrad", 100),
    ("triton", 80),
    ("warp", 25),
];
/// Not a compiler: single instructions.
const SINGLES: &str = "singles";

/// What became of one producer's files.
#[derive(Default)]
struct Counts {
    files: usize,
    loaded: usize,
    kernels: usize,
    decoded: usize,
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The device that a file is made for, or the usual one if that runs it.
fn device(text: &str) -> Architecture {
    let target = text.split(".target").nth(1).unwrap_or_default().trim();
    let number = target.trim_start_matches("sm_").split(|c: char| !c.is_ascii_digit()).next().unwrap();
    let known = number.parse().unwrap_or(Architecture::Sm90);
    if known.number() > Architecture::Sm90.number() { known } else { Architecture::Sm90 }
}

/// Loads a file and decodes its kernels; adds what cannot be done to `causes`.
fn add(path: &Path, counts: &mut Counts, causes: &mut BTreeMap<String, Vec<String>>) {
    let file = path.file_name().unwrap().to_string_lossy();
    let mut cause = |what: String, at: String| causes.entry(what).or_default().push(at);
    counts.files += 1;
    let text = std::fs::read_to_string(path).unwrap();
    let memory = Arc::new(Memory::new(1 << 34).with_architecture(device(&text)));
    let program = match Program::load(&text, &memory) {
        Ok(program) => program,
        Err(failure) => return cause(format!("not loaded: {failure}"), file.into_owned()),
    };
    counts.loaded += 1;
    let names: Vec<String> = program.kernels().map(str::to_owned).collect();
    for name in names {
        counts.kernels += 1;
        let kernel = program.kernel(&name).unwrap();
        let unsupported: Vec<_> = kernel.unsupported().collect();
        counts.decoded += usize::from(unsupported.is_empty());
        for (line, what) in unsupported {
            cause(what.to_owned(), format!("{file}:{line}"));
        }
    }
}

#[test]
#[ignore = "needs a folder of files: cargo xtask corpus"]
fn what_compilers_make_is_decoded() {
    let folder = std::env::var("CUDA_LAUNCH_CORPUS")
        .expect("CUDA_LAUNCH_CORPUS=FOLDER, with a folder for each producer");
    let (mut all, mut causes) = (Counts::default(), BTreeMap::new());
    println!("| producer | files | loaded | kernels | decoded |\n|---|---|---|---|---|");
    let row = |name: &str, Counts { files, loaded, kernels, decoded }: &Counts| {
        println!("| {name} | {files} | {loaded} | {kernels} | {decoded} |");
    };
    let mut files = BTreeMap::new();
    for producer in entries(Path::new(&folder)) {
        let mut counts = Counts::default();
        entries(&producer).iter().for_each(|path| add(path, &mut counts, &mut causes));
        let name = producer.file_name().unwrap().to_string_lossy().into_owned();
        row(&name, &counts);
        files.insert(name, counts.files);
        all.files += counts.files;
        all.loaded += counts.loaded;
        all.kernels += counts.kernels;
        all.decoded += counts.decoded;
    }
    row("all", &all);
    for (cause, places) in &causes {
        println!("{cause}: {} times, for example {}", places.len(), places[0]);
    }
    assert!(all.kernels > 0, "no kernels in {folder}");
    if std::env::var_os("CUDA_LAUNCH_CORPUS_WHOLE").is_some() {
        for (producer, least) in PRODUCERS {
            let made = files.get(*producer).copied().unwrap_or(0);
            assert!(made >= *least, "{producer}: {made} files, and {least} are expected at least");
        }
        let made = all.files - files[SINGLES];
        assert!(made >= FILES, "{made} files by compilers, and {FILES} are expected at least");
    }
    assert_eq!(all.loaded, all.files, "ptxas takes every file");
    assert!(
        all.decoded * 100 >= all.kernels * DECODED,
        "{} of {} kernels are decoded",
        all.decoded,
        all.kernels
    );
}
