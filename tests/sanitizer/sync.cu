// arch: 90
// Misuse of barriers, masks and mbarriers. `cases.txt` says what is wrong with each kernel.
#define D __device__ __forceinline__
#define t threadIdx.x
#define b blockIdx.x
// Two kernels: one with the fault, one without.
#define PAIR(name)                                                                                                   \
    extern "C" __global__ void name##_wrong(unsigned *data, unsigned *more) { name<true>(data, more); }             \
    extern "C" __global__ void name##_right(unsigned *data, unsigned *more) { name<false>(data, more); }

D unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }
D void init(unsigned long long *bar, unsigned count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
D void invalidate(unsigned long long *bar) {
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}
D unsigned long long arrive(unsigned long long *bar) {
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(shared_address(bar)) : "memory");
    return token;
}
D bool is_over(unsigned long long *bar, unsigned long long token) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(bar)), "l"(token) : "memory");
    return done;
}

template <bool wrong> D void barrier_in_two_branches(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = t;
    if (wrong) {
        if (data[t] < 16) asm volatile("bar.sync 0;" ::: "memory");
        else asm volatile("bar.sync 0; // not the same" ::: "memory");
    } else {
        asm volatile("bar.sync 0;" ::: "memory");
    }
    data[t] = s[63 - t];
}
PAIR(barrier_in_two_branches)

template <bool wrong> D void barrier_in_one_branch(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = t;
    if (wrong ? data[t] < 16 : true) asm volatile("bar.sync 0;" ::: "memory");
    data[t] = s[t];
}
PAIR(barrier_in_one_branch)

template <bool wrong> D void barrier_after_return(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = t;
    if (wrong && data[t] >= 50) return;
    __syncthreads();
    if (data[t] >= 50) return;
    data[t] = s[t];
}
PAIR(barrier_after_return)

// Warp 1 makes one round less.
template <bool wrong> D void barrier_rounds_differ(unsigned *data, unsigned *) {
    for (unsigned i = 0; i < (wrong && t >= 32 ? 2u : 3u); i++) asm volatile("barrier.sync 0;" ::: "memory");
    data[t] = t;
}
PAIR(barrier_rounds_differ)

template <bool wrong> D void barrier_count_too_large(unsigned *data, unsigned *) {
    asm volatile("barrier.sync 1, %0;" ::"r"(wrong ? data[0] + 96 : data[0] + 64) : "memory");
    data[t] = t;
}
PAIR(barrier_count_too_large)

template <bool wrong> D void barrier_count_odd(unsigned *data, unsigned *) {
    asm volatile("barrier.sync 1, %0;" ::"r"(wrong ? data[0] + 48 : data[0] + 64) : "memory");
    data[t] = t;
}
PAIR(barrier_count_odd)

template <bool wrong> D void barrier_counts_differ(unsigned *data, unsigned *) {
    asm volatile("barrier.sync 1, %0;" ::"r"(data[0] + (wrong && t >= 32 ? 96 : 64)) : "memory");
    data[t] = t;
}
PAIR(barrier_counts_differ)

template <bool wrong> D void barrier_number(unsigned *data, unsigned *) {
    asm volatile("barrier.sync %0, 64;" ::"r"(data[0] + (wrong ? 16 : 15)) : "memory");
    data[t] = t;
}
PAIR(barrier_number)

// Each warp waits at the barrier that the other one comes to later.
template <bool wrong> D void barriers_crossed(unsigned *data, unsigned *) {
    unsigned first = wrong && t >= 32 ? 2 : 1;
    asm volatile("barrier.sync %0, 64; barrier.sync %1, 64;" ::"r"(first), "r"(3 - first) : "memory");
    data[t] = t;
}
PAIR(barriers_crossed)

template <bool wrong> D void shuffle_own_lane_missing(unsigned *data, unsigned *) {
    data[t] = __shfl_xor_sync(wrong ? 0x0000ffff : 0xffffffff, t, 1);
}
PAIR(shuffle_own_lane_missing)

template <bool wrong> D void vote_own_lane_missing(unsigned *data, unsigned *) {
    data[t] = __ballot_sync(wrong ? 0x0000ffff : 0xffffffff, data[t] & 1);
}
PAIR(vote_own_lane_missing)

template <bool wrong> D void syncwarp_own_lane_missing(unsigned *data, unsigned *) {
    __syncwarp(wrong ? 0x0000ffff : 0xffffffff);
    data[t] = t;
}
PAIR(syncwarp_own_lane_missing)

template <bool wrong> D void reduce_own_lane_missing(unsigned *data, unsigned *) {
    data[t] = __reduce_add_sync(wrong ? 0x0000ffff : 0xffffffff, data[t]);
}
PAIR(reduce_own_lane_missing)

template <bool wrong> D void match_own_lane_missing(unsigned *data, unsigned *) {
    data[t] = __match_any_sync(wrong ? 0x0000ffff : 0xffffffff, data[t] & 3);
}
PAIR(match_own_lane_missing)

// The mask names lanes that have left.
template <bool wrong> D void shuffle_lanes_have_left(unsigned *data, unsigned *) {
    if (data[t] % 32 >= 16) return;
    data[t] = __shfl_xor_sync(wrong ? 0xffffffff : 0x0000ffff, data[t], 1);
}
PAIR(shuffle_lanes_have_left)

// The mask names lanes that wait at another instruction.
template <bool wrong> D void masks_of_two_branches(unsigned *data, unsigned *) {
    unsigned value = data[t];
    if (value % 32 < 16) value = __ballot_sync(wrong ? 0xffffffff : 0x0000ffff, value & 1);
    else value = __shfl_xor_sync(wrong ? 0xffffffff : 0xffff0000, value, 1);
    data[t] = value;
}
PAIR(masks_of_two_branches)

template <bool wrong> D void shuffle_from_outside_the_mask(unsigned *data, unsigned *) {
    unsigned value = data[t];
    if (value % 32 < 16) value = __shfl_sync(0x0000ffff, value, wrong ? 20 : 5);
    data[t] = value;
}
PAIR(shuffle_from_outside_the_mask)

template <bool wrong> D void syncwarp_lanes_elsewhere(unsigned *data, unsigned *) {
    if (data[t] % 32 < 16) __syncwarp(wrong ? 0xffffffff : 0x0000ffff);
    else __syncwarp(wrong ? 0xfffffffe : 0xffff0000);
    data[t] = t;
}
PAIR(syncwarp_lanes_elsewhere)

template <bool wrong> D void mbarrier_not_initialised(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (!wrong && t == 0) init(&bar, 64);
    __syncthreads();
    unsigned long long token = arrive(&bar);
    for (unsigned i = 0; i < 1000 && !is_over(&bar, token); i++) {}
    data[t] = t;
}
PAIR(mbarrier_not_initialised)

template <bool wrong> D void mbarrier_initialised_twice(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    arrive(&bar);
    __syncthreads();
    if (!wrong && t == 0) invalidate(&bar);
    if (t == 0) init(&bar, 32);
    __syncthreads();
    data[t] = t;
}
PAIR(mbarrier_initialised_twice)

template <bool wrong> D void mbarrier_used_after_inval(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    if (wrong && t == 0) invalidate(&bar);
    __syncthreads();
    arrive(&bar);
    __syncthreads();
    if (!wrong && t == 0) invalidate(&bar);
    data[t] = t;
}
PAIR(mbarrier_used_after_inval)

template <bool wrong> D void mbarrier_overwritten(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    if (wrong && t == 0) *(volatile unsigned *)&bar = 5;
    __syncthreads();
    unsigned long long token = arrive(&bar);
    for (unsigned i = 0; i < 1000 && !is_over(&bar, token); i++) {}
    data[t] = t;
}
PAIR(mbarrier_overwritten)

template <bool wrong> D void mbarrier_count_of_zero(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, data[0] + (wrong ? 0 : 64));
    __syncthreads();
    if (t == 0) invalidate(&bar);
    data[t] = t;
}
PAIR(mbarrier_count_of_zero)

template <bool wrong> D void mbarrier_too_many_arrivals(unsigned *data, unsigned *) {
    __shared__ unsigned long long bar;
    if (t == 0) init(&bar, 40);
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0], %1;" ::"r"(shared_address(&bar)), "r"(data[0] + (wrong ? 41 : 40)) : "memory");
    }
    data[t] = t;
}
PAIR(mbarrier_too_many_arrivals)

template <bool wrong> D void cluster_arrives_twice(unsigned *data, unsigned *) {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    if (wrong) asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    data[64 * b + t] = t;
}
PAIR(cluster_arrives_twice)

template <bool wrong> D void cluster_waits_without_arrival(unsigned *data, unsigned *) {
    if (!wrong) asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    data[64 * b + t] = t;
}
PAIR(cluster_waits_without_arrival)

template <bool wrong> D void cluster_barrier_diverges(unsigned *data, unsigned *) {
    if (wrong) {
        if (data[t] < 16) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        else asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; // not the same" ::: "memory");
    } else {
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    }
    data[64 * (b + 1) + t] = t;
}
PAIR(cluster_barrier_diverges)

// A block reads the shared memory of another one, which may be gone.
template <bool wrong> D void cluster_block_has_left(unsigned *data, unsigned *) {
    __shared__ unsigned s[64];
    s[t] = t;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned address, value = 0;
    if (b % 2 == 1) {
        for (unsigned i = 0; i < 100; i++) {
            asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(address) : "r"(shared_address(s + t)));
            asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
        }
    }
    data[64 * b + t] = value;
    if (!wrong) asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
PAIR(cluster_block_has_left)
