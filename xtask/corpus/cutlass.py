"""Products of matrices by CUTLASS for Ampere and Hopper, and kernels of CuTe, by nvcc."""

import pathlib
import tempfile

from cutlass_kernels import HEADERS, sources
from place import TOOLKIT, Place, nvcc

place = Place("cutlass")
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "source.cu"

    def compiled(source, arch, kernel):
        # Its address instantiates a kernel.
        file.write_text(source + (f"auto named = &{kernel};\n" if kernel else ""))
        return nvcc(file, arch, "-I", HEADERS, "-I", TOOLKIT / "include/cccl", "--expt-relaxed-constexpr")

    for name, arch, source, kernel in sources():
        place.attempt(f"{name}_{arch}", lambda: compiled(source, arch, kernel))
place.end()
