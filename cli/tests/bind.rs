//! What `bind` writes compiles unchanged, loads, and launches: `bound/mod.rs` is what it writes for every image of the tree.
//!
//! `UPDATE_BOUND=1 cargo test -p cuda-launch-cli --test bind` writes it anew.
#![allow(unsafe_code)] // Launches of two of the kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[rustfmt::skip] // as the tool writes it
mod bound;
mod support;

use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig};
use std::path::Path;
use support::{images, json, root, run, scratch};

/// The source for every image that a program can hold.
fn written() -> String {
    let mut source = String::from(
        "//! What `cuda-launch bind` writes for the images of this tree; made by tests/bind.rs.\n#![allow(missing_docs, dead_code, unreachable_pub)]\n",
    );
    let mut loads = String::new();
    for path in images() {
        let shown = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let module: String = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let (code, answer) = json(&["bind", &shown, "--path", &format!("../{shown}"), "--module", &module]);
        assert_eq!(code, 0, "{shown}: {answer}");
        source += &format!("\n{}", answer["source"].as_str().unwrap());
        if shown.ends_with(".ptx") {
            loads += &format!("        ({shown:?}, {module}::load(context).map(drop)),\n");
        }
    }
    source += "\n/// Every PTX module, looked up kernel by kernel.\npub fn load_all(\n    context: &cuda_launch::CudaContext,\n";
    source += ") -> Vec<(&'static str, Result<(), cuda_launch::Error>)> {\n    vec![\n";
    source + &loads + "    ]\n}\n"
}

#[test]
fn the_source_for_every_image_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bound/mod.rs");
    let written = written();
    if std::env::var_os("UPDATE_BOUND").is_some() {
        std::fs::write(file, written).unwrap();
    } else {
        let found = std::fs::read_to_string(file).unwrap();
        let line = written.lines().zip(found.lines()).position(|(a, b)| a != b);
        assert!(written == found, "differs from line {line:?} on; UPDATE_BOUND=1 writes it anew");
    }
}

#[test]
fn modules_load_and_launch() {
    let context = CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap();
    let stream = context.new_stream().unwrap();
    for (name, loaded) in bound::load_all(&context) {
        // The emulator plays an sm_90.
        assert!(
            loaded.is_ok() || ["sm_100", "future"].iter().any(|newer| name.contains(newer)),
            "{name}: {loaded:?}"
        );
    }
    let x = DeviceBuffer::from_host(&stream, &[1.5f32; 1000]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
    let config = LaunchConfig::for_num_elems(1000);
    let vecadd = bound::examples_kernels_vecadd_ptx::load(&context).unwrap();
    // SAFETY: the three buffers have the length that is passed.
    unsafe { vecadd.vecadd(&stream, config, &x, &x, &mut y) }.unwrap();
    assert_eq!(y.to_host_vec(&stream).unwrap(), [3.0; 1000]);
    let saxpy = bound::examples_kernels_saxpy_ptx::load(&context).unwrap();
    // SAFETY: both buffers have 1000 elements.
    unsafe { saxpy.saxpy(&stream, config, 1000, 2.0, x.as_device_ptr(), y.as_mut_device_ptr()) }.unwrap();
    assert_eq!(y.to_host_vec(&stream).unwrap(), [6.0; 1000]);
}

#[test]
fn it_writes_where_it_is_told() {
    let folder = scratch("bind");
    let file = folder.join("kernels.rs");
    let name = file.to_str().unwrap();
    let saved = run(&[
        "bind",
        "examples/kernels/saxpy.ptx",
        "--module",
        "Match Me",
        "--crate",
        "gpu::launch",
        "-o",
        name,
    ]);
    assert_eq!(saved.code, 0, "{}", saved.err);
    let source = std::fs::read_to_string(&file).unwrap();
    for part in [
        "#[gpu::launch::cuda_module(\"examples/kernels/saxpy.ptx\", crate = gpu::launch)]\npub mod match_me {",
        "pub fn saxpy(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);",
    ] {
        assert!(source.contains(part), "{source}");
    }
    assert_eq!(run(&["bind", "README.md"]).code, 3);
    assert_eq!(run(&["bind", "examples/kernels/saxpy.ptx", "-o", "/no/such/folder/x.rs"]).code, 3);
    std::fs::remove_dir_all(folder).unwrap();
}
