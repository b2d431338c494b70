/* Right: every way in which work is ordered: the default stream, events over three streams, host functions, queries, a capture that is
 * launched again and again, streams that are destroyed while they work. */
#include "driver.h"
#include <stdatomic.h>

static atomic_int reached;

static void note(void *unused) {
    (void)unused;
    atomic_store(&reached, 1);
}

int main(void) {
    begin();
    handle a, b, blocking, event, graph, exec;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuStreamCreate(&blocking, 0));
    OK(cuEventCreate(&event, 0));
    OK(fill_on(blocking, x, 64, 1));
    OK(fill_on(NULL, x, 64, 2));
    OK(fill_on(blocking, x, 64, 3));
    OK(cuEventRecord(event, blocking));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(fill_on(a, x, 64, 4));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(fill_on(b, x, 64, 5));
    OK(cuLaunchHostFunc(b, note, NULL));
    while (!atomic_load(&reached))
        ;
    OK(fill_on(a, x, 64, 6));
    OK(cuEventRecord(event, a));
    OK(cuEventSynchronize(event));
    OK(fill_on(b, x, 64, 7));
    while (cuStreamQuery(b))
        ;
    /* Captured: nothing runs before the launch. Two streams of it are ordered by its own events. */
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(fill_on(a, x, 64, 8));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(fill_on(b, x, 64, 9));
    OK(cuEventRecord(event, b));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(fill_on(a, x, 64, 10));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    OK(fill_on(b, x, 64, 11));
    OK(cuStreamSynchronize(b));
    for (int i = 0; i < 10; i++) {
        handle brief;
        OK(cuStreamCreate(&brief, 0));
        OK(fill_on(brief, x, 64, 12));
        OK(cuStreamDestroy_v2(brief));
        OK(fill_on(NULL, x, 64, 13));
    }
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuStreamDestroy_v2(blocking));
    OK(cuMemFree_v2(x));
    end();
}
