// What the random kernels of `kernels.py` start from: types, constants that no compiler knows, operations that are defined for all operands.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef __int128 s128;
typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;
typedef __half f16;
typedef __nv_bfloat16 bf16;

struct Struct { u32 a; f32 b; u16 c[3]; s8 d; u64 e; };
struct Bits { u32 a : 5; s32 b : 11; u32 c : 16; s64 d : 37; u64 e : 27; };
union Union { u64 q; u32 w[2]; u16 h[4]; u8 c[8]; };

// The compiler cannot fold them: the host could change them.
__constant__ u32 words[16] = {1, 2, 3, 5, 8, 13, 0xffffffff, 0x80000000, 7, 77, 0x7f800000, 0x3f800000, 0xc0490fdb, 64, 31, 32};
__constant__ f32 floats[16] = {1.f, .5f, -2.f, 3.1415927f, 1e-30f, 1e20f, -0.f, 7.25f, -88.1f, .017f, 1e-41f, 123456.78f, -.9f, .999f, 33.f, 2.5f};
__constant__ f64 doubles[16] = {1., .5, -2., 3.141592653589793, 1e-300, 1e200, -0., 7.25, -88.1, .017, 1e-310, 123456.78, -.9, .999, 33., 2.5};

template <class T> __device__ __forceinline__ T quotient(T a, T b) {
    if (b == 0) return a;
    if (T(-1) < T(0) && b == T(-1)) return T(0) - a;
    return a / b;
}
template <class T> __device__ __forceinline__ T remainder_of(T a, T b) {
    if (b == 0) return a;
    if (T(-1) < T(0) && b == T(-1)) return 0;
    return a % b;
}
// A double of any bits but those of a NaN or an infinity: which NaN an operation passes on is the compiler's choice.
__device__ __forceinline__ f64 finite(u64 bits) {
    return __longlong_as_double((s64)((bits >> 52 & 2047) == 2047 ? bits & 0x800fffffffffffff : bits));
}

__device__ __forceinline__ u64 bits(u8 x) { return x; }
__device__ __forceinline__ u64 bits(s8 x) { return (u8)x; }
__device__ __forceinline__ u64 bits(u16 x) { return x; }
__device__ __forceinline__ u64 bits(s16 x) { return (u16)x; }
__device__ __forceinline__ u64 bits(u32 x) { return x; }
__device__ __forceinline__ u64 bits(s32 x) { return (u32)x; }
__device__ __forceinline__ u64 bits(u64 x) { return x; }
__device__ __forceinline__ u64 bits(s64 x) { return (u64)x; }
__device__ __forceinline__ u64 bits(f32 x) { return __float_as_uint(x); }
__device__ __forceinline__ u64 bits(f64 x) { return (u64)__double_as_longlong(x); }
__device__ __forceinline__ u64 bits(f16 x) { return __half_as_ushort(x); }
__device__ __forceinline__ u64 bits(bf16 x) { return __bfloat16_as_ushort(x); }
__device__ __forceinline__ u64 bits(u128 x) { return (u64)x ^ (u64)(x >> 64) * 0x9e3779b97f4a7c15; }
__device__ __forceinline__ u64 bits(s128 x) { return bits((u128)x); }

__device__ __noinline__ Struct mix0(Struct s, u32 k) {
    s.a ^= k;
    s.c[k % 3] += 5;
    s.e = s.e * k + s.a;
    s.d = (s8)(s.d - (s8)k);
    return s;
}
__device__ __noinline__ Struct mix1(Struct s, u32 k) {
    if (k & 1) return s;
    s.b = s.b * 2.0f;
    s.a += s.c[k % 3];
    return s;
}
