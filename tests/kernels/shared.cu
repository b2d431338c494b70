// Static and dynamic shared memory. Blocks of one dimension.
extern __shared__ unsigned dynamic[];

// 1 KiB static: out[i] = own thread number + that of the next thread (blocks of at most 256).
extern "C" __global__ void static_1k(unsigned* out)
{
    __shared__ unsigned words[256];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x] + words[(threadIdx.x + 1) % blockDim.x];
}

// All 48 KiB that a kernel may have without asking.
extern "C" __global__ void static_48k(unsigned* out)
{
    __shared__ unsigned words[12288];
    for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x)
        sum += words[12287 - i];
    out[threadIdx.x] = sum;
}

// n words of dynamic shared memory, written by all threads and read backwards. out[0 .. n]
extern "C" __global__ void dynamic_reverse(unsigned n, unsigned* out)
{
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        dynamic[i] = i * 3;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = dynamic[n - 1 - i];
}

// 1 KiB static and n words dynamic, which must not overlap. out[0] = words that hold what was written: 256 + n
extern "C" __global__ void static_1k_and_dynamic(unsigned n, unsigned* out)
{
    __shared__ unsigned words[256];
    __shared__ unsigned right;
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        words[i] = 0xa0000000 + i;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        dynamic[i] = 0xb0000000 + i;
    if (threadIdx.x == 0)
        right = 0;
    __syncthreads();
    unsigned count = 0;
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        count += words[i] == 0xa0000000 + i;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        count += dynamic[i] == 0xb0000000 + i;
    atomicAdd(&right, count);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = right;
}

// 100 KiB of dynamic shared memory: more than a launch gets unless the function has opted in. out[thread] = sum of a column
extern "C" __global__ void dynamic_100k(unsigned* out)
{
    for (unsigned i = threadIdx.x; i < 25600; i += blockDim.x)
        dynamic[25599 - i] = i;
    __syncthreads();
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < 25600; i += blockDim.x)
        sum += dynamic[i];
    out[threadIdx.x] = sum;
}

// Doubles, floats and bytes carved from one dynamic block: n of each, n even. out[i] = d + f + b
extern "C" __global__ void carved(unsigned n, double* out)
{
    double* d = (double*)dynamic;
    float* f = (float*)(d + n);
    unsigned char* b = (unsigned char*)(f + n);
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        d[i] = i * 0.5;
        f[i] = i * 0.25f;
        b[i] = (unsigned char)i;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = d[n - 1 - i] + f[n - 1 - i] + b[n - 1 - i];
}

// What the registers say: dynamic bytes, total bytes.
extern "C" __global__ void shared_sizes(unsigned* out)
{
    __shared__ unsigned words[64];
    words[threadIdx.x % 64] = 0;
    unsigned dynamic_bytes, total_bytes;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic_bytes));
    asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(total_bytes));
    out[0] = dynamic_bytes;
    out[1] = total_bytes + words[threadIdx.x % 64];
}

// Named barriers and barriers that count: out[0] = threads with a set bit, out[1] = all set, out[2] = any set.
extern "C" __global__ void counting_barriers(const unsigned* bits, unsigned* out)
{
    unsigned bit = bits[threadIdx.x];
    int count = __syncthreads_count(bit), all = __syncthreads_and(bit), any = __syncthreads_or(bit);
    if (threadIdx.x == 0) {
        out[0] = count;
        out[1] = all != 0;
        out[2] = any != 0;
    }
}

// The first 64 threads produce, the next 64 consume, through barriers 1 and 2 of 128 threads (arrive and sync).
extern "C" __global__ void produce_consume(unsigned rounds, unsigned* out)
{
    __shared__ unsigned slot[64];
    unsigned i = threadIdx.x % 64, sum = 0;
    for (unsigned r = 0; r < rounds; r++) {
        if (threadIdx.x < 64) {
            slot[i] = r * 64 + i;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum += slot[63 - i];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
    if (threadIdx.x >= 64)
        out[i] = sum;
}
