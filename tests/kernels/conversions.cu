// Conversions between all types. Result k of element i goes to out[k * n + i], its bits in the low end of 64 and the rest as
// the type extends (signed: sign, otherwise: zero).
#include <cuda_fp16.h>

typedef unsigned long long u64;
typedef long long i64;

__device__ inline u64 bits(float f) { return __float_as_uint(f); }
__device__ inline u64 bits(double f) { return (u64)__double_as_longlong(f); }
__device__ inline u64 bits(__half f) { return __half_as_ushort(f); }

#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    type x = in[i]; \
    auto put = [&](u64 value) { out[k++ * n + i] = value; };

// 20 results
extern "C" __global__ void from_i64(const i64* in, u64* out, unsigned n)
{
    BEGIN(i64)
    put((u64)(signed char)x);
    put((u64)(unsigned char)x);
    put((u64)(short)x);
    put((u64)(unsigned short)x);
    put((u64)(int)x);
    put((u64)(unsigned)x);
    put(bits((float)(signed char)x));
    put(bits((float)(unsigned short)x));
    put(bits(__int2float_rn((int)x)));
    put(bits(__int2float_rz((int)x)));
    put(bits(__int2float_ru((int)x)));
    put(bits(__int2float_rd((int)x)));
    put(bits(__uint2float_rn((unsigned)x)));
    put(bits((double)(int)x));
    put(bits((double)(unsigned)x));
    put(bits(__ll2float_rn(x)));
    put(bits(__ull2float_rz((u64)x)));
    put(bits(__ll2double_rn(x)));
    put(bits(__ll2double_ru(x)));
    put(bits(__ull2double_rd((u64)x)));
}

// Out of range saturates, NaN gives zero (for 64 bits: 0x8000000000000000). 22 results
extern "C" __global__ void from_f32(const float* in, u64* out, unsigned n)
{
    BEGIN(float)
    put((u64)(i64)__float2int_rn(x));
    put((u64)(i64)__float2int_rz(x));
    put((u64)(i64)__float2int_ru(x));
    put((u64)(i64)__float2int_rd(x));
    put(__float2uint_rn(x));
    put(__float2uint_rz(x));
    put(__float2uint_ru(x));
    put(__float2uint_rd(x));
    put((u64)__float2ll_rn(x));
    put((u64)__float2ll_rz(x));
    put(__float2ull_ru(x));
    put(__float2ull_rd(x));
    short s;
    unsigned t;
    asm("cvt.rzi.s16.f32 %0, %1;" : "=h"(s) : "f"(x));
    put((u64)(i64)s);
    asm("cvt.rni.u16.f32 %0, %1;" : "=h"(s) : "f"(x));
    put((unsigned short)s);
    asm("{ .reg .b16 h; cvt.rzi.s8.f32 h, %1; cvt.s32.s8 %0, h; }" : "=r"(t) : "f"(x));
    put((u64)(i64)(int)t);
    asm("{ .reg .b16 h; cvt.rzi.u8.f32 h, %1; cvt.u32.u8 %0, h; }" : "=r"(t) : "f"(x));
    put(t);
    put(bits((double)x));
    put(bits(__float2half_rn(x)));
    put(bits(__float2half_rz(x)));
    put(bits(__float2half_ru(x)));
    put(bits(__float2half_rd(x)));
    put((u64)(i64)__float_as_int(x));
}

// 16 results
extern "C" __global__ void from_f64(const double* in, u64* out, unsigned n)
{
    BEGIN(double)
    put((u64)(i64)__double2int_rn(x));
    put((u64)(i64)__double2int_rz(x));
    put(__double2uint_ru(x));
    put(__double2uint_rd(x));
    put((u64)__double2ll_rn(x));
    put((u64)__double2ll_rz(x));
    put(__double2ull_ru(x));
    put(__double2ull_rd(x));
    put(bits(__double2float_rn(x)));
    put(bits(__double2float_rz(x)));
    put(bits(__double2float_ru(x)));
    put(bits(__double2float_rd(x)));
    put(bits(__double2half(x)));
    put((u64)(i64)__double2hiint(x));
    put((u64)(i64)__double2loint(x));
    put(bits(__hiloint2double(__double2loint(x), __double2hiint(x))));
}

// 8 results
extern "C" __global__ void from_f16(const __half* in, u64* out, unsigned n)
{
    BEGIN(__half)
    put(bits(__half2float(x)));
    put(bits((double)__half2float(x)));
    put((u64)(i64)__half2int_rn(x));
    put((u64)(i64)__half2int_rz(x));
    put(__half2uint_ru(x));
    put((u64)__half2ll_rd(x));
    put((u64)(i64)__half2short_rz(x));
    put(__half_as_ushort(x));
}

// Integers held to the range of a narrower type, by cvt.sat: 7 results
extern "C" __global__ void saturate_i64(const i64* in, u64* out, unsigned n)
{
    BEGIN(i64)
    int r;
    unsigned u;
    asm("cvt.sat.s32.s64 %0, %1;" : "=r"(r) : "l"(x));
    put((u64)(i64)r);
    asm("cvt.sat.u32.s64 %0, %1;" : "=r"(u) : "l"(x));
    put(u);
    asm("cvt.sat.u32.u64 %0, %1;" : "=r"(u) : "l"(x));
    put(u);
    asm("{ .reg .b16 h; cvt.sat.s8.s64 h, %1; cvt.s32.s8 %0, h; }" : "=r"(r) : "l"(x));
    put((u64)(i64)r);
    asm("{ .reg .b16 h; cvt.sat.u8.s32 h, %1; cvt.u32.u8 %0, h; }" : "=r"(u) : "r"((int)x));
    put(u);
    asm("cvt.sat.u32.s32 %0, %1;" : "=r"(u) : "r"((int)x));
    put(u);
    asm("{ .reg .b16 h; cvt.sat.s16.u32 h, %1; cvt.s32.s16 %0, h; }" : "=r"(r) : "r"((unsigned)x));
    put((u64)(i64)r);
}

// Floats rounded to integral floats, with and without saturation to 0..1: 8 results
extern "C" __global__ void integral_f32(const float* in, u64* out, unsigned n)
{
    BEGIN(float)
    float r;
#define ROUND(op) asm("cvt." #op ".f32.f32 %0, %1;" : "=f"(r) : "f"(x)); put(bits(r));
    ROUND(rni)
    ROUND(rzi)
    ROUND(rpi)
    ROUND(rmi)
    ROUND(rni.ftz)
    ROUND(rzi.sat)
    asm("cvt.sat.f32.f32 %0, %1;" : "=f"(r) : "f"(x));
    put(bits(r));
    asm("cvt.ftz.f32.f32 %0, %1;" : "=f"(r) : "f"(x));
    put(bits(r));
}
