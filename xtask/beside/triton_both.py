#!/usr/bin/env python3
"""Triton's products of matrices and flash attention, for sm_80 and sm_90, on a GPU and on the emulator.

    triton_both.py TOOL FOLDER [DRIVER...]

TOOL is `cuda-launch`; FOLDER takes the PTX that Triton makes, random operands, and the results. Each kernel runs on each driver (system and
emulator, if none is named), whose results must have the same bytes, and on the emulator with all checks, which must find nothing. Needs
Triton 3.6, and `triton_products.py` of `xtask/corpus` on the path of Python's modules. The exit status is 1 if something differs.
"""

import random
import struct
import subprocess
import sys
from pathlib import Path

import triton
from triton_products import attention, compiled, matmul

BLOCK, N = 64, 256
CASES = [(80, 4, 3), (90, 4, 3), (90, 8, 2)]
# As the tool names them; it has no floats of 8 bits.
TYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp8e5": "u8", "fp8e4nv": "u8", "i8": "i8"}
# What Triton compiles attention for; fp32 takes more shared memory than there is.
ATTENTION = ("fp16", "bf16")


def number(kind):
    """Between -2 and 2; of 8 bits, any integer, or a float of at most 2."""
    value = random.uniform(-2, 2)
    match kind:
        case "fp16":
            return struct.pack("<e", value)
        case "bf16":
            return struct.pack("<f", value)[2:]
        case "fp32":
            return struct.pack("<f", value)
        case "fp8e5" | "fp8e4nv":
            return bytes([random.randrange(2) << 7 | random.randrange(0x40)])
        case "i8":
            return random.randbytes(1)


def command(made, kind, driver, output, *options):
    """A run of a kernel whose result goes to a file: a product's is its third parameter, attention's its first."""
    name, operands = made.metadata.name, [folder / f"{kind}_{at}.bin" for at in range(3)]
    at = 2 if name == "matmul" else 0
    grid = f"{N // BLOCK},{N // BLOCK if name == 'matmul' else 1}"
    arguments = [f"in:{TYPES[kind]}:@{operand}" for operand in operands]
    arguments[at] = f"inout:{TYPES[kind]}:@{operands[at]}@{output}"
    # Behind its own parameters Triton has addresses of memory that these kernels do not use.
    arguments += [f"i32:{N}", "u64:0", "u64:0"]
    shape = ["--grid", grid, "--block", str(32 * made.metadata.num_warps), "--shared", str(made.metadata.shared)]
    line = [tool, "run", folder / "kernel.ptx", name, "--print", "0", *shape, *options]
    return [*line, *(["--driver", driver] if driver else []), *(word for text in arguments for word in ("--arg", text))]


def result(made, kind, driver):
    output = folder / "result.bin"
    output.unlink(missing_ok=True)
    subprocess.run(command(made, kind, driver, output), check=True, stdout=subprocess.DEVNULL)
    return output.read_bytes()


tool, folder, *drivers = sys.argv[1:]
folder = Path(folder)
folder.mkdir(parents=True, exist_ok=True)
random.seed(1)
print(f"triton {triton.__version__}")
wrong = 0
for kind in TYPES:
    for at in range(3):
        (folder / f"{kind}_{at}.bin").write_bytes(b"".join(number(kind) for _ in range(N * N)))
    for kernel in (matmul, attention) if kind in ATTENTION else (matmul,):
        for arch, warps, stages in CASES:
            # Which Ampere lacks.
            if kind == "fp8e4nv" and arch < 89:
                continue
            made = compiled(kernel, kind, BLOCK, arch, warps, stages)
            (folder / "kernel.ptx").write_text(made.asm["ptx"])
            before = (folder / f"{kind}_{2 if kernel is matmul else 0}.bin").read_bytes()
            results = [result(made, kind, driver) for driver in drivers or ["system", "emulator"]]
            same = all(other == results[0] for other in results) and results[0] != before
            checked = subprocess.run(command(made, kind, None, "/dev/null", "--check"), capture_output=True, text=True)
            verdicts = ["the same bytes" if same else "DIFFERENT", "no finding" if checked.returncode == 0 else "FINDINGS"]
            print(f"{kernel.fn.__name__} {kind} sm_{arch}, {warps} warps, {stages} stages: {', '.join(verdicts)}", flush=True)
            if checked.returncode:
                print(checked.stdout + checked.stderr)
            wrong += not same or checked.returncode != 0
sys.exit(wrong > 0)
