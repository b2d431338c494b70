"""`make.py FOLDER FROM TO`: compiles a file of random kernels for each number, each with one of six sets of options of nvcc.

nvcc is that of the environment, installed by pip; without it, the one in PATH.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import sysconfig

import kernels

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13/bin/nvcc"
# The first and the last fuse multiplications and additions, where they decide; what the driver's compiler may fuse is not what is compared.
OPTIONS = [["-O3"], ["-O3", "-fmad=false"], ["-Xcicc", "-O0", "-fmad=false"], ["-Xcicc", "-O1", "-fmad=false"], ["-G", "-fmad=false"],
           ["-O3", "-use_fast_math"]]
KERNELS = 12


def make(folder, seed):
    source, ptx = folder / f"{seed}.cu", folder / f"{seed}.ptx"
    kernels.main(seed, KERNELS, source)
    architecture = "compute_80" if seed % 7 in (3, 4) else "compute_90"
    nvcc = INSTALLED if INSTALLED.exists() else "nvcc"
    options = ["-ptx", "-w", "-std=c++17", f"-arch={architecture}", f"-I{HERE}", *OPTIONS[seed % len(OPTIONS)]]
    subprocess.run([nvcc, *options, "-o", ptx, source], check=True, timeout=300)


def main(folder, first, last):
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda seed: make(folder, seed), range(first, last + 1)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
