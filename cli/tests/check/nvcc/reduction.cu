// A sum by warp shuffles and a last block, which a counter in a `__device__` variable finds; weights in `__constant__` memory.
#include "common.h"

__constant__ int weights[4];
__device__ unsigned int arrived;

__global__ void sum(const int *data, int count, int *partial, int *total) {
    __shared__ int warps[32];
    __shared__ bool last;
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        mine += data[i] * weights[i % 4];
    for (int lanes = 16; lanes; lanes /= 2) mine += __shfl_down_sync(~0u, mine, lanes);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        int block = 0;
        for (unsigned int i = 0; i < blockDim.x / 32; i++) block += warps[i];
        partial[blockIdx.x] = block;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (unsigned int i = 0; i < gridDim.x; i++) all += ((volatile int *)partial)[i];
        *total = all;
    }
}

int main() {
    constexpr int COUNT = 1 << 20, BLOCKS = 64, THREADS = 256;
    int *host = new int[COUNT], *data, *partial, *total, result;
    long expected = 0;
    int own[4] = {1, 2, 3, 4};
    for (int i = 0; i < COUNT; i++) {
        host[i] = i % 3;
        expected += host[i] * own[i % 4];
    }
    CHECK(cudaMemcpyToSymbol(weights, own, sizeof own));
    CHECK(cudaMalloc(&data, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&partial, BLOCKS * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
#ifdef WRONG
    CHECK(cudaFree(partial));
#endif
    CHECK(cudaMemcpy(data, host, COUNT * sizeof(int), cudaMemcpyHostToDevice));
    for (int again = 0; again < 3; again++) {
        sum<<<BLOCKS, THREADS>>>(data, COUNT, partial, total);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&result, total, sizeof(int), cudaMemcpyDeviceToHost));
        expect(result == expected, "the sum");
    }
    CHECK(cudaFree(data));
#ifndef WRONG
    CHECK(cudaFree(partial));
#endif
    CHECK(cudaFree(total));
    delete[] host;
}
