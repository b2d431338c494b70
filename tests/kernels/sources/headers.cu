// x = FACTOR * x; LEVELS is for the host. Compiled when a typed module is loaded.
#include "factor.h"
#include "sub/levels.h"

__constant__ float LEVELS[4] = {LEVEL(0), LEVEL(1), LEVEL(2), LEVEL(3)};

extern "C" __global__ void scale(float* x, unsigned long long len) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len) {
        x[i] = FACTOR * x[i];
    }
}
