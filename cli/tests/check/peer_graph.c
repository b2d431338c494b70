/* Graphs whose kernels write to memory of the other device: peer access is needed when they are launched. One was captured, the node of
 * the other changed; the wrong one has no peer access. */
#include "peers.h"

/* CUDA_KERNEL_NODE_PARAMS */
typedef struct {
    handle function;
    u32 grid[3], block[3], shared;
    void **arguments, **extra;
    handle kernel, context;
} node_parameters;

int cuGraphCreate(handle *, u32);
int cuGraphAddKernelNode_v2(handle *, handle, const handle *, size_t, const node_parameters *);
int cuGraphExecKernelNodeSetParams_v2(handle, handle, const node_parameters *);

/* Launches it, with peer access if that is right. */
static void launch(handle graph, handle stream) {
#ifdef WRONG
    cuGraphLaunch(graph, stream);
#else
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuGraphLaunch(graph, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuCtxDisablePeerAccess(second));
#endif
}

int main(void) {
    begin_two();
    handle graphs[2], runs[2], stream, node;
    ptr x, y;
    u32 count = 64, value = 1;
    OK(cuMemAlloc_v2(&x, 256));
    ON_THE_SECOND(OK(cuMemAlloc_v2(&y, 256)));
    OK(cuStreamCreate(&stream, NON_BLOCKING));

    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(fill_on(stream, y, count, value));
    OK(cuStreamEndCapture(stream, &graphs[0]));
    OK(cuGraphInstantiateWithFlags(&runs[0], graphs[0], 0));
    launch(runs[0], stream);

    void *to_x[] = {&x, &count, &value}, *to_y[] = {&y, &count, &value};
    node_parameters near = {fill, {1, 1, 1}, {64, 1, 1}, 0, to_x, NULL, NULL, NULL}, far = near;
    far.arguments = to_y;
    OK(cuGraphCreate(&graphs[1], 0));
    OK(cuGraphAddKernelNode_v2(&node, graphs[1], NULL, 0, &near));
    OK(cuGraphInstantiateWithFlags(&runs[1], graphs[1], 0));
    OK(cuGraphLaunch(runs[1], stream));
    OK(cuGraphExecKernelNodeSetParams_v2(runs[1], node, &far));
    launch(runs[1], stream);

    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < 2; i++) {
        OK(cuGraphExecDestroy(runs[i]));
        OK(cuGraphDestroy(graphs[i]));
    }
    OK(cuStreamDestroy_v2(stream));
    ON_THE_SECOND(OK(cuMemFree_v2(y)));
    OK(cuMemFree_v2(x));
    end_two();
}
