/* More threads in a block than the kernel's .maxntid allows. */
#include "driver.h"

static const char *small = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry small()\n.maxntid 32, 1, 1\n{\n    ret;\n}\n";

int main(void) {
    begin();
    handle other, kernel;
    OK(cuModuleLoadData(&other, small));
    OK(cuModuleGetFunction(&kernel, other, "small"));
#ifdef WRONG
    u32 threads = 64;
#else
    u32 threads = 32;
#endif
    int answer = cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, NULL, NULL, NULL);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(other));
    end();
}
