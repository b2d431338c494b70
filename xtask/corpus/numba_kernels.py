"""Kernels in Python, by numba."""

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, types, uint32
from place import Place

place = Place("numba")
KINDS = {"i32": int32, "i64": int64, "u32": uint32, "f32": float32, "f64": float64}


def axpy(y, x, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


def sums(y, x, a):
    shared = cuda.shared.array(256, np.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 128
    while step:
        if t < step:
            shared[t] += shared[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(y, 0, shared[0] * a)


def strides(y, x, a):
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] = x[y.size - 1 - i] // (a + 3) % 7 if x[i] > a else x[i]


def shuffles(y, x, a):
    v = x[cuda.threadIdx.x]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if cuda.any_sync(0xFFFFFFFF, v > a) and cuda.laneid == 0:
        y[cuda.blockIdx.x] = v + cuda.popc(cuda.ballot_sync(0xFFFFFFFF, v > a))


def extremes(y, x, a):
    i = cuda.grid(1)
    cuda.atomic.max(y, 0, x[i])
    cuda.atomic.min(y, 1, x[i])
    cuda.atomic.exch(y, 2, a)


def searches(y, x, a):
    i = cuda.grid(1)
    low, high = 0, x.size
    while low < high:
        middle = (low + high) // 2
        if x[middle] < y[i]:
            low = middle + 1
        else:
            high = middle
    y[i] = low


def local_arrays(y, x, a):
    last = cuda.local.array(16, float32)
    for i in range(16):
        last[i] = x[(cuda.grid(1) + i) % x.size]
    for i in range(16):
        y[int(last[i]) % y.size] = last[15 - i] + a


def maths(y, x, a):
    i = cuda.grid(1)
    v = float(x[i])
    v = math.sin(v) + math.cos(v) * math.exp(v) - math.log(abs(v) + 1) + math.sqrt(abs(v)) + math.tanh(v) + math.pow(abs(v), 1.5)
    v += math.erf(v) + math.atan2(v, a + 1.0) + math.floor(v) + math.ceil(v) + math.fmod(v, 3.0) + math.gamma(abs(v) + 1) + math.hypot(v, 2.0)
    y[i] = v


def bits(y, x, a):
    i = cuda.grid(1)
    v = int(x[i])
    y[i] = cuda.popc(v) + cuda.clz(v) + cuda.brev(v) + cuda.ffs(v) + (v << 3 ^ v >> 2)


def complexes(y, x, a):
    i = cuda.grid(1)
    v = complex(x[i], a)
    for _ in range(10):
        v = v * v + 0.25
    y[i] = v.real + abs(v)


def fences(y, x, a):
    y[cuda.grid(1)] = a
    cuda.threadfence()
    cuda.threadfence_block()
    if cuda.syncthreads_count(int(x[0] > a)) > 3 or cuda.syncthreads_or(int(x[1] > a)):
        y[0] = x[0]


for function in [axpy, sums, strides, shuffles, extremes, searches, local_arrays, maths, bits, complexes, fences]:
    for number, (name, kind) in enumerate(KINDS.items()):
        if (function is bits and "f" in name) or (function is complexes and name == "f32"):
            continue
        signature = types.void(kind[:], kind[:], kind)
        options = [{}, {"fastmath": True}, {"lineinfo": True}, {"debug": True, "opt": False}][number % 4]
        arch = [(8, 0), (9, 0), (7, 5)][number % 3]
        place.attempt(f"{function.__name__}_{name}", lambda: cuda.compile_ptx(function, signature, cc=arch, **options)[0])


def matrix_product(c, a, b):
    row, column = cuda.grid(2)
    left, right = cuda.shared.array((16, 16), np.float32), cuda.shared.array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for tile in range(a.shape[1] // 16):
        left[x, y] = a[row, y + tile * 16]
        right[x, y] = b[x + tile * 16, column]
        cuda.syncthreads()
        for k in range(16):
            total += left[x, k] * right[k, y]
        cuda.syncthreads()
    c[row, column] = total


def stencil(c, a, b):
    i, j, k = cuda.grid(3)
    if 0 < i < c.shape[0] - 1 and 0 < j < c.shape[1] - 1:
        c[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * b[k % b.shape[0], 0]


for function in [matrix_product, stencil]:
    for name, kind in KINDS.items():
        for dimensions in [kind[:, :], kind[:, ::1]]:
            signature = types.void(dimensions, dimensions, dimensions)
            place.attempt(f"{function.__name__}_{name}_{dimensions.layout}", lambda: cuda.compile_ptx(function, signature, cc=(9, 0))[0])
place.end()
