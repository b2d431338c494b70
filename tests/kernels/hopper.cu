// arch: 90a
// A product of halves as Hopper does it: the copy engine fills a ring of tiles, mbarriers say when a tile is there and when it is free,
// `wgmma` multiplies from shared memory, and two blocks of a cluster share the tiles of B by multicast.

typedef unsigned long long u64;

// Bits of a CUtensorMap.
struct alignas(64) Map {
    u64 opaque[16];
};

constexpr unsigned ROWS = 64, COLUMNS = 128, DEPTH = 64, STAGES = 4, BLOCKS = 2;
constexpr unsigned A_BYTES = ROWS * DEPTH * 2, B_BYTES = COLUMNS * DEPTH * 2, STAGE = A_BYTES + B_BYTES;
// Of the block: four warps multiply, the fifth copies.
constexpr unsigned MULTIPLIERS = 128;

__device__ unsigned in_shared(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void initialise(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity)
{
    unsigned done;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    while (!done);
}

__device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier at the same place in another block of the cluster.
__device__ void arrive(unsigned barrier, unsigned block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}

__device__ void meet_cluster()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ void copy(unsigned to, const Map& map, unsigned x, unsigned y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

// To the same place in the blocks of the mask, whose barriers learn of it.
__device__ void copy_to_all(unsigned to, const Map& map, unsigned x, unsigned y, unsigned barrier, unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(mask)
                 : "memory");
}

// Lines of 128 bytes, swizzled; eight of them to the next group of lines.
__device__ u64 descriptor(unsigned address)
{
    return u64(address >> 4) | u64(1024 >> 4) << 32 | u64(1) << 62;
}

#define EIGHT(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])

__device__ void multiply(float (&d)[64], u64 a, u64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, "
                 "%39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, "
                 "%63}, %64, %65, 1, 1, 1, 0, 0;"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
                 : "l"(a), "l"(b));
}

// C, m by n, is A, m by k, times the transpose of B, n by k; all by rows. Blocks: m / 64 by n / 128; 160 threads; k a multiple of 64. The boxes
// of the maps are 64 by 64 elements, swizzled by 128 bytes.
extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(MULTIPLIERS + 32)
    hopper_gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c, unsigned n, unsigned k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned tiles = in_shared(memory), full = tiles + STAGES * STAGE, free = full + 8 * STAGES, rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    unsigned row = blockIdx.x * ROWS, column = blockIdx.y * COLUMNS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < STAGES; stage++) {
            initialise(full + 8 * stage, 1);
            initialise(free + 8 * stage, BLOCKS * MULTIPLIERS / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet_cluster();
    if (threadIdx.x == MULTIPLIERS) {
        for (unsigned i = 0; i < k / DEPTH; i++) {
            unsigned stage = i % STAGES, to = tiles + stage * STAGE;
            // Both blocks have read what was there; of a new barrier, the phase before the first is complete.
            wait(free + 8 * stage, i / STAGES % 2 ^ 1);
            expect(full + 8 * stage, STAGE);
            copy(to, a, i * DEPTH, row, full + 8 * stage);
            unsigned half = rank * COLUMNS / BLOCKS;
            copy_to_all(to + A_BYTES + half * DEPTH * 2, b, i * DEPTH, column + half, full + 8 * stage, (1 << BLOCKS) - 1);
        }
    } else if (threadIdx.x < MULTIPLIERS) {
        float d[64] = {};
        for (unsigned i = 0; i < k / DEPTH; i++) {
            unsigned stage = i % STAGES, from = tiles + stage * STAGE;
            wait(full + 8 * stage, i / STAGES % 2);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (unsigned part = 0; part < DEPTH; part += 16)
                multiply(d, descriptor(from + part * 2), descriptor(from + A_BYTES + part * 2));
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (lane < BLOCKS)
                arrive(free + 8 * stage, lane);
        }
        for (unsigned i = 0; i < 64; i++) {
            unsigned y = row + warp * 16 + lane / 4 + i / 2 % 2 * 8, x = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
            c[y * n + x] = d[i];
        }
    }
    // No block ends while the other still writes to its memory.
    meet_cluster();
}
