/* Forty streams, each of which waits for the one before it by one event that is recorded again and again; streams and events go while their work
 * is pending, and the last stream's work stands for that of all. In the fault the chain has a gap: the waits behind it are for what came
 * after the gap. */
#include "driver.h"

#define STREAMS 40
#define GAP 20

int main(void) {
    begin();
    handle streams[STREAMS], reused, own;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256 * STREAMS));
    OK(cuEventCreate(&reused, 0));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&streams[i], NON_BLOCKING));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < STREAMS; i++) {
            OK(fill_on(streams[i], x + 256 * (ptr)i, 64, 1));
            OK(cuEventRecord(reused, streams[i]));
#ifdef WRONG
            if (round == 0 && i == GAP)
                continue;
#endif
            OK(cuStreamWaitEvent(streams[(i + 1) % STREAMS], reused, 0));
        }
        /* The first stream is behind all others now. */
        OK(cuMemsetD32Async(x, 2, 64 * STREAMS, streams[0]));
        /* What an event has ordered stays so without it. */
        OK(cuEventCreate(&own, 0));
        OK(cuEventRecord(own, streams[0]));
        for (int i = 1; i < STREAMS; i++)
            OK(cuStreamWaitEvent(streams[i], own, 0));
        OK(cuEventDestroy_v2(own));
        /* A new stream waits for one that goes. */
        OK(fill_on(streams[1], x, 64, 3));
        OK(cuEventRecord(reused, streams[1]));
        OK(cuStreamDestroy_v2(streams[1]));
        OK(cuStreamCreate(&streams[1], NON_BLOCKING));
        OK(cuStreamWaitEvent(streams[1], reused, 0));
        OK(fill_on(streams[1], x, 64, 4));
        OK(cuEventRecord(reused, streams[1]));
        OK(cuStreamWaitEvent(streams[0], reused, 0));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    OK(cuEventDestroy_v2(reused));
    OK(cuMemFree_v2(x));
    end();
}
