/* Right: memory that is mapped twice, a range of two mappings that one fill crosses, pinned and registered memory by its address on the
 * device. */
#include "mapped.h"

int cuMemHostGetDevicePointer_v2(ptr *, void *, u32);

static const properties on_the_device = {.type = 1, .location = 1};
static const access both_ways = {.location = 1, .flags = 3};

static void map(ptr at, unsigned long long memory) {
    OK(cuMemMap(at, UNIT, 0, memory, 0));
    OK(cuMemSetAccess(at, UNIT, &both_ways, 1));
}

static void mapped_twice(handle stream) {
    unsigned long long memory;
    ptr x, y;
    u32 numbers[64];
    OK(cuMemCreate(&memory, UNIT, &on_the_device, 0));
    OK(cuMemAddressReserve(&x, UNIT, 0, 0, 0));
    OK(cuMemAddressReserve(&y, 2 * UNIT, 0, 0, 0));
    map(x, memory);
    map(y + UNIT, memory);
    OK(cuMemRelease(memory));
    OK(fill_on(stream, x, 64, 5));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(numbers, y + UNIT, 256));
    if (numbers[63] != 5)
        exit(7);
    /* The other mapping is as good when the first is gone. */
    OK(cuMemUnmap(x, UNIT));
    OK(fill_on(stream, y + UNIT, 64, 6));
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(y + UNIT, UNIT));
    OK(cuMemAddressFree(x, UNIT));
    OK(cuMemAddressFree(y, 2 * UNIT));
}

static void across_two_mappings(handle stream) {
    ptr x;
    OK(cuMemAddressReserve(&x, 2 * UNIT, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        unsigned long long memory;
        OK(cuMemCreate(&memory, UNIT, &on_the_device, 0));
        map(x + i * UNIT, memory);
        OK(cuMemRelease(memory));
    }
    OK(cuMemsetD32Async(x + UNIT - 64, 1, 32, stream));
    OK(fill_on(stream, x + UNIT - 128, 64, 2));
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(x, 2 * UNIT));
    OK(cuMemAddressFree(x, 2 * UNIT));
}

static void of_the_host(handle stream) {
    static char own[3 * 4096];
    char *pinned;
    ptr x, y;
    OK(cuMemHostAlloc((void **)&pinned, 8192, 2));
    OK(cuMemHostGetDevicePointer_v2(&x, pinned, 0));
    OK(fill_on(stream, x, 64, 3));
    OK(cuMemcpyDtoDAsync_v2(x + 4096, x, 256, stream));
    /* What is registered begins and ends within a page. */
    OK(cuMemHostRegister_v2(own + 1000, 8192, 2));
    OK(cuMemHostGetDevicePointer_v2(&y, own + 1000 + 512, 0));
    OK(cuMemcpyDtoDAsync_v2(y, x, 4096, stream));
    OK(cuStreamSynchronize(stream));
    if (((u32 *)pinned)[1024 + 63] != 3)
        exit(7);
    OK(cuMemHostUnregister(own + 1000));
    OK(cuMemFreeHost(pinned));
}

int main(void) {
    begin();
    handle stream;
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    mapped_twice(stream);
    across_two_mappings(stream);
    of_the_host(stream);
    OK(cuStreamDestroy_v2(stream));
    end();
}
