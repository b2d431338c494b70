//! Makes the twin of each case: the same program, put right. The test compiles them all.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let out = env::var("OUT_DIR")?;
    let mut twins = String::new();
    println!("cargo::rerun-if-changed=cases");
    for entry in fs::read_dir(Path::new(&root).join("cases"))? {
        let case = entry?.path();
        if case.extension().is_none_or(|found| found != "rs") {
            continue;
        }
        let name = case.file_stem().and_then(|name| name.to_str()).ok_or("a name that is not UTF-8")?;
        let twin =
            twin(&fs::read_to_string(&case)?).ok_or_else(|| format!("{name} does not say what is right"))?;
        let path = Path::new(&out).join(format!("{name}.rs"));
        fs::write(&path, twin)?;
        twins += &format!("#[path = {path:?}]\nmod {name};\n");
    }
    fs::write(Path::new(&out).join("twins.rs"), twins)?;
    Ok(())
}

/// The program that the marks in a case make: `//~ text` stands for the line above it, `//~` alone leaves that line out, and
/// `//+ text` adds a line. `None` without a mark.
fn twin(case: &str) -> Option<String> {
    let mut right: Vec<&str> = Vec::new();
    let mut marks = 0;
    for line in case.lines() {
        let mark = line.trim_start();
        let (replaces, text) = match (mark.strip_prefix("//~"), mark.strip_prefix("//+")) {
            (Some(text), _) => (true, text),
            (_, Some(text)) => (false, text),
            _ => {
                right.push(line);
                continue;
            }
        };
        marks += 1;
        if replaces {
            right.pop();
        }
        right.push(text);
    }
    (marks > 0).then(|| right.join("\n") + "\n")
}
