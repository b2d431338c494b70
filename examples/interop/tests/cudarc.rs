//! The example with cudarc, on a driver that both load: the system's, or the emulator as a library.

#![cfg(target_os = "linux")] // A link by the driver's name, and a variable for the loader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

#[path = "../cudarc.rs"]
mod example;

#[path = "../every_failure.rs"]
mod program;

#[path = "../scaled.rs"]
mod scaled;

use cuda_launch::{CudaDevice, Driver};
use std::sync::Arc;
use support::{built, child, is_child};

/// A folder in which the system's loader finds the emulator under the driver's names.
fn emulator_folder(test: &str) -> Option<std::path::PathBuf> {
    let library = built("emulated_cuda")?;
    let folder = std::env::temp_dir().join(format!("cuda-launch-interop-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // This crate asks for the first, cudarc for the second.
    for name in ["libcuda.so.1", "libcuda.so"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).unwrap();
    }
    Some(folder)
}

#[test]
fn a_stream_and_buffers_of_cudarc_are_borrowed() {
    const NAME: &str = "a_stream_and_buffers_of_cudarc_are_borrowed";
    if is_child() {
        return example::run().unwrap();
    }
    let devices = |driver| CudaDevice::all_of(&Arc::new(driver)).map_or(0, |all| all.len());
    let has_gpu = Driver::system().is_ok_and(|driver| devices(driver) > 0);
    let folder = if has_gpu { None } else { emulator_folder("borrowed") };
    if !has_gpu && folder.is_none() {
        return;
    }
    let path = folder.clone().map_or_else(Default::default, std::path::PathBuf::into_os_string);
    let variables = [("LD_LIBRARY_PATH", path.as_os_str())];
    let output = child(NAME, if has_gpu { &[] } else { &variables });
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    assert!(text.contains("reads what this crate launched: 1000 times 5"), "{text}");
    assert!(text.contains("100 times 7"), "{text}");
    if let Some(folder) = folder {
        assert!(text.contains("emulator"), "{text}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// What docs/testing.md says of cudarc 0.19.10, on the emulator: nothing panics; of the calls that fail before the results are there,
/// each is an error; some leave the context or a buffer behind.
#[test]
fn the_failures_of_a_program_over_cudarc_are_as_documented() {
    const NAME: &str = "the_failures_of_a_program_over_cudarc_are_as_documented";
    if is_child() {
        if let Err(error) = program::saxpy() {
            eprintln!("{error}");
            std::process::exit(program::TOLD.into());
        }
        return;
    }
    let Some(folder) = emulator_folder("failures") else { return };
    let start = |variables: &[(&str, &str)]| {
        let path = ("LD_LIBRARY_PATH", folder.as_os_str());
        let variables = variables.iter().map(|(name, value)| (*name, std::ffi::OsStr::new(*value)));
        Ok(child(NAME, &std::iter::once(path).chain(variables).collect::<Vec<_>>()))
    };
    let rows = program::every_failure(&folder.join("log"), start).unwrap();
    let all = |of: fn(&program::Row) -> usize| rows.values().map(of).sum::<usize>();
    assert_eq!((all(|row| row.calls), all(|row| row.told), all(|row| row.broken)), (85, 61, 0), "{rows:#?}");
    assert_eq!(rows["cuDeviceGetAttribute"].left["primary context"], 1);
    assert_eq!(rows["cuEventCreate"].left["memory"], 4);
    let page = include_str!("../../../docs/testing.md");
    for function in
        ["cuDeviceGetAttribute", "cuEventCreate", "cuCtxGetCurrent", "cuLaunchKernel", "cuMemFreeAsync"]
    {
        let row = format!("\n| `{function}` | {} |", rows[function]);
        assert!(page.contains(&row), "docs/testing.md has no row {row}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The page's library over cudarc is the example, and the report of what it leaves behind is what the page says.
#[test]
fn the_library_over_cudarc_of_the_page_about_testing_does_what_the_page_says() {
    const NAME: &str = "the_library_over_cudarc_of_the_page_about_testing_does_what_the_page_says";
    if is_child() {
        if let Err(error) = scaled::main() {
            eprintln!("Error: {error:?}");
        }
        return;
    }
    let page = include_str!("../../../docs/testing.md");
    let source = include_str!("../scaled.rs");
    let (_, code) = source.split_once("\n\nuse ").unwrap();
    let code = format!("\n```rust,ignore\nuse {}```\n", code.replace("pub(crate) fn", "fn"));
    assert!(page.contains(&code), "docs/testing.md has another program than examples/interop/scaled.rs");
    let (_, said) = page.split_once("-- target/debug/examples/scaled\n").unwrap();
    let (said, _) = said.split_once("\n```").unwrap();
    let Some(folder) = emulator_folder("scaled") else { return };
    let run = |fault: &str| {
        let variables = [
            ("LD_LIBRARY_PATH", folder.as_os_str()),
            ("CUDA_LAUNCH_HARNESS_LEAKS", "1".as_ref()),
            ("CUDA_LAUNCH_HARNESS_FAIL", fault.as_ref()),
        ];
        let output = child(NAME, &variables);
        String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
    };
    assert_eq!(run(""), "cuda-harness: 0 live, 0 mistakes\nnothing is live");
    assert_eq!(run("cuLaunchKernel@1=OUT_OF_MEMORY"), said);
    std::fs::remove_dir_all(folder).unwrap();
}
