//! The pinned tools: fetched into `target/xtask/` where this machine does not have them.

use crate::Result;
use crate::clang;
use crate::tool::pinned;
use crate::wheels::{Wheels, run};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

/// `bindgen.toml`, and what it names ready for use.
pub(super) struct Tools {
    pub(super) wheels: Wheels,
    root: PathBuf,
    bindgen: PathBuf,
    libclang: OsString,
}

impl Tools {
    /// Reads `bindgen.toml` and fetches what is missing: the tools, and the wheels of these names.
    pub(super) fn prepare(root: &Path, wheel_names: &[&str]) -> Result<Tools> {
        let wheels = Wheels::read(root)?;
        let work = &wheels.work;
        clang::headers(&wheels)?;
        // bindgen formats one item a line, so that lines can be read.
        fs::write(work.join("wide.toml"), "max_width = 10000\n")?;
        wheel_names.iter().try_for_each(|name| wheels.fetch(name))?;
        let mut tools =
            Tools { wheels, root: root.into(), bindgen: PathBuf::new(), libclang: OsString::new() };
        tools.bindgen = tools.find_bindgen()?;
        tools.libclang = clang::library(&tools.wheels)?;
        Ok(tools)
    }

    /// The pinned bindgen.
    fn find_bindgen(&self) -> Result<PathBuf> {
        let version = self.wheels.setting("tools", "bindgen-cli")?;
        pinned(&self.wheels.work, "bindgen", "bindgen-cli", version, &["--version"])
    }

    /// bindgen's output for a wheel's header, one item a line.
    pub(super) fn bindgen(&self, of: &str, clang: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.bindgen);
        command.env("LIBCLANG_PATH", &self.libclang).arg(self.wheels.file(of, "header")?);
        command.arg("--rustfmt-configuration-file").arg(self.wheels.work.join("wide.toml").canonicalize()?);
        let settings = &self.wheels.settings;
        for table in [settings.get("bindgen"), settings.get(of).and_then(|table| table.get("bindgen"))] {
            let options = table.and_then(Value::as_table);
            add_options(&mut command, options.ok_or("bindgen.toml: no [bindgen]")?)?;
        }
        command.args(["--", "-nostdinc"]).arg("-isystem").arg(self.wheels.work.join("include")).args(clang);
        run(&mut command)
    }

    /// Formats as `cargo fmt` would.
    pub(super) fn rustfmt(&self, file: &Path) -> Result<()> {
        let edition = self.wheels.setting("bindgen", "rust-edition")?;
        let mut command = Command::new("rustfmt");
        run(command.args(["--edition", edition, "--config-path"]).arg(&self.root).arg(file)).map(drop)
    }
}

/// Long options by their keys: `true` is a switch, a list repeats the option.
fn add_options(command: &mut Command, options: &Table) -> Result<()> {
    for (key, value) in options {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            command.arg(format!("--{key}"));
            match value {
                Value::Boolean(true) => {}
                Value::String(text) => drop(command.arg(text)),
                other => {
                    return Err(format!("bindgen.toml: {key} = {other:?}: neither `true` nor text").into());
                }
            }
        }
    }
    Ok(())
}
