// arch: 90
// Structs by value, cluster ranks and a grid-wide barrier. Clusters need sm_90.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct Params { float scale; double bias; unsigned short tag; int idx[4]; };

// What `move |i| i + k` captures.
struct Closure { unsigned k; };

// y[i] = scale * alpha * x[i] + bias + idx[i % 4], the sum in double precision.
extern "C" __global__ void mix(Params p, const float* x, float* y, unsigned n, float alpha)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (float)((double)(p.scale * alpha * x[i]) + p.bias + (double)p.idx[i % 4]);
}

// out[i] = i + k
extern "C" __global__ void apply(Closure f, unsigned* out, unsigned long long out_len)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < out_len)
        out[i] = i + f.k;
}

__device__ inline void store_rank(unsigned* out, unsigned long long out_len)
{
    unsigned rank = cg::this_cluster().block_rank();
    if (threadIdx.x == 0 && blockIdx.x < out_len)
        out[blockIdx.x] = rank;
}

// out[block] = rank of the block in its cluster; the launch chooses the cluster's size.
extern "C" __global__ void ranks(unsigned* out, unsigned long long out_len)
{
    store_rank(out, out_len);
}

// The same with a cluster of four blocks fixed at compile time.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ranks_fixed(unsigned* out, unsigned long long out_len)
{
    store_rank(out, out_len);
}

// out[0] = sum of x. Every block leaves its sum in partial[block]; after the grid's barrier one thread adds those.
// Cooperative launch; partial holds gridDim.x elements; any one-dimensional block.
extern "C" __global__ void grid_sum(const unsigned* x, unsigned n, unsigned* partial, unsigned* out)
{
    __shared__ unsigned block_sum;
    if (threadIdx.x == 0)
        block_sum = 0;
    __syncthreads();

    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    atomicAdd(&block_sum, sum);
    __syncthreads();

    if (threadIdx.x == 0)
        partial[blockIdx.x] = block_sum;
    cg::this_grid().sync();

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += partial[b];
        out[0] = total;
    }
}
