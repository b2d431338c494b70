// Branches, loops and divergence.

// Steps of the Collatz sequence from start + i down to 1: lanes leave the loop at different times.
extern "C" __global__ void collatz(unsigned start, unsigned* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = start + i;
    unsigned steps = 0;
    while (x != 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[i] = steps;
}

// A jump table: each case does something else, some fall through.
extern "C" __global__ void jump_table(const unsigned* in, unsigned* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = in[i], r = 0;
    switch (x % 12) {
    case 0: r = x + 1; break;
    case 1: r = x * 3; break;
    case 2: r = x ^ 0x55; // falls through
    case 3: r += __popc(x); break;
    case 4: r = x / 3; break;
    case 5: r = x << 4; break;
    case 6: r = ~x; // falls through
    case 7: r ^= x >> 3; break;
    case 8: r = __brev(x); break;
    case 9: r = x - 9; break;
    case 10: r = x & 0xf0f0; break;
    default: r = 11;
    }
    out[i] = r;
}

// Loops in loops with break and continue: a count of primes below in[i] by trial division.
extern "C" __global__ void primes_below(const unsigned* in, unsigned* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned count = 0;
    for (unsigned candidate = 2; candidate < in[i]; candidate++) {
        if (candidate > 2 && candidate % 2 == 0)
            continue;
        bool prime = true;
        for (unsigned d = 3; d * d <= candidate; d += 2)
            if (candidate % d == 0) {
                prime = false;
                break;
            }
        count += prime;
    }
    out[i] = count;
}

// Barriers in a loop in which the block's threads do different work.
extern "C" __global__ void barriers_in_loop(unsigned rounds, unsigned* out)
{
    __shared__ unsigned slots[2][256];
    unsigned t = threadIdx.x;
    slots[0][t] = t;
    for (unsigned r = 0; r < rounds; r++) {
        __syncthreads();
        unsigned left = slots[r % 2][(t + blockDim.x - 1) % blockDim.x];
        if (t % 3 == r % 3)
            left = left * 5 + 1;
        slots[(r + 1) % 2][t] = left;
    }
    out[t] = slots[rounds % 2][t];
}

// Lanes return at different places, before and after others' work.
extern "C" __global__ void early_returns(unsigned* out)
{
    unsigned t = threadIdx.x;
    out[t] = 1;
    if (t % 4 == 0)
        return;
    out[t] = 2;
    for (unsigned i = 0; i < 10; i++) {
        if (i == t % 16)
            return;
        out[t] += i;
    }
    out[t] = out[t] * 10 + 3;
}

// Lane 0 waits for a value that lane 31 of the same warp writes: hangs without independent progress of lanes.
extern "C" __global__ void lane_waits_for_lane(volatile unsigned* flag, unsigned* out)
{
    if (threadIdx.x == 0) {
        while (*flag == 0) {}
        *out = *flag + 1;
    } else if (threadIdx.x == 31) {
        *flag = 41;
    }
}
