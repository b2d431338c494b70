//! Damaged images by the hundred, shown to the tool: each is refused with a place in it, in bounded memory and time, and what is
//! refused does not load on the emulator. `tests/malformed_images.rs` of the root crate sends the same list to a driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../tests/malformed/mod.rs"]
mod malformed;
mod support;

use cuda_launch::{CudaContext, Driver};
use cuda_ptx::image::Image;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use support::{images, root, scratch};

/// So many of the list must be refused.
const WANTED: usize = 300;

/// Looks into the file with at most 512 MiB of addresses; whether it was refused.
fn is_refused(path: &Path, what: &str) -> bool {
    let tool = env!("CARGO_BIN_EXE_cuda-launch");
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 524288; exec timeout 20 \"$0\" inspect --json \"$1\"", tool]);
        shell
    } else {
        let mut plain = Command::new(tool);
        plain.args(["inspect", "--json"]);
        plain
    };
    let output = command.arg(path).env("RUST_BACKTRACE", "0").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let answer: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{what}: {:?} {text} {complaint}", output.status));
    match output.status.code() {
        Some(0) => false,
        Some(3) => {
            let error = &answer["error"];
            let has = |field: &str| error[field].is_u64();
            assert!(has("line") && has("column") || has("offset"), "{what}: {error}");
            true
        }
        _ => panic!("{what}: {:?} {complaint}", output.status),
    }
}

#[test]
fn damaged_images_are_refused_with_a_place() {
    let folder = scratch("malformed");
    let emulator: Arc<Driver> = cuda_emulator::driver();
    let context = CudaContext::with_driver(&emulator, 0).unwrap();
    let path = folder.join("image");
    let list = malformed::list(&images(), &root());
    let mut refused = 0;
    for image in &list {
        let (name, bytes) = (&image.name, &image.bytes);
        std::fs::write(&path, bytes).unwrap();
        if !is_refused(&path, name) {
            assert!(!image.by_hand, "{name}: accepted");
            continue;
        }
        refused += 1;
        // What only texts have wrong is found when they are compiled: of a fatbin, the one that is chosen.
        let late = !image.by_hand && Image::read(bytes).is_ok();
        assert!(late || context.load_module(bytes).is_err(), "{name}: loaded");
    }
    assert!(refused >= WANTED, "only {refused} of {} damaged images refused", list.len());
    println!("{refused} of {} damaged images refused", list.len());
    std::fs::remove_dir_all(folder).unwrap();
}
