// Special registers.
typedef unsigned long long u64;

// 12 words for each thread, threads and blocks in linear order.
extern "C" __global__ void indices(unsigned* out)
{
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned* o = out + (block * blockDim.x * blockDim.y * blockDim.z + thread) * 12ull;
    o[0] = threadIdx.x;
    o[1] = threadIdx.y;
    o[2] = threadIdx.z;
    o[3] = blockIdx.x;
    o[4] = blockIdx.y;
    o[5] = blockIdx.z;
    o[6] = blockDim.x;
    o[7] = blockDim.y;
    o[8] = blockDim.z;
    o[9] = gridDim.x;
    o[10] = gridDim.y;
    o[11] = gridDim.z;
}

// Clocks never run backwards; the processor's number is below their count. out[thread] = 1 if so.
extern "C" __global__ void clocks(unsigned* out)
{
    u64 time, later;
    unsigned id, ids, warp, warps, ticks;
    long long cycles = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(ids));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    out[threadIdx.x] = clock64() >= cycles && later >= time && id < ids && warp < warps
        && (ticks | 1) != 0; // 32 bits wrap: it is only read
}

// Busy for that many nanoseconds by the device's own clock.
extern "C" __global__ void wait_nanoseconds(u64 nanoseconds)
{
    u64 start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        __nanosleep(100);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
