//! The example with cudarc, on a driver that both load: the system's, or the emulator as a library.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

#[path = "../cudarc.rs"]
mod example;

use cuda_launch::Driver;
use support::{built, child, is_child};

/// A folder in which the system's loader finds the emulator under the driver's names.
#[cfg(target_os = "linux")]
fn emulator_folder() -> Option<std::path::PathBuf> {
    let library = built("cuda-emulator-libcuda", "emulated_cuda")?;
    let folder = std::env::temp_dir().join(format!("cuda-launch-interop-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // This crate asks for the first, cudarc for the second.
    for name in ["libcuda.so.1", "libcuda.so"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).unwrap();
    }
    Some(folder)
}

#[test]
#[cfg(target_os = "linux")]
fn a_stream_and_buffers_of_cudarc_are_borrowed() {
    const NAME: &str = "a_stream_and_buffers_of_cudarc_are_borrowed";
    if is_child() {
        return example::run().unwrap();
    }
    let has_gpu = Driver::system().is_ok_and(|driver| driver.version().is_ok_and(|version| version > 0));
    let folder = if has_gpu { None } else { emulator_folder() };
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
