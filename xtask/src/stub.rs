//! A library that has a driver's name and symbols, and does nothing: what programs can be linked with where there is no driver.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::{root, run};

/// Makes it; programs that are linked with it ask for `libcuda.so.1`.
pub(crate) fn driver(file: &Path) -> Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    let exports = fs::read_to_string(root()?.join("emulator/libcuda/exports.txt"))?;
    let names = exports.lines().filter_map(|line| line.split(' ').next());
    let source = file.with_extension("c");
    fs::write(&source, names.map(|name| format!("void {name}(void) {{}}\n")).collect::<String>())?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]).arg(file).arg(source);
    run(&mut cc)
}
