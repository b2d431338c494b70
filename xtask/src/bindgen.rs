//! `cargo xtask bindgen`: the files in `sys/src/generated/`, and the list of a driver's exports, from `bindgen.toml`.
//!
//! Nothing of the header's text may come out: only declarations, lists of names and numbers, and docs of our own.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};

mod compilers;
mod exports;
mod functions;
mod tools;
mod types;

/// The run-time compilers: tables of `bindgen.toml`, and features of `cuda-launch-sys`.
pub(crate) const COMPILERS: [&str; 3] = ["nvrtc", "nvjitlink", "nvvm"];

/// Where the generated Rust is.
const RUST: &str = "sys/src/generated";
/// The names that a driver's library exports.
const EXPORTS: &str = "emulator/libcuda/exports.txt";

/// What to do with the generated text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Put it into the tree.
    Write,
    /// Fail if the tree has something else.
    Check,
}

/// Generates and writes or compares.
pub(crate) fn run(mode: Mode) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let wheels: Vec<&str> = std::iter::once("driver").chain(COMPILERS).collect();
    let tools = tools::Tools::prepare(root, &wheels)?;
    let fresh = tools.wheels.work.join("generated");
    fs::create_dir_all(&fresh)?;
    let mut stale = Vec::new();
    let mut files = generate(&tools)?;
    for name in COMPILERS {
        files.push((format!("{RUST}/{name}.rs"), compilers::generate(&tools, name)?));
    }
    for (name, text) in files {
        let committed = root.join(&name);
        let path = fresh.join(committed.file_name().ok_or("a file without a name")?);
        fs::write(&path, text)?;
        if name.ends_with(".rs") {
            tools.rustfmt(&path)?;
        }
        if mode == Mode::Write {
            fs::copy(&path, &committed)?;
        } else if let Some(difference) = difference(&path, &committed)? {
            stale.push(difference);
        }
    }
    match stale.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{RUST}/ and {EXPORTS} are not what bindgen.toml makes (`cargo xtask bindgen` rewrites them):\n{}",
            stale.join("\n")
        )
        .into()),
    }
}

fn generate(tools: &tools::Tools) -> Result<Vec<(String, String)>> {
    let header = fs::read_to_string(tools.wheels.file("driver", "header")?)?;
    let typedefs = fs::read_to_string(tools.wheels.file("driver", "typedefs")?)?;
    let (types, declared) = types::split(&types::rename(&tools.bindgen("driver", &[])?));
    // With the header's internal switch every old ABI is declared too, under its own name.
    let (_, all) =
        types::split(&types::rename(&tools.bindgen("driver", &["-D__CUDA_API_VERSION_INTERNAL"])?));
    let functions = functions::functions(&declared, &all, &typedefs)?;
    let aliases = functions::aliases(&header, &functions);
    let names = functions::render_names(&aliases, &types)?;
    let folder = tools.wheels.file("driver", "header")?;
    let exports = exports::exports(&functions, &all, &typedefs, &exports::others(&folder)?)?;
    exports::walk(&exports, &header, &typedefs)?;
    let lists = [
        ("types.rs", types),
        ("exports.rs", exports::render(&exports)),
        ("functions.rs", functions::render_list(&functions)),
        ("methods.rs", functions::render_methods(&functions, &aliases)),
        ("names.rs", names),
    ];
    let opening = opening(tools, "driver")?;
    let mut files: Vec<_> =
        lists.map(|(name, text)| (format!("{RUST}/{name}"), format!("{opening}{text}"))).into();
    files.push((EXPORTS.to_owned(), exports::render_names(&exports)));
    Ok(files)
}

/// What a generated file begins with.
fn opening(tools: &tools::Tools, of: &str) -> Result<String> {
    let release = tools.wheels.release(of)?;
    Ok(format!("// Made by `cargo xtask bindgen` from the header of {release}: do not edit.\n\n"))
}

/// The first difference between two files, for people.
fn difference(fresh: &Path, committed: &PathBuf) -> Result<Option<String>> {
    let new = fs::read_to_string(fresh)?;
    let old = fs::read_to_string(committed).unwrap_or_default();
    if new == old {
        return Ok(None);
    }
    let (mut news, mut olds) = (new.lines(), old.lines());
    let mut number = 0;
    loop {
        number += 1;
        let pair = (olds.next(), news.next());
        if pair.0 != pair.1 || pair.0.is_none() {
            let [old, new] = [pair.0, pair.1].map(|line| line.unwrap_or("(end of file)"));
            return Ok(Some(format!("{}:{number}\n  - {old}\n  + {new}", committed.display())));
        }
    }
}
