#!/usr/bin/env python3
"""Runs all cases under the tools of compute-sanitizer, or on the emulator with all its checks, and writes what each reports.

    compare.py OUT                on a GPU: OUT/results.json, OUT/versions.txt and the logs
    compare.py OUT NAME...        only these faults
    compare.py OUT --emulator     the same where libcuda.so.1 is the emulator's

`page.py` writes the tables of docs/sanitizer.md from the results.

Each faulty kernel runs in a process of its own, which is killed after 20 seconds; correct kernels share processes, each tool for itself.
"""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from runner import read_cases

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
OPTIONS = {"memcheck": ["--leak-check", "full"]}
# Given where this version has them.
MORE_OPTIONS = {"initcheck": [("--initcheck-address-space", "all")]}
SHARES = 24
SECONDS = 20
# No run begins later than that.
WHOLE = 420
CHECKS = {"CUDA_LAUNCH_EMULATOR_CHECK": "all", "CUDA_LAUNCH_EMULATOR_TIMEOUT": "5"}


def main():
    out, on_emulator = Path(sys.argv[1]), "--emulator" in sys.argv
    out.mkdir(parents=True, exist_ok=True)
    began, cases = time.time(), read_cases()
    pairs = [case.name for case in cases if case.is_pair()]
    names = [word for word in sys.argv[2:] if not word.startswith("--")]
    commands = emulator() if on_emulator else sanitizer()
    (out / "versions.txt").write_text(versions(commands))
    jobs = [(tool, "wrong", name) for name in pairs for tool in commands]
    shares = [f"ALL:{at}/{SHARES}" for at in range(SHARES)]
    # The long ones first.
    jobs = [(tool, "right", share) for share in shares for tool in commands] + jobs
    if names:
        jobs = [(tool, side, name) for name in names for side in ("wrong", "right") for tool in commands]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "14"))) as pool:
        ask = lambda job: one(out, commands, *job) if time.time() - began < WHOLE else None
        results = [result for result in pool.map(ask, jobs) if result]
    seconds = round(time.time() - began)
    (out / "results.json").write_text(json.dumps({"seconds": seconds, "runs": results}, indent=1))
    print(f"{len(results)} of {len(jobs)} runs in {seconds} seconds")


def emulator():
    return {"emulator": []}


def sanitizer():
    """The command line of each tool, and of none."""
    path = shutil.which("compute-sanitizer")
    path = path or next((str(p) for p in sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))), None)
    if path is None:
        sys.exit("compute-sanitizer is not there")
    known = subprocess.run([path, "--help"], capture_output=True, text=True).stdout
    commands = {"none": []}
    for tool in TOOLS:
        more = [word for option in MORE_OPTIONS.get(tool, []) if option[0] in known for word in option]
        commands[tool] = [path, "--tool", tool, "--target-processes", "all", *OPTIONS.get(tool, []), *more]
    return commands


def versions(commands):
    asked = [["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv"], [sys.executable, "--version"], ["uname", "-r"]]
    sanitizers = [command[:1] for command in commands.values() if command][:1]
    text = ""
    for command in asked + [s + ["--version"] for s in sanitizers] + [s + ["--help"] for s in sanitizers]:
        if shutil.which(command[0]):
            text += f"$ {' '.join(command)}\n" + subprocess.run(command, capture_output=True, text=True).stdout
    return text


def one(out, commands, tool, side, name):
    """Runs a case, or a share of the correct kernels."""
    command = [*commands[tool], sys.executable, str(HERE / "runner.py"), f"--{side}", name]
    began = time.time()
    limit = SECONDS if side == "wrong" else 6 * SECONDS
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        env={**os.environ, **(CHECKS if tool == "emulator" else {})},
    )
    try:
        text, code = process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, code = process.communicate()[0], "timeout"
    log = out / "logs" / f"{tool}-{side}-{re.sub('[^A-Za-z0-9_]', '-', name)}.txt"
    log.parent.mkdir(exist_ok=True)
    log.write_text(text)
    return {"tool": tool, "side": side, "name": name, "code": code, "seconds": round(time.time() - began, 1), **told(text)}


def told(text):
    """What a tool says, shortened: its lines about faults, each kind and kernel once, and what the program itself got."""
    found, cases = [], []
    for line in text.splitlines():
        if line.startswith("{"):
            cases.append(json.loads(line))
        elif line.startswith("========= ") and not line.startswith("=========   ") or line.startswith("cuda-emulator:"):
            line = re.sub(r"0x[0-9a-f]+", "0x..", line.removeprefix("========= "))
            if not line.startswith(("COMPUTE-SANITIZER", "Target application", "LEAK SUMMARY: 0")) and line not in found:
                found.append(line)
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", text)
    summary = int(summary.group(1)) if summary else None
    return {"summary": summary, "said": found[:12], "cases": cases, "kernels": sorted(set(re.findall(r"\b(\w+_(?:wrong|right)|[a-z]\w+)\(", text)))[:40] if summary else []}


if __name__ == "__main__":
    main()
