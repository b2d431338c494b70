/* A copy of four pages, of which three are registered. */
#include "driver.h"
#include "rows.h"
#include <sys/mman.h>

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 4 << 16));
    /* Of 64 KiB, as some systems have them. */
    char *pages = mmap(NULL, 4 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef WRONG
    OK(cuMemHostRegister_v2(pages, 3 << 16, 0));
#else
    OK(cuMemHostRegister_v2(pages, 4 << 16, 0));
#endif
    any(cuMemcpyHtoDAsync_v2(x, pages, 4 << 16, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemHostUnregister(pages));
    munmap(pages, 4 << 16);
    OK(cuMemFree_v2(x));
    end();
}
