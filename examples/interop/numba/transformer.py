"""Inference of two layers of a transformer, in kernels of numba's: attention with several heads, and a network with GELU, each behind a
normalisation and beside a residual.

    pip install "numba-cuda[cu13]" "numpy<2.5"
    cuda-launch emulate -- python transformer.py      # or without `cuda-launch emulate --`, on a GPU

What each kernel was given is computed with NumPy, too, in double precision, with a bound for the error of each number (`Bounded`), which follows
from how often the kernel rounds. No tolerance is chosen by hand: each number of each kernel must be within its bound. Then the whole network is
computed in double precision: how far apart the results are is printed, and the bits of the kernels' result as a hash, by which two devices
can be compared. Where the hash is known for the compiler, NVVM, it must be that.
"""

import functools
import hashlib
import math
import re
import unittest

import numpy as np
from numba import cuda, float32

TOKENS, WIDTH, HEADS, HIDDEN, LAYERS = 24, 32, 4, 64, 2
TILE = 8
# Half a unit in the last place of a float, relative: the error of one rounding.
U = 2.0**-24
# The hash of the result's bits on an H200 (driver 580.159.04), by the version of NVVM that compiled the kernels.
BITS = {"13.0.88": "f165e84bccc01cfc"}


@cuda.jit
def multiply(a, b, bias, to, gelu):
    """to = a @ b + bias, in tiles of shared memory, and GELU of it if asked for."""
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    sum = float32(0)
    for k in range(0, a.shape[1], TILE):
        left[y, x] = a[row, k + x]
        right[y, x] = b[k + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            sum += left[y, i] * right[i, x]
        cuda.syncthreads()
    sum += bias[column]
    if gelu:
        sum = float32(0.5) * sum * (float32(1) + math.erf(sum * float32(math.sqrt(0.5))))
    to[row, column] = sum


@cuda.jit
def normalise(x, gain, to):
    """A block for each token: its numbers less their mean, over their deviation, in the order of a tree."""
    part = cuda.shared.array(WIDTH, float32)
    row, i = cuda.blockIdx.x, cuda.threadIdx.x
    value = x[row, i]
    for _ in range(2):
        part[i] = value
        cuda.syncthreads()
        step = WIDTH // 2
        while step > 0:
            if i < step:
                part[i] += part[i + step]
            cuda.syncthreads()
            step //= 2
        mean = part[0] / float32(WIDTH)
        cuda.syncthreads()
        if _ == 0:
            centred = value - mean
            value = centred * centred
    to[row, i] = centred / math.sqrt(mean + float32(1e-5)) * gain[i]


@cuda.jit
def attend(qkv, to):
    """A warp for each token and head: the first WIDTH columns of `qkv` are queries, then keys, then values."""
    token, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    size = WIDTH // HEADS
    weights = cuda.shared.array(32, float32)
    score = float32(-math.inf)
    if lane < TOKENS:
        score = float32(0)
        for i in range(size):
            score += qkv[token, head * size + i] * qkv[lane, WIDTH + head * size + i]
        score *= float32(1 / math.sqrt(size))
    most = score
    for step in (16, 8, 4, 2, 1):
        most = max(most, cuda.shfl_xor_sync(0xFFFFFFFF, most, step))
    weight = math.exp(score - most)
    total = weight
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
    weights[lane] = weight / total
    cuda.syncwarp()
    if lane < size:
        sum = float32(0)
        for i in range(TOKENS):
            sum += weights[i] * qkv[i, 2 * WIDTH + head * size + lane]
        to[token, head * size + lane] = sum


@cuda.jit
def add(x, y):
    row, column = cuda.grid(2)
    x[row, column] += y[row, column]


def parameters(random):
    """Of one layer."""

    def weights(*shape):
        return (random.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32)

    return {
        "gain1": 1 + weights(WIDTH) / 4, "qkv": weights(WIDTH, 3 * WIDTH), "qkv bias": weights(3 * WIDTH),
        "out": weights(WIDTH, WIDTH), "out bias": weights(WIDTH),
        "gain2": 1 + weights(WIDTH) / 4, "up": weights(WIDTH, HIDDEN), "up bias": weights(HIDDEN),
        "down": weights(HIDDEN, WIDTH), "down bias": weights(WIDTH),
    }  # fmt: skip


def on_device(x, layers, check):
    """The network on the GPU. `check` is told what each kernel wrote, and what it was to compute of which arrays."""

    def empty(columns):
        return cuda.device_array((TOKENS, columns), np.float32)

    def normal(x, gain):
        to = empty(WIDTH)
        normalise[TOKENS, WIDTH](x, gain, to)
        check(to, normalised, x, gain)
        return to

    def product(a, layer, name, columns, gelu=False):
        to = empty(columns)
        b, bias = layer[name], layer[f"{name} bias"]
        multiply[(TOKENS // TILE, columns // TILE), (TILE, TILE)](a, b, bias, to, gelu)
        check(to, activated if gelu else affine, a, b, bias)
        return to

    def mixed(qkv):
        to = empty(WIDTH)
        attend[(TOKENS, HEADS), 32](qkv, to)
        check(to, attended, qkv)
        return to

    def plus(x, change):
        to = cuda.to_device(x.copy_to_host())
        add[(TOKENS // TILE, WIDTH // TILE), (TILE, TILE)](to, change)
        check(to, Bounded.__add__, x, change)
        return to

    x = cuda.to_device(x)
    for layer in layers:
        layer = {name: cuda.to_device(values) for name, values in layer.items()}
        heads = mixed(product(normal(x, layer["gain1"]), layer, "qkv", 3 * WIDTH))
        x = plus(x, product(heads, layer, "out", WIDTH))
        up = product(normal(x, layer["gain2"]), layer, "up", HIDDEN, gelu=True)
        x = plus(x, product(up, layer, "down", WIDTH))
    return x.copy_to_host()


class Bounded:
    """Numbers in double precision, and how far the kernels' floats may be from them: what their operands were off, and the roundings of
    the operation itself. `n` roundings of a sum are at most n * U / (1 - n * U) of the sum of the magnitudes (Higham, "Accuracy and Stability of
    Numerical Algorithms", lemma 3.1); a fused multiplication and addition rounds once less."""

    def __init__(self, value, error=0.0):
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(error, dtype=np.float64), self.value.shape)

    def most(self):
        return np.abs(self.value) + self.error

    def rounded(self, times=1):
        return Bounded(self.value, self.error + times * U / (1 - times * U) * self.most())

    def __add__(self, other):
        return Bounded(self.value + other.value, self.error + other.error).rounded()

    def __sub__(self, other):
        return Bounded(self.value - other.value, self.error + other.error).rounded()

    def __mul__(self, other):
        error = self.error * other.most() + np.abs(self.value) * other.error
        return Bounded(self.value * other.value, error).rounded()

    def __matmul__(self, other):
        error = self.error @ other.most() + np.abs(self.value) @ other.error
        n = self.value.shape[-1] + 1
        return Bounded(self.value @ other.value, error + n * U / (1 - n * U) * (self.most() @ other.most()))

    def __truediv__(self, other):
        least = np.abs(other.value) - other.error
        error = (self.error + np.abs(self.value / other.value) * other.error) / least
        return Bounded(self.value / other.value, error).rounded()

    def sum(self, additions):
        """In a tree, in which each number is in so many additions."""
        rounding = additions * U / (1 - additions * U) * self.most().sum(-1, keepdims=True)
        return Bounded(self.value.sum(-1, keepdims=True), self.error.sum(-1, keepdims=True) + rounding)

    def through(self, function, steepest, ulps):
        """A function that is nowhere as steep as `steepest` within the error, computed within `ulps` units in the last place."""
        return Bounded(function(self.value), self.error * steepest).rounded(2 * ulps)

    def __getitem__(self, at):
        return Bounded(self.value[at], self.error[at])

    @property
    def T(self):
        return Bounded(self.value.T, self.error.T)


# What the kernels are to compute. The units in the last place are those that the CUDA C++ Programming Guide promises of `expf` and `erff`.


def normalised(x, gain):
    width = Bounded(float(WIDTH))
    centred = x - x.sum(5) / width
    variance = (centred * centred).sum(5) / width + Bounded(1e-5, 1e-5 * U)
    least = np.sqrt(variance.value - variance.error)
    return centred / variance.through(np.sqrt, 0.5 / least, 0.5) * gain


def affine(a, b, bias):
    return a @ b + bias


def activated(a, b, bias):
    x = affine(a, b, bias)
    inner = (x * Bounded(math.sqrt(0.5), U)).through(np.vectorize(math.erf), 2 / math.sqrt(math.pi), 2)
    return Bounded(0.5) * x * (Bounded(1.0) + inner)


def attended(qkv):
    heads, size = [], WIDTH // HEADS
    for head in range(HEADS):
        q, k, v = (qkv[:, i * WIDTH + head * size : i * WIDTH + (head + 1) * size] for i in range(3))
        scores = q @ k.T * Bounded(1 / math.sqrt(size), U)
        # The weights are the same whatever is subtracted, so that the maximum need not be exact; what is subtracted is off by as much.
        most = scores.value.max(-1, keepdims=True)
        off = scores.error.max(-1, keepdims=True)
        moved = scores - Bounded(most, off)
        weights = moved.through(np.exp, np.exp(moved.value + moved.error), 1)
        heads.append(weights / weights.sum(5) @ v)
    return Bounded(np.concatenate([h.value for h in heads], -1), np.concatenate([h.error for h in heads], -1))


def with_numpy(x, layers):
    """The network in double precision."""
    x = Bounded(x)
    for layer in layers:
        layer = {name: Bounded(values) for name, values in layer.items()}

        def product(a, name, function=affine):
            return Bounded(function(Bounded(a.value), layer[name], layer[f"{name} bias"]).value)

        x = Bounded((x + product(attended(product(normalised(x, layer["gain1"]), "qkv")), "out")).value)
        x = Bounded((x + product(product(normalised(x, layer["gain2"]), "up", activated), "down")).value)
    return x.value


@functools.cache
def checked():
    """The result of the network, of which each kernel was within its bound."""
    random = np.random.default_rng(1)
    layers = [parameters(random) for _ in range(LAYERS)]
    x = random.standard_normal((TOKENS, WIDTH)).astype(np.float32)
    shares, bounds = [], []

    def check(to, function, *arrays):
        result, expected = to.copy_to_host(), function(*(Bounded(array.copy_to_host()) for array in arrays))
        off = np.abs(result - expected.value)
        assert (off <= expected.error).all(), f"{function.__name__}: off by {off.max()}, bound {expected.error.max()}"
        shares.append((off / expected.error).max())
        bounds.append(expected.error.max() / np.abs(expected.value).max())

    result = on_device(x, layers, check)
    print(f"{len(shares)} kernels; the largest share of a bound: {max(shares):.3f}; the widest bound: {max(bounds):.1e}, relative")
    print(f"from NumPy's whole network: {np.abs(result - with_numpy(x, layers)).max():.1e}, of up to {np.abs(result).max():.2f}")
    return result


def test_every_number_is_within_its_bound():
    checked()


def test_the_bits_are_those_of_an_h200():
    bits = hashlib.sha256(checked().tobytes()).hexdigest()[:16]
    # NVVM writes its version into the PTX.
    compiler = re.search(r"V(\d+\.\d+\.\d+)", next(iter(multiply.inspect_asm().values())))[1]
    print(f"bits, compiled with NVVM {compiler}: {bits}")
    if compiler not in BITS:
        raise unittest.SkipTest(f"the bits with NVVM {compiler} are not known")
    assert bits == BITS[compiler]


if __name__ == "__main__":
    test_every_number_is_within_its_bound()
    try:
        test_the_bits_are_those_of_an_h200()
    except unittest.SkipTest as skipped:
        print(skipped)
