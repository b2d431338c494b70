/* Right: threads with streams of their own, with the default stream of each, with memory that one gives to the other, and a fork. */
#include "driver.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PER_THREAD ((handle)2)

static ptr shared;
static pthread_barrier_t both;

static void *work(void *number) {
    OK(cuCtxSetCurrent(context));
    handle stream;
    ptr own;
    u32 values[64];
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuMemAlloc_v2(&own, 256));
    for (int i = 0; i < 200; i++) {
        OK(fill_on(stream, own, 64, (u32)i));
        OK(cuStreamSynchronize(stream));
        OK(fill_on(PER_THREAD, own, 64, (u32)i));
        OK(cuMemcpyDtoHAsync_v2(values, own, 256, PER_THREAD));
        OK(cuStreamSynchronize(PER_THREAD));
    }
    /* The first thread writes, waits, and then lets the second read. */
    if (!number) {
        OK(fill_on(stream, shared, 64, 1));
        OK(cuStreamSynchronize(stream));
    }
    pthread_barrier_wait(&both);
    if (number) {
        OK(cuMemcpyDtoHAsync_v2(values, shared, 256, stream));
        OK(cuStreamSynchronize(stream));
    }
    OK(cuMemFree_v2(own));
    OK(cuStreamDestroy_v2(stream));
    return NULL;
}

int main(void) {
    begin();
    OK(cuMemAlloc_v2(&shared, 256));
    pthread_barrier_init(&both, NULL, 2);
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    OK(cuMemFree_v2(shared));
    end();
}
