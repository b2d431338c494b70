/* Stream and event, the wrong way round. */
#include "driver.h"

int main(void) {
    begin();
    handle stream, event;
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
#ifdef WRONG
    int answer = cuEventRecord(stream, event);
#else
    int answer = cuEventRecord(event, stream);
#endif
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuStreamSynchronize(stream));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    end();
}
