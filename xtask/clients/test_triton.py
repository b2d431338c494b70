"""Triton: kernels that it compiles for an H100, loaded and launched by cuda.bindings: Triton's own launcher takes its device from PyTorch. Its
own tests are on no package registry."""

import ctypes

import numpy as np
import pytest
import triton
import triton.language as tl
from cuda.bindings import driver
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def ok(answer):
    assert answer[0].value == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]


@pytest.fixture(scope="module", autouse=True)
def context():
    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(device))))
    yield
    ok(driver.cuDevicePrimaryCtxRelease(device))


TYPES = {"*": ctypes.c_void_p, "i32": ctypes.c_int32, "fp32": ctypes.c_float}


def run(kernel, signature, constants, grid, *arguments, warps=4):
    """Arrays of NumPy's go to the device, and come back."""
    names = list(signature)
    source = ASTSource(kernel, {**signature, **{name: "constexpr" for name in constants}}, constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    module = ok(driver.cuModuleLoadData(compiled.asm["cubin"]))
    function = ok(driver.cuModuleGetFunction(module, compiled.metadata.name.encode()))
    shared = compiled.metadata.shared
    if shared > 48 << 10:
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        ok(driver.cuFuncSetAttribute(function, most, shared))
    values, types, arrays = [], [], []
    for name, value in zip(names, arguments):
        if isinstance(value, np.ndarray):
            memory = ok(driver.cuMemAlloc(value.nbytes))
            ok(driver.cuMemcpyHtoD(memory, value, value.nbytes))
            arrays.append((value, memory))
            value = int(memory)
        values.append(value)
        types.append(TYPES[signature[name] if signature[name][0] != "*" else "*"])
    # Behind the arguments Triton has memory of its own, which these kernels do not use.
    parameters = ok(driver.cuKernelGetParamCount(ok(driver.cuFuncGetKernel(function)))) if hasattr(driver, "cuFuncGetKernel") else len(values) + 2
    while len(values) < int(parameters):
        values.append(0)
        types.append(ctypes.c_void_p)
    ok(driver.cuLaunchKernel(function, *grid, 32 * warps, 1, 1, shared, 0, (tuple(values), tuple(types)), 0))
    ok(driver.cuCtxSynchronize())
    for host, memory in arrays:
        ok(driver.cuMemcpyDtoH(host, memory, host.nbytes))
        ok(driver.cuMemFree(memory))
    ok(driver.cuModuleUnload(module))


@triton.jit
def add(x, y, to, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(to + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


def test_a_sum():
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, dtype=np.float32)
    to = np.zeros_like(x)
    run(add, {"x": "*fp32", "y": "*fp32", "to": "*fp32", "n": "i32"}, {"BLOCK": 256}, (4, 1, 1), x, y, to, 1000)
    assert np.array_equal(to, x + y)


@triton.jit
def softmax(x, to, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask, other=-float("inf"))
    raised = tl.exp(values - tl.max(values, 0))
    tl.store(to + row * columns + at, raised / tl.sum(raised, 0), mask)


def test_softmax():
    x = np.random.default_rng(1).standard_normal((16, 200)).astype(np.float32)
    to = np.zeros_like(x)
    run(softmax, {"x": "*fp32", "to": "*fp32", "columns": "i32"}, {"BLOCK": 256}, (16, 1, 1), x, to, 200)
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expected = wide / wide.sum(1, keepdims=True)
    # In units of 2^-24: x - max rounds once (|x - max| <= 8), exp is ex2 of a product (2 for the approximation, 2 * 8 * log2(e) for
    # its rounded argument), a sum of 256 in a tree rounds 8 times, and a division twice.
    assert (np.abs(to - expected) <= (8 + 2 + 24 + 8 + 2) * 2.0**-24 * expected).all()


@triton.jit
def product(a, b, c, N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    steps = tl.arange(0, STEP)
    sum = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + (k + steps)[None, :])
        right = tl.load(b + (k + steps)[:, None] * N + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


@pytest.mark.parametrize("block", [16, 64])
def test_a_product_of_halves(block):
    random = np.random.default_rng(2)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
    c = np.zeros((64, 64), dtype=np.float32)
    constants = {"N": 64, "K": 128, "BLOCK": block, "STEP": 32}
    run(product, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, constants, (64 // block, 64 // block, 1), a, b, c)
    # Small integers: every sum is exact.
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def histogram(x, to, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_add(to + tl.load(x + at, mask, other=0), 1, mask)


def test_atomics():
    x = np.random.default_rng(3).integers(0, 16, 500).astype(np.int32)
    to = np.zeros(16, dtype=np.int32)
    run(histogram, {"x": "*i32", "to": "*i32", "n": "i32"}, {"BLOCK": 128}, (4, 1, 1), x, to, 500)
    assert np.array_equal(to, np.bincount(x, minlength=16))


@triton.jit
def scan(x, to, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(to + at, tl.cumsum(tl.load(x + at), 0))


def test_a_scan():
    x = np.random.default_rng(4).integers(-9, 9, 512).astype(np.int32)
    to = np.zeros_like(x)
    run(scan, {"x": "*i32", "to": "*i32"}, {"BLOCK": 512}, (1, 1, 1), x, to)
    assert np.array_equal(to, np.cumsum(x))


@triton.jit
def sort(x, to, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(to + at, tl.sort(tl.load(x + at)))


def test_a_sort():
    x = np.random.default_rng(5).permutation(256).astype(np.int32)
    to = np.zeros_like(x)
    run(sort, {"x": "*i32", "to": "*i32"}, {"BLOCK": 256}, (1, 1, 1), x, to)
    assert np.array_equal(to, np.arange(256))
