"""cuda.core: its objects, as a program uses them. Its own tests are on no package registry."""

import numpy as np
import pytest
from cuda.core import Device, EventOptions, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SOURCE = """
template <typename T> __global__ void saxpy(T a, const T *x, T *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
CALLER = 'extern "C" __device__ int number(int); extern "C" __global__ void ask(int *to) { *to = number(*to); }'
CALLED = 'extern "C" __device__ int number(int n) { return n + 40; }'


@pytest.fixture(scope="module")
def device():
    device = Device(0)
    device.set_current()
    return device


@pytest.fixture(scope="module")
def stream(device):
    return device.create_stream()


@pytest.fixture
def pinned():
    from cuda.core import LegacyPinnedMemoryResource

    resource = LegacyPinnedMemoryResource()

    def allocate(n, dtype):
        buffer = resource.allocate(n * np.dtype(dtype).itemsize)
        return buffer, np.from_dlpack(buffer).view(dtype=dtype)

    return allocate


def program(code, device, **options):
    return Program(code, "c++", ProgramOptions(arch=f"sm_{device.arch}", **options))


@pytest.mark.parametrize("kind", ["cubin", "ptx"])
@pytest.mark.parametrize("dtype, name", [(np.float32, "float"), (np.float64, "double")])
def test_a_template(device, stream, pinned, kind, dtype, name):
    symbol = f"saxpy<{name}>"
    kernel = program(SOURCE, device, std="c++17").compile(kind, name_expressions=(symbol,)).get_kernel(symbol)
    (x_buffer, x), (y_buffer, y) = pinned(1000, dtype), pinned(1000, dtype)
    x[:], y[:] = np.arange(1000), 1
    launch(stream, LaunchConfig(grid=4, block=256), kernel, dtype(3), x_buffer, y_buffer, np.uint64(1000))
    stream.sync()
    assert np.array_equal(y, 3 * np.arange(1000, dtype=dtype) + 1)


@pytest.mark.parametrize("lto", [False, True])
def test_two_objects_are_linked(device, stream, pinned, lto):
    kind = "ltoir" if lto else "ptx"
    options = {"relocatable_device_code": True, **({"link_time_optimization": True} if lto else {})}
    objects = [program(code, device, **options).compile(kind) for code in (CALLER, CALLED)]
    linker = Linker(*objects, options=LinkerOptions(arch=f"sm_{device.arch}", link_time_optimization=lto or None))
    kernel = linker.link("cubin").get_kernel("ask")
    buffer, number = pinned(1, np.int32)
    number[0] = 2
    launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer)
    stream.sync()
    assert number[0] == 42


def test_memory_of_the_device(device, stream, pinned):
    (buffer, host), (back_buffer, back) = pinned(256, np.uint8), pinned(256, np.uint8)
    host[:] = np.arange(256)
    memory = device.memory_resource.allocate(256, stream=stream)
    memory.copy_from(buffer, stream=stream)
    memory.copy_to(back_buffer, stream=stream)
    stream.sync()
    assert np.array_equal(host, back)
    memory.close(stream)


def test_events(device, stream):
    before, after = (device.create_event(EventOptions(timing_enabled=True)) for _ in range(2))
    stream.record(before)
    stream.record(after)
    after.sync()
    assert after.is_done and after - before >= 0


def test_a_stream_waits_for_an_event(device, stream):
    other = device.create_stream()
    other.wait(stream.record())
    other.sync()


def test_properties(device):
    assert device.compute_capability.major == 9
    assert device.properties.multiprocessor_count > 0
    assert device.properties.max_threads_per_block == 1024
    assert device.name and len(device.uuid) == 36


def test_attributes_of_a_kernel(device):
    code = 'extern "C" __global__ void __launch_bounds__(128) empty(int a, long b) {}'
    kernel = program(code, device).compile("cubin").get_kernel("empty")
    assert kernel.num_arguments == 2
    assert kernel.attributes.max_threads_per_block == 128
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0) > 0


def test_system():
    from cuda.core import system

    assert system.get_num_devices() >= 1
    assert system.Device(index=0).name


def test_a_mistake_is_reported(device):
    with pytest.raises(Exception, match="(?i)error"):
        program("this is no C++", device).compile("cubin")
