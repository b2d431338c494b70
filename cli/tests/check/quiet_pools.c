/* Right: memory in the order of nine streams: each allocation is made on one stream, used on the next and freed on a third, so that addresses
 * come back again and again. */
#include "driver.h"

#define STREAMS 9

int main(void) {
    begin();
    handle streams[STREAMS], event;
    OK(cuEventCreate(&event, 0));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&streams[i], i % 2 ? NON_BLOCKING : 0));
    for (int i = 0; i < 300; i++) {
        handle first = streams[i % STREAMS], second = streams[(i + 1) % STREAMS], third = streams[(i + 5) % STREAMS];
        size_t bytes = 256 * (size_t)(i % 7 + 1);
        ptr x, y;
        OK(cuMemAllocAsync(&x, bytes, first));
        OK(cuMemAllocAsync(&y, 64 * bytes, first));
        OK(cuMemsetD8Async(x, 1, bytes, first));
        OK(cuMemcpyDtoDAsync_v2(y + 256, x, bytes, first));
        OK(cuMemFreeAsync(y, first));
        OK(cuEventRecord(event, first));
        OK(cuStreamWaitEvent(second, event, 0));
        OK(fill_on(second, x, 64, 2));
        OK(cuEventRecord(event, second));
        OK(cuStreamWaitEvent(third, event, 0));
        OK(cuMemFreeAsync(x, third));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    OK(cuEventDestroy_v2(event));
    end();
}
