/* Right: memory of every kind that kernels of both devices reach, on nine streams of each: peer access in one direction and again after
 * it was taken, managed and pinned memory, memory of another context of the same device, pools and mappings that give access, memory
 * of a device whose own kernels use it while the other is current, and two threads, each with a device and both memories. */
#include "peers.h"
#include <pthread.h>

/* CUmemPoolProps */
typedef struct {
    int type, handle_types, location, device;
    void *security;
    size_t most;
    char reserved[56];
} pool_properties;

int cuMemPoolCreate(handle *, const pool_properties *);
int cuMemPoolDestroy(handle);

#define STREAMS 9

static handle streams[2][STREAMS], event;

/* Launches it on all streams of the first device, one after the other. */
static void on_all(ptr out) {
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamWaitEvent(streams[0][i], event, 0));
        OK(fill_on(streams[0][i], out, 64, i));
        OK(cuEventRecord(event, streams[0][i]));
    }
    OK(cuCtxSynchronize());
}

static void by_peer_access(void) {
    ptr x, rows;
    size_t pitch;
    ON_THE_SECOND(OK(cuMemAlloc_v2(&x, 256)); OK(cuMemAllocPitch_v2(&rows, &pitch, 256, 2, 4)));
    OK(cuCtxEnablePeerAccess(second, 0));
    on_all(x);
    on_all(rows + pitch);
    OK(cuCtxDisablePeerAccess(second));
    OK(cuCtxEnablePeerAccess(second, 0));
    on_all(x);
    OK(cuCtxDisablePeerAccess(second));
    ON_THE_SECOND(OK(cuMemFree_v2(x)); OK(cuMemFree_v2(rows)));
}

static void of_all_devices(void) {
    ptr managed;
    u32 *pinned, *registered = aligned_alloc(4096, 4096);
    ON_THE_SECOND(OK(cuMemAllocManaged(&managed, 256, 1)); OK(cuMemHostAlloc((void **)&pinned, 256, 1));
                  OK(cuMemHostRegister_v2(registered, 4096, 1)));
    on_all(managed);
    on_all((ptr)(uintptr_t)pinned);
    on_all((ptr)(uintptr_t)registered);
    OK(cuMemHostUnregister(registered));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(managed));
    free(registered);
}

static void of_another_context(void) {
    handle other;
    ptr x, y;
    OK(cuCtxCreate_v4(&other, NULL, 0, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAllocAsync(&y, 256, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(context));
    on_all(x);
    on_all(y);
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(context));
}

/* Which gives no access, because all devices have it. */
static void managed_pool(void) {
    pool_properties managed = {.type = 2, .location = 1, .device = 1};
    handle pool;
    ptr x;
    OK(cuMemPoolCreate(&pool, &managed));
    OK(cuMemAllocFromPoolAsync(&x, 256, pool, streams[1][0]));
    OK(cuStreamSynchronize(streams[1][0]));
    on_all(x);
    OK(cuMemFreeAsync(x, streams[1][0]));
    OK(cuStreamSynchronize(streams[1][0]));
    OK(cuMemPoolDestroy(pool));
}

static void by_pools_and_mappings(void) {
    access both[] = {{.location = 1, .device = 0, .flags = 3}, {.location = 1, .device = 1, .flags = 3}};
    properties on_the_second = {.type = 1, .location = 1, .device = 1};
    unsigned long long memory;
    handle pool;
    ptr x, y, z;
    OK(cuDeviceGetDefaultMemPool(&pool, 1));
    OK(cuMemPoolSetAccess(pool, both, 1));
    OK(cuMemAllocAsync(&x, 256, streams[1][0]));
    OK(cuMemAllocFromPoolAsync(&z, 256, pool, streams[1][1]));
    OK(cuStreamSynchronize(streams[1][0]));
    OK(cuStreamSynchronize(streams[1][1]));
    OK(cuMemCreate(&memory, UNIT, &on_the_second, 0));
    OK(cuMemAddressReserve(&y, 2 * UNIT, 0, 0, 0));
    OK(cuMemMap(y + UNIT, UNIT, 0, memory, 0));
    OK(cuMemSetAccess(y + UNIT, UNIT, both, 2));
    on_all(x);
    on_all(y + UNIT);
    on_all(z);
    managed_pool();
    OK(cuMemFreeAsync(x, streams[1][0]));
    OK(cuMemFreeAsync(z, streams[1][1]));
    OK(cuStreamSynchronize(streams[1][0]));
    OK(cuStreamSynchronize(streams[1][1]));
    OK(cuMemUnmap(y + UNIT, UNIT));
    OK(cuMemAddressFree(y, 2 * UNIT));
    OK(cuMemRelease(memory));
}

/* By a function of the second device and by a library's kernel, while the first is current. */
static void of_its_own(void) {
    handle library, own, first = fill;
    ptr x;
    ON_THE_SECOND(OK(cuMemAlloc_v2(&x, 256 * STREAMS)); OK(cuModuleLoad(&own, "examples/kernels/fill.ptx"));
                  OK(cuModuleGetFunction(&fill, own, "fill")));
    for (int i = 0; i < STREAMS; i++)
        OK(fill_on(streams[1][i], x + 256 * i, 64, 1));
    OK(cuLibraryLoadFromFile(&library, "examples/kernels/fill.ptx", NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&fill, library, "fill"));
    for (int i = 0; i < STREAMS; i++)
        OK(fill_on(streams[1][i], x + 256 * i, 64, 2));
    fill = first;
    ON_THE_SECOND(OK(cuCtxSynchronize()); OK(cuMemFree_v2(x)); OK(cuModuleUnload(own)));
    OK(cuLibraryUnload(library));
}

static handle fills[2];
static ptr shared[2];

/* Of one device, to memory of its own and of the other. */
static void *of_a_device(void *number) {
    int own = (int)(intptr_t)number;
    OK(cuCtxSetCurrent(own ? second : context));
    for (int i = 0; i < 40; i++)
        for (int of = 0; of < 2; of++) {
            u32 count = 64, value = i;
            ptr out = shared[of] + 256 * own;
            void *arguments[] = {&out, &count, &value};
            OK(cuLaunchKernel(fills[own], 1, 1, 1, 64, 1, 1, 0, streams[own][0], arguments, NULL));
        }
    OK(cuCtxSynchronize());
    return NULL;
}

static void of_two_threads(void) {
    pthread_t threads[2];
    handle own;
    fills[0] = fill;
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuMemAlloc_v2(&shared[0], 512));
    ON_THE_SECOND(OK(cuCtxEnablePeerAccess(context, 0)); OK(cuMemAlloc_v2(&shared[1], 512));
                  OK(cuModuleLoad(&own, "examples/kernels/fill.ptx")); OK(cuModuleGetFunction(&fills[1], own, "fill")));
    for (int i = 0; i < 2; i++)
        OK(pthread_create(&threads[i], NULL, of_a_device, (void *)(intptr_t)i));
    for (int i = 0; i < 2; i++)
        OK(pthread_join(threads[i], NULL));
    OK(cuMemFree_v2(shared[0]));
    ON_THE_SECOND(OK(cuMemFree_v2(shared[1])); OK(cuModuleUnload(own)));
}

int main(void) {
    begin_two();
    OK(cuEventCreate(&event, 0));
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamCreate(&streams[0][i], i % 2 ? NON_BLOCKING : 0));
        ON_THE_SECOND(OK(cuStreamCreate(&streams[1][i], i % 2 ? NON_BLOCKING : 0)));
    }
    by_peer_access();
    of_all_devices();
    of_another_context();
    by_pools_and_mappings();
    of_its_own();
    of_two_threads();
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamDestroy_v2(streams[0][i]));
        OK(cuStreamDestroy_v2(streams[1][i]));
    }
    OK(cuEventDestroy_v2(event));
    end_two();
}
