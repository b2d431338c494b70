//! `tests/bound_modules` is what `bind` writes for every image of the tree; `tests/bound.rs` of the root crate compiles it
//! unchanged, loads it and launches kernels of it, on whichever driver is chosen.
//!
//! `UPDATE_BOUND=1 cargo test -p cuda-launch-cli --test bind` writes it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{images, json, root, run, scratch};

/// The source for every image that a program can hold.
fn written() -> String {
    let mut source = String::from(
        "//! What `cuda-launch bind` writes for the images of this tree; made by cli/tests/bind.rs.\n#![allow(missing_docs, dead_code, unreachable_pub)]\n",
    );
    let mut loads = String::new();
    for path in images() {
        let shown = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let module: String = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let (code, answer) = json(&["bind", &shown, "--module", &module]);
        assert_eq!(code, 0, "{shown}: {answer}");
        source += &format!("\n{}", answer["source"].as_str().unwrap());
        loads += &format!("    ({shown:?}, |context| {module}::load(context).map(drop)),\n");
    }
    source += "\n/// Every module, by its image: what loads it and looks up its kernels.\n";
    source += "pub type Load = fn(&cuda_launch::CudaContext) -> Result<(), cuda_launch::Error>;\n";
    source += "pub const MODULES: &[(&str, Load)] = &[\n";
    source + &loads + "];\n"
}

#[test]
fn the_source_for_every_image_is_up_to_date() {
    let file = root().join("tests/bound_modules/mod.rs");
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
