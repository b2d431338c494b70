// arch: 90
// Thread block clusters.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define BODY { if (threadIdx.x == 0 && threadIdx.y == 0) out[blockIdx.x] = blockDim.x * blockDim.y * blockDim.z; }

// Blocks of exactly this size.
extern "C" __global__ void __block_size__((64, 2, 1)) required_64_2(unsigned* out) BODY
// The grid counts clusters of two blocks of 64 threads.
extern "C" __global__ void __block_size__((64, 1, 1), (2, 1, 1)) blocks_are_clusters(unsigned* out) BODY
// At most 8 blocks in a cluster that the launch chooses.
extern "C" __global__ void __launch_bounds__(128, 1, 8) max_cluster_8(unsigned* out) BODY

// Position of each block in its cluster and of the cluster in the grid: 14 words for each block.
extern "C" __global__ void cluster_indices(unsigned* out)
{
    cg::cluster_group cluster = cg::this_cluster();
    dim3 block = cluster.block_index(), blocks = cluster.dim_blocks(), threads = cluster.dim_threads();
    unsigned index = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned* o = out + index * 14;
    if (threadIdx.x == 0) {
        o[0] = block.x;
        o[1] = block.y;
        o[2] = block.z;
        o[3] = blocks.x;
        o[4] = blocks.y;
        o[5] = blocks.z;
        o[6] = threads.x;
        o[7] = cluster.block_rank();
        o[8] = cluster.num_blocks();
        asm("mov.u32 %0, %%clusterid.x;" : "=r"(o[9]));
        asm("mov.u32 %0, %%clusterid.y;" : "=r"(o[10]));
        asm("mov.u32 %0, %%nclusterid.x;" : "=r"(o[11]));
        asm("mov.u32 %0, %%nclusterid.y;" : "=r"(o[12]));
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(o[13]));
    }
}

// Every block writes its number into the shared memory of the next block of its cluster; out[block] = what it received.
extern "C" __global__ void pass_on(unsigned* out)
{
    __shared__ unsigned received;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.sync();
    if (threadIdx.x == 0)
        *cluster.map_shared_rank(&received, next) = blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = received;
}

// A histogram spread over the shared memory of a cluster: 64 bins for each block, data below 64 * blocks of the cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const unsigned* data, unsigned n, unsigned* bins)
{
    __shared__ unsigned local[64];
    cg::cluster_group cluster = cg::this_cluster();
    for (unsigned b = threadIdx.x; b < 64; b += blockDim.x)
        local[b] = 0;
    cluster.sync();
    for (unsigned i = cluster.thread_rank(); i < n; i += cluster.num_threads())
        atomicAdd(cluster.map_shared_rank(local, data[i] / 64) + data[i] % 64, 1u);
    cluster.sync();
    for (unsigned b = threadIdx.x; b < 64; b += blockDim.x)
        bins[cluster.block_rank() * 64 + b] = local[b];
}
