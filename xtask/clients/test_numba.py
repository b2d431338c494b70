"""Kernels of numba that need more than their own PTX: a grid that waits for itself, and arrays that are created in kernels."""

import numpy as np
from numba import cuda, float32
from numba.cuda import config


@cuda.jit
def steps(x, rounds):
    """Each round, an element becomes the sum of itself and its neighbour, which another block may have written."""
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(rounds):
        total = x[i] + x[(i + 1) % x.size]
        grid.sync()
        x[i] = total
        grid.sync()


def test_a_grid_waits_for_itself():
    n, rounds = 512, 5
    x = np.arange(n, dtype=np.int64) % 7
    expected = x.copy()
    for _ in range(rounds):
        expected = expected + np.roll(expected, -1)
    on_device = cuda.to_device(x)
    steps[n // 64, 64](on_device, rounds)
    assert (on_device.copy_to_host() == expected).all()


@cuda.jit
def swapped(x, out):
    """The local array has a size that the compiler knows; slices of the argument are views."""
    i = cuda.grid(1)
    if i < out.size:
        own = cuda.local.array(4, float32)
        for k in range(4):
            own[k] = x[4 * i + k]
        out[i] = own[0] + 10 * own[3]


def test_arrays_of_a_thread():
    x = np.arange(400, dtype=np.float32)
    out = np.zeros(100, dtype=np.float32)
    swapped[1, 128](x, out)
    assert (out == x[0::4] + 10 * x[3::4]).all()


@cuda.jit
def allocated(x, out):
    """An array whose size is known at run time only: the compiled code calls `malloc`, and `free` once nobody refers to it."""
    i = cuda.grid(1)
    if i < out.size:
        own = x[i : i + 3].copy()
        for k in range(own.size):
            own[k] *= 2
        out[i] = own[0] + own[1] * own[2]


def test_arrays_that_kernels_create():
    config.CUDA_ENABLE_NRT = True
    x = np.arange(66, dtype=np.int32)
    out = np.zeros(64, dtype=np.int32)
    allocated[2, 32](x, out)
    assert (x == np.arange(66)).all(), "the kernel wrote to its own copy"
    assert (out == 2 * x[:64] + 2 * x[1:65] * 2 * x[2:66]).all()
