// bins[v] += how often the byte v occurs. The caller zeroes the 256 bins; any one-dimensional launch.
constexpr unsigned BINS = 256;

extern "C" __global__ void histogram_global(const unsigned char* data, unsigned n, unsigned* bins)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[data[i]], 1u);
}

// Counts in shared memory first; one global addition for each bin and block.
extern "C" __global__ void histogram_shared(const unsigned char* data, unsigned n, unsigned* bins)
{
    __shared__ unsigned local[BINS];
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
        if (local[b] != 0)
            atomicAdd(&bins[b], local[b]);
}
