// y = alpha * x + y, one fused multiply-add for each element.
extern "C" __global__ void saxpy(unsigned n, float alpha, const float* __restrict__ x, float* __restrict__ y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = alpha * x[i] + y[i];
}
