/* Programs with two devices. */
#include "mapped.h"

/* Exit code where there is one device: nothing is shown then. */
#define ONE_DEVICE 78

int cuDeviceGetCount(int *);
int cuCtxEnablePeerAccess(handle, u32);
int cuCtxDisablePeerAccess(handle);
int cuMemAllocFromPoolAsync(ptr *, size_t, handle, handle);
int cuDeviceGetDefaultMemPool(handle *, int);
int cuMemPoolSetAccess(handle, const access *, size_t);
int cuMemAllocPitch_v2(ptr *, size_t *, size_t, size_t, u32);
int cuLibraryLoadFromFile(handle *, const char *, void *, void *, u32, void *, void *, u32);
int cuLibraryGetKernel(handle *, handle, const char *);
int cuLibraryUnload(handle);

/* The context of the second device; that of the first is current. */
static handle second;

static void begin_two(void) {
    begin();
    int devices;
    OK(cuDeviceGetCount(&devices));
    if (devices < 2)
        exit(ONE_DEVICE);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
}

static void end_two(void) {
    OK(cuDevicePrimaryCtxRelease_v2(1));
    end();
}

/* Makes calls in the context of the second device. */
#define ON_THE_SECOND(calls)                                                                       \
    do {                                                                                           \
        OK(cuCtxSetCurrent(second));                                                               \
        calls;                                                                                     \
        OK(cuCtxSetCurrent(context));                                                              \
    } while (0)
