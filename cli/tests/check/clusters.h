/* Launches with attributes, and of `fill` with a cluster. */
#include "driver.h"

int cuLaunchKernelEx(const void *, handle, void **, void **);
int cuFuncSetAttribute(handle, int, int);

#define NON_PORTABLE 14

struct attribute {
    int id;
    char padding[4];
    union {
        u32 dimensions[3];
        char bytes[64];
    };
};

struct config {
    u32 grid[3], block[3], shared;
    handle stream;
    struct attribute *attributes;
    u32 number;
};

/* Launches a kernel with the parameters of `fill`, one thread for each of 64 elements of each block. Without blocks in a cluster there is no
 * attribute. */
static int clustered(handle kernel, ptr out, u32 blocks, u32 in_cluster) {
    u32 count = blocks * 64, value = 1;
    void *arguments[] = {&out, &count, &value};
    struct attribute cluster = {4, {0}, {{in_cluster, 1, 1}}};
    struct config config = {{blocks, 1, 1}, {64, 1, 1}, 0, NULL, &cluster, in_cluster ? 1 : 0};
    int answer = cuLaunchKernelEx(&config, kernel, arguments, NULL);
    const char *name;
    cuGetErrorName(answer, &name);
    return answer;
}
