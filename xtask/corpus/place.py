"""Where the files of the corpus go, and what is taken in: PTX that the pinned ptxas assembles."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

TOOLKIT = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13"
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/corpus/files"


class Place:
    """The folder of one producer."""

    def __init__(self, producer):
        self.folder = FOLDER / producer
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.ptx"):
            old.unlink()
        self.failed = []

    def add(self, name, text):
        """Keeps a file; the same text only once."""
        text = text.rstrip("\0")
        name = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        if all(other.read_text() != text for other in self.folder.glob("*.ptx") if other.stat().st_size == len(text)):
            (self.folder / f"{name}.ptx").write_text(text)

    def attempt(self, name, make):
        """Keeps what `make` returns. What a producer itself cannot make is counted, and said."""
        try:
            self.add(name, make())
        except Exception as error:
            said = str(error).strip() or type(error).__name__
            self.failed.append(name)
            print(f"{self.folder.name}: {name}: {said.splitlines()[-1][:200]}", file=sys.stderr)

    def end(self):
        """Takes out what ptxas refuses, and says how many files there are."""
        files = sorted(self.folder.glob("*.ptx"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(assembles, files))
        refused = [file for file, verdict in zip(files, verdicts) if verdict]
        for file, verdict in zip(files, verdicts):
            if verdict:
                print(f"{self.folder.name}: ptxas refuses {file.name}: {verdict}", file=sys.stderr)
                file.unlink()
        kept = len(files) - len(refused)
        print(f"{self.folder.name}: {kept} files; {len(refused)} refused by ptxas, {len(self.failed)} not made")


# Functions of the device runtime: ptxas leaves these to the linker, and refuses others that are not defined.
LINKED = re.compile(r"\.extern \.func[^;{]*\bcudaGraph(Launch|KernelNode)")


def assembles(file):
    """Nothing, or the first line of what ptxas says against a file."""
    text = file.read_text()
    if LINKED.search(text):
        return "a function of the device runtime is not linked"
    target = re.search(r"^\s*\.target\s+sm_(\d+)([af]?)", text, re.M)
    newer = target is None or int(target[1]) > 90
    command = [TOOLKIT / "bin/ptxas", "-arch", f"sm_{target[1]}{target[2]}" if newer and target else "sm_90a"]
    done = subprocess.run([*command, file, "-o", "/dev/null"], capture_output=True, text=True)
    said = (done.stderr + done.stdout).strip().splitlines()
    return (said or ["no message"])[0] if done.returncode else None


def nvcc(source, arch, *options):
    """PTX of a CUDA source."""
    with tempfile.TemporaryDirectory() as folder:
        to = pathlib.Path(folder) / "to.ptx"
        command = [TOOLKIT / "bin/nvcc", "-ptx", "-std=c++17", "-arch", arch, "-I", TOOLKIT / "include", *options]
        done = subprocess.run([*command, source, "-o", to], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise RuntimeError((errors or [done.stderr[-200:]])[0])
        return to.read_text()
