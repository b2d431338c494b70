// A product of two matrices by tiles in dynamic shared memory, in managed memory, timed by events.
#include "common.h"

__global__ void matmul(const float *a, const float *b, float *c, int n) {
    extern __shared__ float tiles[];
    int tile = blockDim.x, x = threadIdx.x, y = threadIdx.y;
    float *left = tiles, *right = tiles + tile * tile;
    int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        left[y * tile + x] = a[row * n + k + x];
        right[y * tile + x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += left[y * tile + i] * right[i * tile + x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    constexpr int N = 256, TILE = 32;
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, N * N * sizeof(float)));
    CHECK(cudaMallocManaged(&b, N * N * sizeof(float)));
    CHECK(cudaMallocManaged(&c, N * N * sizeof(float)));
    for (int i = 0; i < N * N; i++) a[i] = float(i % 7), b[i] = float(i % 5);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    dim3 grid(N / TILE, N / TILE), block(TILE, TILE);
#ifdef WRONG
    grid.x = 0;
#endif
    matmul<<<grid, block, 2 * TILE * TILE * sizeof(float)>>>(a, b, c, N);
    cudaError_t launched = cudaGetLastError();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (launched == cudaSuccess) {
        for (int row = 0; row < N; row += 51)
            for (int column = 0; column < N; column += 17) {
                float sum = 0;
                for (int k = 0; k < N; k++) sum += float((row * N + k) % 7) * float((k * N + column) % 5);
                expect(c[row * N + column] == sum, "a product");
            }
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}
