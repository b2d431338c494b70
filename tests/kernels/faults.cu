// Kernels that go wrong when the test says so. After most of them a GPU's context is lost.
#include <cassert>

typedef unsigned long long u64;

// One thread reads or writes one element wherever it is told: past an end, freed, null, misaligned.
#define ACCESS(name, type) \
    extern "C" __global__ void write_##name(unsigned char* base, long long offset, type value) \
    { \
        *(type*)(base + offset) = value; \
    } \
    extern "C" __global__ void read_##name(const unsigned char* base, long long offset, type* out) \
    { \
        *out = *(const type*)(base + offset); \
    }
ACCESS(u8, unsigned char)
ACCESS(u16, unsigned short)
ACCESS(u32, unsigned)
ACCESS(u64, u64)
ACCESS(f32, float)
ACCESS(uint2, uint2)
ACCESS(uint4, uint4)

// Every thread writes data[i], without asking how long data is.
extern "C" __global__ void write_all(unsigned* data)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = i;
}

// Only the given thread of the given block goes wrong; the others write where they may.
extern "C" __global__ void write_one_wrong(unsigned* data, unsigned block, unsigned thread, long long wrong)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    long long at = blockIdx.x == block && threadIdx.x == thread ? wrong : i;
    data[at] = i;
}

extern "C" __global__ void atomic_at(unsigned char* base, long long offset)
{
    atomicAdd((unsigned*)(base + offset), 1u);
}

extern "C" __global__ void trap_at(unsigned block, unsigned thread, unsigned* out)
{
    if (blockIdx.x == block && threadIdx.x == thread)
        __trap();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

extern "C" __global__ void assert_below(const unsigned* data, unsigned n, unsigned limit)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        assert(data[i] < limit && "too large");
}

// 64 words of shared memory; index and offset may lie outside or be odd.
extern "C" __global__ void shared_write(unsigned index, unsigned* out)
{
    __shared__ unsigned words[64];
    words[threadIdx.x % 64] = threadIdx.x;
    __syncthreads();
    words[index] = 7;
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x % 64];
}

extern "C" __global__ void shared_misaligned(unsigned offset, unsigned* out)
{
    __shared__ unsigned words[64];
    words[threadIdx.x % 64] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = *(unsigned*)((unsigned char*)words + offset);
}

extern "C" __global__ void dynamic_write(unsigned index, unsigned* out)
{
    extern __shared__ unsigned dynamic[];
    dynamic[index] = 7;
    *out = dynamic[index];
}

// 16 words of local memory.
extern "C" __global__ void local_write(unsigned index, unsigned* out)
{
    volatile unsigned words[16];
    for (unsigned i = 0; i < 16; i++)
        words[i] = i;
    words[index] = 7;
    *out = words[3];
}

// Half of the block leaves the barrier out and returns: legal, the others go on.
extern "C" __global__ void barrier_after_exit(unsigned* out)
{
    if (threadIdx.x >= blockDim.x / 2)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

// Two warps wait at two barriers of 64 threads each, for ever: hangs a GPU; for the
// emulator, which must say so.
extern "C" __global__ void barrier_never_met(unsigned* out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    *out = 1;
}

// Waits until somebody else sets the flag: hangs if nobody does.
extern "C" __global__ void spin_until(volatile unsigned* flag)
{
    while (*flag == 0) {}
}

// Busy for a time that grows with steps; for tests of order between streams.
extern "C" __global__ void delay(unsigned steps, unsigned* out)
{
    unsigned x = threadIdx.x;
    #pragma unroll 1
    for (unsigned i = 0; i < steps; i++)
        x = x * 1664525u + 1013904223u;
    *out = x;
}

// 1,000 bytes of stack for each level.
extern "C" __device__ __noinline__ unsigned deeper(unsigned depth)
{
    volatile unsigned frame[250];
    frame[depth % 250] = depth;
    return depth == 0 ? 0 : deeper(depth - 1) + frame[depth % 250];
}

extern "C" __global__ void stack_depth(unsigned depth, unsigned* out)
{
    *out = deeper(depth);
}
