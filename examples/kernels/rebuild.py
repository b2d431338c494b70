#!/usr/bin/env python3
"""Compiles every .cu of examples/kernels, tests/kernels and tests/sanitizer to the .ptx that is committed beside it.

    rebuild.py                  compile and write; creates a venv with the pinned compilers in target/ (0.6 GB) first
    rebuild.py --check          compile and compare; exit status 1 and a list of files where something differs
    rebuild.py --tools VENV     use the compilers of this venv instead
    rebuild.py --cubin DIR      also assemble every .ptx for sm_90 into DIR (for a run on a GPU; not committed)
    rebuild.py NAME...          only the sources whose name without .cu is given

A .cu may hold lines that steer this script:
    // arch: 90        virtual architecture (75, the lowest that this nvcc knows, if there is none)
    // flags: ...      further options of nvcc
Needs python 3 with venv and pip, g++, and clang-16 for tests/kernels/clang. Every PTX, tests/kernels/handwritten too, is
assembled by ptxas as a check. Of ptx/tests/data it makes archs.sm_*.cubin.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/kernels"
TESTS = ROOT / "tests/kernels"
SANITIZER = ROOT / "tests/sanitizer"
# Of the readers' tests: only what is named below; rebuild.sh there makes the rest.
DATA = ROOT / "ptx/tests/data"

# Always the same: nvcc hashes the path of a source into the names of its header's functions, which debug information shows.
# It is made anew, so that a second run at the same time fails instead of mixing its files with ours.
WORK = Path(tempfile.gettempdir()) / "cuda-launch-kernels"

# All of them pinned: left to itself pip takes the newest of the last six, and their PTX is too new for this ptxas.
WHEELS = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-nvjitlink==13.0.88",
]

# The examples shall load on every driver from CUDA 11.8 on. ptxas refuses what a PTX version does not have.
EXAMPLES_PTX_VERSION = "7.8"

# Compiled again in other ways, for the emulator's tests.
LINEINFO = ["vecadd", "reduce", "transpose", "saxpy", "matmul", "mandelbrot", "histogram", "scan", "mix", "fill"]
DEBUG = ["vecadd", "saxpy", "transpose", "reduce", "scan", "mandelbrot"]
CLANG = ["vecadd", "saxpy", "transpose", "reduce", "scan", "mandelbrot", "matmul", "histogram", "fill", "scale", "strided_copy"]

# Every one that this ptxas assembles for, without those of one device only (sm_90a and so on).
ARCHS = ["75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"]


def main():
    options = parse_options()
    nvcc_bin = toolkit(options.tools)
    os.environ["PATH"] = f"{nvcc_bin}:{os.environ['PATH']}"
    WORK.mkdir()
    try:
        built = build(WORK, options)
    finally:
        shutil.rmtree(WORK)
    differing = [path for path, data in built.items() if not path.exists() or path.read_bytes() != data]
    if options.check:
        for path in differing:
            print(f"differs from what the compiler makes: {path.relative_to(ROOT)}")
        return 1 if differing else 0
    for path in differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(built[path])
        print(f"wrote {path.relative_to(ROOT)} ({len(built[path])} bytes)")
    print(f"{len(built)} files, {len(differing)} changed")
    return 0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--cubin", type=Path)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def toolkit(venv):
    """The folder with nvcc and ptxas, from the given venv or from one made in target/."""
    if venv is None:
        venv = ROOT / "target/cuda-tools"
        if not (venv / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin/pip", "install", "--quiet", *WHEELS], check=True)
            (venv / "complete").touch()
    where = "import nvidia.cu13 as m; print(list(m.__path__)[0])"
    found = subprocess.run([venv / "bin/python", "-c", where], check=True, capture_output=True, text=True)
    return Path(found.stdout.strip()) / "bin"


def build(work, options):
    """Every file that should be committed, by path, with its bytes."""
    built = {}
    wanted = lambda source: not options.names or source.stem in options.names
    has_clang = shutil.which("clang-16") is not None
    if not has_clang:
        print("no clang-16 here: tests/kernels/clang is left as it is")

    for source in filter(wanted, sorted(EXAMPLES.glob("*.cu"))):
        built[source.with_suffix(".ptx")] = lower_version(nvcc(source, work), EXAMPLES_PTX_VERSION)
        if source.stem in LINEINFO:
            built[TESTS / "lineinfo" / f"{source.stem}.ptx"] = nvcc(source, work, "-lineinfo")
        if source.stem in DEBUG:
            built[TESTS / "debug" / f"{source.stem}.ptx"] = nvcc(source, work, "-G")
        if source.stem in CLANG and has_clang:
            built[TESTS / "clang" / f"{source.stem}.ptx"] = clang(source, work)
    for source in filter(wanted, sorted([*TESTS.glob("*.cu"), *SANITIZER.glob("*.cu")])):
        built[source.with_suffix(".ptx")] = nvcc(source, work)
    handwritten = {path: path.read_bytes() for path in filter(wanted, sorted((TESTS / "handwritten").glob("*.ptx")))}
    for path, text in {**built, **handwritten}.items():
        name = "-".join(path.relative_to(ROOT).with_suffix("").parts)
        assemble(text, work / f"{name}.cubin")
        if options.cubin:
            options.cubin.mkdir(parents=True, exist_ok=True)
            shutil.copy(work / f"{name}.cubin", options.cubin)
    if wanted(EXAMPLES / "vecadd.cu"):
        built |= images(EXAMPLES / "vecadd.cu", work)
    if wanted(DATA / "archs.ptx"):
        built |= every_arch(DATA / "archs.ptx", work)
    return built


def setting(source, key, default):
    found = re.search(rf"^// {key}: (.*)$", source.read_text(), re.MULTILINE)
    return found.group(1) if found else default


def nvcc(source, work, *more):
    shutil.copy(source, work)
    arch = setting(source, "arch", "75")
    command = ["nvcc", "-ptx", f"-arch=compute_{arch}", *setting(source, "flags", "").split(), *more]
    subprocess.run([*command, source.name, "-o", "out.ptx"], cwd=work, check=True)
    return clean((work / "out.ptx").read_text(), work)


def clang(source, work):
    """The back end of LLVM, with device.h in place of NVIDIA's headers."""
    for file in [source, TESTS / "clang/device.h"]:
        shutil.copy(file, work)
    command = ["clang-16", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"]
    command += ["-Xclang", "-target-feature", "-Xclang", "+ptx78", "--cuda-gpu-arch=sm_75", "-std=c++17"]
    command += ["-include", "device.h", "-O2", "-S", source.name, "-o", "out.ptx"]
    subprocess.run(command, cwd=work, check=True)
    return clean((work / "out.ptx").read_text(), work)


def clean(text, work):
    """Takes out what names the compiler's build or this machine."""
    text = re.sub(r"\A(//.*\n)+\n*", "", text)
    text = re.sub(r'^(\s*\.file\s+\d+\s+").*/', r"\1", text, flags=re.MULTILINE)
    # The compilation folder in the DWARF data, as bytes: as many bytes are needed, else the lengths there are wrong.
    folder = str(work).encode()
    same_length = (b"./" * len(folder))[: len(folder)]
    text = text.replace(",".join(map(str, folder)), ",".join(map(str, same_length)))
    return text.encode()


def lower_version(text, version):
    return re.sub(rb"^\.version .*$", f".version {version}".encode(), text, count=1, flags=re.MULTILINE)


def assemble(text, cubin):
    ptx = cubin.with_suffix(".ptx")
    ptx.write_bytes(text)
    # What calls the device runtime is linked with it later.
    relocatable = ["--compile-only"] if b"__cudaCDP2" in text else []
    arch = "sm_90a" if b".target sm_90a" in text else "sm_90"
    subprocess.run(["ptxas", f"-arch={arch}", *relocatable, ptx, "-o", cubin], check=True)


def images(source, work):
    """The binary images that the loader's tests read."""
    ptx = work / "image.ptx"
    ptx.write_bytes(lower_version(nvcc(source, work), EXAMPLES_PTX_VERSION))
    built = {}
    for arch in ["80", "90"]:
        cubin = work / f"image{arch}.cubin"
        subprocess.run(["ptxas", f"-arch=sm_{arch}", ptx, "-o", cubin], check=True)
        built[TESTS / f"{source.stem}_sm{arch}.cubin"] = cubin.read_bytes()
    # nvcc's own fatbins hold compressed PTX (zstd); a reader without a decompressor needs the plain one.
    for name, compress in [(f"{source.stem}.fatbin", "true"), (f"{source.stem}_plain.fatbin", "false")]:
        command = ["fatbinary", "--64", f"--create={work / name}", f"--compress={compress}"]
        command += [f"--image3=kind=elf,sm=90,file={work / 'image90.cubin'}", f"--image3=kind=ptx,sm=75,file={ptx}"]
        subprocess.run(command, check=True)
        built[TESTS / name] = (work / name).read_bytes()
    built[TESTS / f"{source.stem}.ltoir"] = lto_ir(source, work)
    return built | {TESTS / f"{source.stem}_link.fatbin": relocatable(ptx, work)}


def every_arch(ptx, work):
    """What a cubin says, for each architecture."""
    built = {}
    for arch in ARCHS:
        cubin = work / f"{ptx.stem}.sm_{arch}.cubin"
        subprocess.run(["ptxas", f"-arch=sm_{arch}", ptx, "-o", cubin], check=True)
        built[DATA / cubin.name] = cubin.read_bytes()
    return built


def lto_ir(source, work):
    """For the oldest architecture, so that it links for every later one; nvJitLink of 13.0 and later reads it."""
    shutil.copy(source, work)
    command = ["nvcc", "--ltoir", "-gencode", "arch=compute_75,code=lto_75", source.name, "-o", "out.ltoir"]
    subprocess.run(command, cwd=work, check=True)
    return (work / "out.ltoir").read_bytes()


def relocatable(ptx, work):
    """The fatbin that `nvcc -rdc=true -fatbin` makes: the linker takes this kind only."""
    cubin, fatbin = work / "link.cubin", work / "link.fatbin"
    subprocess.run(["ptxas", "--compile-only", "-arch=sm_90", ptx, "-o", cubin], check=True)
    command = ["fatbinary", "--64", f"--create={fatbin}", "--compress=false", "--cmdline=--compile-only", "--device-c"]
    command += [f"--image3=kind=elf,sm=90,file={cubin}", f"--image3=kind=ptx,sm=75,file={ptx}"]
    subprocess.run(command, check=True)
    return fatbin.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
