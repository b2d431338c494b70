// Clusters, the grid barrier, a fixed block shape.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) ring(int *out, int n)
{
    __shared__ int mine;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 0) mine = blockIdx.x * n;
    c.sync();
    int *other = c.map_shared_rank(&mine, c.block_rank() ^ 1);
    if (threadIdx.x == 0) out[blockIdx.x] = *other;
    c.sync();
}
extern "C" __global__ void grid_wide(int *out)
{
    cg::grid_group g = cg::this_grid();
    out[g.thread_rank()] = 1;
    g.sync();
    if (g.thread_rank() == 0) { int s = 0; for (int i = 0; i < g.size(); i++) s += out[i]; out[0] = s; }
}
extern "C" __global__ void __block_size__((64, 2, 1)) fixed_block(float *x) { x[threadIdx.x] += 1.0f; }
