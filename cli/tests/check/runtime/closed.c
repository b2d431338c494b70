/* A program that closes the driver's library before its end, when the thread that used it has ended. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *cuda;

static void *use(void *failed) {
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;
    return init && !init(0) ? NULL : failed;
}

int main(void) {
    pthread_t thread;
    void *failed = &thread;
    if (pthread_create(&thread, NULL, use, failed) || pthread_join(thread, &failed) || failed || dlclose(cuda))
        return 9;
    puts("closed");
    return 0;
}
