// out[i] = sin(in[i]), full precision.
extern "C" __global__ void sin_kernel(float* out, const float* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = sinf(in[i]);
}
