/* What a launch costs the thread that makes it: `cost [streams [rounds]]` prints the least of all rounds, for an empty kernel and for one
 * that writes. */
#include "driver.h"
#include <time.h>

#define MOST 64
#define LAUNCHES 1000

static const char *empty = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u32 c)\n{\n    ret;\n}\n";

static double microseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int count, char **words) {
    int streams = count > 1 ? atoi(words[1]) : 1, rounds = count > 2 ? atoi(words[2]) : 1;
    if (streams < 1 || streams > MOST)
        return 2;
    begin();
    handle other, kernel, stream[MOST];
    ptr x;
    u32 n = 64;
    OK(cuModuleLoadData(&other, empty));
    OK(cuModuleGetFunction(&kernel, other, "empty"));
    OK(cuMemAlloc_v2(&x, MOST * 256));
    for (int i = 0; i < streams; i++)
        OK(cuStreamCreate(&stream[i], NON_BLOCKING));
    double least[2] = {1e9, 1e9};
    for (int round = 0; round < rounds; round++) {
        ptr y = x + 1024;
        void *arguments[] = {&x, &y, &n};
        double start = microseconds();
        for (int i = 0; i < LAUNCHES; i++)
            OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream[i % streams], arguments, NULL));
        double took = microseconds() - start;
        least[0] = took < least[0] ? took : least[0];
        OK(cuCtxSynchronize());
        start = microseconds();
        for (int i = 0; i < LAUNCHES; i++)
            OK(fill_on(stream[i % streams], x + (ptr)(i % streams) * 256, 64, 1));
        took = microseconds() - start;
        least[1] = took < least[1] ? took : least[1];
        OK(cuCtxSynchronize());
    }
    printf("%.2f us for an empty kernel, %.2f us for one that writes\n", least[0] / LAUNCHES, least[1] / LAUNCHES);
    for (int i = 0; i < streams; i++)
        OK(cuStreamDestroy_v2(stream[i]));
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(other));
    end();
}
