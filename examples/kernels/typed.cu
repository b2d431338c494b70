// arch: 90
// The kernels of examples/typed.rs: one of each kind of launch.
#include <cooperative_groups.h>

// c = a + b. Each slice is two parameters: its address and its length in elements.
extern "C" __global__ void vecadd(const float* a, unsigned long long a_len,
                                  const float* b, unsigned long long b_len,
                                  float* c, unsigned long long c_len)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a_len && i < b_len && i < c_len)
        c[i] = a[i] + b[i];
}

// y = alpha * x + y for the first n elements.
extern "C" __global__ void saxpy(unsigned n, float alpha, const float* x, float* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = alpha * x[i] + y[i];
}

// out = the sum of x. Each block writes its sum to partial; when all have, the first adds those up. Blocks of 256 threads.
extern "C" __global__ void grid_sum(const unsigned* x, unsigned n, unsigned* partial, unsigned* out)
{
    __shared__ unsigned sums[256];
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width != 0; width /= 2) {
        if (threadIdx.x < width)
            sums[threadIdx.x] += sums[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned total = 0;
        for (unsigned i = 0; i < gridDim.x; ++i)
            total += partial[i];
        *out = total;
    }
}

// out[block] = the block's rank in its cluster.
extern "C" __global__ void ranks(unsigned* out, unsigned long long out_len)
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0 && blockIdx.x < out_len)
        out[blockIdx.x] = rank;
}
