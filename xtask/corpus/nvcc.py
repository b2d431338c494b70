"""The kernels of this repository, by nvcc, for several architectures and with several options."""

import itertools

from place import ROOT, Place, nvcc

OPTIONS = {
    "plain": [],
    "fast": ["--use_fast_math", "--extra-device-vectorization"],
    "debug": ["-G"],
    "O1": ["-Xcicc", "-O1", "-lineinfo"],
    "relocatable": ["-rdc=true", "-maxrregcount", "32"],
}

place = Place("nvcc")
folders = ["examples", "tests", "emulator/tests", "cli/tests", "benches"]
sources = sorted(itertools.chain.from_iterable((ROOT / folder).rglob("*.cu") for folder in folders))
for source in sources:
    for number, (name, options) in enumerate(OPTIONS.items()):
        for arch in ["sm_75", "sm_90a"] if number == 0 else [["sm_80", "sm_86", "sm_89", "sm_90"][number - 1]]:
            place.attempt(f"{source.stem}_{arch}_{name}", lambda: nvcc(source, arch, *options))
place.end()
