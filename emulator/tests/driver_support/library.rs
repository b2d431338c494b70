//! The emulator as a shared library.
#![allow(clippy::unwrap_used)]

/// The shared library, built as these tests are; none where nothing can be built.
pub(crate) fn shared_library() -> Option<std::path::PathBuf> {
    let cargo = std::env::var_os("CARGO")?;
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        // Not `dev`, of which nothing else is built here: the emulator in it would be built once more.
        "debug" => "test",
        profile => profile,
    };
    // All libraries, as for all tests: with the features of this one alone the emulator would be built once more.
    let built = std::process::Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--lib", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.unwrap().success());
    let name = format!("{}emulated_cuda{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Some(folder.join(name))
}
