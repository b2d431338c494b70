/* Right: a context of its own beside the primary one, each with its stream, event and function. */
#include "driver.h"

int main(void) {
    begin();
    handle contexts[2] = {context, NULL}, streams[2], events[2], modules[2], fills[2];
    ptr buffers[2];
    OK(cuCtxCreate_v4(&contexts[1], NULL, 0, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuStreamCreate(&streams[i], 0));
        OK(cuEventCreate(&events[i], 0));
        OK(cuModuleLoad(&modules[i], "examples/kernels/fill.ptx"));
        OK(cuModuleGetFunction(&fills[i], modules[i], "fill"));
        OK(cuMemAlloc_v2(&buffers[i], 256));
    }
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        fill = fills[i];
        OK(fill_on(streams[i], buffers[i], 64, 1));
        OK(cuEventRecord(events[i], streams[i]));
        /* A stream may wait for an event of another context. */
        OK(cuStreamWaitEvent(streams[1 - i], events[i], 0));
    }
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuCtxSynchronize());
        OK(cuMemFree_v2(buffers[i]));
        OK(cuModuleUnload(modules[i]));
        OK(cuEventDestroy_v2(events[i]));
        OK(cuStreamDestroy_v2(streams[i]));
    }
    OK(cuCtxDestroy_v2(contexts[1]));
    OK(cuCtxSetCurrent(context));
    end();
}
