/* The default streams of two threads: that one thread has waited for the other's end says nothing of the work that it gave. */
#include "driver.h"
#include <pthread.h>

/* CU_STREAM_PER_THREAD */
#define OWN ((handle)2)

static void *fills(void *x) {
    OK(cuCtxSetCurrent(context));
    OK(cuMemsetD32Async((ptr)x, 0, 64, OWN));
#ifndef WRONG
    OK(cuStreamSynchronize(OWN));
#endif
    return NULL;
}

int main(void) {
    begin();
    ptr x;
    pthread_t thread;
    OK(cuMemAlloc_v2(&x, 256));
    if (pthread_create(&thread, NULL, fills, (void *)x) || pthread_join(thread, NULL))
        return 1;
    OK(fill_on(OWN, x, 64, 2));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
