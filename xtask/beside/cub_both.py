#!/usr/bin/env python3
"""CUB's device-wide sort, scan and reduce, recorded on a GPU and replayed on the emulator with all checks.

    cub_both.py TOOL FOLDER

TOOL is `cuda-launch`; FOLDER takes the program that `nvcc` makes of `cub_both.cu`, with PTX alone, and the recordings. Each launch of each
algorithm is recorded by itself, and must leave the same bytes on the emulator. Needs a GPU and `nvcc` with CUB's headers. The exit status is 1 if
something differs or is found.
"""

import subprocess
import sys
from pathlib import Path

# More than any of them has.
LAUNCHES = 16

tool, folder = sys.argv[1], Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
program, recording = folder / "cub_both", folder / "launch.record"
source = Path(__file__).with_suffix(".cu")
compiler = ["nvcc", "-std=c++17", "-gencode", "arch=compute_90,code=compute_90", "--expt-relaxed-constexpr"]
subprocess.run([*compiler, source, "-o", program], check=True)
wrong = 0
for algorithm in ["sort", "pairs", "scan", "reduce"]:
    for nth in range(1, LAUNCHES + 1):
        recording.unlink(missing_ok=True)
        record = [tool, "record", "--nth", str(nth), "-o", recording, "--", program, algorithm]
        recorded = subprocess.run(record, capture_output=True, text=True)
        if not recording.exists():
            if nth == 1 or f"{algorithm}: right" not in recorded.stdout:
                print(f"{algorithm}: {recorded.stdout}{recorded.stderr}")
                wrong += 1
            break
        replayed = subprocess.run([tool, "replay", recording], capture_output=True, text=True)
        said = " ".join(replayed.stdout.split())
        print(f"{algorithm} {nth}: exit code {replayed.returncode}: {said if replayed.returncode else said[:150] + ' .. ' + said[-60:]}", flush=True)
        wrong += replayed.returncode != 0
        if replayed.returncode:
            print(replayed.stderr)
            recording.rename(folder / f"{algorithm}_{nth}.record")
    else:
        print(f"{algorithm}: more than {LAUNCHES} launches, of which the rest was not compared")
        wrong += 1
sys.exit(wrong > 0)
