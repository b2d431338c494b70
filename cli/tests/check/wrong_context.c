/* An event of one context in a stream of another. */
#include "driver.h"

int main(void) {
    begin();
    handle second, stream, event;
#ifndef WRONG
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreate(&stream, 0));
#else
    OK(cuEventCreate(&event, 0));
#endif
    OK(cuCtxCreate_v4(&second, NULL, 0, 0));
#ifdef WRONG
    OK(cuStreamCreate(&stream, 0));
#endif
    int answer = cuEventRecord(event, stream);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxDestroy_v2(second));
    OK(cuCtxSetCurrent(context));
    OK(cuEventDestroy_v2(event));
    end();
}
