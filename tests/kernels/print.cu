// printf on the device: the order of lines between threads is open, a line is never torn.
#include <cstdio>

extern "C" __global__ void hello()
{
    printf("hello from block %u, thread %u\n", blockIdx.x, threadIdx.x);
}

extern "C" __global__ void formats(double value, long long number)
{
    printf("no arguments\n");
    printf("%d %i %u %x %X %o\n", -1, 42, 42u, 255u, 255u, 8u);
    printf("%5d|%-5d|%05d|%+d|% d\n", 42, 42, 42, 42, 42);
    printf("%lld %llu %llx %ld\n", number, (unsigned long long)number, (unsigned long long)number, (long)number);
    printf("%f %e %g %.3f %10.2f|%-10.2f|\n", value, value, value, value, value, value);
    printf("%c%c %s %10s|%-10s|%.2s\n", 'o', 'k', "text", "right", "left", "cut");
    printf("%hhd %hd 100%%\n", (signed char)-1, (short)-2);
    printf("%a %G %E\n", value, value, value);
    printf("%*d|%.*f\n", 6, 42, 2, value);
}

// The address as the host would print it.
extern "C" __global__ void pointer(const void* p)
{
    printf("%p\n", p);
}

// Returns how many arguments printf took, or a negative number.
extern "C" __global__ void result(int* out)
{
    out[0] = printf("%d %d %d\n", 1, 2, 3);
    out[1] = printf("plain\n");
}
