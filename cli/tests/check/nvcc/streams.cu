// Four streams, each with its slice of pinned host memory: copy in, add, copy out; an event orders a fifth that reads them all.
#include "common.h"

__global__ void add(float *data, int count, float what) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += what;
}

__global__ void halve(float *data, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] *= 0.5f;
}

int main() {
    constexpr int STREAMS = 4, SLICE = 1 << 16, COUNT = STREAMS * SLICE;
    float *host, *device;
    CHECK(cudaMallocHost(&host, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&device, COUNT * sizeof(float)));
    for (int i = 0; i < COUNT; i++) host[i] = float(i % 1000);
    cudaStream_t streams[STREAMS], last;
    cudaEvent_t done[STREAMS];
    CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
        size_t bytes = SLICE * sizeof(float);
        CHECK(cudaMemcpyAsync(device + s * SLICE, host + s * SLICE, bytes, cudaMemcpyHostToDevice, streams[s]));
        add<<<SLICE / 256, 256, 0, streams[s]>>>(device + s * SLICE, SLICE, float(s));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(done[s], streams[s]));
#ifdef WRONG
        if (s == 2) continue;
#endif
        CHECK(cudaStreamWaitEvent(last, done[s], 0));
    }
    halve<<<COUNT / 256, 256, 0, last>>>(device, COUNT);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, device, COUNT * sizeof(float), cudaMemcpyDeviceToHost, last));
    CHECK(cudaStreamSynchronize(last));
#ifndef WRONG
    for (int i = 0; i < COUNT; i++) expect(host[i] == (float(i % 1000) + float(i / SLICE)) * 0.5f, "a sum");
#endif
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaEventDestroy(done[s]));
        CHECK(cudaStreamDestroy(streams[s]));
    }
    CHECK(cudaStreamDestroy(last));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}
