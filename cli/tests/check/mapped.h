/* Memory that a program maps. */
#include "driver.h"

#define UNIT ((size_t)2 << 20)

/* CUmemAllocationProp */
typedef struct {
    int type, handle_types, location, device;
    void *security;
    unsigned char flags[8];
} properties;

/* CUmemAccessDesc */
typedef struct {
    int location, device, flags;
} access;

int cuMemAddressReserve(ptr *, size_t, size_t, ptr, unsigned long long);
int cuMemAddressFree(ptr, size_t);
int cuMemCreate(unsigned long long *, size_t, const properties *, unsigned long long);
int cuMemMap(ptr, size_t, size_t, unsigned long long, unsigned long long);
int cuMemUnmap(ptr, size_t);
int cuMemRelease(unsigned long long);
int cuMemSetAccess(ptr, size_t, const access *, size_t);
