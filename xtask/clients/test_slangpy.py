"""slangpy: functions in Slang, compiled to CUDA C++ and by NVRTC, and called with NumPy's arrays. Its own tests are on no package registry."""

import numpy as np
import pytest
import slangpy

SOURCE = """
float twice(float a, float b) { return 2 * a + b; }

float distance_to(float3 point, float3 other) { return length(point - other); }

[Differentiable]
float square(float x) { return x * x; }

uint collatz(uint n)
{
    uint steps = 0;
    while (n != 1)
    {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        steps++;
    }
    return steps;
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slang")
    (folder / "functions.slang").write_text(SOURCE)
    device = slangpy.create_device(slangpy.DeviceType.cuda, include_paths=[str(folder)])
    yield slangpy.Module.load_from_file(device, "functions.slang")
    device.close()


def test_numbers(module):
    a = np.arange(1000, dtype=np.float32)
    assert np.array_equal(module.twice(a, 1.0, _result="numpy"), 2 * a + 1)


def test_vectors(module):
    points = np.random.default_rng(1).standard_normal((100, 3)).astype(np.float32)
    found = module.distance_to(points, slangpy.float3(1, 2, 3), _result="numpy")
    assert np.allclose(found, np.linalg.norm(points - [1, 2, 3], axis=1), rtol=1e-5)


def test_loops(module):
    def steps(n):
        count = 0
        while n != 1:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        return count

    numbers = np.arange(1, 200, dtype=np.uint32)
    assert list(module.collatz(numbers, _result="numpy")) == [steps(int(n)) for n in numbers]


def test_tensors(module):
    tensor = slangpy.Tensor.from_numpy(module.device, np.arange(12, dtype=np.float32).reshape(3, 4))
    found = module.square(tensor, _result="tensor").to_numpy()
    assert np.array_equal(found, np.arange(12, dtype=np.float32).reshape(3, 4) ** 2)


def test_derivatives(module):
    x = np.array([1, 2, 3], dtype=np.float32)
    tensor = slangpy.Tensor.from_numpy(module.device, x).with_grads(zero=True)
    result = module.square(tensor, _result="tensor").with_grads()
    result.grad.copy_from_numpy(np.ones(3, dtype=np.float32))
    module.square.bwds(tensor, _result=result)
    assert np.array_equal(tensor.grad.to_numpy(), 2 * x)
