/* Nodes of graphs, as cuda.h declares them. `rows.h` has what they copy. */

/* CUDA_MEMSET_NODE_PARAMS; and CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct {
    ptr to;
    size_t pitch;
    u32 value, size;
    size_t width, height;
} filled;
typedef struct {
    handle function;
    u32 grid[3], block[3], shared;
    void **arguments, **extra;
    handle kernel, context;
} launched;

_Static_assert(sizeof(filled) == 40 && sizeof(launched) == 72, "as in cuda.h");

int cuGraphCreate(handle *, u32);
int cuGraphClone(handle *, handle);
int cuGraphAddMemcpyNode(handle *, handle, const handle *, size_t, const planes *, handle);
int cuGraphAddMemsetNode(handle *, handle, const handle *, size_t, const filled *, handle);
int cuGraphAddKernelNode_v2(handle *, handle, const handle *, size_t, const launched *);
int cuGraphAddChildGraphNode(handle *, handle, const handle *, size_t, handle);
int cuGraphMemcpyNodeSetParams(handle, const planes *);
int cuGraphExecMemcpyNodeSetParams(handle, handle, const planes *, handle);
int cuGraphExecMemsetNodeSetParams(handle, handle, const filled *, handle);
int cuGraphNodeSetEnabled(handle, handle, u32);
int cuGraphExecUpdate_v2(handle, handle, void *);
int cuGraphDestroyNode(handle);

/* A copy of so many bytes within the device. */
static planes copied(ptr to, ptr from, size_t bytes) {
    return (planes){.src_type = DEVICE, .src_device = from, .dst_type = DEVICE, .dst_device = to, .width = bytes, .height = 1, .depth = 1};
}
