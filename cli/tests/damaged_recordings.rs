//! `cuda-launch replay` of files that are not what `record` wrote: an error that says where, or a launch.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use recordings::{Folder, saxpy};
use std::os::unix::fs::PermissionsExt;
use support::{Run, finished, recorder, tool, tool_within};

/// Numbers that depend on nothing but the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

/// Tags and contents of a file's sections.
fn sections(file: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut list, mut at) = (Vec::new(), 12);
    while at < file.len() {
        let length = u64::from_le_bytes(file[at + 4..at + 12].try_into().unwrap()) as usize;
        list.push((file[at..at + 4].to_vec(), file[at + 12..at + 12 + length].to_vec()));
        at += 12 + length;
    }
    list
}

fn joined(head: &[u8], sections: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut file = head.to_vec();
    for (tag, content) in sections {
        file.extend(tag);
        file.extend((content.len() as u64).to_le_bytes());
        file.extend(content);
    }
    file
}

impl Folder {
    /// With little memory, and for as long as a processor's second is.
    fn replay_of(&self, bytes: &[u8]) -> Run {
        std::fs::write(self.file(), bytes).unwrap();
        finished(&tool_within(10).arg("replay").arg(self.file()).output().unwrap())
    }
}

#[test]
fn damage_is_an_error_with_the_file_and_the_place() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("damaged");
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    let (whole, name) = (std::fs::read(folder.file()).unwrap(), folder.file().display().to_string());
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut file = whole.clone();
        match seed % 3 {
            0 => file.truncate(12 + random.below(whole.len() - 12)),
            1 => file[12 + random.below(whole.len() - 60)] ^= 1 << random.below(8),
            _ => drop(file.drain(100..101 + random.below(100))),
        }
        let run = folder.replay_of(&file);
        let says = run.says(&format!("error: {name}: it is damaged at byte "));
        assert!(run.code == 3 && says, "{seed}: {} {}", run.code, run.err);
    }
}

/// Without a hash, so that what is read is used: sizes, offsets, addresses, kernels.
#[test]
fn whatever_a_file_says_is_launched_or_refused() {
    const ODD: [u64; 9] = [0, 1, 4, 1 << 12, 1 << 31, 1 << 32, 0x3000_0000_0000, 1 << 63, u64::MAX];
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("odd");
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    let (whole, name) = (std::fs::read(folder.file()).unwrap(), folder.file().display().to_string());
    let mut codes = [0; 5];
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut list = sections(&whole);
        list.retain(|(tag, _)| tag != b"hash");
        let at = random.below(list.len() - 1);
        // A grid that is larger runs for longer, and rightly.
        let is_grid = list[at].0 == b"conf";
        let content = &mut list[at].1;
        match random.below(4) {
            0 if content.len() >= 8 && !is_grid => {
                let at = random.below(content.len() / 4 - 1) * 4;
                content[at..at + 8].copy_from_slice(&ODD[random.below(ODD.len())].to_le_bytes());
            }
            1 if !content.is_empty() && !is_grid => {
                let at = random.below(content.len());
                content[at] ^= 1 << random.below(8);
            }
            2 => drop(list.remove(at)),
            _ => {
                let other = random.below(list.len() - 1);
                list.swap(at, other);
            }
        }
        let run = folder.replay_of(&joined(&whole[..12], &list));
        codes[run.code as usize] += 1;
        let names_it = run.code < 3 || run.says(&format!("error: {name}: "));
        assert!(run.code != 2 && names_it, "{seed}: {} {}", run.code, run.err);
    }
    // Some of each.
    assert!(codes[0] > 5 && codes[1] > 5 && codes[3] > 5, "{codes:?}");
}

/// Nothing is behind it.
#[test]
fn memory_that_ends_where_addresses_end_is_no_panic() {
    let folder = Folder::new("last");
    let Some(recorder) = recorder() else { return };
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    for end in [1, 100, 511, 512] {
        let mut recording = folder.recording();
        recording.regions[0].address = u64::MAX - recording.regions[0].bytes - end + 1;
        let run = folder.replay_of(&recording.to_bytes());
        assert!([0, 1, 3].contains(&run.code), "{end}: {} {}", run.code, run.err);
        let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
        assert_eq!(run.code, 0, "{}", run.err);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = Folder::new("no-file");
    let replay = |path: &std::path::Path| finished(&tool().arg("replay").arg(path).output().unwrap());
    let refused = |path: &std::path::Path, words: &str| {
        let run = replay(path);
        let name = path.display().to_string();
        assert!(run.code == 3 && run.says(words) && run.says(&name), "{words}: {} {}", run.code, run.err);
    };
    refused(&folder.0, "it is a folder");
    refused(&folder.0.join("none"), "no such file");
    refused(std::path::Path::new("/dev/null"), "it is not a recording of a launch");
    std::fs::write(folder.file(), b"").unwrap();
    refused(&folder.file(), "it is not a recording of a launch");
    std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    if std::fs::read(folder.file()).is_err() {
        refused(&folder.file(), "this user has no permission to read it");
    }
    let pipe = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, b"cu-rec\r\n\x01\0\0\0kern").unwrap()
    });
    refused(&pipe, "it is damaged at byte 16: 8 bytes are expected, and 0 are left");
    writer.join().unwrap();
}
