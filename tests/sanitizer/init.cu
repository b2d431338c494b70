// arch: 90
// Reads of what was never written. `cases.txt` says what is wrong with each kernel.
#define D __device__ __forceinline__
#define t threadIdx.x
// Two kernels: one with the fault, one without.
#define PAIR(name)                                                                                                   \
    extern "C" __global__ void name##_wrong(unsigned *data, unsigned *more) { name<true>(data, more); }             \
    extern "C" __global__ void name##_right(unsigned *data, unsigned *more) { name<false>(data, more); }

D unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

template <bool wrong> D void read(unsigned *data, unsigned *more) { more[t] = data[t] + 1; }
PAIR(read)

template <bool wrong> D void atomic(unsigned *data, unsigned *more) { more[t] = atomicAdd(data + t, 1); }
PAIR(atomic)

struct Padded { unsigned char tag; unsigned value; };

// Stores the members, and copies the padding between them too.
extern "C" __global__ void padding_wrong(unsigned *data, unsigned *more) {
    Padded *element = (Padded *)data + t;
    *(volatile unsigned char *)&element->tag = t;
    *(volatile unsigned *)&element->value = t;
    __syncthreads();
    unsigned long long both;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(both) : "l"(element) : "memory");
    ((unsigned long long *)more)[t] = both;
}
extern "C" __global__ void padding_right(unsigned *data, unsigned *more) {
    Padded *element = (Padded *)data + t;
    *(volatile unsigned *)&element->tag = 0;
    *(volatile unsigned char *)&element->tag = t;
    *(volatile unsigned *)&element->value = t;
    __syncthreads();
    unsigned long long both;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(both) : "l"(element) : "memory");
    ((unsigned long long *)more)[t] = both;
}

template <bool wrong> D void async_copy(unsigned *data, unsigned *more) {
    __shared__ unsigned s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(s + t)), "l"(data + t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    more[t] = s[t];
}
PAIR(async_copy)

template <bool wrong> D void shared_static(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    if (!wrong || t != 17) s[t] = t;
    __syncthreads();
    data[t] = s[63 - t];
}
PAIR(shared_static)

extern __shared__ unsigned dynamic[];

template <bool wrong> D void shared_dynamic(unsigned *data, unsigned *) {
    dynamic[t] = t;
    if (!wrong) dynamic[64 + t] = t;
    __syncthreads();
    data[t] = dynamic[2 * t];
}
PAIR(shared_dynamic)

template <bool wrong> D void shared_atomic(unsigned *data, unsigned *) {
    __shared__ unsigned bins[16];
    if (!wrong && t < 16) bins[t] = 0;
    __syncthreads();
    atomicAdd(bins + (t & 15), 1);
    __syncthreads();
    data[t] = bins[t & 15];
}
PAIR(shared_atomic)

template <bool wrong> D void local_array(unsigned *data, unsigned *) {
    unsigned array[16];
    for (unsigned i = 0; i < (wrong ? 15 : 16); i++)
        asm volatile("st.u32 [%0], %1;" ::"l"(array + i), "r"(i) : "memory");
    unsigned value;
    asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(array + (data[t] ^ 15)) : "memory");
    data[t] = value;
}
PAIR(local_array)

template <bool wrong> D void one_register(unsigned *data, unsigned *) {
    unsigned value;
    if (wrong) asm volatile("{ .reg .u32 never; add.u32 %0, never, %1; }" : "=r"(value) : "r"(t));
    else asm volatile("{ .reg .u32 never; mov.u32 never, 1; add.u32 %0, never, %1; }" : "=r"(value) : "r"(t));
    data[t] = value;
}
PAIR(one_register)

template <bool wrong> D void register_of_a_branch(unsigned *data, unsigned *) {
    unsigned value;
    if (wrong)
        asm volatile("{ .reg .pred p; .reg .u32 some; setp.lt.u32 p, %1, 40; @p mov.u32 some, 1; add.u32 %0, some, %1; }"
                     : "=r"(value) : "r"(t));
    else
        asm volatile("{ .reg .pred p; .reg .u32 some; setp.lt.u32 p, %1, 40; mov.u32 some, 2; @p mov.u32 some, 1; add.u32 %0, some, %1; }"
                     : "=r"(value) : "r"(t));
    data[t] = value;
}
PAIR(register_of_a_branch)

__constant__ unsigned settings[16];

template <bool wrong> D void constant(unsigned *data, unsigned *) { data[t] = settings[data[t] & 15]; }
PAIR(constant)

template <bool wrong> D void heap(unsigned *data, unsigned *) {
    volatile unsigned *block = (unsigned *)malloc(64);
    if (!wrong) block[3] = t;
    data[t] = block[3];
    free((void *)block);
}
PAIR(heap)

template <bool wrong> D void texture(unsigned *data, unsigned *texture) {
    unsigned value, b, c, d;
    asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=r"(value), "=r"(b), "=r"(c), "=r"(d) : "l"(texture), "r"(t));
    data[t] = value;
}
PAIR(texture)
