"""Asks a GPU what its special function units return, and writes the tables of the emulator.

    python special_functions.py      # needs an NVIDIA GPU, CuPy and NumPy; takes a minute

writes emulator/src/numeric/special_functions.bin and, beside this script, special_functions.bin: sums over the results for every operand. On
GPUs that compute the same, the files are the same in every run.
"""

import pathlib
import struct

import numpy

FRACTION = 23
FRACTIONS = 1 << FRACTION
# Binary places of a polynomial's value; below a float's, and of logarithms before they are added to an exponent.
PLACES = 40
BELOW = PLACES - FRACTION
LOGARITHM = 36
# Upper bits of a fraction that choose a segment of tanh, from the octave of 2^-8 on.
FIRST_OCTAVE = -8
TANH = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
# One over two pi, which ptxas multiplies operands of sin and cos by, and the binary places of a turn's part that are not cut off.
PER_TURN = numpy.float64(numpy.uint32(0x3E22F983).view(numpy.float32))
TURN = 25

SOURCE = r"""
extern "C" __global__ void results(const unsigned *operands, unsigned *to) {
    unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    float result;
    asm("OPERATION %0, %1;" : "=f"(result) : "f"(__uint_as_float(operands[number])));
    to[number] = __float_as_uint(result);
}
__device__ unsigned of(unsigned operand) {
    RESULT
}
extern "C" __global__ void sums(unsigned long long *to) {
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    unsigned long long sum = 0;
    for (unsigned operand = first; operand != first + 16; operand++)
        sum += of(operand) * ((2ull * operand + 1) * 0x9E3779B97F4A7C15ull);
    atomicAdd(&to[first >> 23], sum);
}
"""
OF_SINGLES = r"""
    float result;
    asm("OPERATION %0, %1;" : "=f"(result) : "f"(__uint_as_float(operand)));
    return __float_as_uint(result);
"""
# The operand is the upper word, and a multiple of it the lower one; so are both of the result mixed.
OF_DOUBLES = r"""
    double result;
    unsigned long long both = (unsigned long long)operand << 32 | operand * 0x9E3779B1u;
    asm("OPERATION %0, %1;" : "=d"(result) : "d"(__longlong_as_double(both)));
    both = __double_as_longlong(result);
    return (unsigned)(both >> 32) + 3u * (unsigned)both;
"""
OF_HALVES = r"""
    unsigned short result;
    asm("OPERATION %0, %1;" : "=h"(result) : "h"((unsigned short)operand));
    return result;
"""


def kernel(operation, name, of=OF_SINGLES):
    import cupy

    # The one for results is of singles.
    single = operation if of is OF_SINGLES else "rcp.approx.f32"
    source = SOURCE.replace("RESULT", of.replace("OPERATION", operation)).replace("OPERATION", single)
    return cupy.RawKernel(source, name)


def measured(operation, operands):
    """The results, as bits, for so many operands, a multiple of 256."""
    import cupy

    to = cupy.zeros(len(operands), cupy.uint32)
    kernel(operation, "results")((len(operands) // 256,), (256,), (cupy.asarray(operands.astype(numpy.uint32)), to))
    return cupy.asnumpy(to)


def sums(operation, of=OF_SINGLES, operands=1 << 32):
    """For every upper nine bits of an operand, the sum over the results, each with a factor of its own."""
    import cupy

    to = cupy.zeros(512, cupy.uint64)
    threads = min(256, operands // 16)
    kernel(operation, "sums", of)((operands // 16 // threads,), (threads,), (to,))
    return cupy.asnumpy(to).astype("<u8")


def square(distances, bits):
    """The squares without the lowest columns of the triangle of their partial products, in units of the lowest one that is left."""
    columns = 2 * bits - 15
    total = numpy.zeros_like(distances)
    for bit in range(bits):
        row = (distances & ((1 << bit) - 1)) << (bit + 1) >> columns
        row += (1 << 2 * bit) >> columns
        total += (distances >> bit & 1) * row
    return total


def constants(low, high, rest):
    """The least and the largest that, with the rest, lie where they should for all."""
    return int((low - rest).max()), int((high - 1 - rest).min())


def polynomial(low, high, bits):
    """The coefficients for a segment of distances of so many bits: values that are at least `low`, and less than `high`, everywhere. Of
    several those of the coarsest grid.
    """
    distances = numpy.arange(1 << bits, dtype=numpy.int64)
    squares = square(distances, bits)
    # Near there: the least squares of what lies halfway.
    size = numpy.array([1, 1 << bits, 1 << 15], dtype=numpy.float64)
    columns = numpy.stack([numpy.ones(1 << bits), distances, squares], 1) / size
    middle = (low + high) / 2
    inside = high - low < 1 << 40
    near, *_ = numpy.linalg.lstsq(columns[inside], middle[inside] - middle[0], rcond=None)
    _, first, second = near / size
    for grid in (16, 8, 4, 2, 1):
        for second_of_grid in range(round(second / grid) - 1, round(second / grid) + 2):
            for first_of_grid in range(round(first / grid) - 1, round(first / grid) + 2):
                rest = distances * (first_of_grid * grid) + squares * (second_of_grid * grid)
                least, most = constants(low, high, rest)
                if least <= most:
                    # The one with the most zeros at its end.
                    zeros = max(k for k in range(41) if -(-least >> k) << k <= most)
                    return -(-least >> zeros) << zeros, first_of_grid * grid, second_of_grid * grid
    raise ValueError("no such polynomial: this GPU computes otherwise")


def table(low, high, segments):
    size = len(low) // segments
    bits = size.bit_length() - 1
    parts = [slice(number * size, (number + 1) * size) for number in range(segments)]
    return b"".join(struct.pack("<qii", *polynomial(low[part], high[part], bits)) for part in parts)


def bits_of(number):
    return int(numpy.float32(number).view(numpy.uint32))


def of_fractions(operation, start, least, segments):
    """Of the fractions of the results for all numbers from `start` to twice that, where `least` is 0."""
    results = measured(operation, bits_of(start) + numpy.arange(FRACTIONS)).astype(numpy.int64)
    low = results - bits_of(least) << BELOW
    high = low + (1 << BELOW)
    if operation.startswith("rsqrt") and start == 1:
        # This result is exact in a way of its own.
        low[0], high[0] = low[0] - (2 << BELOW), high[0] + (1 << BELOW)
    return table(low, high, segments)


def fixed(results, places):
    """Magnitudes in units of so many binary places, and their last bits."""
    values = numpy.abs(results.view(numpy.float32).astype(numpy.float64)) * 2.0**places
    exponents = (results >> FRACTION & 255).astype(numpy.int64) - 127
    return values.astype(numpy.int64), 1 << numpy.maximum(exponents - FRACTION + places, 0)


def lg2():
    """Of all fractions, from the results in [1, 2), and in [1/2, 1), where they are less one, and the complement."""
    above = measured("lg2.approx.ftz.f32", bits_of(1) + numpy.arange(FRACTIONS))
    below = measured("lg2.approx.ftz.f32", bits_of(0.5) + numpy.arange(FRACTIONS))
    low, unit = fixed(above, LOGARITHM)
    high = low + unit
    # Of one itself it is zero, in a way of its own.
    high[0] = 1 << 14
    complement, unit = fixed(below, LOGARITHM)
    complement = (1 << LOGARITHM) - complement
    low, high = numpy.maximum(low, complement - unit), numpy.minimum(high, complement)
    more = PLACES - LOGARITHM
    return table(low << more, high << more, 64)


def sine():
    """Of all parts of the first quarter of a turn."""
    parts = numpy.arange(FRACTIONS)
    operands = ((parts + 0.5) / 2.0**TURN / PER_TURN).astype(numpy.float32)
    assert ((operands.astype(numpy.float64) * PER_TURN * 2.0**TURN).astype(numpy.int64) == parts).all()
    low, unit = fixed(measured("sin.approx.f32", operands.view(numpy.uint32)), PLACES)
    # One is what is one, and more.
    high = numpy.where(low == 1 << PLACES, 1 << 50, low + unit)
    return table(low, high, 64)


def tanh():
    """By octave."""
    found = b""
    for octave, upper in enumerate(TANH, FIRST_OCTAVE):
        lost = 6 - upper
        fractions = numpy.arange(FRACTIONS >> lost) << lost
        places = PLACES - min(octave + 1, 0)
        low, unit = fixed(measured("tanh.approx.f32", bits_of(2.0**octave) + fractions), places)
        found += table(low, low + unit, 1 << upper)
    return found


def tables():
    return [
        of_fractions("ex2.approx.ftz.f32", 1, 2, 64),
        of_fractions("rcp.approx.ftz.f32", 1, 0.5, 128),
        of_fractions("rsqrt.approx.ftz.f32", 1, 0.5, 64),
        of_fractions("rsqrt.approx.ftz.f32", 2, 0.5, 64),
        of_fractions("sqrt.approx.ftz.f32", 1, 1, 64),
        of_fractions("sqrt.approx.ftz.f32", 2, 1, 64),
        lg2(),
        sine(),
        tanh(),
    ]


def all_sums():
    for name in ("ex2", "rcp", "rsqrt", "sqrt", "lg2", "sin", "cos"):
        for ftz in (".ftz", ""):
            yield sums(f"{name}.approx{ftz}.f32")
    yield sums("tanh.approx.f32")
    for name in ("rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"):
        yield sums(f"{name}.f64", OF_DOUBLES)
    for name in ("ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"):
        yield sums(name, OF_HALVES, 1 << 16)[:1]


def main():
    here = pathlib.Path(__file__).resolve()
    (here.parents[2] / "src/numeric/special_functions.bin").write_bytes(b"".join(tables()))
    here.with_suffix(".bin").write_bytes(b"".join(part.tobytes() for part in all_sums()))


if __name__ == "__main__":
    main()
