/* Exports that today's headers do not declare: each is there under the recorder, and arguments arrive in registers and on the stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void *handle;

int main(int count, char **names)
{
    handle cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return 2;
    for (int i = 1; i < count; i++)
        if (!dlsym(cuda, names[i]))
            printf("no %s\n", names[i]);
#define FUNCTION(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))dlsym(cuda, #name)
    FUNCTION(cuInit, unsigned);
    FUNCTION(cuDevicePrimaryCtxRetain, handle *, int);
    FUNCTION(cuDevicePrimaryCtxRelease, int);
    FUNCTION(cuCtxPushCurrent, handle);
    FUNCTION(cuCtxPopCurrent, handle *);
    FUNCTION(cuCtxGetCurrent, handle *);
    FUNCTION(cuStreamCreate, handle *, unsigned);
    FUNCTION(cuStreamDestroy_v2, handle);
    FUNCTION(cuStreamGetCaptureInfo_v3_ptsz, handle, int *, unsigned long long *, handle *, const handle **, const void **, size_t *);
    FUNCTION(cuGLInit, void);
    handle context = 0, popped = 0, current = 0, stream = 0, graph = 0;
    int status = 7;
    unsigned long long id = 7;
    const handle *nodes = 0;
    const void *edges = 0;
    size_t length = 7;
    int codes[] = {
        cuInit(0), cuDevicePrimaryCtxRetain(&context, 0), cuCtxPushCurrent(context), cuCtxGetCurrent(&current),
        cuStreamCreate(&stream, 1), cuStreamGetCaptureInfo_v3_ptsz(stream, &status, &id, &graph, &nodes, &edges, &length),
        cuStreamDestroy_v2(stream), cuCtxPopCurrent(&popped), cuDevicePrimaryCtxRelease(0),
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i])
            printf("call %zu answers %d\n", i, codes[i]);
    printf("%d %d %d, and cuGLInit is %s\n", context && current == context, popped == context, status, cuGLInit() ? "refused" : "done");
    return 0;
}
