/* Empties its environment before it loads the driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int main(void) {
    clearenv();
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;
    return init ? init(0) : 4;
}
