// Local memory: arrays with computed indices, on the stack of each thread.

// Sorts 16 numbers for each thread by insertion.
extern "C" __global__ void sort_16(const int* in, int* out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    int v[16];
    for (int i = 0; i < 16; i++)
        v[i] = in[t * 16 + i];
    #pragma unroll 1
    for (int i = 1; i < 16; i++) {
        int x = v[i], j = i;
        #pragma unroll 1
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
    for (int i = 0; i < 16; i++)
        out[t * 16 + i] = v[i];
}

// Counts digits: bytes, shorts and doubles in one frame.
extern "C" __global__ void digits(const unsigned* in, double* out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, x = in[t];
    unsigned char count[10] = {};
    unsigned short place[10] = {};
    double weight[10] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5};
    unsigned short at = 0;
    do {
        count[x % 10]++;
        place[x % 10] = ++at;
        x /= 10;
    } while (x != 0);
    double sum = 0;
    #pragma unroll 1
    for (unsigned d = 0; d < 10; d++)
        sum += weight[d] * count[d] + place[d];
    out[t] = sum;
}

struct Item { unsigned key; float value; };

// An array of structs: the value that goes with the k-th smallest key among n (at most 64) items.
extern "C" __global__ void nth_value(const Item* in, unsigned n, unsigned k, float* out)
{
    Item items[64];
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < n; i++)
        items[i] = in[(i + t) % n];
    for (unsigned done = 0; done <= k; done++) {
        unsigned least = done;
        for (unsigned i = done + 1; i < n; i++)
            if (items[i].key < items[least].key)
                least = i;
        Item swap = items[done];
        items[done] = items[least];
        items[least] = swap;
    }
    out[t] = items[k].value;
}

// A pointer that is to local memory for some lanes, to shared or global for others. One warp.
extern "C" __global__ void any_space(unsigned* global, unsigned* out)
{
    __shared__ unsigned shared[32];
    unsigned local[4] = {threadIdx.x, 1, 2, 3};
    shared[threadIdx.x % 32] = threadIdx.x + 100;
    __syncthreads();
    unsigned* p = threadIdx.x % 3 == 0 ? &local[threadIdx.x % 4]
                : threadIdx.x % 3 == 1 ? &shared[threadIdx.x % 32]
                                       : &global[threadIdx.x];
    *p += 1000;
    __syncthreads();
    unsigned spaces = __isGlobal(p) | __isShared(p) << 1 | __isLocal(p) << 2;
    out[threadIdx.x * 2] = *p + local[threadIdx.x % 4];
    out[threadIdx.x * 2 + 1] = spaces;
}
