// What the programs here share: every call is checked, and a result that is not the expected one ends the program with 1.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error = (call);                                                                  \
        if (error != cudaSuccess) {                                                                  \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
            std::exit(2);                                                                            \
        }                                                                                            \
    } while (0)

inline void expect(bool right, const char *what) {
    if (!right) {
        std::fprintf(stderr, "%s is wrong\n", what);
        std::exit(1);
    }
}
