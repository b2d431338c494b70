// The plainest kernels: pointers, a number each of several sizes, launch bounds.

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, unsigned long long n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void __launch_bounds__(256, 2) scale(double *x, double f, int n, char tag, short s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && tag) x[i] = x[i] * f + s;
}
