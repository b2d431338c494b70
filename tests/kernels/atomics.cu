// Atomic operations. Where the order of threads does not show, the results are those of any order.
typedef unsigned long long u64;

// words[0..9] and signs[0..1], every thread does each once with its global number; old values are not kept.
extern "C" __global__ void all_u32(unsigned* words, int* signs)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&words[0], i);
    atomicSub(&words[1], i);
    atomicMin(&words[2], i * 2654435761u);
    atomicMax(&words[3], i * 2654435761u);
    atomicInc(&words[4], 999);
    atomicDec(&words[5], 999);
    atomicAnd(&words[6], ~(1u << (i % 31)));
    atomicOr(&words[7], 1u << (i % 32));
    atomicXor(&words[8], i);
    atomicExch(&words[9], 77);
    atomicMin(&signs[0], (int)(i * 2654435761u));
    atomicMax(&signs[1], (int)(i * 2654435761u));
}

// words[0..7] likewise
extern "C" __global__ void all_u64(u64* words)
{
    u64 i = blockIdx.x * blockDim.x + threadIdx.x, h = i * 0x9e3779b97f4a7c15ull;
    atomicAdd(&words[0], i << 30);
    atomicMin(&words[1], h);
    atomicMax(&words[2], h);
    atomicAnd(&words[3], ~(1ull << (i % 63)));
    atomicOr(&words[4], 1ull << (i % 64));
    atomicXor(&words[5], h);
    atomicExch(&words[6], 77ull);
    atomicMax((long long*)&words[7], (long long)h);
}

// Sums of small whole numbers, exact in any order.
extern "C" __global__ void add_floats(float* f, double* d)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(f, (float)(i % 8));
    atomicAdd(d, i * 0.5);
}

// out[thread] = what atomicAdd returned: a permutation of 0 .. threads
extern "C" __global__ void tickets(unsigned* counter, unsigned* out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

// The largest double, by compare and swap.
extern "C" __global__ void max_f64(const double* in, unsigned n, u64* largest)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    u64 seen = *(volatile u64*)largest;
    while (in[i] > __longlong_as_double((long long)seen)) {
        u64 before = atomicCAS(largest, seen, (u64)__double_as_longlong(in[i]));
        if (before == seen)
            break;
        seen = before;
    }
}

// 16-bit compare and swap: each thread adds one to a halfword.
extern "C" __global__ void count_u16(unsigned short* counters)
{
    unsigned short* counter = &counters[threadIdx.x % 2], seen = *(volatile unsigned short*)counter, before;
    do {
        before = seen;
        seen = atomicCAS(counter, before, (unsigned short)(before + 1));
    } while (seen != before);
}

// In shared memory, 32 and 64 bits; out[0..3] by block.
extern "C" __global__ void in_shared(u64* out)
{
    __shared__ unsigned sum, bits;
    __shared__ u64 wide;
    __shared__ float real;
    if (threadIdx.x == 0) {
        sum = bits = 0;
        wide = 0;
        real = 0;
    }
    __syncthreads();
    atomicAdd(&sum, threadIdx.x);
    atomicOr(&bits, 1u << (threadIdx.x % 32));
    atomicAdd(&wide, (u64)threadIdx.x << 32);
    atomicAdd(&real, 0.5f);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x * 4] = sum;
        out[blockIdx.x * 4 + 1] = bits;
        out[blockIdx.x * 4 + 2] = wide;
        out[blockIdx.x * 4 + 3] = __float_as_uint(real);
    }
}

// Atomics of the three scopes.
extern "C" __global__ void scopes(unsigned* words)
{
    atomicAdd_block(&words[blockIdx.x], 1u);
    atomicAdd(&words[gridDim.x], 1u);
    atomicAdd_system(&words[gridDim.x + 1], 1u);
}

// A lock that every thread takes in turn, lanes of one warp too: needs that lanes advance independently.
extern "C" __global__ void spin_lock(unsigned* lock, volatile unsigned* protected_count)
{
    while (atomicCAS(lock, 0u, 1u) != 0) {}
    __threadfence();
    *protected_count = *protected_count + 1;
    __threadfence();
    atomicExch(lock, 0u);
}

// The last block to finish adds what all blocks left. partial: gridDim.x words, count: one zero, out: the sum of in.
extern "C" __global__ void last_block(const unsigned* in, unsigned n, unsigned* partial, unsigned* count, unsigned* out)
{
    __shared__ unsigned sum;
    __shared__ bool last;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        unsigned total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += ((volatile unsigned*)partial)[b];
        *out = total;
    }
}

// Block 0 hands a message to block 1 with release and acquire; needs both blocks at once.
extern "C" __global__ void message(unsigned* data, unsigned* flag, unsigned* out)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        data[0] = 42;
        asm volatile("st.release.gpu.u32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        unsigned ready;
        do {
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(ready) : "l"(flag) : "memory");
        } while (ready == 0);
        *out = data[0];
    }
}

// red, fences and relaxed accesses as instructions: words[0] += 1, words[1] |= bit, words[2] = 3; wide[0] max
extern "C" __global__ void instructions(unsigned* words, u64* wide)
{
    asm volatile("red.global.add.u32 [%0], 1;" :: "l"(words) : "memory");
    asm volatile("red.relaxed.gpu.global.or.b32 [%0+4], %1;" :: "l"(words), "r"(1u << (threadIdx.x % 32)) : "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0+8], 3;" :: "l"(words) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.sys;" ::: "memory");
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("red.max.u64 [%0], %1;" :: "l"(wide), "l"((u64)threadIdx.x << 40) : "memory");
}
