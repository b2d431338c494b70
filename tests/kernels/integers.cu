// Integer arithmetic. Every kernel takes elements of up to three inputs and writes its results one after the other, result
// k of element i to out[k * n + i], in the order in which they stand here.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned __int128 u128;
typedef __int128 i128;

#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    auto put = [&](type value) { out[k++ * n + i] = value; };

// 22 results
extern "C" __global__ void arithmetic_u32(const unsigned* in_a, const unsigned* in_b, const unsigned* in_c, unsigned* out,
                                          unsigned n)
{
    BEGIN(unsigned)
    unsigned a = in_a[i], b = in_b[i], c = in_c[i];
    put(a + b);
    put(a - b);
    put(a * b);
    put(a * b + c);
    put(__umulhi(a, b));
    put(b == 0 ? 0 : a / b);
    put(b == 0 ? 0 : a % b);
    put(a / 7);
    put(a % 1000);
    put(min(a, b));
    put(max(a, b));
    put(-a);
    put(__usad(a, b, c));
    put(__uhadd(a, b));
    put(__urhadd(a, b));
    put(__umul24(a, b));
    put(a < b);
    put(a <= b);
    put(a == b);
    put((u64)a * b >> 16);
    put((u64)a * b + c >> 20);
    put(a > b ? c : ~c);
}

// 17 results
extern "C" __global__ void arithmetic_i32(const int* in_a, const int* in_b, const int* in_c, int* out, unsigned n)
{
    BEGIN(int)
    int a = in_a[i], b = in_b[i], c = in_c[i];
    bool divides = b != 0 && !(a == (int)0x80000000 && b == -1);
    put((int)((unsigned)a + b));
    put((int)((unsigned)a * b + c));
    put(__mulhi(a, b));
    put(divides ? a / b : 0);
    put(divides ? a % b : 0);
    put(a / 7);
    put(a / 16);
    put(a % 8);
    put(min(a, b));
    put(max(a, b));
    put((int)(a < 0 ? 0u - a : a));
    put(__sad(a, b, c));
    put(__hadd(a, b));
    put(__rhadd(a, b));
    put(__mul24(a, b));
    put(a < b);
    put((int)((i64)a * b >> 16));
}

// Saturating sums and a chain of carries, as PTX instructions: 6 results
extern "C" __global__ void carry_i32(const int* in_a, const int* in_b, const int* in_c, int* out, unsigned n)
{
    BEGIN(int)
    int a = in_a[i], b = in_b[i], c = in_c[i], r, s;
    asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0;" : "=r"(r), "=r"(s) : "r"(a), "r"(b), "r"(c));
    put(r);
    put(s);
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %4, 0;" : "=r"(r), "=r"(s) : "r"(a), "r"(b), "r"(c));
    put(s);
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;" : "=r"(r), "=&r"(s) : "r"(a), "r"(b), "r"(c));
    put(s);
}

// 26 results
extern "C" __global__ void bits_u32(const unsigned* in_a, const unsigned* in_b, const unsigned* in_c, unsigned* out,
                                    unsigned n)
{
    BEGIN(unsigned)
    unsigned a = in_a[i], b = in_b[i], c = in_c[i], r;
    put(a & b);
    put(a | b);
    put(a ^ b);
    put(~a);
    put((a & b) | (~a & c));
    put((a & b) ^ (a & c) ^ (b & c));
    put(a << (b % 32));
    put(a >> (b % 32));
    put((unsigned)((int)a >> (b % 32)));
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); // past 31: clamped, not masked
    put(r);
    asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    put(__funnelshift_l(a, b, c));
    put(__funnelshift_r(a, b, c));
    put(__funnelshift_lc(a, b, c));
    put(__funnelshift_rc(a, b, c));
    put(__popc(a));
    put(__clz(a));
    put(__ffs(a));
    put(__brev(a));
    put(__byte_perm(a, b, c));
    put(a >> 5 & 0x3ff);
    put((a & ~0xff00u) | (b & 0xff) << 8);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "r"(c >> 8));
    put(r);
}

// Less common ones: 17 results
extern "C" __global__ void special_u32(const unsigned* in_a, const unsigned* in_b, const unsigned* in_c, unsigned* out,
                                       unsigned n)
{
    BEGIN(unsigned)
    unsigned a = in_a[i], b = in_b[i], c = in_c[i], r;
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a));
    put(r);
    asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(a));
    put(r);
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r) : "r"(a));
    put(r);
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("szext.clamp.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    put(__dp4a(a, b, c));
    put((unsigned)__dp4a((int)a, (int)b, (int)c));
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    put(r);
    asm("set.lt.u32.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    put(r);
    put(__vadd4(a, b));
    put(__vabsdiffu4(a, b));
    asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(a));
    put(r);
}

// 24 results
extern "C" __global__ void arithmetic_u64(const u64* in_a, const u64* in_b, const u64* in_c, u64* out, unsigned n)
{
    BEGIN(u64)
    u64 a = in_a[i], b = in_b[i], c = in_c[i];
    i64 x = (i64)a, y = (i64)b;
    bool divides = b != 0 && !(a == 1ull << 63 && y == -1);
    put(a + b);
    put(a - b);
    put(a * b + c);
    put(__umul64hi(a, b));
    put((u64)__mul64hi(x, y));
    put(b == 0 ? 0 : a / b);
    put(b == 0 ? 0 : a % b);
    put(divides ? (u64)(x / y) : 0);
    put(divides ? (u64)(x % y) : 0);
    put(a / 10);
    put((u64)(x / 10));
    put(min(a, b));
    put((u64)max(x, y));
    put(a & b | ~c);
    put(a << (b % 64));
    put(a >> (b % 64));
    put((u64)(x >> (b % 64)));
    put(__popcll(a));
    put(__clzll(a));
    put(__ffsll(x));
    put(__brevll(a));
    put(x < y);
    put((u64)(((unsigned __int128)a * b + c) >> 64));
    put(a >> 13 & 0xfffffff);
}

// 16 and 8 bits: 14 results
extern "C" __global__ void arithmetic_small(const unsigned short* in_a, const unsigned short* in_b,
                                            const unsigned short* in_c, unsigned short* out, unsigned n)
{
    BEGIN(unsigned short)
    unsigned short a = in_a[i], b = in_b[i], c = in_c[i], r;
    put(a + b);
    put(a * b + c);
    put(b == 0 ? 0 : a / b);
    put(b == 0 ? 0 : a % b);
    put((unsigned short)((short)a / 3));
    put((unsigned short)((short)a >> (b % 16)));
    put(a << (b % 16));
    put((unsigned char)a * (unsigned char)b);
    put((unsigned short)((signed char)a - (signed char)b));
    put((unsigned char)(a + b));
    put((signed char)a < (signed char)b);
    asm("mul.hi.u16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    put(r);
    asm("mad.lo.s16 %0, %1, %2, %3;" : "=h"(r) : "h"(a), "h"(b), "h"(c));
    put(r);
    asm("max.s16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    put(r);
}

// What division by zero gives is open in PTX; this shows what a device does. 6 results
extern "C" __global__ void divide_by_zero(const unsigned* in_a, unsigned zero, unsigned* out, unsigned n)
{
    BEGIN(unsigned)
    unsigned a = in_a[i], r;
    asm volatile("div.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(zero));
    put(r);
    asm volatile("rem.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(zero));
    put(r);
    asm volatile("div.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(zero));
    put(r);
    asm volatile("rem.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(zero));
    put(r);
    asm volatile("div.s32 %0, %1, %2;" : "=r"(r) : "r"(0x80000000u), "r"(zero - 1));
    put(r);
    asm volatile("rem.s32 %0, %1, %2;" : "=r"(r) : "r"(0x80000000u), "r"(zero - 1));
    put(r);
}

// 8 results
extern "C" __global__ void divisions_128(const u64* in_a, const u64* in_b, const u64* in_c, u64* out, unsigned n)
{
    BEGIN(u64)
    u64 a = in_a[i], b = in_b[i], c = in_c[i];
    auto put128 = [&](u128 value) { put((u64)value); put((u64)(value >> 64)); };
    u128 x = (u128)a << 64 | b, y = ((u128)c << 64 | a) >> (b & 127);
    put128(y == 0 ? 0 : x / y);
    put128(y == 0 ? 0 : x % y);
    i128 s = (i128)x, t = (i128)y;
    bool divides = t != 0 && !(t == -1 && (x << 1) == 0);
    put128(divides ? (u128)(s / t) : 0);
    put128(divides ? (u128)(s % t) : 0);
}
