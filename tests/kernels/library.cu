// The math library's functions. Result k of element i goes to out[k * n + i].
#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    type a = in_a[i], b = in_b[i]; \
    auto put = [&](type value) { out[k++ * n + i] = value; };

// 20 results
extern "C" __global__ void library_f32(const float* in_a, const float* in_b, const float* in_c, float* out, unsigned n)
{
    BEGIN(float)
    float c = in_c[i];
    put(expf(a));
    put(exp2f(a));
    put(expm1f(a));
    put(logf(a));
    put(log2f(a));
    put(log1pf(a));
    put(powf(a, b));
    put(sinf(a));
    put(cosf(a));
    put(tanf(a));
    put(asinf(a));
    put(atan2f(a, b));
    put(tanhf(a));
    put(cbrtf(a));
    put(hypotf(a, b));
    put(rsqrtf(a));
    put(erff(a));
    put(ldexpf(a, (int)c));
    put(nextafterf(a, b));
    put(fdimf(a, b));
}

// 10 results
extern "C" __global__ void library_f64(const double* in_a, const double* in_b, const double* in_c, double* out, unsigned n)
{
    BEGIN(double)
    put(exp(a));
    put(log(a));
    put(pow(a, b));
    put(sin(a));
    put(cos(a));
    put(atan2(a, b));
    put(tanh(a));
    put(cbrt(a));
    put(rsqrt(a));
    put(erf(a));
}
