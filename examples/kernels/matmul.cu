// c (m x n) = a (m x k) * b (k x n), row-major. Blocks of 16 x 16, a grid of ceil(n / 16) x ceil(m / 16).
constexpr unsigned TILE = 16;

// Each product is added by one fused multiply-add, in the order of k.
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (unsigned i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

// The same sums in the same order (zeros added past the edge), with tiles of a and b in shared memory.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned col = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (unsigned start = 0; start < k; start += TILE) {
        tile_a[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
        tile_b[ty][tx] = col < n && start + ty < k ? b[(start + ty) * n + col] : 0.0f;
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
