"""tinygrad, beside the tests of its source distribution: what a program makes of tensors, compared with NumPy. DEV says how its kernels are
written."""

import numpy as np
import pytest
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn

random = np.random.default_rng(1)


def whole(*shape):
    """Small integers: every sum of their products is exact."""
    return random.integers(-4, 5, shape).astype(np.float32)


def test_the_device():
    assert Device.DEFAULT == "CUDA"


@pytest.mark.parametrize("kind", [dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64])
def test_types(kind):
    x = Tensor(np.arange(16)).cast(kind)
    assert x.dtype == kind
    assert (x + x).cast(dtypes.int32).tolist() == list(range(0, 32, 2))


@pytest.mark.parametrize("m, k, n", [(4, 4, 4), (33, 17, 65), (64, 64, 64)])
def test_a_product(m, k, n):
    a, b = whole(m, k), whole(k, n)
    assert np.array_equal((Tensor(a) @ Tensor(b)).numpy(), a @ b)


def test_a_product_of_halves():
    a, b = whole(64, 64), whole(64, 64)
    product = Tensor(a).half().matmul(Tensor(b).half(), dtype=dtypes.float32)
    assert np.array_equal(product.numpy(), a @ b)


def test_a_convolution():
    x, w = whole(1, 3, 9, 9), whole(4, 3, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    assert np.array_equal(Tensor(x).conv2d(Tensor(w)).numpy(), np.einsum("bcijkl,ockl->boij", windows, w))


@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(name, axis):
    x = whole(37, 53)
    assert np.array_equal(getattr(Tensor(x), name)(axis).numpy(), getattr(x, name)(axis))


def test_softmax():
    x = whole(8, 40)
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expected = wide / wide.sum(1, keepdims=True)
    # In units of 2^-24: x - max is exact and at most 8, exp2 of a rounded product with log2(e) (2 * 8 * log2(e) for the argument, 4 for
    # the function), a sum of 40, and a reciprocal with a product.
    assert (np.abs(Tensor(x).softmax().numpy() - expected) <= (24 + 4 + 40 + 4) * 2.0**-24 * expected).all()


def test_indices_and_shapes():
    x = whole(6, 8)
    t = Tensor(x)
    assert np.array_equal(t[1:5, ::2].numpy(), x[1:5, ::2])
    assert np.array_equal(t[Tensor([3, 0, 5])].numpy(), x[[3, 0, 5]])
    assert np.array_equal(t.permute(1, 0).reshape(12, 4).numpy(), x.T.reshape(12, 4))
    assert np.array_equal(Tensor.cat(t, t, dim=1).numpy(), np.concatenate([x, x], 1))
    assert np.array_equal((t > 0).where(t, 0).numpy(), np.maximum(x, 0))
    assert np.array_equal(t.cumsum(1).numpy(), np.cumsum(x, 1))


def test_gradients():
    x, w = Tensor(whole(5, 7)), Tensor(whole(7, 3))
    (x @ w).relu().sum().backward()
    positive = (x.numpy() @ w.numpy() > 0).astype(np.float32)
    assert np.array_equal(w.grad.numpy(), x.numpy().T @ positive)
    assert np.array_equal(x.grad.numpy(), positive @ w.numpy().T)


def test_a_jit():
    @TinyJit
    def step(x):
        return (x * 2 + 1).realize()

    for i in range(6):
        assert step(Tensor([float(i)]).realize()).item() == 2 * i + 1


def test_training():
    Tensor.manual_seed(3)
    model = nn.Linear(4, 1)
    x = Tensor(whole(32, 4))
    y = x @ Tensor([[1.0], [2.0], [-1.0], [0.5]])
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.02)
    losses = []
    with Context(TRAINING=1):
        for _ in range(20):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def test_random_numbers():
    Tensor.manual_seed(1)
    values = Tensor.rand(2000).numpy()
    assert ((values >= 0) & (values < 1)).all() and len(np.unique(values)) > 1900
