/* Memory of the program that is unregistered while a copy from it may be under way. */
#include "driver.h"

static u32 numbers[64];

int main(void) {
    begin();
    handle stream, event;
    ptr x;
    OK(cuMemHostRegister_v2(numbers, sizeof numbers, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, stream));
    OK(cuMemcpyHtoDAsync_v2(x, numbers, 256, stream));
#ifndef WRONG
    OK(cuEventRecord(event, stream));
#endif
    /* The event that was recorded before the copy says nothing about it. */
    OK(cuEventSynchronize(event));
    OK(cuMemHostUnregister(numbers));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    end();
}
