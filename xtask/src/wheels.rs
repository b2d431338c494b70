//! The wheels that `bindgen.toml` pins, fetched into `target/xtask/wheels/` where they are not there yet.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::Table;

/// `bindgen.toml`, and the folder for what it names.
pub(crate) struct Wheels {
    pub(crate) settings: Table,
    /// Scratch folder: downloads and the generated files before they are compared.
    pub(crate) work: PathBuf,
}

impl Wheels {
    /// Reads `bindgen.toml`; fetches nothing.
    pub(crate) fn read(root: &Path) -> Result<Wheels> {
        let settings: Table = fs::read_to_string(root.join("bindgen.toml"))?.parse()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let work = root.join(target).join("xtask");
        fs::create_dir_all(&work)?;
        Ok(Wheels { settings, work })
    }

    /// The text of a key.
    pub(crate) fn setting(&self, table: &str, key: &str) -> Result<&str> {
        let value = self.settings.get(table).and_then(|t| t.get(key)).and_then(|v| v.as_str());
        value.ok_or_else(|| format!("bindgen.toml: [{table}] needs {key} = \"...\"").into())
    }

    /// `nvidia-cuda-runtime 13.5.37`.
    pub(crate) fn release(&self, of: &str) -> Result<String> {
        Ok(format!("{} {}", self.setting(of, "wheel")?, self.setting(of, "version")?))
    }

    /// The file of a wheel that a key names (`header`, `library`).
    pub(crate) fn file(&self, of: &str, key: &str) -> Result<PathBuf> {
        Ok(self.folder(of).join(self.setting(of, key)?))
    }

    /// Where a wheel is unpacked.
    pub(crate) fn folder(&self, of: &str) -> PathBuf {
        self.work.join("wheels").join(of)
    }

    /// Downloads and unpacks a wheel; pip refuses one with another hash.
    pub(crate) fn fetch(&self, of: &str) -> Result<()> {
        let folder = self.folder(of);
        let (wheel, version) = (self.setting(of, "wheel")?, self.setting(of, "version")?);
        let pin = format!("{wheel}=={version} --hash=sha256:{}\n", self.setting(of, "sha256")?);
        // Written last, so that a broken download is tried again and a new pin is fetched.
        let stamp = folder.join("pin.txt");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == pin) {
            return Ok(());
        }
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let requirements = self.work.join("requirements.txt");
        fs::write(&requirements, &pin)?;
        let mut download = python(&["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]);
        download.args(["--platform", self.setting(of, "platform")?, "--require-hashes", "--dest"]);
        run(download.arg(&folder).arg("--requirement").arg(&requirements))?;
        let wheels = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        let file = wheels.into_iter().find(|path| path.extension().is_some_and(|e| e == "whl"));
        let file = file.ok_or("pip downloaded no wheel")?;
        run(python(&["-m", "zipfile", "-e"]).arg(&file).arg(&folder))?;
        fs::remove_file(file)?;
        Ok(fs::write(stamp, pin)?)
    }
}

pub(crate) fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new(if cfg!(windows) { "python" } else { "python3" });
    command.args(arguments);
    command
}

/// Runs a program and returns what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name}: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}):\n{text}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
