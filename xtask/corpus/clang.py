"""Kernels by clang, at each level of optimisation. Takes the clang that the system has (Debian's package `clang`)."""

import pathlib
import shutil
import subprocess

from place import Place

place = Place("clang")
source = pathlib.Path(__file__).with_name("clang_kernels.cu")


def compiled(level, arch):
    command = ["clang++", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-std=c++17", f"-O{level}", f"--cuda-gpu-arch={arch}"]
    done = subprocess.run([*command, source, "-o", "-"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


if shutil.which("clang++") is None:
    print("clang: not on this machine")
else:
    for level in ["0", "1", "2", "3", "s"]:
        for arch in ["sm_60", "sm_75", "sm_86"]:
            place.attempt(f"{level}_{arch}", lambda: compiled(level, arch))
    place.end()
