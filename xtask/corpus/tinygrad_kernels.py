"""Kernels that tinygrad renders as PTX, for a device that runs nothing."""

import os

ARCHITECTURE = "sm_80"
os.environ["DEV"] = f"NULL:PTX:{ARCHITECTURE}"
os.environ.update(CACHELEVEL="0", PARALLEL="0")
import tinygrad.runtime.support.compiler_cuda as compilers
from place import Place

rendered = []


class Kept(compilers.PTXCompiler):
    """Keeps what is to be compiled."""

    def compile(self, src):
        text = src.replace("TARGET", self.arch).replace("VERSION", "7.8" if int(self.arch[3:]) >= 89 else "7.5")
        rendered.append(text)
        return text.encode()


compilers.NVPTXCompiler = compilers.PTXCompiler = Kept
from tinygrad import Tensor, dtypes, nn

place = Place("tinygrad")


def float_matrix(*shape, kind=dtypes.float32):
    return Tensor.empty(*shape, dtype=kind)


PROGRAMS = {
    "add": lambda kind: float_matrix(1000, kind=kind) + float_matrix(1000, kind=kind),
    "matmul": lambda kind: float_matrix(256, 256, kind=kind) @ float_matrix(256, 256, kind=kind),
    "sums": lambda kind: float_matrix(512, 300, kind=kind).sum(1) + float_matrix(512, kind=kind).max(),
    "maths": lambda kind: float_matrix(1000, kind=kind).cast(dtypes.float32).sin().exp().log().sqrt().tanh(),
    "casts": lambda kind: float_matrix(1000, kind=kind).cast(dtypes.int8).cast(dtypes.float64).cast(dtypes.uint32) // 3,
    "sort": lambda kind: float_matrix(64, kind=kind).sort()[0],
    "where": lambda kind: (float_matrix(1000, kind=kind) > 1).where(float_matrix(1000, kind=kind), 3).pad((5, 7)).flip(0),
    "scan": lambda kind: float_matrix(600, kind=kind).cumsum(0),
}
NETWORKS = {
    "convolution": lambda: nn.Conv2d(3, 16, 3)(float_matrix(2, 3, 32, 32)).relu().max_pool2d(),
    "norms": lambda: nn.LayerNorm(96)(nn.BatchNorm(8)(float_matrix(4, 8, 12, 96))).gelu(),
    "attention": lambda: float_matrix(2, 4, 64, 32).scaled_dot_product_attention(float_matrix(2, 4, 64, 32), float_matrix(2, 4, 64, 32), is_causal=True),
    "half_attention": lambda: (x := float_matrix(1, 2, 64, 64, kind=dtypes.half)).scaled_dot_product_attention(x, x),
    "embedding": lambda: nn.Embedding(1000, 64)(Tensor.empty(4, 16, dtype=dtypes.int32)).log_softmax(),
    "random": lambda: Tensor.rand(1000, device="NULL") + Tensor.randn(1000, device="NULL"),
    "quantised": lambda: (Tensor.empty(64, 64, dtype=dtypes.int8).cast(dtypes.int32) @ Tensor.empty(64, 64, dtype=dtypes.int8).cast(dtypes.int32)) >> 3,
}


def run(name, program):
    rendered.clear()
    program().realize()
    for number, text in enumerate(rendered[1:]):
        place.add(f"{name}_{number + 1}", text)
    return rendered[0]


for name, program in PROGRAMS.items():
    for kind in [dtypes.float32, dtypes.half, dtypes.int32, dtypes.float64, dtypes.int64]:
        place.attempt(f"{name}_{kind.name.replace(' ', '_')}", lambda: run(f"{name}_{kind.name}", lambda: program(kind)))
for name, program in NETWORKS.items():
    place.attempt(name, lambda: run(name, program))
place.end()
