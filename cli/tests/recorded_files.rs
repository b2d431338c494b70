//! `cuda-launch record` where its file cannot be written, or not to its end: there is a whole file or none.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use recordings::{Folder, saxpy};
use std::os::unix::fs::PermissionsExt;
use support::{TOOL, finished, recorder, tool};

/// Of 8 MB, which is more than a pipe holds.
fn large() -> Vec<&'static str> {
    let mut program = vec![TOOL, "run", "examples/kernels/saxpy.ptx", "saxpy", "--print", "0"];
    let arguments = ["u32:100", "f32:2", "in:f32:1000000*3", "inout:f32:1000000*1"];
    program.extend(arguments.iter().flat_map(|argument| ["--arg", argument]));
    program
}

fn names(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Any bytes may be a name.
#[test]
fn a_name_that_is_no_text_is_one() {
    use std::os::unix::ffi::OsStrExt;
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-name");
    let file = folder.0.join(std::ffi::OsStr::from_bytes(b"\xff.record"));
    let mut command = tool();
    command.args(["record", "--driver", "emulator", "--recorder"]).arg(&recorder).arg("-o").arg(&file);
    let run = finished(&command.arg("--").args(saxpy("u32:100")).output().unwrap());
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(finished(&tool().arg("replay").arg(&file).output().unwrap()).code, 0);
}

/// The program goes on: the signal of a file at its limit is not its own.
#[test]
fn a_file_that_cannot_be_written_whole_is_not_there() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-full");
    let limited = [&["sh", "-c", "ulimit -f 64 && exec \"$0\" \"$@\""], large().as_slice()].concat();
    let (run, answer) = folder.record(&recorder, &[], &limited);
    let why = answer["why_not"].as_str().unwrap_or_default();
    assert_eq!((run.code, &answer["program_code"]), (1, &0.into()), "{}", run.err);
    assert!(
        why.contains("launch.record: File too large") && names(&folder).is_empty(),
        "{why} {:?}",
        names(&folder)
    );
    std::os::unix::fs::symlink("/dev/full", folder.file()).unwrap();
    let (run, answer) = folder.record(&recorder, &[], &saxpy("u32:100"));
    let why = answer["why_not"].as_str().unwrap_or_default();
    assert_eq!((run.code, &answer["program_code"]), (1, &0.into()), "{}", run.err);
    assert!(why.contains("launch.record: No space left on device"), "{why}");
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_the_link_to_it() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-replaced");
    let target = folder.0.join("target");
    std::fs::write(&target, b"old").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Whoever has it open still has what was there.
    let before = std::fs::File::open(&target).unwrap();
    std::os::unix::fs::symlink(&target, folder.file()).unwrap();
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!((run.code, folder.recording().kernel.as_str()), (0, "saxpy"), "{}", run.err);
    let mode = std::fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(
        (mode & 0o777, names(&folder)),
        (0o600, vec!["launch.record".to_owned(), "target".to_owned()])
    );
    assert_eq!(std::io::read_to_string(before).unwrap(), "old");
}
