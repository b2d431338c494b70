//! What pip installs, in a virtual environment of its own, by pytest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::list::Client;
use super::{Kind, Outcome, Place};
use crate::Result;
use crate::cargo::{root, run as run_in_terminal};
use crate::stub;
use crate::wheels;

/// For one test.
const SECONDS: &str = "240";

/// Installs what is not there yet, and runs the tests: in one process after the other, as each ends with a failure.
/// `packages` is the client whose requirements are installed.
pub(super) fn run(client: &Client, packages: &Client, place: &Place) -> Result<Vec<Outcome>> {
    let python = installed(packages, place)?;
    let sdist = client.sdist.as_ref().map(|sdist| unpacked(sdist, place, &python)).transpose()?;
    let (results, log) = (place.folder.join("results.txt"), place.folder.join("log.txt"));
    let _ = (fs::remove_file(&results), fs::remove_file(&log));
    let end = Instant::now() + Duration::from_secs(client.seconds);
    loop {
        let before = fs::read_to_string(&results).unwrap_or_default().len();
        let mut command = pytest(client, place, &python, sdist.as_deref())?;
        command.env("CLIENTS_RESULTS", &results).stdin(Stdio::null());
        let file = fs::OpenOptions::new().create(true).append(true).open(&log)?;
        let is_over = super::waited(command.stdout(file.try_clone()?).stderr(file), end)?.is_none();
        let lines = fs::read_to_string(&results).unwrap_or_default();
        if is_over || lines.len() == before || lines.lines().any(|line| line.starts_with("end\t")) {
            return outcomes(&lines, is_over, &log);
        }
    }
}

/// The interpreter of the environment, which has what the list says.
pub(super) fn installed(packages: &Client, place: &Place) -> Result<PathBuf> {
    let environment = &place.environment;
    let python = environment.join("bin/python");
    let (stamp, wanted) = (
        environment.join("requirements.txt"),
        [&packages.pip[..], &packages.compiled].concat().join("\n") + "\n",
    );
    if fs::read_to_string(&stamp).is_ok_and(|is| is == wanted) {
        return Ok(python);
    }
    run_in_terminal(wheels::python(&["-m", "venv", "--clear"]).arg(environment))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet"]).args(&packages.pip);
    run_in_terminal(&mut install)?;
    if !packages.compiled.is_empty() {
        let mut compile = Command::new(&python);
        compile.args(["-m", "pip", "install", "--quiet"]).args(&packages.compiled);
        for (name, value) in &packages.variables {
            compile.env(name, filled(value, place, None)?);
        }
        run_in_terminal(&mut compile)?;
    }
    // Written last, so that what was broken off begins again.
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The folder of a source distribution.
fn unpacked(sdist: &str, place: &Place, python: &Path) -> Result<PathBuf> {
    let folder = place.folder.join("sdist");
    let (name, version) = sdist.split_once("==").ok_or("a source distribution without a version")?;
    let unpacked = folder.join(format!("{name}-{version}"));
    if !unpacked.is_dir() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut download = Command::new(python);
        download.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            name,
            sdist,
            "--dest",
        ]);
        run_in_terminal(download.arg(&folder))?;
        let archive = folder.join(format!("{name}-{version}.tar.gz"));
        run_in_terminal(Command::new(python).args(["-m", "tarfile", "-e"]).arg(archive).arg(&folder))?;
    }
    Ok(unpacked)
}

/// The tests as the list has them, under the tool.
fn pytest(client: &Client, place: &Place, python: &Path, sdist: Option<&Path>) -> Result<Command> {
    let ours = root()?.join("xtask/clients");
    let mut command = place.command(python);
    match client.tests.first().and_then(|test| test.strip_prefix("unittest:")) {
        Some(package) => command.arg(ours.join("unit.py")).arg(package),
        None => command.args(["-m", "pytest", "-q", "-p", "report", "-p", "no:cacheprovider"]),
    };
    for test in client.tests.iter().filter(|test| !test.starts_with("unittest:")) {
        command.arg(filled(test, place, sdist)?);
    }
    let left_out: Vec<&str> = client.left_out.iter().flat_map(|one| &one.tests).map(String::as_str).collect();
    command
        .current_dir(sdist.unwrap_or(&place.folder))
        .env("PYTHONPATH", &ours)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CLIENTS_EVERY", place.every.unwrap_or(client.every).to_string())
        .env("CLIENTS_SECONDS", SECONDS)
        .env("CLIENTS_LEFT_OUT", left_out.join("\n"));
    for (name, value) in &client.variables {
        command.env(name, filled(value, place, sdist)?);
    }
    Ok(command)
}

/// With the folders that the list cannot know.
pub(super) fn filled(text: &str, place: &Place, sdist: Option<&Path>) -> Result<String> {
    let mut text = text.replace("PATH/", &std::env::var("PATH").unwrap_or_default());
    text = text.replace("CLIENTS/", &format!("{}/", root()?.join("xtask/clients").display()));
    text = text.replace("EXAMPLES/", &format!("{}/", root()?.join("examples").display()));
    if text.contains("SITE/") {
        text = text.replace("SITE/", &format!("{}/", site(place)?.display()));
    }
    if let Some(sdist) = sdist {
        text = text.replace("SDIST/", &format!("{}/", sdist.display()));
    }
    if text.contains("STUB/") {
        // A toolkit's folder: its libraries in `lib`, its headers in `include`.
        let folder = place.folder.join("stub/lib");
        stub::driver(&folder.join("libcuda.so"))?;
        let wheels = site(place)?.join("nvidia/cu13");
        link_libraries(&wheels.join("lib"), &folder)?;
        linked(&wheels.join("include"), &place.folder.join("stub/include"))?;
        text = text.replace("STUB/", &format!("{}/", folder.display()));
    }
    Ok(text)
}

/// Where pip puts packages.
fn site(place: &Place) -> Result<PathBuf> {
    let python = fs::read_dir(place.environment.join("lib"))?.next();
    Ok(python.ok_or("a virtual environment without Python")??.path().join("site-packages"))
}

/// Links the libraries of wheels, `libx.so.1`, by the name that a linker looks for.
fn link_libraries(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let library = entry?.path();
        let name =
            library.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once(".so."));
        if let Some((stem, _)) = name {
            linked(&library, &to.join(format!("{stem}.so")))?;
        }
    }
    Ok(())
}

/// A link by that name, in place of an older one.
fn linked(original: &Path, link: &Path) -> Result<()> {
    let _ = fs::remove_file(link);
    Ok(std::os::unix::fs::symlink(original, link)?)
}

/// What the lines say: a test that was started and has no end ended its process, or was ended with it.
fn outcomes(lines: &str, is_over: bool, log: &Path) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut started: Option<&str> = None;
    for line in lines.lines() {
        let mut parts = line.splitn(3, '\t');
        let (what, test, text) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let kind = match what {
            "passed" => Kind::Passed,
            "failed" => Kind::Failed,
            "skipped" => Kind::Skipped,
            _ => {
                if what == "started" {
                    outcomes.extend(started.replace(test).map(ended_its_process));
                }
                continue;
            }
        };
        started = None;
        outcomes.push(Outcome { test: test.into(), kind, text: text.into() });
    }
    outcomes.extend(started.filter(|_| !is_over).map(ended_its_process));
    if is_over {
        let text = "the client's time was over: the tests behind this one were not run";
        let test = started.unwrap_or("(all)").to_owned();
        outcomes.push(Outcome { test, kind: Kind::Failed, text: text.into() });
    } else if outcomes.is_empty() {
        return Err(format!("pytest ran no test: {} has what it said", log.display()).into());
    }
    Ok(outcomes)
}

fn ended_its_process(test: &str) -> Outcome {
    Outcome { test: test.into(), kind: Kind::Failed, text: "it ended its process, or took too long".into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_test_without_an_end_is_a_failure() {
        let lines = "left out\t3\t\nstarted\ta\t\npassed\ta\t\nstarted\tb\t\nstarted\tc\t\nfailed\tc\twhy\tnot\nend\t1\t\n";
        let found = outcomes(lines, false, Path::new("log")).unwrap();
        let found: Vec<_> =
            found.iter().map(|one| (one.test.as_str(), one.kind, one.text.as_str())).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], ("a", Kind::Passed, ""));
        assert_eq!((found[1].0, found[1].1), ("b", Kind::Failed));
        assert_eq!(found[2], ("c", Kind::Failed, "why\tnot"));
        assert!(outcomes("end\t5\t\n", false, Path::new("log")).is_err());
        let over = outcomes("started\ta\t\n", true, Path::new("log")).unwrap();
        assert_eq!((over.len(), over[0].kind), (1, Kind::Failed));
    }
}
