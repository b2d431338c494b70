//! The libraries that cargo builds and installs beside this program.

use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};

/// The path of the library `name`: what the user gave with `option`, or else the file beside this program.
pub(crate) fn given(given: Option<&Path>, option: &str, name: &str) -> Result<PathBuf, Failure> {
    let Some(given) = given else { return installed(name, &format!("; {option} names another place")) };
    let refused = |what: String| {
        let file = given.display().to_string();
        let message = format!(
            "{what}\n  help: {option} takes the file `{name}`, which `cargo install cuda-launch-cli` installs"
        );
        Failure { place: json!({ "file": file }), ..Failure::new(Exit::File, message) }
    };
    let (file, mut start) = (given.display(), Vec::new());
    let read = File::open(given).and_then(|opened| opened.take(4).read_to_end(&mut start));
    let path = read.and_then(|_| given.canonicalize());
    let path = path.map_err(|error| refused(format!("cannot read {file}: {error}")))?;
    // Otherwise the program would find no driver, or silently another one.
    if cfg!(target_os = "linux") && start != *b"\x7fELF" {
        return Err(refused(format!("{file}: it is not a shared library")));
    }
    Ok(path)
}

/// The file beside this program; `or` is the rest of the advice if it is not there.
pub(crate) fn installed(name: &str, or: &str) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(name));
    let found = beside.filter(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        let message = format!(
            "the library `{name}` is not beside this program\n  help: `cargo install cuda-launch-cli` installs it there (on \
             Linux with glibc){or}"
        );
        Failure::new(Exit::File, message)
    })
}
