// Device-wide algorithms of CUB on integers, whose results are compared with those computed here: one of sort, pairs, scan, reduce.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#define CHECK(call) \
    do { \
        cudaError_t code = call; \
        if (code != cudaSuccess) { \
            std::printf("%s: %s\n", #call, cudaGetErrorString(code)); \
            std::exit(1); \
        } \
    } while (0)

constexpr int COUNT = 100000;

template <class T>
T* on_device(const std::vector<T>& host)
{
    T* device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <class T>
std::vector<T> on_host(const T* device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

// The first call of an algorithm tells how much memory it needs.
template <class Call>
void with_memory(Call call)
{
    void* memory = nullptr;
    size_t bytes = 0;
    CHECK(call(memory, bytes));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(call(memory, bytes));
    CHECK(cudaDeviceSynchronize());
}

int main(int count, char** arguments)
{
    const char* name = count > 1 ? arguments[1] : "";
    std::vector<unsigned> keys(COUNT), values(COUNT);
    unsigned state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525 + 1013904223;
        keys[i] = state ^ state >> 15;
        values[i] = i;
    }
    const unsigned *in = on_device(keys), *numbers = on_device(values);
    unsigned *out = on_device(std::vector<unsigned>(COUNT)), *moved = on_device(std::vector<unsigned>(COUNT));
    std::vector<unsigned> wanted = keys;
    if (!std::strcmp(name, "sort")) {
        with_memory([&](void* m, size_t& bytes) { return cub::DeviceRadixSort::SortKeys(m, bytes, in, out, COUNT); });
        std::sort(wanted.begin(), wanted.end());
    } else if (!std::strcmp(name, "pairs")) {
        with_memory([&](void* m, size_t& bytes) { return cub::DeviceRadixSort::SortPairs(m, bytes, in, out, numbers, moved, COUNT); });
        std::sort(wanted.begin(), wanted.end());
        std::vector<unsigned> from = on_host(moved, COUNT);
        for (int i = 0; i < COUNT; i++)
            if (keys[from[i]] != wanted[i])
                return std::printf("value %d is wrong\n", i), 1;
    } else if (!std::strcmp(name, "scan")) {
        with_memory([&](void* m, size_t& bytes) { return cub::DeviceScan::InclusiveSum(m, bytes, in, out, COUNT); });
        std::partial_sum(keys.begin(), keys.end(), wanted.begin());
    } else if (!std::strcmp(name, "reduce")) {
        with_memory([&](void* m, size_t& bytes) { return cub::DeviceReduce::Sum(m, bytes, in, out, COUNT); });
        wanted = {std::accumulate(keys.begin(), keys.end(), 0u)};
    } else
        return std::printf("usage: cub_both sort|pairs|scan|reduce\n"), 2;
    if (on_host(out, wanted.size()) != wanted)
        return std::printf("%s: wrong\n", name), 1;
    std::printf("%s: right\n", name);
    return 0;
}
