"""Dr.Jit: arrays whose operations it compiles to PTX. Its own tests are on no package registry."""

import drjit as dr
import numpy as np
import pytest
from drjit.cuda import Bool, Float, Float64, Int, PCG32, UInt32, UInt64
from drjit.cuda.ad import Float as Differentiable

N = 1000


def test_arithmetic():
    x = dr.arange(Float, N)
    assert np.array_equal(np.array(dr.fma(x, 2, 1)), 2 * np.arange(N) + 1)
    wide = dr.arange(UInt64, N) * UInt64(1 << 40) + UInt64(7)
    assert np.array_equal(np.array(wide), np.arange(N, dtype=np.uint64) * np.uint64(1 << 40) + np.uint64(7))
    # As in C++.
    assert np.array_equal(np.array(Int(-7) // dr.arange(Int, 1, 8)), [-7, -3, -2, -1, -1, -1, -1])


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "sqrt", "tanh"])
@pytest.mark.parametrize("kind", [Float, Float64])
def test_functions(name, kind):
    # Its `tanh` of doubles has an approximate reciprocal.
    tolerance = 1e-5 if kind is Float else 1e-6 if name == "tanh" else 1e-12
    x = dr.linspace(kind, 0.1, 3, N)
    found = np.array(getattr(dr, name)(x))
    assert np.allclose(found, getattr(np, name)(np.array(x, dtype=np.float64)), rtol=tolerance, atol=tolerance)


def test_reductions():
    x = dr.arange(UInt32, N)
    assert (dr.sum(x)[0], dr.max(x)[0], dr.min(x + 3)[0]) == (N * (N - 1) // 2, N - 1, 3)
    assert bool(dr.all(x < N)) and bool(dr.any(x == 7)) and not bool(dr.any(x == N))
    assert np.array_equal(np.array(dr.prefix_sum(x)), np.cumsum(np.arange(N)) - np.arange(N))


def test_gather_and_scatter():
    rng = np.random.default_rng(1)
    values, places = rng.standard_normal(N).astype(np.float32), rng.permutation(N).astype(np.uint32)
    assert np.array_equal(np.array(dr.gather(Float, Float(values), UInt32(places))), values[places])
    target = dr.zeros(Float, N)
    dr.scatter(target, Float(values), UInt32(places))
    expected = np.zeros(N, dtype=np.float32)
    expected[places] = values
    assert np.array_equal(np.array(target), expected)
    counts = dr.zeros(UInt32, 10)
    dr.scatter_add(counts, UInt32(1), UInt32(places % 10))
    assert np.array_equal(np.array(counts), np.bincount(places % 10, minlength=10))


def test_compress():
    assert np.array_equal(np.array(dr.compress(dr.arange(UInt32, N) % 7 == 0)), np.arange(0, N, 7))
    assert np.array_equal(np.array(dr.select(Bool([True, False]), UInt32(1), UInt32(2))), [1, 2])


def test_a_loop():
    @dr.syntax
    def sums(n):
        k, total = UInt32(0), UInt32(0)
        while k < n:
            total += k
            k += 1
        return total

    n = dr.arange(UInt32, 100)
    assert np.array_equal(np.array(sums(n)), np.arange(100) * (np.arange(100) - 1) // 2)


def test_calls():
    functions = [lambda x: x + 1, lambda x: x * x, lambda x: -x]
    which, x = dr.arange(UInt32, 300) % 3, dr.arange(Float, 300)
    found = np.array(dr.switch(which, functions, x))
    expected = [functions[i % 3](float(i)) for i in range(300)]
    assert np.array_equal(found, np.array(expected, dtype=np.float32))


def test_random_numbers():
    first, second = PCG32(N), PCG32(N)
    numbers = np.array(first.next_float32())
    assert np.array_equal(numbers, np.array(second.next_float32()))
    assert 0 <= numbers.min() and numbers.max() < 1 and abs(numbers.mean() - 0.5) < 0.05


def test_derivatives():
    x = Differentiable([1, 2, 3])
    dr.enable_grad(x)
    dr.backward(dr.sum(x * x * x))
    assert np.array_equal(np.array(dr.grad(x)), [3, 12, 27])


def test_frozen_functions():
    @dr.freeze
    def step(x):
        return x * 2 + 1

    for start in range(3):
        x = dr.arange(Float, N) + start
        assert np.array_equal(np.array(step(x)), (np.arange(N) + start) * 2 + 1)
