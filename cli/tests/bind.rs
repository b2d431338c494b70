//! `bind`: the source of a typed module for each image, and where it is written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{images, json, root, run, scratch};

/// `tests/bound` compiles the source, loads it and launches kernels of it; it includes the code that writes it.
#[test]
fn there_is_source_for_every_image() {
    for path in images() {
        let shown = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let (code, answer) = json(&["bind", &shown, "--module", "it"]);
        assert_eq!(code, 0, "{shown}: {answer}");
        let source = answer["source"].as_str().unwrap();
        assert!(source.contains(&format!("cuda_module({shown:?})]\npub mod it {{\n")), "{source}");
    }
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
        "// #[launch_contract(requires = (p2.len() >= p0 as usize, p3.len() >= p0 as usize))]\n        pub fn saxpy(",
    ] {
        assert!(source.contains(part), "{source}");
    }
    assert_eq!(run(&["bind", "README.md"]).code, 3);
    assert_eq!(run(&["bind", "examples/kernels/saxpy.ptx", "-o", "/no/such/folder/x.rs"]).code, 3);
    std::fs::remove_dir_all(folder).unwrap();
}
