/* Wrong in many ways, and prints what it is answered. */
#include "driver.h"

static void *abandoned(void) {
    static int place;
    return &place;
}

int main(int count, char **arguments) {
    (void)arguments;
    begin();
    handle stream, event;
    ptr x, y = 0;
    u32 numbers[64];
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, 256));
    printf("%d\n", fill_on(stream, x, 0, 1));
    printf("%d\n", fill_on(stream, x, 64, 1));
    printf("%d\n", cuStreamSynchronize(stream));
    printf("%d\n", cuMemcpyDtoH_v2(numbers, x, 256));
    printf("%u\n", numbers[63]);
    printf("%d\n", cuMemcpyDtoH_v2(numbers, x, 512));
    printf("%d\n", cuMemAlloc_v2(&y, 0));
    printf("%d\n", cuMemFree_v2(x + 8));
    printf("%d\n", cuMemFree_v2(x));
    printf("%d\n", cuMemFree_v2(x));
    printf("%d\n", cuEventRecord(stream, event));
    printf("%d\n", cuStreamDestroy_v2(stream));
    printf("%d\n", cuStreamDestroy_v2(stream));
    printf("%d\n", cuStreamQuery(event));
    printf("%d\n", cuMemHostUnregister(abandoned()));
    printf("%d\n", cuModuleGetFunction(&fill, module, "none"));
    OK(cuEventDestroy_v2(event));
    end();
    fflush(stdout);
    if (count > 1)
        abort();
}
