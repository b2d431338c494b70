// Memory that kernels allocate: on the heap of the device, and on the stack of a thread.
// arch: 90
#include <cstdio>

struct Node {
    Node *next;
    unsigned value;
};

// Each thread leaves a list of as many numbers as its own: 1, 2, 3 and so on.
extern "C" __global__ void build(Node **lists) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    Node *list = nullptr;
    for (unsigned value = thread; value > 0; --value) {
        list = new Node{list, value};
    }
    lists[thread] = list;
}

// Adds the numbers of each list up, from the last to the first of the threads, and gives the lists back.
extern "C" __global__ void consume(Node **lists, unsigned *sums) {
    unsigned threads = gridDim.x * blockDim.x;
    unsigned thread = threads - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
    unsigned sum = 0;
    for (Node *list = lists[thread]; list != nullptr;) {
        Node *next = list->next;
        sum = sum * 3 + list->value;
        delete list;
        list = next;
    }
    sums[thread] = sum;
}

// How many blocks of so many bytes there are.
extern "C" __global__ void exhaust(size_t bytes, unsigned *count) {
    void **last = nullptr;
    unsigned blocks = 0;
    while (void **block = static_cast<void **>(malloc(bytes))) {
        *block = last;
        last = block;
        ++blocks;
    }
    while (last != nullptr) {
        void **next = static_cast<void **>(*last);
        free(last);
        last = next;
    }
    *count = blocks;
}

__device__ __noinline__ unsigned reversed(const unsigned *numbers, unsigned count) {
    unsigned *copy = static_cast<unsigned *>(alloca(count * sizeof(unsigned)));
    for (unsigned at = 0; at < count; ++at) {
        copy[count - 1 - at] = numbers[at];
    }
    unsigned sum = 0;
    for (unsigned at = 0; at < count; ++at) {
        sum = sum * 3 + copy[at];
    }
    return sum;
}

// Each thread has arrays of as many numbers as its own on its stack, one in this function, one in another.
extern "C" __global__ void stack(unsigned *sums) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *numbers = static_cast<unsigned *>(alloca((thread + 1) * sizeof(unsigned)));
    for (unsigned at = 0; at <= thread; ++at) {
        numbers[at] = at + 1;
    }
    unsigned sum = reversed(numbers, thread + 1);
    for (unsigned at = 0; at <= thread; ++at) {
        sum += numbers[at];
    }
    sums[thread] = sum;
}
