"""Kernels by rustc (a nightly with `rust-src`, of which `core` is built for the target), at several levels of optimisation."""

import pathlib
import os
import subprocess

from place import FOLDER, Place

place = Place("rustc")
source = pathlib.Path(__file__).with_name("rustc_kernels.rs")
project = FOLDER.parent / "rustc"
(project / "src").mkdir(parents=True, exist_ok=True)
(project / "src/lib.rs").write_text(source.read_text())
(project / "Cargo.toml").write_text('[package]\nname = "kernels"\nedition = "2024"\n[workspace]\n')


def compiled(level, arch):
    to = project / "target/nvptx64-nvidia-cuda/release/deps"
    for old in to.glob("kernels*.s"):
        old.unlink()
    options = {"RUSTFLAGS": f"-Ctarget-cpu={arch} -Zcross-crate-inline-threshold=always", "CARGO_PROFILE_RELEASE_OPT_LEVEL": level, "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"}
    command = "rustup run nightly cargo rustc --release -Zbuild-std=core --target nvptx64-nvidia-cuda -- --emit=asm"
    done = subprocess.run(command.split(), cwd=project, env={**os.environ, **options}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(next((line for line in done.stderr.splitlines() if line.startswith("error")), done.stderr))
    (file,) = to.glob("kernels*.s")
    return file.read_text()


if subprocess.run(["rustup", "run", "nightly", "rustc", "--version"], capture_output=True).returncode:
    print("rustc: no nightly on this machine")
else:
    for level in ["0", "1", "s", "3"]:
        for arch in ["sm_80", "sm_90"]:
            place.attempt(f"{level}_{arch}", lambda: compiled(level, arch))
    place.end()
