"""Products of matrices in Triton's language: a plain one, and attention in one pass."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, n, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, n, BLOCK):
        at = k + tl.arange(0, BLOCK)
        left, right = tl.load(a + i[:, None] * n + at[None, :]), tl.load(b + at[:, None] * n + j[None, :])
        total = tl.dot(left, right, total, out_dtype=total.dtype)
    tl.store(c + i[:, None] * n + j[None, :], total.to(c.dtype.element_ty))


@triton.jit
def attention(q, k, v, n, BLOCK: tl.constexpr):
    at, dim = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    query = tl.load(q + at[:, None] * BLOCK + dim[None, :])
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total, out = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        score = tl.dot(query, tl.load(k + dim[:, None] + keys[None, :] * BLOCK))
        score = tl.where(at[:, None] >= keys[None, :], score, -float("inf"))
        now = tl.maximum(most, tl.max(score, 1))
        p, scale = tl.exp2(score - now[:, None]), tl.exp2(most - now)
        total, most = total * scale + tl.sum(p, 1), now
        out = tl.dot(p.to(v.dtype.element_ty), tl.load(v + keys[:, None] * BLOCK + dim[None, :]), out * scale[:, None])
    tl.store(q + at[:, None] * BLOCK + dim[None, :], (out / total[:, None]).to(q.dtype.element_ty))


def compiled(kernel, kind, block, arch, warps, stages):
    """What Triton makes of a kernel for an architecture; no GPU is needed."""
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {**{name: f"*{kind}" for name in names[:3]}, names[3]: "i32", "BLOCK": "constexpr"},
        {"BLOCK": block},
        {(number,): [["tt.divisibility", 16]] for number in range(4)},
    )
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": warps, "num_stages": stages})
