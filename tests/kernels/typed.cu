// The kernels of tests/typed.rs: element types, launch bounds, dynamic shared memory, variables.
#define SCALE(T)                                                                                         \
    extern "C" __global__ void scale_##T(T* x, unsigned long long x_len, T factor)                      \
    {                                                                                                    \
        unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;               \
        if (i < x_len)                                                                                   \
            x[i] *= factor;                                                                              \
    }
SCALE(float)
SCALE(double)
SCALE(int)

// to[i] = from[i] for two element types.
extern "C" __global__ void convert_float_int(const float* from, unsigned long long from_len, int* to, unsigned long long to_len)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < from_len && i < to_len)
        to[i] = (int)from[i];
}

extern "C" __global__ void convert_int_float(const int* from, unsigned long long from_len, float* to, unsigned long long to_len)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < from_len && i < to_len)
        to[i] = (float)from[i];
}

// out[block] = threads of a block.
extern "C" __global__ void __launch_bounds__(128) bounded(unsigned* out, unsigned long long out_len)
{
    if (threadIdx.x == 0 && blockIdx.x < out_len)
        out[blockIdx.x] = blockDim.x;
}

// out[0] = bytes of dynamic shared memory.
extern "C" __global__ void dynamic(unsigned* out, unsigned long long out_len)
{
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    if (threadIdx.x == 0 && blockIdx.x == 0 && out_len != 0)
        out[0] = bytes;
}

__device__ unsigned counts[4];
__device__ float last;
__constant__ float LEVELS[4];
__constant__ unsigned offset;

// out[i] = LEVELS[i % 4] + counts[i % 4] + offset; the last of them also to `last`.
extern "C" __global__ void variables(float* out, unsigned long long out_len)
{
    unsigned i = threadIdx.x;
    if (i >= out_len)
        return;
    out[i] = LEVELS[i % 4] + (float)(counts[i % 4] + offset);
    if (i + 1 == out_len)
        last = out[i];
}
