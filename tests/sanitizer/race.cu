// arch: 90
// Accesses that nothing orders. `cases.txt` says what is wrong with each kernel.
#define D __device__ __forceinline__
#define t threadIdx.x
#define b blockIdx.x
// Two kernels: one with the fault, one without.
#define PAIR(name)                                                                                                   \
    extern "C" __global__ void name##_wrong(unsigned *data, unsigned *more) { name<true>(data, more); }             \
    extern "C" __global__ void name##_right(unsigned *data, unsigned *more) { name<false>(data, more); }

D unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }
D void async_copy(unsigned *to, const unsigned *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
D void init(unsigned long long *bar, unsigned count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
D void arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
D void wait(unsigned long long *bar, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(bar)), "r"(parity) : "memory");
    } while (!done);
}
D void bulk_load(unsigned *to, const unsigned *from, unsigned bytes, unsigned long long *bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                 "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(bar)) : "memory");
}
D void bulk_store(unsigned *to, const unsigned *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" ::
                 "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}
D void cluster_sync() { asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); }

template <bool wrong> D void shared_raw(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    if (!wrong) __syncthreads();
    data[t] = s[63 - t];
}
PAIR(shared_raw)

template <bool wrong> D void shared_war(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    __syncthreads();
    unsigned value = s[63 - t];
    if (!wrong) __syncthreads();
    s[t] = value + 1;
    data[t] = s[t];
}
PAIR(shared_war)

template <bool wrong> D void shared_waw(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[wrong ? t & 31 : t] = t;
    __syncthreads();
    data[t] = s[t & 31];
}
PAIR(shared_waw)

template <bool wrong> D void shared_one_store(unsigned *data, unsigned *) {
    __shared__ unsigned s;
    if (wrong ? t < 32 : t == 5) s = t;
    __syncthreads();
    data[t] = s;
}
PAIR(shared_one_store)

template <bool wrong> D void shared_count(unsigned *data, unsigned *) {
    __shared__ unsigned s;
    if (t == 0) s = 0;
    __syncthreads();
    if (wrong) s++; else atomicAdd(&s, 1);
    __syncthreads();
    data[t] = s;
}
PAIR(shared_count)

template <bool wrong> D void shared_atomic_and_plain(unsigned *data, unsigned *) {
    __shared__ unsigned s;
    if (t == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, t);
    if (!wrong) __syncthreads();
    data[t] = s;
}
PAIR(shared_atomic_and_plain)

template <bool wrong> D void shared_double_buffer(unsigned *data, unsigned *) {
    __shared__ unsigned s[2][64];
    unsigned value = data[t];
    for (unsigned i = 0; i < 4; i++) {
        unsigned *buffer = s[wrong ? 0 : i & 1];
        buffer[t] = value;
        __syncthreads();
        value += buffer[63 - t];
    }
    data[t] = value;
}
PAIR(shared_double_buffer)

template <bool wrong> D void shared_reduction(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    __syncthreads();
    for (unsigned half = 32; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        if (!wrong || half > 32) __syncthreads();
    }
    if (t == 0) data[0] = s[0];
}
PAIR(shared_reduction)

template <bool wrong> D void warp_exchange(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    if (!wrong) __syncwarp();
    data[t] = s[t ^ 1];
}
PAIR(warp_exchange)

template <bool wrong> D void warp_broadcast(unsigned *data, unsigned *) {
    __shared__ unsigned s[2];
    if (t % 32 == 0) s[t / 32] = data[t];
    if (!wrong) __syncwarp();
    data[t] = s[t / 32];
}
PAIR(warp_broadcast)

// Each warp meets only itself.
template <bool wrong> D void named_barrier_of_a_part(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    asm volatile("barrier.sync %0, %1;" ::"r"(wrong ? 1 + t / 32 : 1), "r"(wrong ? 32 : 64) : "memory");
    data[t] = s[63 - t];
}
PAIR(named_barrier_of_a_part)

template <bool wrong> D void async_copy_not_waited_for(unsigned *data, unsigned *more) {
    __shared__ unsigned s[64];
    async_copy(s + t, data + t);
    if (!wrong) asm volatile("cp.async.wait_all;" ::: "memory");
    more[t] = s[t];
}
PAIR(async_copy_not_waited_for)

template <bool wrong> D void async_copy_wrong_group(unsigned *data, unsigned *more) {
    __shared__ unsigned s[128];
    for (unsigned i = 0; i < 2; i++) {
        async_copy(s + 64 * i + t, data + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    if (wrong) asm volatile("cp.async.wait_group 1;" ::: "memory"); else asm volatile("cp.async.wait_group 0;" ::: "memory");
    more[t] = s[64 + t];
}
PAIR(async_copy_wrong_group)

template <bool wrong> D void async_copy_no_barrier(unsigned *data, unsigned *more) {
    __shared__ unsigned s[64];
    async_copy(s + t, data + t);
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (!wrong) __syncthreads();
    more[t] = s[63 - t];
}
PAIR(async_copy_no_barrier)

template <bool wrong> D void bulk_load_not_waited_for(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[64];
    __shared__ unsigned long long bar;
    if (t == 0) {
        init(&bar, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        bulk_load(s, data, 256, &bar);
    }
    __syncthreads();
    if (!wrong) wait(&bar, 0);
    more[t] = s[t];
    if (wrong) wait(&bar, 0);
}
PAIR(bulk_load_not_waited_for)

template <bool wrong> D void bulk_store_not_waited_for(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[64];
    s[t] = data[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        bulk_store(more, s, 256);
        if (!wrong) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    s[t] = 3 * t;
    data[t] = s[t];
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
PAIR(bulk_store_not_waited_for)

template <bool wrong> D void bulk_store_no_fence(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[64];
    s[t] = data[t];
    if (!wrong) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        bulk_store(more, s, 256);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
PAIR(bulk_store_no_fence)

// Warp 1 produces, warp 0 consumes.
template <bool wrong> D void mbarrier_wrong_parity(unsigned *data, unsigned *more) {
    __shared__ unsigned s[32];
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, 32);
    __syncthreads();
    if (t >= 32) {
        __nanosleep(2000);
        s[t - 32] = data[t];
        arrive(&bar);
    } else {
        wait(&bar, wrong);
        more[t] = s[t];
    }
}
PAIR(mbarrier_wrong_parity)

template <bool wrong> D void cluster_no_barrier(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = data[64 * b + t];
    if (wrong) __syncthreads(); else cluster_sync();
    unsigned address, value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(s + t)), "r"((b & 1) ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    data[64 * b + t] = value;
    cluster_sync();
}
PAIR(cluster_no_barrier)

template <bool wrong> D void cluster_writes_together(unsigned *data, unsigned *) {
    __shared__ unsigned s[128];
    s[t] = 0;
    s[64 + t] = 0;
    cluster_sync();
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(address) : "r"(shared_address(s + t + (wrong ? 0 : 64 * (b & 1)))));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(64 * b + t + 1) : "memory");
    cluster_sync();
    data[64 * b + t] = s[t];
}
PAIR(cluster_writes_together)

template <bool wrong> D void blocks_write_together(unsigned *data, unsigned *) { data[wrong ? t : 64 * b + t] = 64 * b + t; }
PAIR(blocks_write_together)

template <bool wrong> D void block_reads_other(unsigned *data, unsigned *more) {
    data[64 * b + t] = t;
    more[64 * b + t] = data[64 * (wrong ? b ^ 1 : b) + t];
}
PAIR(block_reads_other)

template <bool wrong> D void global_count(unsigned *data, unsigned *) {
    if (wrong) data[0]++; else atomicAdd(data, 1);
}
PAIR(global_count)

template <bool wrong> D void global_in_a_block(unsigned *data, unsigned *) {
    data[64 * b + t] = t + 1;
    if (!wrong) __syncthreads();
    unsigned value = data[64 * b + (63 - t)];
    __syncthreads();
    data[64 * b + t] = value;
}
PAIR(global_in_a_block)

// The last block adds what all have stored.
template <bool wrong> D void last_block_no_fence(unsigned *data, unsigned *more) {
    if (t != 0) return;
    more[1 + b] = b;
    if (!wrong) __threadfence();
    if (atomicAdd(more, 1) != gridDim.x - 1) return;
    if (!wrong) __threadfence();
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += more[1 + i];
    data[0] = sum;
}
PAIR(last_block_no_fence)

template <bool wrong> D void fence_of_a_block(unsigned *data, unsigned *more) {
    if (t != 0) return;
    more[1 + b] = b;
    if (wrong) __threadfence_block(); else __threadfence();
    if (atomicAdd(more, 1) != gridDim.x - 1) return;
    if (wrong) __threadfence_block(); else __threadfence();
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += more[1 + i];
    data[0] = sum;
}
PAIR(fence_of_a_block)

template <bool wrong> D void atomics_of_a_block(unsigned *data, unsigned *) {
    if (wrong) atomicAdd_block(data, 1); else atomicAdd(data, 1);
}
PAIR(atomics_of_a_block)

template <bool wrong> D void release_of_a_block(unsigned *data, unsigned *more) {
    if (t != 0) return;
    if (b == 0) {
        data[1] = 42;
        if (wrong) asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(data) : "memory");
        else asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(data) : "memory");
    } else {
        unsigned flag;
        do {
            if (wrong) asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(flag) : "l"(data) : "memory");
            else asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(data) : "memory");
        } while (!flag);
        more[0] = data[1];
    }
}
PAIR(release_of_a_block)

template <bool wrong> D void lock_given_back_early(unsigned *data, unsigned *) {
    if (t != 0) return;
    while (atomicCAS(data, 0, 1)) {}
    __threadfence();
    unsigned value = data[1];
    if (wrong) atomicExch(data, 0);
    data[1] = value + 1;
    __threadfence();
    if (!wrong) atomicExch(data, 0);
}
PAIR(lock_given_back_early)

// Each block stores and then reads what the next one has stored: between two launches, or in one.
template <bool wrong> D void phases_in_one_launch(unsigned *data, unsigned *more) {
    data[64 * b + t] = t;
    __syncthreads();
    __threadfence();
    if (wrong) more[64 * b + t] = data[64 * ((b + 1) % gridDim.x) + t]; else more[64 * b + t] = data[64 * b + (63 - t)];
}
PAIR(phases_in_one_launch)

// Fetched by the kernel that writes it, or by the next one.
template <bool wrong> D void texture_written(unsigned *data, unsigned *texture) {
    unsigned value, x, y, z;
    if (wrong) data[t] = t;
    __syncthreads();
    asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=r"(value), "=r"(x), "=r"(y), "=r"(z) : "l"(texture), "r"(63 - t));
    data[64 + t] = value;
}
PAIR(texture_written)

// Launched on two streams, with the same memory or not.
template <bool wrong> D void streams(unsigned *data, unsigned *more) { data[t] = more[t] + 1; }
PAIR(streams)
