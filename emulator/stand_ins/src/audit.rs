//! An auditor of glibc's loader (`man 7 rtld-audit`): which file it gets for a name.
//!
//! It lives in a namespace of its own, with its own copy of the C library, and shares only files with the program. Nothing in it may
//! unwind into the loader.
#![allow(unsafe_code)] // C functions that the loader calls.

use std::ffi::{CStr, CString, OsStr, c_char, c_uint};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use crate::link_map::LinkMap;
use crate::{ASKED, COMPILERS, FOLDER, FOUND, INTERPOSER, LOADED, STAND_INS};

/// What a library of ours is marked with: what it looks for itself is the program's own.
const OURS: usize = 0;

/// How the names begin that the linker writes into the libraries of the tool (`build.rs` of `cuda-launch-cli`), but for the emulator, which
/// has that of a driver, and is loaded from the folder.
const OWN_NAMES: &[u8] = b"cuda-launch-";

/// The driver, in the folder.
const DRIVER: &str = "libcuda.so.1";

/// The libraries of the folder that stand for what they are named after, wherever a program looks for that.
const DRIVERS: [(&str, &str); 4] = [
    (DRIVER, DRIVER),
    ("libcuda.so", DRIVER),
    ("libnvidia-ml.so.1", "libnvidia-ml.so.1"),
    ("libnvidia-ml.so", "libnvidia-ml.so.1"),
];

static HERE: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os(FOLDER).map(PathBuf::from));

/// What comes between the program and the driver of the folder, which it finds for itself, being a library of ours.
static BETWEEN: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os(INTERPOSER).map(PathBuf::from).filter(|path| path.exists()));

/// The compilers of the program for which this process has stand-ins, in the order of `COMPILERS`.
static SERVED: Mutex<[Option<PathBuf>; COMPILERS.len()]> = Mutex::new([const { None }; COMPILERS.len()]);

/// `LA_SER_ORIG` of `link.h`: the loader has the name from the program, not from its search.
const BY_PROGRAM: c_uint = 1;

/// `la_version`: this auditor uses what every version has.
// SAFETY: the name is the loader's, so is the signature (`man 7 rtld-audit`), and no other function of this library has
// the name.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: c_uint) -> c_uint {
    version
}

/// `la_objopen`: a library was loaded.
// SAFETY: the name is the loader's, so is the signature (`man 7 rtld-audit`), and no other function of this library has
// the name.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *const LinkMap, _: isize, cookie: *mut usize) -> c_uint {
    let Some(folder) = HERE.as_deref() else { return 0 };
    // SAFETY: the loader passes null or the structure of a library that it has just loaded, aligned and filled, which
    // stays as it is during this call; only its first members are in the type.
    let Some(map) = (unsafe { map.as_ref() }) else { return 0 };
    // By the name in it, for the loader has a stand-in under the name of what it stands for.
    // SAFETY: 1: that structure, of a library that stays loaded during this call, as the name is used no longer.
    let name = unsafe { map.soname() };
    // SAFETY: null, or a text with its NUL that lives as long as the library, and nobody writes it.
    let file = (!map.name.is_null()).then(|| unsafe { CStr::from_ptr(map.name) });
    let is_driver = |file: &CStr| Path::new(OsStr::from_bytes(file.to_bytes())).parent() == Some(folder);
    if name.is_some_and(|name| name.to_bytes().starts_with(OWN_NAMES)) || file.is_some_and(is_driver) {
        // SAFETY: the loader passes a place, aligned, that is the auditor's for this library and that nobody else uses
        // meanwhile.
        unsafe { cookie.write(OURS) };
    } else if let Some(file) = file {
        loaded(folder, file);
    }
    // No symbol is looked at.
    0
}

/// Writes a name down where somebody asks for it.
fn loaded(folder: &Path, name: &CStr) {
    let Ok(mut file) = File::options().append(true).open(folder.join(LOADED)) else { return };
    // One call, so that processes do not mix their lines.
    let _ = file.write_all(&[name.to_bytes(), b"\n"].concat());
}

/// `la_objsearch`: the loader looks for a library, first by the name that was asked for, then in one folder after the other.
// SAFETY: the name is the loader's, so is the signature (`man 7 rtld-audit`), and no other function of this library has
// the name.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, cookie: *mut usize, flag: c_uint) -> *const c_char {
    if name.is_null() {
        return name;
    }
    // SAFETY: the place, aligned, that `la_objopen` got for the library that looks for another; the loader sets it
    // before that, and only this auditor writes it.
    let is_ours = unsafe { cookie.read() } == OURS;
    // SAFETY: not null, as was checked, so by the loader's contract a text with its NUL, which nobody writes during
    // this call.
    let asked = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    let found = HERE
        .as_deref()
        .and_then(|folder| if is_ours { for_ours(folder, asked) } else { instead(folder, asked, flag) });
    let found = found.and_then(|path| CString::new(path.into_os_string().into_encoded_bytes()).ok());
    // The loader keeps no copy: one for each search, of which there are few.
    found.map_or(name, |path| path.into_raw())
}

/// The file for a name; `None` where it is the one that was asked for.
fn instead(folder: &Path, asked: &Path, flag: c_uint) -> Option<PathBuf> {
    let file = asked.file_name()?.to_str()?;
    if let Some((_, ours)) = DRIVERS.iter().find(|(name, _)| *name == file) {
        let between = BETWEEN.clone().filter(|_| *ours == DRIVER);
        return between.or_else(|| Some(folder.join(ours)).filter(|path| path.exists()));
    }
    let (index, compiler) = COMPILERS.iter().enumerate().find(|(_, stem)| is_version_of(file, stem))?;
    let stand_ins = folder.join(STAND_INS);
    if flag != BY_PROGRAM && is_served(index, file) {
        return Some(stand_ins.join(compiler));
    }
    // A bare name is looked for in folders next, each of which comes here; one that lacks the file is not taken.
    if !asked.as_os_str().as_bytes().contains(&b'/') {
        leave_word(&stand_ins, &format!("{compiler}{ASKED}"), asked);
        return None;
    }
    let whole = std::path::absolute(asked).ok().filter(|path| path.is_file())?;
    // For this process, and for those that it forks.
    leave_word(&stand_ins, &format!("{compiler}.{}", std::process::id()), &whole)?;
    leave_word(&stand_ins, &format!("{compiler}{FOUND}"), &whole)?;
    // Not waited for: a forked child has the lock as another thread of its parent left it.
    if let Ok(mut served) = SERVED.try_lock() {
        served[index] = whole.canonicalize().ok();
    }
    Some(stand_ins.join(compiler))
}

/// Whether the process has a stand-in under that name. A library that was loaded by its path is not looked for in folders when
/// another one needs it: it is found by its `soname`, which the stand-in lacks.
fn is_served(index: usize, file: &str) -> bool {
    let Ok(served) = SERVED.try_lock() else { return false };
    let name = served[index].as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    // `libnvrtc.so.13.0.88` has the `soname` `libnvrtc.so.13`.
    let rest = name.and_then(|name| name.strip_prefix(file));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// For a stand-in, which looks for what it stands for beside its name, and in any folder for itself.
fn for_ours(folder: &Path, asked: &Path) -> Option<PathBuf> {
    let file = asked.file_name()?.to_str()?;
    let path = asked.as_os_str().as_bytes();
    let compiler = COMPILERS.iter().find(|stem| is_version_of(file, stem))?;
    let is_itself = path.contains(&b'/') && !path.windows(3).any(|part| part == b"/./");
    is_itself.then(|| folder.join(STAND_INS).join(compiler))
}

/// `libnvrtc.so.13` of `libnvrtc.so`.
fn is_version_of(file: &str, stem: &str) -> bool {
    file.strip_prefix(stem).is_some_and(|rest| rest.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit()))
}

/// Tells the stand-in, or the tool, of a file.
fn leave_word(stand_ins: &Path, name: &str, file: &Path) -> Option<()> {
    // Whole or not at all, as other processes may read it.
    let part = stand_ins.join(format!("{name}.part{}", std::process::id()));
    std::fs::write(&part, file.as_os_str().as_bytes()).ok()?;
    std::fs::rename(part, stand_ins.join(name)).ok()
}
