// Kernels whose parameters debug information names: a struct, an enumeration, names for types, const of all kinds, C++.

struct Range {
    int first;
    float factors[3];
};

enum Mode { PLAIN, SQUARED };
typedef unsigned short Sample;
typedef volatile unsigned *Counter;

extern "C" __global__ void scale(const float *input, float *output, Range range, int count, Mode mode)
{
    int i = range.first + threadIdx.x;
    if (i >= count) return;
    float factor = range.factors[i & 1];
    output[i] = input[i] * (mode == SQUARED ? factor * factor : factor);
}

extern "C" __global__ void tally(Counter counter, const Sample *const values, const void *unused, bool enabled, char least,
                                 long long limit, float weight)
{
    long long i = threadIdx.x;
    if (enabled && i < limit && values[i] * weight > least) *counter += 1;
}

namespace filters {
template <typename T, int Width>
__global__ void blur(const T *source, T *target, unsigned length)
{
    unsigned i = threadIdx.x;
    if (i + Width > length) return;
    T sum = 0;
    for (int k = 0; k < Width; k++) sum += source[i + k];
    target[i] = sum * T(1.0 / Width);
}

template __global__ void blur<double, 4>(const double *, double *, unsigned);
}
