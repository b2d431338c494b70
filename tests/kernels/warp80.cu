// arch: 80
// Warp reductions in one instruction. Results of thread t go to out[k * threads + t]: 8 results
extern "C" __global__ void warp_reduce(const unsigned* in, unsigned* out)
{
    const unsigned all = 0xffffffffu;
    unsigned t = threadIdx.x, n = blockDim.x, lane = t % 32, k = 0, x = in[t];
    auto put = [&](unsigned value) { out[k++ * n + t] = value; };
    put(__reduce_add_sync(all, x));
    put(__reduce_min_sync(all, x));
    put(__reduce_max_sync(all, x));
    put((unsigned)__reduce_min_sync(all, (int)x));
    put((unsigned)__reduce_max_sync(all, (int)x));
    put(__reduce_and_sync(all, x));
    put(__reduce_xor_sync(all, x));
    put(lane < 8 ? __reduce_or_sync(0xffu, x) : __reduce_or_sync(0xffffff00u, x));
}
