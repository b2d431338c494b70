// arch: 90
// flags: -rdc=true
// Kernels that launch kernels. They are linked with the device runtime (`nvcc -rdc=true`).

// Arguments of several sizes and alignments, so that each has to be found at its offset.
struct Mixed {
    char c;
    double d;
    short s;
};

extern "C" __global__ void add(int *out, Mixed mixed, char c, short s, long long all)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    out[at] += mixed.c + int(mixed.d) + mixed.s + c + s + int(all >> 32) + at;
}

// One thread launches a grid, and what it wrote before is seen there.
extern "C" __global__ void one_level(int *out, int blocks, int threads)
{
    for (int at = 0; at < blocks * threads; at++) out[at] = 1000 * at;
    add<<<blocks, threads>>>(out, Mixed{3, 40.0, 500}, 6, 70, 800LL << 32);
}

extern "C" __global__ void store(unsigned *out, unsigned at, unsigned value)
{
    out[at] = value;
}

// Every thread launches a grid of its own.
extern "C" __global__ void each_thread(unsigned *out)
{
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    store<<<1, 1, 0, cudaStreamFireAndForget>>>(out, at, at * at + 1);
}

// The quicksort of the textbook, one thread a part, its halves in streams of their own.
extern "C" __global__ void quicksort(int *data, int left, int right)
{
    int low = left, high = right, pivot = data[(left + right) / 2];
    while (low <= high) {
        while (data[low] < pivot) low++;
        while (data[high] > pivot) high--;
        if (low <= high) {
            int kept = data[low];
            data[low++] = data[high];
            data[high--] = kept;
        }
    }
    cudaStream_t stream;
    if (left < high) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(data, left, high);
        cudaStreamDestroy(stream);
    }
    if (low < right) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(data, low, right);
        cudaStreamDestroy(stream);
    }
}

// A full tree: counts its nodes by level.
extern "C" __global__ void tree(unsigned *nodes, unsigned level, unsigned levels)
{
    atomicAdd(&nodes[level], 1);
    if (level + 1 < levels) tree<<<1, 2>>>(nodes, level + 1, levels);
}

// Appends to a list whose length comes first.
extern "C" __global__ void note(unsigned *list, unsigned value, unsigned children)
{
    list[1 + atomicAdd(&list[0], 1)] = value;
    for (unsigned child = 0; child < children; child++) note<<<1, 1>>>(list, value * 10 + child, 0);
}

// Children of the block's stream in order, each with its own children; then what is launched to the tail, in order.
extern "C" __global__ void orders(unsigned *list)
{
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 8, 2);
    note<<<1, 1>>>(list, 1, 0);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 9, 0);
    note<<<1, 1>>>(list, 2, 0);
    note<<<1, 1>>>(list, 3, 2);
    list[1 + atomicAdd(&list[0], 1)] = 7;
}

// Launches itself again and again.
extern "C" __global__ void again(unsigned *count, unsigned most)
{
    if (++*count < most) again<<<1, 1, 0, cudaStreamTailLaunch>>>(count, most);
}

// Launches itself until that is refused: how often, the code, and the code of the next call.
extern "C" __global__ void deep(unsigned *results, unsigned level)
{
    results[0] = level;
    deep<<<1, 1>>>(results, level + 1);
    unsigned code = cudaGetLastError();
    if (code) {
        results[1] = code;
        results[2] = cudaGetLastError();
    }
}

extern "C" __global__ void count(unsigned *out)
{
    atomicAdd(out, 1);
}

// Launches so many grids at once: how many ran, how many were refused, the first refused one and its code.
extern "C" __global__ void many(unsigned *results, unsigned grids)
{
    for (unsigned grid = 0; grid < grids; grid++) {
        count<<<1, 1, 0, cudaStreamFireAndForget>>>(&results[0]);
        unsigned code = cudaGetLastError();
        if (code && atomicAdd(&results[1], 1) == 0) {
            results[2] = grid;
            results[3] = code;
        }
    }
}

// The same, all to the tail.
extern "C" __global__ void tails(unsigned *results, unsigned grids)
{
    for (unsigned grid = 0; grid < grids; grid++) {
        count<<<1, 1, 0, cudaStreamTailLaunch>>>(&results[0]);
        unsigned code = cudaGetLastError();
        if (code && atomicAdd(&results[1], 1) == 0) {
            results[2] = grid;
            results[3] = code;
        }
    }
}

extern "C" __global__ void __launch_bounds__(64) small_blocks(unsigned *out)
{
    atomicAdd(out, 1);
}

// One launch as the host asked for it: whether there was a buffer, the code of the launch, what peeking and getting the last error say, and
// getting it again.
extern "C" __global__ void configured(unsigned *results, void *function, dim3 grid, dim3 block, unsigned shared, cudaStream_t stream)
{
    void **buffer = (void **)cudaGetParameterBufferV2(function, grid, block, shared);
    results[1] = buffer != 0;
    if (buffer) *buffer = results;
    results[2] = buffer ? cudaLaunchDeviceV2(buffer, stream) : 0;
    results[3] = cudaPeekAtLastError();
    results[4] = cudaGetLastError();
    results[5] = cudaGetLastError();
}

// The addresses of kernels, for the host to choose from.
extern "C" __global__ void addresses(void **out)
{
    out[0] = (void *)count;
    out[1] = (void *)small_blocks;
}

// The older way: the buffer knows nothing of the launch.
extern "C" __global__ void older(unsigned *out)
{
    void *function = (void *)store;
    char *buffer = (char *)cudaGetParameterBuffer(64, 16);
    *(unsigned **)buffer = out;
    *(unsigned *)(buffer + 8) = 1;
    *(unsigned *)(buffer + 12) = 77;
    out[0] = cudaLaunchDevice(function, buffer, dim3(1), dim3(1), 0, 0);
}

extern "C" __global__ void bad(int *nowhere)
{
    nowhere[threadIdx.x + 5] = 1;
}

// A child that faults, and one behind it.
extern "C" __global__ void faults(unsigned *out)
{
    bad<<<1, 4>>>(0);
    store<<<1, 1>>>(out, 0, 1);
}

// Streams and events of a grid, copies and fills, and a block of the heap.
extern "C" __global__ void objects(unsigned *out, unsigned *codes)
{
    cudaStream_t one, two;
    cudaEvent_t event;
    unsigned *block;
    codes[0] = cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    codes[1] = cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    codes[2] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    store<<<1, 1, 0, one>>>(out, 0, 11);
    codes[3] = cudaEventRecord(event, one);
    codes[4] = cudaStreamWaitEvent(two, event, 0);
    codes[5] = cudaMemcpyAsync(&out[1], &out[0], 4, cudaMemcpyDeviceToDevice, two);
    codes[6] = cudaMemsetAsync(&out[2], 0xab, 7, two);
    codes[7] = cudaStreamDestroy(one);
    codes[8] = cudaStreamDestroy(two);
    codes[9] = cudaEventDestroy(event);
    codes[10] = cudaMalloc(&block, 400);
    codes[11] = block != 0;
    codes[12] = cudaFree(block);
    codes[13] = cudaMalloc(&block, 1ULL << 40);
    codes[14] = cudaGetLastError();
}

// Calls that are refused, and whose last error that is: results of the first thread, then what each thread finds.
extern "C" __global__ void misuse(unsigned *codes)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        cudaStream_t stream = 0;
        cudaEvent_t event = 0;
        codes[0] = cudaStreamCreateWithFlags(&stream, 0);
        codes[1] = cudaEventCreateWithFlags(&event, 0);
        codes[2] = cudaGetLastError();
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        codes[3] = cudaEventRecord(event, cudaStreamTailLaunch);
        codes[4] = cudaStreamWaitEvent(cudaStreamFireAndForget, event, 0);
        codes[5] = cudaStreamWaitEvent(stream, (cudaEvent_t)stream, 0);
        codes[6] = cudaStreamDestroy(stream);
        codes[7] = cudaStreamDestroy(stream);
        store<<<1, 1, 0, stream>>>(codes, 15, 1);
        codes[8] = cudaGetLastError();
        codes[9] = cudaStreamDestroy(0);
        codes[10] = cudaMemcpyAsync(codes + 14, codes, 4, cudaMemcpyHostToDevice, 0);
        codes[11] = cudaMemcpyAsync(codes + 14, codes, 0, cudaMemcpyDeviceToDevice, 0);
        codes[12] = cudaGetParameterBuffer(64, 4096) != 0;
        codes[13] = cudaGetParameterBuffer(64, 4097) != 0;
    }
    __syncthreads();
    codes[16 + 2 * blockIdx.x + threadIdx.x] = cudaPeekAtLastError();
}

// Takes all buffers that there are, in so many grids one after the other, and launches none of them: how many, and the code behind them.
extern "C" __global__ void hoard(unsigned *results, unsigned grids)
{
    if (grids > 1) hoard<<<1, 1, 0, cudaStreamTailLaunch>>>(results, grids - 1);
    while (cudaGetParameterBuffer(64, 4096)) results[0]++;
    results[1] = cudaGetLastError();
}
