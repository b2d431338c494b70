// arch: 90
// Accesses outside of memory, and memory that is not given back. `cases.txt` says what is wrong with each kernel.
#define D __device__ __forceinline__
#define t threadIdx.x
// Two kernels: one with the fault, one without.
#define PAIR(name)                                                                                                   \
    extern "C" __global__ void name##_wrong(unsigned *data, unsigned *more) { name<true>(data, more); }             \
    extern "C" __global__ void name##_right(unsigned *data, unsigned *more) { name<false>(data, more); }

D unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

template <bool wrong> D void global_write_past_end(unsigned *data, unsigned *) { data[t + wrong] = t; }
PAIR(global_write_past_end)

template <bool wrong> D void global_read_before_start(unsigned *data, unsigned *more) { more[t] = data[t - wrong]; }
PAIR(global_read_before_start)

template <bool wrong> D void global_far_away(unsigned *data, unsigned *) { data[wrong ? t + (1ull << 34) : t] = t; }
PAIR(global_far_away)

// `more` is the index here: how far another allocation is away.
template <bool wrong> D void global_into_other(unsigned *data, unsigned *more) { data[t + (wrong ? (unsigned long long)more / 4 : 0)] = t; }
PAIR(global_into_other)

template <bool wrong> D void store(unsigned *data, unsigned *) { data[t] = t; }
PAIR(store)

template <bool wrong> D void global_misaligned(unsigned *data, unsigned *more) {
    more[t] = *(unsigned *)((char *)data + 4 * (t & 31) + 2 * wrong);
}
PAIR(global_misaligned)

template <bool wrong> D void vector_misaligned(unsigned *data, unsigned *more) {
    unsigned x, y, z, w;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(data + 4 * (t & 7) + 2 * wrong) : "memory");
    more[t] = x + y + z + w;
}
PAIR(vector_misaligned)

// The allocation ends in the middle of the last pair.
template <bool wrong> D void vector_sticks_out(unsigned *data, unsigned *more) {
    uint2 two = *(uint2 *)(data + 2 * (wrong ? t & 31 : t % 31));
    more[t] = two.x + two.y;
}
PAIR(vector_sticks_out)

template <bool wrong> D void atomic_past_end(unsigned *data, unsigned *) { atomicAdd(data + t + wrong, 1); }
PAIR(atomic_past_end)

template <bool wrong> D void async_copy_past_end(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[256];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(s + 4 * t)),
                 "l"(data + 4 * (t + wrong)) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    more[t] = s[4 * t];
}
PAIR(async_copy_past_end)

template <bool wrong> D void bulk_copy_past_end(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[128];
    __shared__ unsigned long long bar;
    const unsigned bytes = wrong ? 512 : 256;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(shared_address(&bar)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&bar)), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                     "r"(shared_address(s)), "l"(data), "r"(bytes), "r"(shared_address(&bar)) : "memory");
    }
    __syncthreads();
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(&bar)) : "memory");
    } while (!done);
    more[t] = s[t];
}
PAIR(bulk_copy_past_end)

__constant__ unsigned table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

template <bool wrong> D void constant_past_end(unsigned *data, unsigned *) { data[t] = table[wrong ? t + 50000 : t & 15]; }
PAIR(constant_past_end)

template <bool wrong> D void constant_written(unsigned *data, unsigned *) {
    unsigned long long address = (unsigned long long)(wrong ? (unsigned *)table : data);
    asm volatile("st.u32 [%0], %1;" ::"l"(address + 4 * (t & 15)), "r"(t & 15) : "memory");
}
PAIR(constant_written)

__device__ unsigned counters[16];
__device__ unsigned totals[16];

template <bool wrong> D void global_variable_past_end(unsigned *data, unsigned *) {
    counters[wrong ? t : t & 15] = t & 15;
    data[t] = totals[t & 15];
}
extern "C" __global__ void global_variable_past_end_wrong(unsigned *data) { global_variable_past_end<true>(data, data); }
extern "C" __global__ void global_variable_past_end_right(unsigned *data) { if (t < 16) global_variable_past_end<false>(data, data); }

template <bool wrong> D void shared_past_end(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t + 64 * wrong] = t;
    data[t] = s[t + 64 * wrong];
}
PAIR(shared_past_end)

extern __shared__ unsigned dynamic[];

template <bool wrong> D void shared_dynamic_past_end(unsigned *data, unsigned *) {
    dynamic[t + wrong] = t;
    data[t] = dynamic[t + wrong];
}
PAIR(shared_dynamic_past_end)

template <bool wrong> D void shared_before_start(unsigned *data, unsigned *) {
    unsigned address = shared_address(dynamic) - (wrong ? 2048 : 0), value;
    asm volatile("st.shared.u32 [%1], %2; ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address + 4 * t), "r"(t) : "memory");
    data[t] = value;
}
PAIR(shared_before_start)

template <bool wrong> D void shared_into_next(unsigned *data, unsigned *) {
    __shared__ unsigned first[64];
    __shared__ unsigned second[64];
    second[t] = 2 * t;
    first[t] = t;
    __syncthreads();
    if (t == 0) first[data[0] + (wrong ? 64 : 0)] = 7;
    __syncthreads();
    data[t] = first[t] + second[t];
}
PAIR(shared_into_next)

template <bool wrong> D void shared_misaligned(unsigned *data, unsigned *) {
    __shared__ unsigned s[65];
    s[t] = t;
    __syncthreads();
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(s) + 4 * t + 2 * wrong) : "memory");
    data[t] = value;
}
PAIR(shared_misaligned)

template <bool wrong> D void matrix_misaligned(unsigned *data, unsigned *) {
    __shared__ __align__(16) unsigned s[256];
    for (unsigned i = t; i < 256; i += 64) s[i] = i;
    __syncthreads();
    unsigned value;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(value) : "r"(shared_address(s) + 16 * (t & 7) + 8 * wrong) : "memory");
    data[t] = value;
}
PAIR(matrix_misaligned)

template <bool wrong> D void cluster_rank_outside(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = t;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned rank, address, value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(s + t)), "r"(wrong ? rank + 2 : rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    data[blockIdx.x * 64 + t] = value;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
PAIR(cluster_rank_outside)

// Accesses that the compiler does not turn into registers.
D void put(unsigned *at, unsigned value) { asm volatile("st.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }
D unsigned get(const unsigned *at) {
    unsigned value;
    asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

template <bool wrong> D void local_far_away(unsigned *data, unsigned *) {
    unsigned array[8];
    for (unsigned i = 0; i < 8; i++) put(array + i, i + t);
    const unsigned at = data[t] + (wrong ? 1u << 20 : 0);
    put(array + at, 7);
    data[t] = get(array + at) + get(array + 1);
}
PAIR(local_far_away)

template <bool wrong> D void local_into_next(unsigned *data, unsigned *) {
    unsigned first[8], second[8];
    for (unsigned i = 0; i < 8; i++) put(first + i, i + t), put(second + i, i - t);
    put(first + data[t] + (wrong ? 8 : 0), 7);
    data[t] = get(first + 1) + get(second + 1);
}
PAIR(local_into_next)

__device__ __noinline__ unsigned deep(unsigned n, unsigned *data) {
    volatile unsigned frame[32];
    frame[n & 31] = n;
    return n == 0 ? frame[0] : deep(n - 1, data) + data[frame[n & 31] & 31];
}

template <bool wrong> D void stack_overflow(unsigned *data, unsigned *more) { more[t] = deep(wrong ? 1000000 : 3, data); }
PAIR(stack_overflow)

struct Table { unsigned *out; unsigned entries[8]; };

template <bool wrong> D void parameter(const Table &table) {
    table.out[t] = table.entries[wrong ? t + 8192 : t & 7];
}
extern "C" __global__ void parameter_past_end_wrong(const __grid_constant__ Table table) { parameter<true>(table); }
extern "C" __global__ void parameter_past_end_right(const __grid_constant__ Table table) { parameter<false>(table); }

template <bool wrong> D void heap_past_end(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    for (unsigned i = 0; i < 16 + wrong; i++) block[i] = t;
    data[t] = block[t & 15];
    free(block);
}
PAIR(heap_past_end)

template <bool wrong> D void heap_freed(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    block[0] = t;
    if (wrong) free(block);
    data[t] = *(volatile unsigned *)block;
    if (!wrong) free(block);
}
PAIR(heap_freed)

template <bool wrong> D void heap_double_free(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    block[0] = t;
    data[t] = block[0];
    free(block);
    if (wrong) free(block);
}
PAIR(heap_double_free)

template <bool wrong> D void heap_free_inside(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    block[4] = t;
    data[t] = block[4];
    free(block + 4 * wrong);
}
PAIR(heap_free_inside)

template <bool wrong> D void heap_free_foreign(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    block[0] = t;
    data[t] = block[0];
    if (t == 0 && wrong) free(data);
    free(block);
}
PAIR(heap_free_foreign)

template <bool wrong> D void leak_heap(unsigned *data, unsigned *) {
    unsigned *block = (unsigned *)malloc(64);
    block[0] = t;
    data[t] = block[0];
    if (!wrong || t > 0) free(block);
}
PAIR(leak_heap)

__device__ __noinline__ unsigned doubled(unsigned n) { return 2 * n; }
__device__ __noinline__ unsigned tripled(unsigned n) { return 3 * n; }

template <bool wrong> D void call_of_nothing(unsigned *data, unsigned *) {
    unsigned (*function)(unsigned) = data[t] & 1 ? doubled : tripled;
    if (wrong && t == 40) function = nullptr;
    asm volatile("" : "+l"(function));
    data[t] = function(t);
}
PAIR(call_of_nothing)

template <bool wrong> D void surface_outside(unsigned *, unsigned *surface) {
    asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(surface), "r"(4 * (t & 7)), "r"((t >> 3) + wrong), "r"(t) : "memory");
}
PAIR(surface_outside)

template <bool wrong> D void texture_outside(unsigned *data, unsigned *texture) {
    unsigned value, b, c, d;
    asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=r"(value), "=r"(b), "=r"(c), "=r"(d) : "l"(texture), "r"(t + wrong));
    data[t] = value;
}
PAIR(texture_outside)
