//! What the cache trusts, and what it leaves alone; with a compiler, tests/compile_cache.rs.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
#[cfg(unix)]
use crate::compile::code::CodeKind;

/// A folder of this test's own, which only this user may write.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cuda-launch-cache-{name}-{}", temporary_name()));
    make_folder(&folder).unwrap();
    folder
}

#[cfg(unix)]
fn code() -> CompiledCode {
    let (log, origin) = (String::new(), "k.cu".into());
    CompiledCode { kind: CodeKind::Ptx, bytes: vec![7], log, names: Vec::new(), origin, cache: CacheUse::Off }
}

#[cfg(unix)]
fn through(cache: &CompileCache) -> CacheUse {
    CompileCache::through(Some(cache), || Ok(Key([1; 32])), || Ok(code())).unwrap().cache
}

#[test]
#[cfg(unix)]
fn a_folder_that_others_may_write_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = folder("modes");
    let cache = CompileCache::at(&folder);
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    assert!(matches!(through(&cache), CacheUse::Stored));
    for mode in [0o777, 0o1777, 0o770] {
        chmod(&folder, mode);
        let CacheUse::NotStored(why) = through(&cache) else { panic!("{mode:o}") };
        assert!(why.contains("other users may write") && why.contains("chmod go-w"), "{why}");
    }
    chmod(&folder, 0o755);
    assert!(matches!(through(&cache), CacheUse::Hit));
    // An entry that others may write is compiled again, and is this user's alone then.
    let entry = cache.path(&Key([1; 32]));
    assert_eq!(fs::metadata(&entry).unwrap().permissions().mode() & 0o777, 0o600);
    chmod(&entry, 0o666);
    assert!(matches!(through(&cache), CacheUse::Stored) && matches!(through(&cache), CacheUse::Hit));
    // Only root can give a folder away.
    if chown(&folder, Some(65_534), None).is_ok() {
        let CacheUse::NotStored(why) = through(&cache) else { panic!() };
        assert!(why.contains("belongs to user 65534"), "{why}");
        chown(&folder, Some(0), None).unwrap();
        chown(&entry, Some(65_534), None).unwrap();
        assert!(matches!(through(&cache), CacheUse::Stored));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(unix)]
fn what_is_no_file_is_not_read() {
    let (folder, key) = (folder("pipe"), Key([1; 32]));
    let cache = CompileCache::at(&folder);
    let made = std::process::Command::new("mkfifo").arg(cache.path(&key)).status().unwrap();
    assert!(made.success());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(matches!(through(&cache), CacheUse::Stored)).unwrap());
    // Nobody writes into the pipe.
    assert!(receiver.recv_timeout(Duration::from_secs(20)).unwrap(), "another entry takes its place");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sizes_of_more_than_64_bits_are_added() {
    let entry = || Entry { path: PathBuf::new(), size: u64::MAX, used: SystemTime::UNIX_EPOCH };
    assert_eq!(total(&[entry(), entry(), entry()]), 3 * u128::from(u64::MAX));
}

#[test]
fn what_others_made_stays() {
    let folder = folder("others");
    let cache = CompileCache::at(&folder).limit(0);
    // A temporary of another process by the first two names; the third is free.
    let names: Vec<String> = (0..3).map(|_| temporary_name()).collect();
    let path = |name: &str| folder.join(name).with_extension(TEMPORARY);
    names[..2].iter().for_each(|name| fs::write(path(name), "theirs").unwrap());
    let next = std::cell::Cell::new(0);
    let (_, made) = cache.temporary(|| names[next.replace(next.get() + 1)].clone()).unwrap();
    assert_eq!(made, path(&names[2]));
    assert!(names[..2].iter().all(|name| fs::read_to_string(path(name)).unwrap() == "theirs"));
    // Files of other programs are neither entries nor left over.
    for name in ["work.tmp", "77-0.tmp", "main.code", &format!("{}.code", "g".repeat(KEY_DIGITS))] {
        let file = File::create(folder.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let left_over = File::options().write(true).open(path(&names[0])).unwrap();
    left_over.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    cache.shrink().unwrap();
    cache.clear().unwrap();
    assert_eq!((cache.size().unwrap(), fs::read_dir(&folder).unwrap().count()), (0, 6));
    assert!(!path(&names[0]).exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn temporary_names_differ() {
    let names: std::collections::HashSet<String> = (0..1000).map(|_| temporary_name()).collect();
    assert!(names.len() == 1000 && names.iter().all(|name| name.len() == TEMPORARY_DIGITS));
}
