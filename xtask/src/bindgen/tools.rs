//! The pinned header and tools: fetched into `target/xtask/` where this machine does not have them.

use crate::Result;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::Table;

/// The header includes these two and needs no more of them; with its own copies the result depends on no system.
const STDLIB: &str = "typedef __SIZE_TYPE__ size_t;\n";
const STDINT: &str = "\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
";

/// `bindgen.toml`, and what it names ready for use.
pub(super) struct Tools {
    settings: Table,
    root: PathBuf,
    /// Scratch folder: downloads and the generated files before they are compared.
    pub(super) work: PathBuf,
    bindgen: PathBuf,
    libclang: OsString,
}

impl Tools {
    /// Reads `bindgen.toml` and fetches what is missing.
    pub(super) fn prepare(root: &Path) -> Result<Tools> {
        let settings: Table = fs::read_to_string(root.join("bindgen.toml"))?.parse()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let work = root.join(target).join("xtask");
        fs::create_dir_all(work.join("include"))?;
        fs::write(work.join("include/stdlib.h"), STDLIB)?;
        fs::write(work.join("include/stdint.h"), STDINT)?;
        // bindgen formats one item a line, so that lines can be read.
        fs::write(work.join("wide.toml"), "max_width = 10000\n")?;
        let mut tools =
            Tools { settings, root: root.into(), work, bindgen: PathBuf::new(), libclang: OsString::new() };
        tools.fetch_header()?;
        tools.bindgen = tools.find_bindgen()?;
        tools.libclang = tools.find_libclang()?;
        Ok(tools)
    }

    fn setting(&self, table: &str, key: &str) -> Result<&str> {
        let value = self.settings.get(table).and_then(|t| t.get(key)).and_then(|v| v.as_str());
        value.ok_or_else(|| format!("bindgen.toml: [{table}] needs {key} = \"...\"").into())
    }

    fn wheel_folder(&self) -> PathBuf {
        self.work.join("header")
    }

    /// `nvidia-cuda-runtime 13.5.37`.
    pub(super) fn release(&self) -> Result<String> {
        Ok(format!("{} {}", self.setting("source", "wheel")?, self.setting("source", "version")?))
    }

    /// cuda.h.
    pub(super) fn header(&self) -> Result<PathBuf> {
        Ok(self.wheel_folder().join(self.setting("source", "header")?))
    }

    /// cudaTypedefs.h.
    pub(super) fn typedefs(&self) -> Result<PathBuf> {
        Ok(self.wheel_folder().join(self.setting("source", "typedefs")?))
    }

    /// Downloads and unpacks the wheel; pip refuses one with another hash.
    fn fetch_header(&self) -> Result<()> {
        let folder = self.wheel_folder();
        let (wheel, version) = (self.setting("source", "wheel")?, self.setting("source", "version")?);
        let pin = format!("{wheel}=={version} --hash=sha256:{}\n", self.setting("source", "sha256")?);
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
        download.args(["--platform", self.setting("source", "platform")?, "--require-hashes", "--dest"]);
        run(download.arg(&folder).arg("--requirement").arg(&requirements))?;
        let wheels = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        let file = wheels.into_iter().find(|path| path.extension().is_some_and(|e| e == "whl"));
        let file = file.ok_or("pip downloaded no wheel")?;
        run(python(&["-m", "zipfile", "-e"]).arg(file).arg(&folder))?;
        Ok(fs::write(stamp, pin)?)
    }

    /// The pinned bindgen: the one on PATH if its version is right, else one installed for this purpose.
    fn find_bindgen(&self) -> Result<PathBuf> {
        let version = self.setting("tools", "bindgen-cli")?;
        let expected = format!("bindgen {version}");
        let own = self.work.join("bin").join(format!("bindgen{}", std::env::consts::EXE_SUFFIX));
        for candidate in [PathBuf::from("bindgen"), own.clone()] {
            let output = Command::new(&candidate).arg("--version").output();
            if output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == expected) {
                return Ok(candidate);
            }
        }
        eprintln!("installing bindgen-cli {version} into {}", self.work.display());
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args([
            "install",
            "--quiet",
            "--locked",
            "--force",
            "bindgen-cli",
            "--version",
            version,
            "--root",
        ]);
        run(install.arg(&self.work))?;
        Ok(own)
    }

    /// The folder of libclang.
    fn find_libclang(&self) -> Result<OsString> {
        if let Some(path) = std::env::var_os("LIBCLANG_PATH") {
            return Ok(path);
        }
        let version = self.setting("tools", "libclang")?;
        let folder = self.work.join(format!("libclang-{version}"));
        let native = folder.join("clang/native");
        if !native.exists() {
            let mut install =
                python(&["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]);
            run(install.arg(format!("libclang=={version}")).arg("--target").arg(&folder))?;
        }
        Ok(native.into())
    }

    /// bindgen's output for the header, one item a line.
    pub(super) fn bindgen(&self, clang: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.bindgen);
        command.env("LIBCLANG_PATH", &self.libclang).arg(self.header()?);
        command.arg("--rustfmt-configuration-file").arg(self.work.join("wide.toml").canonicalize()?);
        let options =
            self.settings.get("bindgen").and_then(|t| t.as_table()).ok_or("bindgen.toml: no [bindgen]")?;
        for (key, value) in options {
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for value in values {
                command.arg(format!("--{key}"));
                match value {
                    toml::Value::Boolean(true) => {}
                    toml::Value::String(text) => drop(command.arg(text)),
                    other => {
                        return Err(
                            format!("bindgen.toml: {key} = {other:?}: neither `true` nor text").into()
                        );
                    }
                }
            }
        }
        command.args(["--", "-nostdinc"]).arg("-isystem").arg(self.work.join("include")).args(clang);
        run(&mut command)
    }

    /// Formats as `cargo fmt` would.
    pub(super) fn rustfmt(&self, file: &Path) -> Result<()> {
        let edition = self.setting("bindgen", "rust-edition")?;
        let mut command = Command::new("rustfmt");
        run(command.args(["--edition", edition, "--config-path"]).arg(&self.root).arg(file)).map(drop)
    }
}

fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new(if cfg!(windows) { "python" } else { "python3" });
    command.args(arguments);
    command
}

/// Runs a program and returns what it printed.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name}: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}):\n{text}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
