/* Captures that are begun by each function that begins one, and are not ended. */
#include "driver.h"

int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, void *);
int cuStreamBeginCapture(handle);
int cuStreamBeginCapture_ptsz(handle);
int cuStreamBeginCapture_v2_ptsz(handle, int);
int cuStreamEndCapture_ptsz(handle, handle *);
int cuStreamBeginCaptureToGraph(handle, handle, const handle *, const void *, size_t, int);
int cuStreamBeginCaptureToGraph_ptsz(handle, handle, const handle *, const void *, size_t, int);
int cuMemsetD32Async_ptsz(ptr, u32, size_t, handle);
int cuGraphCreate(handle *, u32);

#define RELAXED 2

/* What is captured is not given to the device: nothing races. */
static void captured(handle stream, ptr x) {
    handle graph;
    OK(stream ? cuMemsetD32Async(x, 1, 64, stream) : cuMemsetD32Async_ptsz(x, 1, 64, stream));
#ifndef WRONG
    OK(stream ? cuStreamEndCapture(stream, &graph) : cuStreamEndCapture_ptsz(stream, &graph));
    OK(cuGraphDestroy(graph));
#endif
    (void)graph;
}

int main(int count, char **arguments) {
    begin();
    handle stream, busy, graph;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuStreamCreate(&busy, NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    OK(cuMemsetD32Async(x, 1, 64, busy));
    int (*first)(handle), (*to_graph)(handle, handle, const handle *, const void *, size_t, int);
    OK(cuGetProcAddress_v2("cuStreamBeginCapture", (void **)&first, 10000, 0, NULL));
    OK(cuGetProcAddress_v2("cuStreamBeginCaptureToGraph", (void **)&to_graph, 13000, 2, NULL));
    switch (count < 2 ? 0 : atoi(arguments[1])) {
    case 0: OK(cuStreamBeginCapture(stream)); captured(stream, x); break;
    case 1: OK(cuStreamBeginCapture_ptsz(NULL)); captured(NULL, x); break;
    case 2: OK(cuStreamBeginCapture_v2_ptsz(NULL, RELAXED)); captured(NULL, x); break;
    case 3: OK(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, RELAXED)); captured(stream, x); break;
    case 4: OK(cuStreamBeginCaptureToGraph_ptsz(NULL, graph, NULL, NULL, 0, RELAXED)); captured(NULL, x); break;
    case 5: OK(first(stream)); captured(stream, x); break;
    case 6: OK(to_graph(NULL, graph, NULL, NULL, 0, RELAXED)); captured(NULL, x); break;
    }
    return 0;
}
