// Variables of the module: constant and global memory, initialised and not.
typedef unsigned long long u64;

struct Record { unsigned char a; double b; short c[3]; const char* name; };

__constant__ float coefficients[4] = {1.0f, -2.0f, 0.5f, 4.0f};
__constant__ unsigned from_host[16]; // the test writes it
__constant__ char text[] = "constant";
__device__ unsigned counter = 5;
__device__ float table[256];
__device__ u64 big = 0x0123456789abcdefull;
__device__ double eighth = 0.125;
__device__ unsigned char bytes[5] = {1, 2, 3, 4, 255};
__device__ short shorts[3] = {-1, 2, -3};
__device__ __align__(64) unsigned aligned_64[2] = {6, 7};
__device__ unsigned* into_counter = &counter;
__device__ float* into_table = table + 3;
__device__ Record record = {7, 2.5, {1, -2, 3}, "name"};

// out[i] = polynomial in x[i]
extern "C" __global__ void polynomial(const float* x, float* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = fmaf(fmaf(fmaf(coefficients[3], x[i], coefficients[2]), x[i], coefficients[1]), x[i], coefficients[0]);
}

extern "C" __global__ void copy_constant(unsigned* out)
{
    out[threadIdx.x] = from_host[threadIdx.x % 16];
}

extern "C" __global__ void copy_text(char* out)
{
    if (threadIdx.x < sizeof text)
        out[threadIdx.x] = text[threadIdx.x];
}

// counter += threads; out = what it was before the first of them, as a thread sees it
extern "C" __global__ void count(unsigned* out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&counter, 1u);
}

extern "C" __global__ void fill_table(float value)
{
    table[threadIdx.x % 256] = value + threadIdx.x;
}

// Everything that is initialised, as numbers.
extern "C" __global__ void initialised(u64* out)
{
    unsigned k = 0;
    out[k++] = big;
    out[k++] = (u64)__double_as_longlong(eighth);
    for (unsigned i = 0; i < 5; i++)
        out[k++] = bytes[i];
    for (unsigned i = 0; i < 3; i++)
        out[k++] = (u64)(long long)shorts[i];
    out[k++] = aligned_64[0];
    out[k++] = aligned_64[1];
    out[k++] = (u64)aligned_64 % 64;
    out[k++] = into_counter == &counter;
    out[k++] = into_table == &table[3];
    out[k++] = record.a;
    out[k++] = (u64)__double_as_longlong(record.b);
    out[k++] = (u64)(long long)record.c[1];
    for (unsigned i = 0; i < 5; i++)
        out[k++] = (unsigned char)record.name[i];
}
