// Warp operations, a block of one or more full warps. Results of thread t go to out[k * threads + t].
#define ALL 0xffffffffu
#define BEGIN \
    unsigned t = threadIdx.x, n = blockDim.x, lane = t % 32, k = 0, x = in[t]; \
    auto put = [&](unsigned value) { out[k++ * n + t] = value; };

// 13 results
extern "C" __global__ void shuffle(const unsigned* in, unsigned* out)
{
    BEGIN
    put(__shfl_sync(ALL, x, 5));
    put(__shfl_sync(ALL, x, lane * 7 % 32));
    put(__shfl_sync(ALL, x, x));            // any number: modulo 32
    put(__shfl_up_sync(ALL, x, 3));         // the first three keep their own
    put(__shfl_down_sync(ALL, x, 9));
    put(__shfl_xor_sync(ALL, x, 21));
    put(__shfl_sync(ALL, x, 2, 8));         // segments of 8
    put(__shfl_up_sync(ALL, x, 1, 4));
    put(__shfl_down_sync(ALL, x, 5, 16));
    put(__shfl_xor_sync(ALL, x, 6, 4));
    put((unsigned)(__shfl_xor_sync(ALL, (unsigned long long)x << 20 | lane, 1) >> 10));
    put(__float_as_uint(__shfl_down_sync(ALL, __uint_as_float(x), 2)));
    unsigned value, inside;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 4, 31, -1; selp.u32 %1, 1, 0, p; }"
                 : "=r"(value), "=r"(inside) : "r"(x));
    put(value * 2 + inside);
}

// 12 results
extern "C" __global__ void vote_and_match(const unsigned* in, unsigned* out)
{
    BEGIN
    int same;
    put(__all_sync(ALL, x > 0));
    put(__any_sync(ALL, x > 100));
    put(__uni_sync(ALL, x & 1));
    put(__ballot_sync(ALL, x & 1));
    put(__activemask());
    put(__match_any_sync(ALL, x % 5));
    put(__match_any_sync(ALL, (unsigned long long)(x % 3) << 40));
    put(__match_all_sync(ALL, x, &same));
    put(same);
    put(__match_all_sync(ALL, x / 0x10000000, &same));
    put(__popc(__ballot_sync(ALL, x & 2) & ((1u << lane) - 1)));
    put(__fns(__ballot_sync(ALL, x & 1), 0, 3));
}

// Halves and thirds of a warp on their own: 4 results
extern "C" __global__ void part_of_warp(const unsigned* in, unsigned* out)
{
    BEGIN
    unsigned r;
    if (lane < 16)
        r = __shfl_xor_sync(0x0000ffffu, x, 1) + 1;
    else
        r = __shfl_xor_sync(0xffff0000u, x, 8) + 2;
    put(r);
    if (lane % 3 == 0)
        r = __ballot_sync(0x49249249u, x & 1);
    put(r);
    put(__ballot_sync(ALL, r & 1));

    // The lanes of a warp wait for each other inside two branches.
    __shared__ unsigned slots[1024];
    slots[t] = x;
    if (lane % 2) {
        slots[t] += 1;
        __syncwarp();
    } else {
        slots[t] += 2;
        __syncwarp();
    }
    put(slots[t ^ 1]);
}

// The registers that tell a lane its place: 7 results
extern "C" __global__ void lane_masks(const unsigned* in, unsigned* out)
{
    BEGIN
#define REGISTER(name) { unsigned r; asm volatile("mov.u32 %0, %%" #name ";" : "=r"(r)); put(r); }
    REGISTER(laneid)
    REGISTER(lanemask_eq)
    REGISTER(lanemask_lt)
    REGISTER(lanemask_le)
    REGISTER(lanemask_gt)
    REGISTER(lanemask_ge)
    put(warpSize + lane + x);
}
