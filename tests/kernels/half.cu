// __half and __half2. Result k of element i goes to out[k * n + i].
#include <cuda_fp16.h>

#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    type a = in_a[i], b = in_b[i], c = in_c[i]; \
    auto put = [&](type value) { out[k++ * n + i] = value; };

// 16 results
extern "C" __global__ void arithmetic_f16(const __half* in_a, const __half* in_b, const __half* in_c, __half* out, unsigned n)
{
    BEGIN(__half)
    put(__hadd(a, b));
    put(__hsub(a, b));
    put(__hmul(a, b));
    put(__hfma(a, b, c));
    put(__hdiv(a, b));
    put(__hneg(a));
    put(__habs(a));
    put(__hadd_sat(a, b));
    put(__hfma_sat(a, b, c));
    put(__hlt(a, b) ? a : c);
    put(__heq(a, b) ? a : c);
    put(__hneu(a, b) ? a : c);
    put(__hisnan(a) ? b : c);
    put(hfloor(a));
    put(hrint(a));
    put(hsqrt(a));
}

// 9 results
extern "C" __global__ void arithmetic_f16x2(const __half2* in_a, const __half2* in_b, const __half2* in_c, __half2* out,
                                            unsigned n)
{
    BEGIN(__half2)
    put(__hadd2(a, b));
    put(__hsub2(a, b));
    put(__hmul2(a, b));
    put(__hfma2(a, b, c));
    put(__hneg2(a));
    put(__habs2(a));
    put(__hgt2(a, b));
    put(__lowhigh2highlow(a));
    put(__floats2half2_rn(__low2float(a) + 1.0f, __high2float(b)));
}

// out = alpha * x + out, in pairs
extern "C" __global__ void axpy_f16x2(__half2 alpha, const __half2* x, __half2* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __hfma2(alpha, x[i], out[i]);
}

// Sum of products in f32 of f16 inputs, one for each thread over a row.
extern "C" __global__ void dot_f16(const __half* a, const __half* b, float* out, unsigned columns)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (unsigned j = 0; j < columns; j++)
        sum = fmaf(__half2float(a[row * columns + j]), __half2float(b[row * columns + j]), sum);
    out[row] = sum;
}
