// arch: 90
// flags: -rdc=true
// Kernels that launch graphs. They are linked with the device runtime (`nvcc -rdc=true`). Each runs as one thread, unless it says otherwise.

// Launches graphs to one stream, one after the other; each code is stored.
extern "C" __global__ void launch_each(cudaGraphExec_t *graphs, unsigned count, cudaStream_t stream, unsigned *codes)
{
    for (unsigned at = 0; at < count; at++) codes[at] = cudaGraphLaunch(graphs[at], stream);
}

// A counter, for any number of threads.
extern "C" __global__ void count(unsigned *counter)
{
    atomicAdd(counter, 1);
}

// Which graph this is.
extern "C" __global__ void current(cudaGraphExec_t *out)
{
    *out = cudaGetCurrentGraphExec();
}

// Puts its own graph into its tail, as often as `times` says, and tries it twice each time; codes of the last two attempts.
extern "C" __global__ void again(unsigned *counter, unsigned times, unsigned *codes)
{
    if (++*counter >= times) return;
    codes[0] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
    codes[1] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

// Tells that it ran (`log[0]` counts), then puts two graphs into its tail, where they are not null.
extern "C" __global__ void log_then(unsigned *log, unsigned tag, cudaGraphExec_t first, cudaGraphExec_t second)
{
    log[++log[0]] = tag;
    if (first) cudaGraphLaunch(first, cudaStreamGraphTailLaunch);
    if (second) cudaGraphLaunch(second, cudaStreamGraphTailLaunch);
}

// Launches one of several graphs for each number of a list; waits where that one still runs.
extern "C" __global__ void schedule(cudaGraphExec_t *graphs, const unsigned *choices, unsigned count)
{
    for (unsigned at = 0; at < count; at++)
        while (cudaGraphLaunch(graphs[choices[at]], cudaStreamGraphFireAndForget) != cudaSuccess) __nanosleep(1000);
}

// Launches a graph and waits until it has set a flag.
extern "C" __global__ void launch_and_wait(cudaGraphExec_t graph, volatile unsigned *flag, unsigned *code)
{
    *code = cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
    while (!*flag) __nanosleep(100);
}

// Waits for a flag, then sets another one.
extern "C" __global__ void wait_then_set(volatile unsigned *flag, unsigned *other, unsigned value)
{
    while (!*flag) __nanosleep(100);
    *other = value;
}

// A while later, adds the one number to the other.
extern "C" __global__ void add_later(unsigned *out, const unsigned *in, unsigned value, unsigned rounds)
{
    for (unsigned at = 0; at < rounds; at++) __nanosleep(1000);
    *out = *in + value;
}

// Launches two graphs to two streams.
extern "C" __global__ void launch_two(cudaGraphExec_t first, cudaStream_t to, cudaGraphExec_t second, cudaStream_t too, unsigned *codes)
{
    codes[0] = cudaGraphLaunch(first, to);
    codes[1] = cudaGraphLaunch(second, too);
}

// Launches a graph twice; then the flag is set that it may wait for.
extern "C" __global__ void launch_twice_then_set(cudaGraphExec_t graph, cudaStream_t stream, unsigned *codes, volatile unsigned *flag)
{
    codes[0] = cudaGraphLaunch(graph, stream);
    codes[1] = cudaGraphLaunch(graph, stream);
    *flag = 1;
}

// Launches a graph that it finds at an address to two streams, after a while.
extern "C" __global__ void launch_later(cudaGraphExec_t *graph, cudaStream_t to, cudaStream_t too, unsigned *codes)
{
    for (unsigned at = 0; at < 1000; at++) __nanosleep(1000);
    codes[0] = cudaGraphLaunch(*graph, to);
    codes[1] = cudaGraphLaunch(*graph, too);
}

// Launches a kernel that launches a graph, which only kernels of graphs can.
extern "C" __global__ void launch_below(cudaGraphExec_t graph, unsigned *codes)
{
    launch_two<<<1, 1>>>(graph, cudaStreamGraphFireAndForget, graph, cudaStreamGraphTailLaunch, codes);
}

// A kernel that launches a kernel, which a graph that kernels launch cannot have.
extern "C" __global__ void launch_kernel(unsigned *counter)
{
    count<<<1, 1>>>(counter);
}
