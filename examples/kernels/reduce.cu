// Sums by warp shuffles: partial[block] = what the block's threads saw of in. Any one-dimensional grid; blocks of a
// multiple of 32 threads. The order of additions is fixed by the shape of the launch.
template <typename T>
__device__ T warp_sum(T value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

template <typename T>
__device__ inline void block_sum(const T* in, unsigned n, T* partial, T* warps)
{
    T sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    sum = warp_sum(sum);

    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0)
        warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? warps[lane] : T(0));
        if (lane == 0)
            partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_f32(const float* in, unsigned n, float* partial)
{
    __shared__ float warps[32];
    block_sum(in, n, partial, warps);
}

extern "C" __global__ void reduce_f64(const double* in, unsigned n, double* partial)
{
    __shared__ double warps[32];
    block_sum(in, n, partial, warps);
}

extern "C" __global__ void reduce_u32(const unsigned* in, unsigned n, unsigned* partial)
{
    __shared__ unsigned warps[32];
    block_sum(in, n, partial, warps);
}
