"""Taichi: kernels of its CUDA backend. Its own tests are on no package registry."""

import numpy as np
import pytest
import taichi as ti


@pytest.fixture(autouse=True)
def cuda():
    ti.init(arch=ti.cuda, device_memory_GB=0.25, offline_cache=False)
    # Without a driver that it can use, Taichi goes on with the CPU.
    assert ti.lang.impl.current_cfg().arch == ti.cuda
    yield
    ti.reset()


def test_a_field():
    field = ti.field(ti.i32, shape=1000)

    @ti.kernel
    def fill(n: ti.i32):
        for i in field:
            field[i] = i * n

    fill(3)
    assert np.array_equal(field.to_numpy(), np.arange(1000) * 3)


def test_an_array_of_numpy():
    @ti.kernel
    def saxpy(a: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = a * x[i] + y[i]

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
    saxpy(2.0, x, y)
    assert np.array_equal(y, 2 * np.arange(1000, dtype=np.float32) + 1)


def test_a_sum():
    @ti.kernel
    def total(n: ti.i32) -> ti.i32:
        sum = 0
        for i in range(n):
            sum += i
        return sum

    assert total(10_000) == sum(range(10_000))


@pytest.mark.parametrize("name", ["min", "max"])
def test_atomics(name):
    result = ti.field(ti.i32, shape=())
    result[None] = 500
    operation = {"min": ti.atomic_min, "max": ti.atomic_max}[name]

    @ti.kernel
    def reduce():
        for i in range(1000):
            operation(result[None], i)

    reduce()
    assert result[None] == {"min": 0, "max": 999}[name]


def test_matrices():
    a = ti.Matrix.field(3, 3, ti.f32, shape=64)
    b = ti.Vector.field(3, ti.f32, shape=64)
    left, right = np.random.default_rng(1).integers(-8, 8, (2, 64, 3, 3)).astype(np.float32)
    a.from_numpy(left)
    b.from_numpy(right[:, :, 0].copy())

    @ti.kernel
    def multiply():
        for i in b:
            b[i] = a[i] @ b[i]

    multiply()
    # Small integers: every sum is exact.
    assert np.array_equal(b.to_numpy(), np.einsum("nij,nj->ni", left, right[:, :, 0]))


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "sqrt"])
def test_mathematics(name):
    x, y = ti.field(ti.f64, shape=256), ti.field(ti.f64, shape=256)
    host = np.linspace(0.1, 5, 256)
    x.from_numpy(host)
    function = getattr(ti, name)

    @ti.kernel
    def apply():
        for i in x:
            y[i] = function(x[i])

    apply()
    # CUDA's functions of doubles are within 2 units in the last place, NumPy's within one.
    expected = getattr(np, name)(host)
    assert (np.abs(y.to_numpy() - expected) <= 3 * np.spacing(np.abs(expected))).all()


def test_two_dimensions():
    width = 48
    field, other = ti.field(ti.i32, shape=(width, width)), ti.field(ti.i32, shape=(width, width))
    start = np.random.default_rng(2).integers(0, 2, (width, width)).astype(np.int32)
    field.from_numpy(start)

    @ti.kernel
    def life():
        for i, j in field:
            count = 0
            for k, l in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(k != 0 or l != 0):
                    count += field[(i + k + width) % width, (j + l + width) % width]
            other[i, j] = 1 if count == 3 or (count == 2 and field[i, j] == 1) else 0

    life()
    near = sum(np.roll(start, (k, l), (0, 1)) for k in (-1, 0, 1) for l in (-1, 0, 1)) - start
    assert np.array_equal(other.to_numpy(), (near == 3) | ((near == 2) & (start == 1)))


def test_sparse_fields():
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 16).place(x)

    @ti.kernel
    def set():
        x[5] = 1
        x[200] = 2

    @ti.kernel
    def active() -> ti.i32:
        count = 0
        for i in x:
            count += 1
        return count

    set()
    assert active() == 32 and x[200] == 2


def test_random_numbers():
    x = ti.field(ti.f32, shape=4096)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random()

    fill()
    values = x.to_numpy()
    assert ((values >= 0) & (values < 1)).all() and len(np.unique(values)) > 4000


def test_gradients():
    x, loss = ti.field(ti.f32, shape=8, needs_grad=True), ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def squares():
        for i in x:
            loss[None] += x[i] ** 2

    x.from_numpy(np.arange(8, dtype=np.float32))
    with ti.ad.Tape(loss):
        squares()
    assert loss[None] == 140 and np.array_equal(x.grad.to_numpy(), 2 * np.arange(8, dtype=np.float32))
