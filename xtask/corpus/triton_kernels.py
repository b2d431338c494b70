"""Kernels in Triton's language."""

import triton
import triton.language as tl
from place import Place
from triton_products import attention, compiled, matmul

place = Place("triton")


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, 0))
    tl.store(z + tl.program_id(0) * n + at, (v / tl.sum(v, 0)).to(z.dtype.element_ty), mask=at < n)


@triton.jit
def layer_norm(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0).to(tl.float32)
    mean = tl.sum(v, 0) / n
    d = tl.where(at < n, v - mean, 0)
    v = d * tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5) * tl.load(y + at, mask=at < n, other=1).to(tl.float32)
    tl.store(z + tl.program_id(0) * n + at, v.to(z.dtype.element_ty), mask=at < n)


@triton.jit
def scans(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(z + at, tl.cumsum(v, 0) + tl.cumprod(v, 0), mask=at < n)
    tl.store(y + at, tl.sort(v), mask=at < n)


@triton.jit
def atomics(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.atomic_add(z + at % 7, v, mask=at < n)
    tl.atomic_max(y, tl.max(v, 0))


@triton.jit
def gelu(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0).to(tl.float32)
    v = 0.5 * v * (1 + tl.erf(v * 0.70710678)) + tl.sigmoid(v) * tl.log(tl.abs(v) + 1) + tl.sin(v) * tl.sqrt(tl.abs(v))
    tl.store(z + at, v.to(z.dtype.element_ty), mask=at < n)


@triton.jit
def dropout(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(z + at, tl.where(tl.rand(n, at) > 0.3, v, 0), mask=at < n)


@triton.jit
def descriptors(x, y, z, n, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [n, n], [n, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(z, [n, n], [n, 1], [BLOCK, BLOCK])
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    b.store([j, i], tl.trans(a.load([i, j])))


PLAIN = ["fp16", "bf16", "fp32", "fp64", "i32", "i8"]
CASES = [(kernel, PLAIN[:3], 1024) for kernel in (softmax, layer_norm, gelu, dropout)]
CASES += [(add, PLAIN, 1024), (scans, ["fp32", "i32"], 256), (atomics, ["fp32", "i32", "fp64"], 256)]
CASES += [(matmul, ["fp16", "bf16", "fp32", "fp8e5", "fp8e4nv"], 64), (matmul, ["fp16"], 128), (attention, ["fp16", "bf16"], 64), (descriptors, ["fp16", "fp32"], 64)]
for kernel, kinds, block in CASES:
    for kind in kinds:
        for arch, warps, stages in [(80, 4, 3), (90, 8, 2), (90, 4, 3)]:
            if arch == 80 and (kernel is descriptors or kind.startswith("fp8e4")):
                continue
            name = f"{kernel.fn.__name__}_{kind}_{block}_{arch}_{warps}"
            place.attempt(name, lambda: compiled(kernel, kind, block, arch, warps, stages).asm["ptx"])
place.end()
