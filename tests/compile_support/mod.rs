//! The compilers, where they are: tests of them say that they are skipped where they are not, and fail if
//! `CUDA_LAUNCH_REQUIRE_COMPILERS` is 1.

#![allow(unsafe_code, dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::skipped;
use cuda_launch::compile::{NvJitLink, Nvrtc, Nvvm};
use cuda_launch::error::{CompileError, CompileFailure};
use cuda_launch::{
    CudaContext, CudaModule, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_launch,
};
use std::path::PathBuf;

/// The compiler, or a line that says why the test is skipped.
pub fn here<T>(loaded: Result<T, Error>) -> Option<T> {
    let required = std::env::var("CUDA_LAUNCH_REQUIRE_COMPILERS").is_ok_and(|value| value == "1");
    match loaded {
        Ok(compiler) => Some(compiler),
        Err(error) if error.is_no_compiler() && !required => {
            // Without the list of what was tried.
            skipped(error.to_string().split(';').next().unwrap_or_default());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn nvrtc() -> Option<Nvrtc> {
    here(Nvrtc::load())
}

pub fn nvjitlink() -> Option<NvJitLink> {
    here(NvJitLink::load())
}

pub fn nvvm() -> Option<Nvvm> {
    here(Nvvm::load())
}

/// What a compiler that refused had to say.
pub fn refusal(error: &Error) -> &CompileFailure {
    match error.kind() {
        ErrorKind::Compile(CompileError::Refused(refusal)) => refusal,
        other => panic!("{other}"),
    }
}

/// Whether the chosen driver is the emulator, which runs PTX only.
pub fn on_emulator(ctx: &CudaContext) -> bool {
    ctx.device_name().unwrap().contains("emulator")
}

/// Adds two vectors with the module's `vecadd` and compares with the host.
pub fn adds(module: &CudaModule, kernel: &str) {
    let stream: CudaStream = module.context().new_stream().unwrap();
    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..1000).map(|i| (3 * i) as f32).collect();
    let (a_dev, b_dev) =
        (DeviceBuffer::from_host(&stream, &a).unwrap(), DeviceBuffer::from_host(&stream, &b).unwrap());
    let mut c_dev = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
    // SAFETY: 1, 2: the kernel takes three slices and bounds its index by each; 3, 4: the buffers live until
    // `to_host_vec` below has waited for the stream, and nothing else uses them; 5: it writes floats; 6: it ends, it
    // has no loop.
    unsafe {
        cuda_launch! {
            function: &module.load_function(kernel).unwrap(),
            stream: &stream,
            config: LaunchConfig::new((4, 1, 1), (256, 1, 1)),
            args: [slice(a_dev), slice(b_dev), slice_mut(c_dev)],
        }
    }
    .unwrap();
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(c_dev.to_host_vec(&stream).unwrap(), expected);
}

/// A folder of this test's own, emptied.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cuda-launch-test-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut builder = std::fs::DirBuilder::new();
    // A cache is not used where others may write, whatever the user's mask.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&folder).unwrap();
    folder
}

const CHILD: &str = "CUDA_LAUNCH_TEST_CHILD";

/// Whether this process is the child for a test.
pub fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|name| name == test)
}

/// The command that runs a test of this program again, where [`is_child`] says so, with a cache in `cache`.
pub fn child(test: &str, cache: &std::path::Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(CHILD, test).env("CUDA_LAUNCH_CACHE_DIR", cache).stdin(std::process::Stdio::null());
    command
}

/// Runs it; fails with what it printed if it fails.
pub fn passes(command: &mut std::process::Command) -> String {
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}
