//! Libraries that are a driver, and all the ways in which one is not. They are made here with the C compiler.
#![cfg(all(unix, not(miri)))]
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use cuda_driver_sys::{CUresult, Driver, LoadError, Origin, Reason, system_names};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("loader");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A shared library of this C source. Each test has a name of its own: a library that was loaded stays loaded.
fn library(name: &str, source: &str) -> PathBuf {
    let (code, library) = (folder().join(format!("{name}.c")), folder().join(format!("lib{name}.so")));
    std::fs::write(&code, source).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status().unwrap();
    assert!(compiled.success(), "cc {}", code.display());
    library
}

fn open(path: impl AsRef<Path>) -> Result<Driver, LoadError> {
    // SAFETY: 1: the libraries of these tests have no initialisers; 2: their functions have the signatures of their names.
    unsafe { Driver::open(path) }
}

/// Why the one path tried failed, and the error's text.
fn refusal(path: impl AsRef<Path>) -> (Reason, String) {
    let error = open(path.as_ref()).unwrap_err();
    let [attempt] = error.attempts() else { panic!("{error}") };
    assert_eq!(attempt.name, path.as_ref());
    (attempt.reason.clone(), error.to_string())
}

#[test]
fn a_driver_loads_and_lacks_what_it_does_not_export() {
    let path = library(
        "driver",
        "int cuInit(unsigned flags) { return flags ? 1 : 0; }
         int cuDriverGetVersion(int *version) { *version = 11080; return 0; }
         int cuMemAlloc(unsigned *address, unsigned bytes) { return 777; } /* the old ABI: not to be called */
         int cuMemFree_v2(unsigned long long address) { return 17; }",
    );
    let driver = open(&path).unwrap();
    // SAFETY: the functions do what the source above says.
    unsafe {
        assert_eq!(driver.cuInit(0), CUresult::SUCCESS);
        assert_eq!(driver.cuInit(5), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(driver.cuMemFree(0), CUresult(17));
        assert_eq!(driver.cuMemAlloc(&mut 0, 1), CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    }
    assert_eq!(driver.version(), Ok(11080));
    assert!(driver.has("cuMemFree") && !driver.has("cuMemAlloc") && !driver.has("cuLaunchKernel"));
    assert_eq!(*driver.origin(), Origin::Path(path.clone()));
    assert_eq!(driver.origin().to_string(), path.display().to_string());
    if cfg!(target_os = "linux") {
        assert_eq!(driver.file(), Some(path.canonicalize().unwrap()));
    }
}

#[test]
fn the_toolkits_stub_is_refused() {
    let path = library(
        "stub",
        "int cuInit(unsigned flags) { return 34; } int cuDriverGetVersion(int *version) { return 34; }",
    );
    let (reason, text) = refusal(path);
    assert_eq!(reason, Reason::Stub);
    assert!(text.contains("stub") && text.contains("remove the toolkit's `stubs` folder"), "{text}");
}

/// A driver that is broken is still the driver: what it answers is for the caller to report.
#[test]
fn a_driver_that_fails_is_a_driver() {
    let path = library(
        "failing",
        "int cuInit(unsigned flags) { return 803; } int cuDriverGetVersion(int *version) { return 999; }",
    );
    assert_eq!(open(path).unwrap().version(), Err(CUresult::CUDA_ERROR_UNKNOWN));
}

#[test]
fn libraries_that_are_no_driver_are_refused() {
    assert_eq!(refusal(library("other", "int other(void) { return 0; }")).0, Reason::NotADriver("cuInit"));
    let half = library("half", "int cuInit(unsigned flags) { return 0; }");
    let (reason, text) = refusal(&half);
    assert_eq!(reason, Reason::NotADriver("cuDriverGetVersion"));
    assert!(
        text.contains(&format!(
            "  {}: it is not a CUDA driver: it has no cuDriverGetVersion\n",
            half.display()
        ))
    );
}

#[test]
fn files_that_are_no_library_are_refused() {
    let text_file = folder().join("text.so");
    std::fs::write(&text_file, "not a library").unwrap();
    let empty = folder().join("empty.so");
    std::fs::write(&empty, "").unwrap();
    for path in [text_file, empty, folder().join("missing.so"), folder(), PathBuf::from("a\0b")] {
        let (reason, text) = refusal(&path);
        assert!(
            matches!(&reason, Reason::NotLoaded(why) if !why.is_empty()),
            "{}: {reason:?}",
            path.display()
        );
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("no CUDA driver:"));
        let why = lines.next().unwrap().strip_prefix(&format!("  {}: ", path.display())).unwrap();
        assert!(!why.contains(&*path.to_string_lossy()), "the name is there twice: {text}");
        assert!(lines.next().unwrap().starts_with("  help: install NVIDIA's driver"), "{text}");
    }
}

#[test]
fn the_system_driver_is_there_or_every_name_is_accounted_for() {
    match Driver::system() {
        Ok(driver) => {
            assert!(matches!(driver.origin(), Origin::System(_)));
            assert!(driver.has("cuInit") && driver.version().is_ok());
        }
        Err(error) => {
            let names: Vec<&str> =
                error.attempts().iter().filter_map(|attempt| attempt.name.to_str()).collect();
            assert_eq!(names, system_names());
            assert_eq!(error.to_string().lines().count(), names.len() + 2, "{error}");
        }
    }
}

#[test]
fn each_reason_says_what_is_missing() {
    let texts = [
        (Reason::NotLoaded("no such file".into()), "no such file"),
        (Reason::NotADriver("cuInit"), "it is not a CUDA driver: it has no cuInit"),
        (
            Reason::Lacks("nvvmVersion"),
            "it is another library, or one that is too old: it has no nvvmVersion",
        ),
        (Reason::Stub, "it is the toolkit's stub library for linking, not a driver"),
    ];
    for (reason, text) in texts {
        assert_eq!(reason.to_string(), text);
    }
}
