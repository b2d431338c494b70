// arch: 90
// flags: -rdc=true
// Kernels that change kernel nodes of graphs. They are linked with the device runtime (`nvcc -rdc=true`). Each runs as one thread, except `add`.

// Adds a number, for any number of blocks.
extern "C" __global__ void add(unsigned *to, unsigned number)
{
    atomicAdd(to, number);
}

// Writes a number into a part of the parameters; the code is stored.
extern "C" __global__ void set_param(cudaGraphDeviceNode_t node, size_t offset, unsigned long long number, size_t size, unsigned *code)
{
    *code = cudaGraphKernelNodeSetParam(node, offset, &number, size);
}

// Switches a node on or off.
extern "C" __global__ void set_enabled(cudaGraphDeviceNode_t node, unsigned enable, unsigned *code)
{
    *code = cudaGraphKernelNodeSetEnabled(node, enable != 0);
}

// Changes the grid of a node.
extern "C" __global__ void set_grid(cudaGraphDeviceNode_t node, unsigned x, unsigned y, unsigned z, unsigned *code)
{
    *code = cudaGraphKernelNodeSetGridDim(node, dim3(x, y, z));
}

// So many changes, each of 40 bytes.
extern "C" __global__ void apply(const cudaGraphKernelNodeUpdate *updates, size_t count, unsigned *code)
{
    *code = cudaGraphKernelNodeUpdatesApply(updates, count);
}
