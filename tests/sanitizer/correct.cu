// arch: 90
// Correct kernels that a checker may take for wrong: protocols, warps that part and meet, work that continues after its instruction.
#include <cooperative_groups.h>
#define D __device__ __forceinline__
#define t threadIdx.x
#define b blockIdx.x
#define KERNEL extern "C" __global__ void

D unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }
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
D void async_copy(unsigned *to, const unsigned *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
D void bulk_load(unsigned *to, const unsigned *from, unsigned bytes, unsigned long long *bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                 "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(bar)) : "memory");
}
D void cluster_sync() { asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); }
D unsigned of_rank(const unsigned *pointer, unsigned rank) {
    unsigned address, value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(pointer)), "r"(rank));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

KERNEL warp_sum(unsigned *data) {
    unsigned sum = data[t];
    for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, sum, half);
    if (t % 32 == 0) data[t] = sum;
}

KERNEL warps_then_block(unsigned *data) {
    __shared__ unsigned sums[32];
    unsigned sum = __reduce_add_sync(0xffffffff, data[t]);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? sums[t] : 0;
        sum = __reduce_add_sync(0xffffffff, sum);
        if (t == 0) data[0] = sum;
    }
}

KERNEL half_a_warp(unsigned *data) {
    if (t % 32 < 12) {
        data[t] = __shfl_sync(0x00000fff, data[t], (t + 1) % 12) + __popc(__ballot_sync(0x00000fff, t & 1));
        __syncwarp(0x00000fff);
    } else {
        data[t] = __shfl_xor_sync(0xfffff000, data[t], 1);
    }
}

KERNEL warp_through_shared(unsigned *data) {
    __shared__ unsigned s[64];
    s[t] = data[t];
    __syncwarp();
    for (unsigned half = 16; half > 0; half /= 2) {
        unsigned other = t % 32 < half ? s[t + half] : 0;
        __syncwarp();
        if (t % 32 < half) s[t] += other;
        __syncwarp();
    }
    if (t % 32 == 0) data[t] = s[t];
}

// Leaders of groups of equal numbers count for all of them.
KERNEL count_by_groups(unsigned *data, unsigned *counts) {
    unsigned key = data[t] & 3;
    unsigned group = __match_any_sync(0xffffffff, key);
    if ((t & 31) == __ffs(group) - 1) atomicAdd(counts + key, __popc(group));
}

KERNEL exclusive_scan(unsigned *data) {
    __shared__ unsigned s[2][64];
    s[0][t] = data[t];
    __syncthreads();
    unsigned from = 0;
    for (unsigned step = 1; step < 64; step *= 2, from ^= 1) {
        s[from ^ 1][t] = s[from][t] + (t >= step ? s[from][t - step] : 0);
        __syncthreads();
    }
    data[t] = t ? s[from][t - 1] : 0;
}

KERNEL tile_with_padding(unsigned *data, unsigned *more) {
    __shared__ unsigned tile[8][9];
    tile[t / 8][t % 8] = data[t];
    __syncthreads();
    more[t] = tile[t % 8][t / 8];
}

KERNEL vote_at_a_barrier(unsigned *data) {
    unsigned odd = __syncthreads_count(data[t] & 1);
    int any = __syncthreads_or(data[t] > 60);
    if (t == 0) data[0] = odd + any;
}

// Warps that come to different barriers, each of which has all its threads.
KERNEL warps_go_their_ways(unsigned *data) {
    __shared__ unsigned s[128];
    s[t] = data[t];
    if (t < 64) asm volatile("barrier.sync 1, 64;" ::: "memory"); else asm volatile("barrier.sync 2, 64;" ::: "memory");
    data[t] = s[t ^ 63];
}

KERNEL producer_consumer_barriers(unsigned *data, unsigned *more) {
    __shared__ unsigned s[32];
    for (unsigned i = 0; i < 4; i++) {
        if (t < 32) {
            if (i) asm volatile("barrier.sync 2, 64;" ::: "memory");
            s[t] = data[t] + i;
            asm volatile("barrier.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("barrier.sync 1, 64;" ::: "memory");
            more[32 * i + t - 32] = s[t - 32];
            if (i < 3) asm volatile("barrier.arrive 2, 64;" ::: "memory");
        }
    }
}

KERNEL producer_consumer_mbarriers(unsigned *data, unsigned *more) {
    __shared__ unsigned s[2][32];
    __shared__ unsigned long long full[2], empty[2];
    if (t < 2) init(full + t, 32), init(empty + t, 32);
    __syncthreads();
    for (unsigned i = 0; i < 6; i++) {
        unsigned slot = i & 1, round = i / 2;
        if (t < 32) {
            wait(empty + slot, (round & 1) ^ 1);
            s[slot][t] = data[t] + i;
            arrive(full + slot);
        } else {
            wait(full + slot, round & 1);
            more[32 * i + t - 32] = s[slot][t - 32];
            arrive(empty + slot);
        }
    }
}

KERNEL copies_in_flight(unsigned *data, unsigned *more) {
    __shared__ unsigned s[2][64];
    async_copy(s[0] + t, data + t);
    for (unsigned i = 0; i < 4; i++) {
        if (i < 3) {
            async_copy(s[(i + 1) & 1] + t, data + 64 * (i + 1) + t);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        more[64 * i + t] = s[i & 1][63 - t];
        __syncthreads();
    }
}

KERNEL bulk_copies_in_flight(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[2][64];
    __shared__ unsigned long long bars[2];
    if (t == 0) {
        init(bars, 1), init(bars + 1, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        bulk_load(s[0], data, 256, bars), bulk_load(s[1], data + 64, 256, bars + 1);
    }
    __syncthreads();
    for (unsigned i = 0; i < 4; i++) {
        wait(bars + (i & 1), i / 2);
        more[64 * i + t] = s[i & 1][63 - t];
        __syncthreads();
        if (t == 0 && i < 2) bulk_load(s[i & 1], data + 64 * (i + 2), 256, bars + (i & 1));
    }
}

KERNEL there_and_back_in_bulk(unsigned *data, unsigned *more) {
    __shared__ __align__(16) unsigned s[64];
    for (unsigned i = 0; i < 3; i++) {
        s[t] = data[t] + i;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256; cp.async.bulk.commit_group;" ::
                         "l"(more + 64 * i), "r"(shared_address(s)) : "memory");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        __syncthreads();
    }
}

KERNEL cluster_sum(unsigned *data) {
    __shared__ unsigned sum;
    if (t == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, data[64 * b + t]);
    cluster_sync();
    unsigned total = 0;
    for (unsigned rank = 0; rank < 4; rank++) total += of_rank(&sum, rank);
    cluster_sync();
    data[64 * b + t] = total;
}

KERNEL cluster_atomics(unsigned *data) {
    __shared__ unsigned bins[16];
    if (t < 16) bins[t] = 0;
    cluster_sync();
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(address) : "r"(shared_address(bins + (t & 15))));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(address) : "memory");
    cluster_sync();
    if (b == 0 && t < 16) data[t] = bins[t];
}

KERNEL two_phases(unsigned *data, unsigned *more) {
    data[64 * b + t] = t + b;
    cooperative_groups::this_grid().sync();
    more[64 * b + t] = data[64 * ((b + 1) % gridDim.x) + t];
    cooperative_groups::this_grid().sync();
    data[64 * b + t] = more[64 * b + t];
}

KERNEL last_block_adds(unsigned *data, unsigned *more) {
    __shared__ bool last;
    more[1 + 32 * b + t] = data[t] + b;
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicInc(more, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        unsigned sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += more[1 + 32 * i + t];
        data[t] = sum;
    }
}

KERNEL ticket_lock(unsigned *data) {
    if (t != 0) return;
    unsigned ticket = atomicAdd(data, 1);
    unsigned now;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(data + 1) : "memory"); while (now != ticket);
    data[2] += b + 1;
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(data + 1), "r"(ticket + 1) : "memory");
}

KERNEL compare_and_swap_add(float *data) {
    unsigned *word = (unsigned *)data, old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __float_as_uint(__uint_as_float(seen) + 1));
    } while (old != seen);
}

// Each block waits for the sum of those before it.
KERNEL chained_scan(unsigned *data, unsigned *more) {
    __shared__ unsigned tile, before;
    if (t == 0) {
        tile = atomicAdd(more, 1);
        before = 0;
        if (tile > 0) {
            unsigned flag;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(more + 1 + tile - 1) : "memory"); while (!flag);
            before = flag - 1;
        }
    }
    __syncthreads();
    unsigned value = data[32 * tile + t];
    unsigned sum = __reduce_add_sync(0xffffffff, value);
    data[32 * tile + t] = value + before;
    if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(more + 1 + tile), "r"(before + sum + 1) : "memory");
}

KERNEL volatile_flag(volatile unsigned *data, unsigned *more) {
    if (t == 0) {
        more[0] = 42;
        __threadfence();
        data[0] = 1;
    } else if (t == 32) {
        while (data[0] == 0) {}
        __threadfence();
        more[1] = more[0];
    }
}

// All write the same: whoever comes last does not matter.
KERNEL same_value(unsigned *data) {
    __shared__ unsigned found;
    if (t == 0) found = 0;
    __syncthreads();
    if (data[t] > 10) found = 1;
    __syncthreads();
    if (t == 0) data[0] = found;
}

KERNEL bytes_of_a_word(unsigned char *data) { data[t] = data[t] + 1; }

KERNEL early_returns(unsigned *data) {
    if (data[t] >= 40) return;
    if (data[t] % 2) { data[t] = 5; return; }
    data[t] = __popc(data[t]);
}

struct Node { Node *next; unsigned value; };

KERNEL list_on_the_heap(unsigned *data) {
    Node *head = nullptr;
    for (unsigned i = 0; i < 5; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node) break;
        node->next = head;
        node->value = i + t;
        head = node;
    }
    unsigned sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    data[t] = sum;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursion(unsigned *data) { data[t] = fibonacci(data[t] & 7); }

KERNEL local_histogram(unsigned *data) {
    unsigned bins[8] = {};
    for (unsigned i = 0; i < 16; i++) bins[data[(t + i) & 63] & 7]++;
    unsigned sum = 0;
    for (unsigned i = 0; i < 8; i++) sum += bins[i] * bins[i];
    __syncthreads();
    data[t] = sum;
}
