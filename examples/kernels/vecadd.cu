// c = a + b. Each slice is two parameters: its address and its length in elements.
extern "C" __global__ void vecadd(const float* a, unsigned long long a_len,
                                  const float* b, unsigned long long b_len,
                                  float* c, unsigned long long c_len)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a_len && i < b_len && i < c_len)
        c[i] = a[i] + b[i];
}
