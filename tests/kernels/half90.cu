// arch: 90
// bf16, and of f16 what came after sm_75. Result k of element i goes to out[k * n + i].
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    type a = in_a[i], b = in_b[i], c = in_c[i]; \
    auto put = [&](type value) { out[k++ * n + i] = value; };

// 14 results
extern "C" __global__ void arithmetic_bf16(const __nv_bfloat16* in_a, const __nv_bfloat16* in_b, const __nv_bfloat16* in_c,
                                           __nv_bfloat16* out, unsigned n)
{
    BEGIN(__nv_bfloat16)
    put(__hadd(a, b));
    put(__hsub(a, b));
    put(__hmul(a, b));
    put(__hfma(a, b, c));
    put(__hfma_relu(a, b, c));
    put(__hneg(a));
    put(__habs(a));
    put(__hmin(a, b));
    put(__hmax_nan(a, b));
    put(__hlt(a, b) ? a : c);
    put(__float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b)));
    put(__float2bfloat16_rz(__bfloat162float(a) * 1.01f));
    put(__int2bfloat16_rn(__bfloat162int_rz(a)));
    put(hrint(a));
}

// 5 results
extern "C" __global__ void arithmetic_bf16x2(const __nv_bfloat162* in_a, const __nv_bfloat162* in_b,
                                             const __nv_bfloat162* in_c, __nv_bfloat162* out, unsigned n)
{
    BEGIN(__nv_bfloat162)
    put(__hadd2(a, b));
    put(__hmul2(a, b));
    put(__hfma2(a, b, c));
    put(__hmax2(a, b));
    put(__floats2bfloat162_rn(__low2float(a), __high2float(c)));
}

// 5 results
extern "C" __global__ void later_f16(const __half* in_a, const __half* in_b, const __half* in_c, __half* out, unsigned n)
{
    BEGIN(__half)
    put(__hmin(a, b));
    put(__hmax(a, b));
    put(__hmin_nan(a, b));
    put(__hfma_relu(a, b, c));
    put(__float2half_rn(fmaxf(__half2float(a), 0.0f)));
}
