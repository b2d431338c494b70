// out[i] = factor * in[i]
extern "C" __global__ void scale(unsigned n, float factor, const float* in, float* out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = factor * in[i];
}
