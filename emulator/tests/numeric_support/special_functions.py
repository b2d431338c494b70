"""Asks a GPU what its special function units return, and writes the tables of the emulator.

    python special_functions.py      # needs an NVIDIA GPU, CuPy and NumPy; takes half a minute

writes emulator/src/numeric/special_functions.bin and, beside this script, special_functions.bin: sums over the results for every operand. On
GPUs that compute the same, the files are the same in every run.
"""

import pathlib
import struct
from fractions import Fraction

import cupy
import numpy

FRACTIONS = 1 << 23
# Binary places of a polynomial's value, and more of its last coefficient.
PLACES, LAST = 36, 12
FACTOR = 0x9E3779B97F4A7C15

SOURCE = r"""
extern "C" __global__ void results(unsigned first, unsigned *to) {
    unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    float result;
    asm("OPERATION %0, %1;" : "=f"(result) : "f"(__uint_as_float(first + number)));
    to[number] = __float_as_uint(result);
}
extern "C" __global__ void sums(unsigned long long *to) {
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    unsigned long long sum = 0;
    for (unsigned operand = first; operand != first + 16; operand++) {
        float result;
        asm("OPERATION %0, %1;" : "=f"(result) : "f"(__uint_as_float(operand)));
        sum += __float_as_uint(result) * ((2ull * operand + 1) * 0x9E3779B97F4A7C15ull);
    }
    atomicAdd(&to[first >> 23], sum);
}
"""


def kernel(operation, name):
    return cupy.RawKernel(SOURCE.replace("OPERATION", operation), name)


def fractions(operation, start, least):
    """The fractions of the results for all numbers from `start` to twice that, where `least` is 0."""
    to = cupy.zeros(FRACTIONS, cupy.uint32)
    first = int(numpy.float32(start).view(numpy.uint32))
    kernel(operation, "results")((FRACTIONS // 256,), (256,), (numpy.uint32(first), to))
    return cupy.asnumpy(to).astype(numpy.int64) - int(numpy.float32(least).view(numpy.uint32))


def table(wanted, bits):
    """Polynomials for segments that are chosen by so many bits, and where they are one off."""
    size = FRACTIONS >> bits
    distance = 2 * numpy.arange(size, dtype=numpy.int64) + 1 - size
    square = distance * distance
    squares, fourths = int(square.sum()), sum(int(d) ** 4 for d in distance)
    head, off = b"", []
    for number in range(1 << bits):
        part = wanted[number * size : (number + 1) * size]
        # Least squares of what is half a unit more, in exact arithmetic: sums of eight bits each fit.
        moment = lambda factor: sum(int(((part >> s & 255) * factor).sum()) << s for s in (0, 8, 16))
        none, one, two = moment(1), moment(distance), moment(square)
        none, two = Fraction(2 * none + size, 2), Fraction(2 * two + squares, 2)
        second = (size * two - squares * none) / (size * fourths - squares * squares)
        constant = (none - squares * second) / size
        constant, first = round(constant * 2**PLACES), round(Fraction(one, squares) * 2**PLACES)
        second = round(second * 2 ** (PLACES + LAST))
        head += struct.pack("<qqq", constant, first, second)
        found = constant + first * distance + (second * square >> LAST)
        difference = part - (found >> PLACES)
        expected = numpy.where(found >> (PLACES - 1) & 1, 1, -1)
        assert ((difference == 0) | (difference == expected)).all()
        off.append(number * size + numpy.flatnonzero(difference))
    gaps = bytearray()
    for gap in numpy.diff(numpy.concatenate([[-1], *off])) - 1:
        gaps += b"\xff" * (gap // 255) + bytes([gap % 255])
    return struct.pack("<II", bits, len(gaps)) + head + gaps


def main():
    tables = [
        table(fractions("ex2.approx.ftz.f32", 1, 2), 6),
        table(fractions("rcp.approx.ftz.f32", 1, 0.5), 7),
        table(fractions("rsqrt.approx.ftz.f32", 1, 0.5), 6),
        table(fractions("rsqrt.approx.ftz.f32", 2, 0.5), 6),
        table(fractions("sqrt.approx.ftz.f32", 1, 1), 6),
        table(fractions("sqrt.approx.ftz.f32", 2, 1), 6),
    ]
    sums = b""
    for name in ("ex2", "rcp", "rsqrt", "sqrt"):
        for ftz in (".ftz", ""):
            to = cupy.zeros(512, cupy.uint64)
            kernel(f"{name}.approx{ftz}.f32", "sums")((1 << 20,), (256,), (to,))
            sums += cupy.asnumpy(to).astype("<u8").tobytes()
    here = pathlib.Path(__file__).resolve()
    (here.parents[2] / "src/numeric/special_functions.bin").write_bytes(b"".join(tables))
    here.with_suffix(".bin").write_bytes(sums)


if __name__ == "__main__":
    main()
