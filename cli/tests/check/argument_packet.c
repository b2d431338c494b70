/* All arguments in one buffer. */
#include "driver.h"

int main(void) {
    begin();
    struct {
        ptr out;
        u32 count, value;
    } packet = {0, 64, 7};
    OK(cuMemAlloc_v2(&packet.out, 256));
    size_t size = sizeof packet;
#ifdef WRONG
    size = sizeof packet - 4;
#endif
    void *extra[] = {(void *)1, &packet, (void *)2, &size, NULL};
    int answer = cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(packet.out));
    end();
}
