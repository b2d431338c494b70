// A stream is captured into a graph with a fork and a join; it is launched ten times, with memory of a pool around it.
#include "common.h"

__global__ void step(int *data, int count, int factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = data[i] * factor + 1;
}

int main() {
    constexpr int COUNT = 1 << 14, ROUNDS = 10;
    cudaStream_t stream, side;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    int *left, *right, *host;
    CHECK(cudaMallocAsync(&left, COUNT * sizeof(int), stream));
    CHECK(cudaMallocAsync(&right, COUNT * sizeof(int), stream));
    CHECK(cudaHostAlloc(&host, COUNT * sizeof(int), cudaHostAllocDefault));
    CHECK(cudaMemsetAsync(left, 0, COUNT * sizeof(int), stream));
    CHECK(cudaMemsetAsync(right, 0, COUNT * sizeof(int), stream));
    CHECK(cudaStreamSynchronize(stream));
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    step<<<COUNT / 128, 128, 0, stream>>>(left, COUNT, 1);
    CHECK(cudaGetLastError());
    step<<<COUNT / 128, 128, 0, side>>>(right, COUNT, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    CHECK(cudaMemcpyAsync(host, left, COUNT * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < ROUNDS; round++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) expect(host[i] == ROUNDS, "a count");
    CHECK(cudaGraphExecDestroy(exec));
#ifndef WRONG
    CHECK(cudaGraphDestroy(graph));
#endif
    CHECK(cudaFreeAsync(left, stream));
    CHECK(cudaFreeAsync(right, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(host));
}
