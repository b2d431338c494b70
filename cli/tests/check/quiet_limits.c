/* Right, by one: the last byte, the largest grid and block, the last row without its padding, an event and a host function behind which
 * memory is freed, streams that the default stream orders, memory of a pool that another stream gets, a stream in the place of another. */
#include "driver.h"
#include "rows.h"
#include <pthread.h>
#include <stdatomic.h>

int cuEventQuery(handle);
int cuMemAllocPitch_v2(ptr *, size_t *, size_t, size_t, u32);
int cuMemsetD8_v2(ptr, unsigned char, size_t);
int cuMemsetD16_v2(ptr, unsigned short, size_t);
int cuMemsetD2D32_v2(ptr, size_t, u32, size_t, size_t);

#define PER_THREAD ((handle)2)

static const char *kernels = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".visible .entry nothing()\n{\n    ret;\n}\n"
                             ".visible .entry four(.param .u64 out)\n{\n"
                             "    .reg .b64 %a;\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    ld.param.u64 %a, [out];\n"
                             "    st.global.v4.u32 [%a], {%r, %r, %r, %r};\n    ret;\n}\n";

static handle a, b, event;
static ptr x;
static atomic_int reached;

static void note(void *unused) {
    (void)unused;
    atomic_store(&reached, 1);
}

static void *fill_in_another_thread(void *unused) {
    OK(cuCtxSetCurrent(context));
    OK(fill_on(PER_THREAD, x, 64, 1));
    OK(cuEventRecord(event, PER_THREAD));
    return unused;
}

static void sizes(void) {
    u32 numbers[64];
    ptr rows_of_100;
    size_t pitch;
    OK(cuMemcpyDtoH_v2(numbers, x + 255, 1));
    OK(cuMemcpyDtoH_v2(numbers, x + 256, 0));
    OK(cuMemsetD8_v2(x + 255, 1, 1));
    OK(cuMemsetD16_v2(x, 1, 128));
    OK(cuMemsetD2D32_v2(x, 128, 1, 16, 2));
    OK(cuMemsetD2D32_v2(x + 192, 192, 1, 16, 1));
    OK(cuMemAllocPitch_v2(&rows_of_100, &pitch, 100, 4, 4));
    char *all = malloc(4 * pitch);
    rows padded = {.src_type = DEVICE, .src_device = rows_of_100, .src_pitch = pitch,
                   .dst_type = HOST, .dst_host = all, .dst_pitch = pitch, .width = pitch, .height = 4};
    OK(cuMemcpy2D_v2(&padded));
    free(all);
    OK(cuMemFree_v2(rows_of_100));
}

static void launches(void) {
    handle other, nothing, four;
    OK(cuModuleLoadData(&other, kernels));
    OK(cuModuleGetFunction(&nothing, other, "nothing"));
    OK(cuModuleGetFunction(&four, other, "four"));
    OK(cuLaunchKernel(nothing, 1, 65535, 1, 1, 1, 1, 0, a, NULL, NULL));
    OK(cuLaunchKernel(nothing, 1, 1, 65535, 1, 1, 64, 0, a, NULL, NULL));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 32, 32, 1, 49152, a, NULL, NULL));
    ptr last = x + 240;
    void *arguments[] = {&last};
    OK(cuLaunchKernel(four, 1, 1, 1, 1, 1, 1, 0, a, arguments, NULL));
    OK(cuStreamSynchronize(a));
    OK(cuModuleUnload(other));
}

static void freed_behind_work(void) {
    u32 *numbers;
    for (int way = 0; way < 3; way++) {
        OK(cuMemHostAlloc((void **)&numbers, 256, 0));
        OK(cuMemcpyDtoHAsync_v2(numbers, x, 256, a));
        OK(cuEventRecord(event, a));
        if (way == 0)
            OK(cuEventSynchronize(event));
        while (way == 1 && cuEventQuery(event))
            ;
        if (way == 2)
            OK(cuLaunchHostFunc(a, note, NULL));
        while (way == 2 && !atomic_load(&reached))
            ;
        OK(cuMemFreeHost(numbers));
    }
}

static void orders(void) {
    handle first, second;
    pthread_t thread;
    OK(cuStreamCreate(&first, 0));
    OK(cuStreamCreate(&second, 0));
    /* By the default stream, which has no work of its own. */
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, NULL));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(fill_on(a, x, 64, 2));
    OK(cuStreamSynchronize(a));
    /* The handle may be that of the first. */
    OK(fill_on(a, x, 64, 3));
    OK(cuEventRecord(event, a));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(fill_on(a, x, 64, 4));
    OK(cuStreamSynchronize(a));
    OK(pthread_create(&thread, NULL, fill_in_another_thread, NULL));
    OK(pthread_join(thread, NULL));
    OK(cuStreamWaitEvent(PER_THREAD, event, 0));
    OK(fill_on(PER_THREAD, x, 64, 5));
    OK(fill_on(NULL, x, 64, 6));
    OK(fill_on(second, x, 64, 7));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 10; i++) {
        handle stream = i % 2 ? a : b;
        ptr y;
        OK(cuMemAllocAsync(&y, 256, stream));
        OK(fill_on(stream, y, 64, 1));
        OK(cuMemFreeAsync(y, stream));
    }
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

int main(void) {
    begin();
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemsetD32_v2(x, 0, 64));
    OK(cuCtxSynchronize());
    sizes();
    launches();
    freed_behind_work();
    orders();
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    end();
}
