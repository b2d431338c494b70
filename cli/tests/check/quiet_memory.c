/* Right: pools, managed, registered and mapped memory, parts of buffers, the address behind the last element, a null pointer that is
 * not used, addresses that are used again. */
#include "driver.h"
#include <sys/mman.h>

int cuModuleGetGlobal_v2(ptr *, size_t *, handle, const char *);

static const char *kernels = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".visible .global .align 4 .u32 counter;\n"
                             /* Nothing if `out` is null; else from `out` to `end`. */
                             ".visible .entry range(.param .u64 out, .param .u64 last)\n{\n"
                             "    .reg .b64 %a<3>;\n    .reg .pred %p<3>;\n"
                             "    ld.param.u64 %a0, [out];\n    ld.param.u64 %a1, [last];\n"
                             "    setp.eq.s64 %p0, %a0, 0;\n    @%p0 bra DONE;\n"
                             "AGAIN:\n    setp.ge.u64 %p1, %a0, %a1;\n    @%p1 bra DONE;\n"
                             "    st.global.u32 [%a0], 1;\n    add.s64 %a0, %a0, 4;\n    bra AGAIN;\n"
                             "DONE:\n    ret;\n}\n";

static handle range;

static void range_on(handle stream, ptr out, ptr last) {
    void *arguments[] = {&out, &last};
    OK(cuLaunchKernel(range, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

int main(void) {
    begin();
    handle other, first, second, event;
    ptr x, y, global;
    size_t size;
    OK(cuModuleLoadData(&other, kernels));
    OK(cuModuleGetFunction(&range, other, "range"));
    OK(cuModuleGetGlobal_v2(&global, &size, other, "counter"));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, 256));
    range_on(first, x, x + 256);
    range_on(first, x + 64, x + 68);
    range_on(first, x + 256, x + 256);
    range_on(first, 0, 0);
    range_on(first, global, global + 4);
    /* Two halves on two streams. */
    OK(cuStreamSynchronize(first));
    range_on(first, x, x + 128);
    range_on(second, x + 128, x + 256);
    OK(cuMemFree_v2(x));
    for (int i = 0; i < 20; i++) {
        OK(cuMemAlloc_v2(&y, 256));
        range_on(i % 2 ? first : second, y, y + 256);
        OK(cuMemFree_v2(y));
        OK(cuMemAllocAsync(&y, 256, first));
        range_on(first, y, y + 256);
        OK(cuEventRecord(event, first));
        OK(cuStreamWaitEvent(second, event, 0));
        range_on(second, y, y + 256);
        OK(cuMemFreeAsync(y, second));
        OK(cuEventRecord(event, second));
        OK(cuStreamWaitEvent(first, event, 0));
    }
    OK(cuMemAllocManaged(&y, 256, 1));
    range_on(first, y, y + 256);
    OK(cuStreamSynchronize(first));
    ((u32 *)(uintptr_t)y)[0] = 2;
    range_on(second, y, y + 256);
    OK(cuMemFree_v2(y));
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(cuMemHostRegister_v2(pages, 4096, 0));
    range_on(first, (ptr)(uintptr_t)pages, (ptr)(uintptr_t)pages + 4096);
    OK(cuStreamSynchronize(first));
    OK(cuMemHostUnregister(pages));
    munmap(pages, 4096);
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuModuleUnload(other));
    end();
}
