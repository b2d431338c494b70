/* Processes that are forked while other threads are in calls of the driver: none of them hangs. */
#include "../check/driver.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 24

static ptr x;
static volatile int is_over;

static void *busy(void *unused) {
    handle stream;
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    while (!is_over) {
        OK(fill_on(stream, x, 64, 1));
        OK(cuStreamSynchronize(stream));
        cuModuleUnload(NULL);
    }
    OK(cuStreamDestroy_v2(stream));
    return unused;
}

/* The driver answers errors in a forked process. */
static int child(void) {
    ptr y;
    alarm(20);
    return fill_on(NULL, x, 64, 2) && cuMemAlloc_v2(&y, 64) && cuCtxSynchronize() && cuModuleUnload(module) ? 0 : 7;
}

int main(void) {
    pthread_t threads[2];
    begin();
    OK(cuMemAlloc_v2(&x, 256));
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, busy, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t one = fork();
        /* With all that is to be called at its end. */
        if (one == 0)
            exit(child());
        if (waitpid(one, &status, 0) != one || status)
            return 6;
    }
    is_over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    OK(cuMemFree_v2(x));
    end();
    return 0;
}
