// out (width rows of height) = transpose of in (height rows of width), through a tile in shared memory.
// Blocks of 32 x 8 threads, a grid of ceil(width / 32) x ceil(height / 32).
constexpr unsigned TILE = 32;

extern "C" __global__ void transpose(float* out, const float* in, unsigned width, unsigned height)
{
    __shared__ float tile[TILE][TILE + 1]; // one column more, so that a column lies in 32 different banks

    unsigned x = blockIdx.x * TILE + threadIdx.x;
    unsigned y = blockIdx.y * TILE + threadIdx.y;
    for (unsigned j = 0; j < TILE; j += blockDim.y)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (unsigned j = 0; j < TILE; j += blockDim.y)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
