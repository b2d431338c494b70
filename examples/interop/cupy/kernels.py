"""Kernels of CuPy, each compared with NumPy, to be recorded on a GPU and replayed without one:

    export CUPY_COMPILE_WITH_PTX=1 CUPY_CACHE_DIR=kernels
    cuda-launch record --kernel saxpy -o saxpy.record -- python kernels.py saxpy
    cuda-launch replay saxpy.record

With CUPY_COMPILE_WITH_PTX=1 CuPy loads PTX, which the emulator executes, instead of machine code. A folder of its own for CuPy's
cache keeps what it compiled earlier out of the way. Without arguments all kernels run.
"""

import sys

import cupy
import numpy

COUNT = 20_000
random = numpy.random.default_rng(2)


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def saxpy():
    """An ElementwiseKernel."""
    x, y = floats(COUNT), floats(COUNT)
    kernel = cupy.ElementwiseKernel("float32 a, float32 x, float32 y", "float32 z", "z = a * x + y", "saxpy")
    z = kernel(numpy.float32(1.5), cupy.asarray(x), cupy.asarray(y))
    numpy.testing.assert_allclose(z.get(), 1.5 * x + y, rtol=1e-5, atol=1e-6)


def norms():
    """A ReductionKernel of floats, along rows."""
    x = floats(200, 300)
    kernel = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrtf(a)", "0", "norms")
    numpy.testing.assert_allclose(kernel(cupy.asarray(x), axis=1).get(), numpy.linalg.norm(x, axis=1), rtol=1e-5)


def histogram():
    """A RawKernel with atomics in shared and in global memory."""
    values = random.integers(0, 64, COUNT, dtype=numpy.uint8)
    kernel = cupy.RawKernel(
        r"""
extern "C" __global__ void histogram(const unsigned char *values, int count, unsigned *bins) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i]], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
""",
        "histogram",
    )
    bins = cupy.zeros(64, cupy.uint32)
    kernel((16,), (128,), (cupy.asarray(values), numpy.int32(COUNT), bins))
    numpy.testing.assert_array_equal(bins.get(), numpy.bincount(values, minlength=64))


def scan():
    """A RawKernel with shuffles: sums of all elements up to each, per block."""
    values = random.integers(-1000, 1000, 8192, dtype=numpy.int64)
    kernel = cupy.RawKernel(
        r"""
extern "C" __global__ void scan(const long long *values, long long *sums) {
    __shared__ long long warps[8];
    int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long sum = values[at];
    for (int distance = 1; distance < 32; distance *= 2) {
        long long other = __shfl_up_sync(0xffffffff, sum, distance);
        sum += lane >= distance ? other : 0;
    }
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    for (int before = 0; before < warp; before++)
        sum += warps[before];
    sums[at] = sum;
}
""",
        "scan",
    )
    sums = cupy.empty_like(cupy.asarray(values))
    kernel((32,), (256,), (cupy.asarray(values), sums))
    numpy.testing.assert_array_equal(sums.get(), values.reshape(32, 256).cumsum(axis=1).ravel())


def transpose():
    """A template in a RawModule, with a tile of shared memory."""
    x = random.standard_normal((120, 200))
    module = cupy.RawModule(
        code=r"""
template <typename T, int SIZE> __global__ void transpose(const T *from, T *to, int rows, int columns) {
    __shared__ T tile[SIZE][SIZE + 1];
    int column = blockIdx.x * SIZE + threadIdx.x, row = blockIdx.y * SIZE + threadIdx.y;
    if (row < rows && column < columns)
        tile[threadIdx.y][threadIdx.x] = from[row * columns + column];
    __syncthreads();
    column = blockIdx.y * SIZE + threadIdx.x, row = blockIdx.x * SIZE + threadIdx.y;
    if (row < columns && column < rows)
        to[row * rows + column] = T(2) * tile[threadIdx.x][threadIdx.y] / T(3);
}
""",
        options=("--std=c++17",),
        name_expressions=["transpose<double, 16>"],
    )
    turned = cupy.empty((200, 120))
    sizes = [numpy.int32(size) for size in x.shape]
    module.get_function("transpose<double, 16>")((13, 8), (16, 16), (cupy.asarray(x), turned, *sizes))
    numpy.testing.assert_array_equal(turned.get(), 2 * x.T / 3)


def ufunc():
    """One of CuPy's own: strided inputs that are broadcast."""
    x, y = random.integers(-9, 9, (100, 80), dtype=numpy.int32), random.integers(1, 9, 50, dtype=numpy.int32)
    quotient = cupy.floor_divide(cupy.asarray(x).T[:, ::2], cupy.asarray(y))
    numpy.testing.assert_array_equal(quotient.get(), x.T[:, ::2] // y)


def softmax():
    """Exponentials of floats: `ex2.approx` of a GPU and of the emulator may differ in the last bits."""
    x = floats(64, 128)
    kernel = cupy.RawKernel(
        r"""
extern "C" __global__ void softmax(const float *x, float *y) {
    __shared__ float parts[128];
    float power = expf(x[blockIdx.x * 128 + threadIdx.x]);
    parts[threadIdx.x] = power;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    y[blockIdx.x * 128 + threadIdx.x] = power / parts[0];
}
""",
        "softmax",
    )
    y = cupy.empty_like(cupy.asarray(x))
    kernel((64,), (128,), (cupy.asarray(x), y))
    powers = numpy.exp(x)
    numpy.testing.assert_allclose(y.get(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


KERNELS = {kernel.__name__: kernel for kernel in (saxpy, norms, histogram, scan, transpose, ufunc, softmax)}

for name in sys.argv[1:] or KERNELS:
    KERNELS[name]()
    print(f"{name}: as with NumPy")
