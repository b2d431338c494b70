//! What cargo gets: the unit tests of a package, built from what its registry has, each in a process of its own.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::list::{Client, Package};
use super::python::filled;
use super::{Kind, Outcome, Place, waited};
use crate::Result;
use crate::cargo::{cargo, run as run_in_terminal};
use crate::stub;

/// Builds the tests, and runs those that the list does not leave out.
pub(super) fn run(client: &Client, package: &Package, place: &Place) -> Result<Vec<Outcome>> {
    let source = copied(client, package, place)?;
    let program = built(package, place, &source)?;
    let variables: Vec<(String, String)> = client
        .variables
        .iter()
        .map(|(name, value)| Ok((name.clone(), filled(value, place, None)?)))
        .collect::<Result<_>>()?;
    let end = Instant::now() + Duration::from_secs(client.seconds);
    let said = place.folder.join("said.txt");
    // How it ended, where it did before the client's time, and what it said.
    let under = |arguments: &[&str]| -> Result<(Option<ExitStatus>, String)> {
        let mut command = place.command(&program);
        command.args(arguments).current_dir(&source);
        command.envs(variables.iter().cloned()).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let file = fs::File::create(&said)?;
        let status = waited(command.stdout(file.try_clone()?).stderr(file), end)?;
        Ok((status, String::from_utf8_lossy(&fs::read(&said)?).into_owned()))
    };
    let (_, list) = under(&["--list", "--format", "terse"])?;
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let wanted = |name: &&str| {
        let is_asked =
            client.tests.is_empty() || client.tests.iter().any(|part| name.contains(part.as_str()));
        is_asked && !client.left_out.iter().any(|left_out| left_out.has(name))
    };
    let mut outcomes = Vec::new();
    for name in names.filter(wanted).step_by(place.every.unwrap_or(client.every)) {
        if Instant::now() > end {
            let text = "the client's time was over: this test and those behind it were not run".into();
            outcomes.push(Outcome { test: name.into(), kind: Kind::Failed, text });
            break;
        }
        outcomes.push(outcome(name, under(&["--exact", "--test-threads=1", name])?));
    }
    Ok(outcomes)
}

/// The package's source, out of cargo's cache: cargo tests only what is in a workspace of its own.
fn copied(client: &Client, package: &Package, place: &Place) -> Result<PathBuf> {
    let source = place.folder.join(format!("{}-{}", client.name, package.version));
    if source.join("Cargo.toml").is_file() {
        return Ok(source);
    }
    let asks = place.folder.join("asks");
    fs::create_dir_all(asks.join("src"))?;
    fs::write(asks.join("src/lib.rs"), "")?;
    let (name, version) = (&client.name, &package.version);
    let manifest = format!(
        "[workspace]\n[package]\nname = \"asks\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(asks.join("Cargo.toml"), manifest)?;
    let mut metadata = cargo(&["metadata", "--quiet", "--format-version", "1", "--manifest-path"])?;
    let output = metadata.arg(asks.join("Cargo.toml")).stderr(Stdio::inherit()).output()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let packages = found["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let found = packages.iter().find(|package| package["name"] == client.name.as_str());
    let manifest =
        found.and_then(|package| package["manifest_path"].as_str()).ok_or("cargo did not fetch it")?;
    copy(Path::new(manifest).parent().ok_or("a manifest without a folder")?, &source)?;
    // Not a part of this workspace, below whose folder it lies.
    let mut manifest = fs::read_to_string(source.join("Cargo.toml"))?;
    manifest.push_str("\n[workspace]\n");
    fs::write(source.join("Cargo.toml"), manifest)?;
    Ok(source)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?
        } else {
            fs::copy(entry.path(), to).map(drop)?
        }
    }
    Ok(())
}

/// The program with the unit tests.
fn built(package: &Package, place: &Place, source: &Path) -> Result<PathBuf> {
    stub::driver(&place.folder.join("cuda/lib64/libcuda.so"))?;
    let mut test = cargo(&["test", "--lib", "--no-run", "--no-default-features", "--features"])?;
    test.arg(package.features.join(",")).arg("--manifest-path").arg(source.join("Cargo.toml"));
    test.env("CARGO_TARGET_DIR", place.folder.join("target"));
    test.env("CUDA_LIBRARY_PATH", place.folder.join("cuda")).env("CUDA_ROOT", place.folder.join("cuda"));
    run_in_terminal(&mut test)?;
    let output = test.args(["--quiet", "--message-format=json"]).stderr(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program =
        messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    program.ok_or_else(|| "cargo built no tests".into())
}

/// What a test's process said.
fn outcome(name: &str, (status, text): (Option<ExitStatus>, String)) -> Outcome {
    let is_success = status.is_some_and(|status| status.success());
    let kind = match (is_success, text.contains("1 passed"), text.contains("1 ignored")) {
        (true, true, _) => Kind::Passed,
        (true, false, true) => Kind::Skipped,
        _ => Kind::Failed,
    };
    let said =
        text.lines().skip_while(|line| !line.contains("panicked at")).take(4).collect::<Vec<_>>().join(" ");
    let ended = || status.map_or("the client's time was over".into(), |status| status.to_string());
    let text = if said.is_empty() { ended() } else { said };
    Outcome { test: name.into(), kind, text }
}
