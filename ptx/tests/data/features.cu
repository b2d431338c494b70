// One of everything that the language has and the compiler writes in its own way: templates, structures by value, tables with
// initialisers, shared memory, shuffles, atomics, indirect calls, printf and assert, recursion, a switch.

#include <cstdio>
#include <cassert>
struct Pair { char a; short b; };
struct alignas(16) Block { float v[4]; int n; };
struct Big { double m[9]; int k; };
__constant__ int table[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__constant__ float weights[2][3] = {{1.5f, 2.5f, -3.5f}, {0.0f, 1e-3f, 4.0f}};
__device__ double counters[4];
__device__ const char *message = "hello, \"kernel\"\n";
__device__ __managed__ int shared_with_host = 7;
__device__ int *pointer_into = (int *)&counters[1];
typedef float (*Op)(float, float);
__device__ float add2(float a, float b) { return a + b; }
__device__ float mul2(float a, float b) { return a * b; }
__device__ Op operations[2] = {add2, mul2};
template <typename T, int N> __global__ void tiled(const T *in, T *out, int n)
{
    __shared__ T tile[N][N + 1];
    int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    if (x < n && y < n) out[x * n + y] = tile[threadIdx.x][threadIdx.y];
}
template __global__ void tiled<float, 16>(const float *, float *, int);
template __global__ void tiled<double, 8>(const double *, double *, int);
extern "C" __global__ void structs(Pair p, Block b, Big g, bool flag, float3 f3, float4 f4, long long *out, __int128 wide)
{
    out[threadIdx.x] = p.a + p.b + (long long)b.v[threadIdx.x & 3] + b.n + (long long)g.m[2] + flag + (long long)f3.x + (long long)f4.w + (long long)wide;
}
extern "C" __global__ void reduce(const int *in, int *out, int n)
{
    extern __shared__ int scratch[];
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i] * table[i & 7];
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(0xffffffff, sum, k);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) { int t = 0; for (int i = 0; i < blockDim.x / 32; i++) t += scratch[i]; atomicAdd(out, t); }
}
extern "C" __global__ void indirect(float *x, int which)
{
    x[threadIdx.x] = operations[which](x[threadIdx.x], weights[which & 1][threadIdx.x % 3]);
}
extern "C" __global__ void print_it(int n)
{
    if (n < 0) printf("%d %f %s\n", n, 1.5, message);
    assert(n != 3);
    if (n == 7) __trap();
}
__device__ __noinline__ int collatz(unsigned n, int depth) { return n <= 1 ? depth : collatz(n & 1 ? 3 * n + 1 : n / 2, depth + 1); }
extern "C" __global__ void recursive(unsigned *x) { x[threadIdx.x] = collatz(x[threadIdx.x], 0); }
extern "C" __global__ void switched(int *x, int k)
{
    int v = x[threadIdx.x];
    switch (k) { case 0: v += 3; break; case 1: v *= 7; break; case 2: v ^= 11; break; case 3: v /= 13; break; case 4: v -= 17; break; case 5: v <<= 3; break; case 6: v = __popc(v); break; case 7: v = __clz(v); break; }
    x[threadIdx.x] = v;
}
