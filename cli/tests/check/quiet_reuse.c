/* Right: four threads make and end streams, events and memory all the time, so that each gets handles and addresses which another had. */
#include "driver.h"
#include <pthread.h>

static void *work(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent(context));
    for (int i = 0; i < 300; i++) {
        handle a, b, event;
        ptr x;
        OK(cuStreamCreate(&a, NON_BLOCKING));
        OK(cuStreamCreate(&b, NON_BLOCKING));
        OK(cuEventCreate(&event, 0));
        OK(cuMemAllocAsync(&x, 256, a));
        OK(fill_on(a, x, 64, 1));
        OK(cuEventRecord(event, a));
        OK(cuStreamWaitEvent(b, event, 0));
        OK(fill_on(b, x, 64, 2));
        OK(cuMemFreeAsync(x, b));
        OK(cuMemAllocAsync(&x, 512, a));
        OK(fill_on(a, x, 128, 3));
        OK(fill_on(a, x + 256, 64, 4));
        OK(cuMemFreeAsync(x, a));
        OK(cuEventDestroy_v2(event));
        OK(cuStreamDestroy_v2(a));
        OK(cuStreamDestroy_v2(b));
    }
    return unused;
}

int main(void) {
    begin();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    OK(cuCtxSynchronize());
    end();
}
