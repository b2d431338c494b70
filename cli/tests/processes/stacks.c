/* Work comes from a thread that has as little stack as there may be. `stacks BYTES`: says how much of so many bytes was used. */
#include "../check/driver.h"
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static ptr x, y;
static handle first, second, event;

static void *work(void *unused) {
    u32 host[64];
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    OK(fill_on(second, x, 64, 2));
    OK(cuMemcpyDtoDAsync_v2(y, x, 256, second));
    OK(cuStreamSynchronize(second));
    OK(cuMemcpyDtoH_v2(host, y, 256));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
#ifdef WRONG
    /* Which of the two fills was the last is not known. */
    return host[0] == 1 || host[0] == 2 ? unused : NULL;
#endif
    return host[0] == 2 ? unused : NULL;
}

int main(int count, char **words) {
    pthread_t thread;
    pthread_attr_t attributes;
    void *answer = NULL;
    size_t bytes = count > 1 ? strtoul(words[1], NULL, 0) : (size_t)PTHREAD_STACK_MIN;
    unsigned char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(stack, 0xA5, bytes);
    begin();
    pthread_attr_init(&attributes);
    if (count > 1 ? pthread_attr_setstack(&attributes, stack, bytes) : pthread_attr_setstacksize(&attributes, bytes))
        return 3;
    if (pthread_create(&thread, &attributes, work, words) || pthread_join(thread, &answer))
        return 4;
    if (count > 1) {
        size_t unused = 0;
        while (unused < bytes && stack[unused] == 0xA5)
            unused++;
        printf("%zu\n", bytes - unused);
    }
    end();
    return answer ? 0 : 5;
}
