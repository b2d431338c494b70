/* The default stream of a thread, by functions that are asked for as the CUDA runtime asks. */
#include "driver.h"

int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, void *);

static void *own(const char *name) {
    void *function = NULL;
    OK(cuGetProcAddress_v2(name, &function, 12000, 2, NULL));
    return function;
}

int main(void) {
    begin();
    int (*alloc)(ptr *, size_t, handle) = (int (*)(ptr *, size_t, handle))own("cuMemAllocAsync");
    int (*release)(ptr, handle) = (int (*)(ptr, handle))own("cuMemFreeAsync");
    int (*record)(handle, handle) = (int (*)(handle, handle))own("cuEventRecord");
    int (*set)(ptr, u32, size_t) = (int (*)(ptr, u32, size_t))own("cuMemsetD32");
    int (*wait)(handle) = (int (*)(handle))own("cuStreamSynchronize");
    handle stream, event;
    ptr x;
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(alloc(&x, 256, NULL));
    OK(set(x, 1, 64));
#ifndef WRONG
    OK(record(event, NULL));
#else
    (void)record;
    /* It records the default stream of all threads. */
    OK(cuEventRecord(event, NULL));
#endif
    OK(cuStreamWaitEvent(stream, event, 0));
#ifdef WRONG
    /* Blocking streams, as those of threads, are waited for by the default one; this one is not. */
    OK(set(x, 2, 64));
#endif
    OK(fill_on(stream, x, 64, 2));
    OK(cuStreamSynchronize(stream));
    OK(release(x, NULL));
    OK(wait(NULL));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    end();
}
