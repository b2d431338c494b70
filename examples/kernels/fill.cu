// out[i] = value
extern "C" __global__ void fill(unsigned* out, unsigned n, unsigned value)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}
