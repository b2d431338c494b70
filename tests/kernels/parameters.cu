// Parameter lists of every shape, to test packets and their check. What a kernel got it writes to out as it came, so that
// a test can compare it. Kernels without `out` only have a list.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long u64;

// One parameter of each scalar type and the output, one element.
#define ONE(name, type) \
    extern "C" __global__ void one_##name(type value, type* out) { *out = value; }
ONE(bool, bool)
ONE(i8, signed char)
ONE(u8, unsigned char)
ONE(i16, short)
ONE(u16, unsigned short)
ONE(i32, int)
ONE(u32, unsigned)
ONE(i64, long long)
ONE(u64, u64)
ONE(f32, float)
ONE(f64, double)
ONE(f16, __half)
ONE(bf16, __nv_bfloat16)
ONE(u128, unsigned __int128)
ONE(pointer, void*)
ONE(float2, float2)
ONE(float3, float3)
ONE(float4, float4)
ONE(uchar3, uchar3)
ONE(short4, short4)
ONE(double2, double2)

// Structs of each alignment. Past 16 a packed buffer has other offsets on sm_90 than in C.
#define ALIGNED(bytes) \
    struct __align__(bytes) Align##bytes { unsigned char b[bytes]; }; \
    ONE(align##bytes, Align##bytes)
ALIGNED(1)
ALIGNED(2)
ALIGNED(4)
ALIGNED(8)
ALIGNED(16)
ALIGNED(32)
ALIGNED(64)
ALIGNED(128)

struct ArrayI32x4 { int v[4]; };
struct ArrayU8x3 { unsigned char v[3]; };
struct ArrayF64x3 { double v[3]; };
struct Twelve { unsigned a; unsigned short b, c; float d; };
struct Padded { unsigned char a; double b; unsigned short c; };
struct Nested { Twelve t[2]; Padded p; bool flag; };
struct Empty {};
ONE(array_i32x4, ArrayI32x4)
ONE(array_u8x3, ArrayU8x3)
ONE(array_f64x3, ArrayF64x3)
ONE(twelve, Twelve)
ONE(padded, Padded)
ONE(nested, Nested)

extern "C" __global__ void none() {}

// In C++ an empty struct is one byte.
extern "C" __global__ void empty_struct(Empty, unsigned* out) { *out = 1; }

extern "C" __global__ void scalars(bool a, signed char b, unsigned char c, short d, unsigned short e, int f, unsigned g,
                                   long long h, u64 i, float j, double k, u64* out)
{
    out[0] = a;
    out[1] = (u64)b;
    out[2] = c;
    out[3] = (u64)d;
    out[4] = e;
    out[5] = (u64)f;
    out[6] = g;
    out[7] = (u64)h;
    out[8] = i;
    out[9] = __float_as_uint(j);
    out[10] = (u64)__double_as_longlong(k);
}

// Small and large in turn: gaps everywhere.
struct Pair { signed char a; short b; };
struct Mixed { signed char a; double b; bool c; Pair d; float3 e; float4 f; long long* h; short i; };
extern "C" __global__ void mixed(signed char a, double b, bool c, Pair d, float3 e, float4 f, Empty, long long* h, short i,
                                 Mixed* out)
{
    out->a = a;
    out->b = b;
    out->c = c;
    out->d = d;
    out->e = e;
    out->f = f;
    out->h = h;
    out->i = i;
}

struct Over { int a; Align32 b; int c; Align64 d; int e; Align128 f; };
extern "C" __global__ void over_aligned(int a, Align32 b, int c, Align64 d, int e, Align128 f, Over* out)
{
    out->a = a;
    out->b = b;
    out->c = c;
    out->d = d;
    out->e = e;
    out->f = f;
}

// The launch whose cost is measured: three slices and a number.
extern "C" __global__ void seven(const float* a, u64 a_len, const float* b, u64 b_len, float* c, u64 c_len, unsigned n) {}

// The same sizes in another order, or other types of the same size: what a check by size sees and what it does not.
extern "C" __global__ void u32_f64(unsigned a, double b, u64* out) { out[0] = a; out[1] = (u64)__double_as_longlong(b); }
extern "C" __global__ void f64_u32(double a, unsigned b, u64* out) { out[0] = (u64)__double_as_longlong(a); out[1] = b; }
extern "C" __global__ void f32_u32(float a, unsigned b, u64* out) { out[0] = __float_as_uint(a); out[1] = b; }

// A parameter whose address is taken: read in place, by a computed index, and through a generic pointer.
struct Table { unsigned n; float v[15]; };
__device__ __noinline__ float element(const Table* table, unsigned i) { return table->v[i]; }
extern "C" __global__ void grid_constant(const __grid_constant__ Table table, float* out)
{
    unsigned i = threadIdx.x;
    if (i < table.n)
        out[i] = element(&table, table.n - 1 - i);
}

extern "C" __global__ void indexed(Table table, float* out)
{
    unsigned i = threadIdx.x;
    if (i < table.n)
        out[i] = table.v[table.n - 1 - i];
}

// A parameter that the kernel changes.
extern "C" __global__ void changed(Table table, float* out)
{
    for (unsigned i = 0; i < table.n; i++)
        table.v[(i + threadIdx.x) % table.n] *= 2.0f;
    out[threadIdx.x] = table.v[threadIdx.x % table.n];
}


// 25 parameters, sizes 1, 2, 4, 8, 4, 8 four times over; the last is the output, its element k being parameter k.
#define SIX(p) unsigned char p##0, unsigned short p##1, unsigned p##2, u64 p##3, float p##4, double p##5
#define OUT_SIX(k, p) \
    out[k] = p##0; out[k + 1] = p##1; out[k + 2] = p##2; out[k + 3] = p##3; \
    out[k + 4] = __float_as_uint(p##4); out[k + 5] = (u64)__double_as_longlong(p##5);
extern "C" __global__ void many_25(SIX(a), SIX(b), SIX(c), SIX(d), u64* out)
{
    OUT_SIX(0, a) OUT_SIX(6, b) OUT_SIX(12, c) OUT_SIX(18, d)
}

// 100 parameters: 99 of 4 bytes, named a01 to a99, and the output.
#define NINE(m, t) m(t##1) m(t##2) m(t##3) m(t##4) m(t##5) m(t##6) m(t##7) m(t##8) m(t##9)
#define TEN(m, t) m(t##0) NINE(m, t)
#define DECLARE(i) unsigned a##i,
#define USE(i) a##i,
extern "C" __global__ void many_100(
    NINE(DECLARE, 0) TEN(DECLARE, 1) TEN(DECLARE, 2) TEN(DECLARE, 3) TEN(DECLARE, 4)
    TEN(DECLARE, 5) TEN(DECLARE, 6) TEN(DECLARE, 7) TEN(DECLARE, 8) TEN(DECLARE, 9) unsigned* out)
{
    unsigned all[] = {NINE(USE, 0) TEN(USE, 1) TEN(USE, 2) TEN(USE, 3) TEN(USE, 4)
                      TEN(USE, 5) TEN(USE, 6) TEN(USE, 7) TEN(USE, 8) TEN(USE, 9)};
    for (unsigned i = 0; i < 99; i++)
        out[i] = all[i];
}

// By-value structs at the old limit (4,096 bytes with the output) and at today's (32,764). The last kernel has no room
// for a pointer: the first two words of its struct are the address of the output. out[0] = sum of the other words.
template <unsigned WORDS> struct Words { unsigned w[WORDS]; };

template <unsigned WORDS>
__device__ unsigned sum_from(const Words<WORDS>& words, unsigned first)
{
    unsigned sum = 0;
    #pragma unroll 1
    for (unsigned i = first; i < WORDS; i++)
        sum += words.w[i] * (i + 1);
    return sum;
}

extern "C" __global__ void bytes_4096(const __grid_constant__ Words<1022> words, unsigned* out)
{
    *out = sum_from(words, 0);
}

extern "C" __global__ void bytes_4104(const __grid_constant__ Words<1024> words, unsigned* out)
{
    *out = sum_from(words, 0);
}

extern "C" __global__ void bytes_32764(const __grid_constant__ Words<8191> words)
{
    *(unsigned*)((u64)words.w[1] << 32 | words.w[0]) = sum_from(words, 2);
}
