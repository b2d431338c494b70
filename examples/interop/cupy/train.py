"""Trains a small network with CuPy and, step by step the same, with NumPy, and compares the two.

    cuda-launch check -- python train.py

Batches are copied on a stream of their own, two ahead of the computation, ordered by events. `--race` leaves out one of the waits:
`check` then reports `stream-race`, if CUPY_COMPILE_WITH_PTX=1 lets it see what CuPy's kernels access. `--keep` ends without
releasing CuPy's pools, as most programs do: `check` reports `leak`.
"""

import argparse
import time

import cupy
import cupyx
import numpy

INPUTS, HIDDEN, CLASSES, BATCH = 64, 128, 10, 256
RATE = numpy.float32(0.1)

# The product without cuBLAS: `--own` uses it.
PRODUCT = cupy.RawKernel(
    r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int rows, int inner, int columns) {
    __shared__ float left[16][17], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < inner; at += 16) {
        int k = at + threadIdx.x, l = at + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0;
        right[threadIdx.y][threadIdx.x] = l < inner && column < columns ? b[l * columns + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[row * columns + column] = sum;
}
""",
    "product",
)


def own_product(a, b):
    a, b = cupy.ascontiguousarray(a), cupy.ascontiguousarray(b)
    (rows, inner), columns = a.shape, b.shape[1]
    c = cupy.empty((rows, columns), cupy.float32)
    sizes = [numpy.int32(size) for size in (rows, inner, columns)]
    PRODUCT(((columns + 15) // 16, (rows + 15) // 16), (16, 16), (a, b, c, *sizes))
    return c


def weights():
    random = numpy.random.default_rng(1)
    shapes = [(INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
    return [(random.standard_normal(shape) / 8).astype(numpy.float32) for shape in shapes]


def batch(step):
    random = numpy.random.default_rng(1000 + step)
    x = random.standard_normal((BATCH, INPUTS)).astype(numpy.float32)
    return x, x[:, :CLASSES].argmax(axis=1).astype(numpy.int32)


def step(xp, dot, parameters, x, labels):
    """Forward, loss, backward and the change of the weights; returns the loss."""
    w1, b1, w2, b2 = parameters
    x = (x - xp.float32(0.5)) * xp.float32(2)
    hidden = xp.maximum(dot(x, w1) + b1, xp.float32(0))
    scores = dot(hidden, w2) + b2
    scores -= scores.max(axis=1, keepdims=True)
    shares = xp.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    right = labels[:, None] == xp.arange(CLASSES, dtype=xp.int32)
    loss = -xp.log((shares * right).sum(axis=1)).mean()
    by_scores = (shares - right.astype(xp.float32)) / xp.float32(BATCH)
    by_hidden = dot(by_scores, w2.T) * (hidden > 0)
    gradients = [dot(x.T, by_hidden), by_hidden.sum(axis=0), dot(hidden.T, by_scores), by_scores.sum(axis=0)]
    for parameter, gradient in zip(parameters, gradients):
        parameter -= RATE * gradient
    return loss


def on_the_host(steps):
    parameters = weights()
    losses = [step(numpy, numpy.matmul, parameters, *batch(number)) for number in range(steps)]
    return numpy.array(losses), parameters


def on_the_device(steps, dot, race):
    """Also returns the seconds of the steps after the first, which compiles."""
    compute, copies = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    arrived, used = ([cupy.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2))
    with compute:
        parameters = [cupy.asarray(parameter) for parameter in weights()]
        buffers = [(cupy.empty((BATCH, INPUTS), cupy.float32), cupy.empty(BATCH, cupy.int32)) for _ in range(2)]
    # Copies from other memory than pinned memory do not overlap.
    pinned = [[cupyx.empty_like_pinned(values) for values in batch(0)] for _ in range(2)]
    compute.synchronize()

    def copy(number):
        if number >= 2:
            # What was copied from this memory before has arrived.
            arrived[number % 2].synchronize()
            copies.wait_event(used[number % 2])
        for buffer, memory, values in zip(buffers[number % 2], pinned[number % 2], batch(number)):
            memory[...] = values
            buffer.set(memory, stream=copies)
        arrived[number % 2].record(copies)

    losses, start = [], None
    for number in range(min(2, steps)):
        copy(number)
    for number in range(steps):
        with compute:
            if not race:
                compute.wait_event(arrived[number % 2])
            losses.append(step(cupy, dot, parameters, *buffers[number % 2]))
            used[number % 2].record(compute)
        if number + 2 < steps:
            copy(number + 2)
        if number == 0:
            compute.synchronize()
            start = time.perf_counter(), time.thread_time()
    compute.synchronize()
    copies.synchronize()
    took = time.perf_counter() - start[0], time.thread_time() - start[1]
    with compute:
        results = numpy.array([float(loss) for loss in losses]), [cupy.asnumpy(one) for one in parameters]
    return results, took


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--own", action="store_true", help="products by a kernel of this file instead of cuBLAS")
    options.add_argument("--race", action="store_true", help="do not wait for the copies")
    options.add_argument("--keep", action="store_true", help="do not release CuPy's pools")
    given = options.parse_args()
    (losses, parameters), (wall, cpu) = on_the_device(given.steps, own_product if given.own else cupy.matmul, given.race)
    if not given.keep:
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
    counted = max(given.steps - 1, 1)
    print(f"{given.steps} steps, loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(f"a step took {1e6 * wall / counted:.0f} us, of which {1e6 * cpu / counted:.0f} us CPU time of this thread")
    if not given.race:
        expected_losses, expected = on_the_host(given.steps)
        numpy.testing.assert_allclose(losses, expected_losses, rtol=1e-3)
        for one, other in zip(parameters, expected):
            numpy.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-4)
        print("as with NumPy")


if __name__ == "__main__":
    main()
