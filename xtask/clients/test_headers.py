"""A program in C, compiled against the header of a toolkit's wheel: CLIENTS_VERSION is that header's version, CLIENTS_STUB a folder with a library
to link with, in whose place the loader finds the emulator's."""

import os
import pathlib
import subprocess

import nvidia
import pytest


@pytest.mark.parametrize("option", ["-DLEGACY_DEFAULT_STREAM", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])
def test_a_program_of_an_old_header(tmp_path, option):
    include = pathlib.Path(list(nvidia.__path__)[0]) / "cuda_runtime/include"
    program, source = tmp_path / "program", pathlib.Path(__file__).with_name("headers.c")
    link = [f"-L{os.environ['CLIENTS_STUB']}", "-lcuda"]
    subprocess.run(["cc", "-Werror", option, f"-I{include}", source, "-o", program, *link], check=True)
    answer = subprocess.run([program], capture_output=True, text=True)
    assert (answer.stdout, answer.stderr) == (f"done with {os.environ['CLIENTS_VERSION']}\n", "")
    assert answer.returncode == 0
