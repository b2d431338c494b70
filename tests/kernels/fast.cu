// flags: -use_fast_math
// What -use_fast_math makes of ordinary code: flushed denormals, approximate division, roots and functions. 8 results,
// result k of element i in out[k * n + i].
extern "C" __global__ void fast_math(const float* in_a, const float* in_b, float* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n)
        return;
    float a = in_a[i], b = in_b[i];
    auto put = [&](float value) { out[k++ * n + i] = value; };
    put(a * b + a);
    put(a / b);
    put(sqrtf(a));
    put(expf(a));
    put(logf(a));
    put(sinf(a));
    put(powf(a, b));
    put(a < b ? 1.0f / a : fabsf(b));
}
