/* Peer access, which does not concern pools; and memory that is mapped for the device that has it, and not for the one that uses it. */
#include "peers.h"

int main(void) {
    begin_two();
    handle pool, stream;
    unsigned long long memory;
    ptr x, y;
    access own = {.location = 1, .device = 1, .flags = 3};
    properties on_the_second = {.type = 1, .location = 1, .device = 1};
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 1));
    ON_THE_SECOND(OK(cuStreamCreate(&stream, 0)); OK(cuMemAllocFromPoolAsync(&x, 256, pool, stream));
                  OK(cuStreamSynchronize(stream)));
    OK(cuMemCreate(&memory, UNIT, &on_the_second, 0));
    OK(cuMemAddressReserve(&y, UNIT, 0, 0, 0));
    OK(cuMemMap(y, UNIT, 0, memory, 0));
    OK(cuMemSetAccess(y, UNIT, &own, 1));
#ifndef WRONG
    access first = {.location = 1, .device = 0, .flags = 3};
    OK(cuMemPoolSetAccess(pool, &first, 1));
    OK(cuMemSetAccess(y, UNIT, &first, 1));
#endif
    fill_on(NULL, x, 64, 1);
    fill_on(NULL, y + 4096, 64, 1);
    OK(cuCtxSynchronize());
    ON_THE_SECOND(OK(cuMemFreeAsync(x, stream)); OK(cuStreamSynchronize(stream)); OK(cuStreamDestroy_v2(stream)));
    OK(cuMemUnmap(y, UNIT));
    OK(cuMemAddressFree(y, UNIT));
    OK(cuMemRelease(memory));
    end_two();
}
