// What a cubin says of a kernel: sizes and places of parameters, registers, launch bounds, clusters.

template <int N> struct Bytes { char b[N]; };
struct alignas(64) Aligned { char b[64]; };

extern "C" __global__ void nothing() {}
extern "C" __global__ void large(Bytes<4500> b, int x, int *o) { o[0] = b.b[x]; }
extern "C" __global__ void aligned(int a, Aligned b, int c, int *o) { o[0] = b.b[a] + c; }
extern "C" __global__ void __maxnreg__(32) registers(int *o) { o[0] = 1; }
extern "C" __global__ void __launch_bounds__(192, 3, 4) bounds(int *o)
{
    __shared__ int s[100];
    s[threadIdx.x] = o[0];
    __syncthreads();
    o[0] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void __cluster_dims__(4, 2, 1) clusters(int *o) { o[0] = 1; }
extern "C" __global__ void __block_size__((32, 2, 1), (2, 1, 1)) shaped(int *o) { o[0] = 1; }
extern "C" __global__ void small(bool a, char b, Bytes<3> c, short d, float3 e, float4 f, double g) {}
