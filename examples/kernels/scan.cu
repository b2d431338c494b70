// Inclusive prefix sums (wrapping). Three launches scan more than a block: scan_blocks over the data, scan_blocks with one
// block over block_sums (block_sums null), scan_add. Blocks of a multiple of 32 threads, one thread for each element.
__device__ inline unsigned warp_scan(unsigned value, unsigned lane)
{
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        unsigned below = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset)
            value += below;
    }
    return value;
}

// out = prefix sums within each block; block_sums[block] = the block's total, unless block_sums is null.
extern "C" __global__ void scan_blocks(const unsigned* in, unsigned* out, unsigned* block_sums, unsigned n)
{
    __shared__ unsigned warps[32];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    unsigned value = warp_scan(i < n ? in[i] : 0, lane);
    if (lane == 31)
        warps[warp] = value;
    __syncthreads();
    if (warp == 0)
        warps[lane] = warp_scan(lane < blockDim.x / 32 ? warps[lane] : 0, lane);
    __syncthreads();
    if (warp > 0)
        value += warps[warp - 1];

    if (i < n)
        out[i] = value;
    if (block_sums != nullptr && threadIdx.x == blockDim.x - 1)
        block_sums[blockIdx.x] = value;
}

// Adds to every block what all blocks before it hold: block_sums is already scanned.
extern "C" __global__ void scan_add(unsigned* out, const unsigned* block_sums, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        out[i] += block_sums[blockIdx.x - 1];
}
