// f32 and f64 arithmetic. Result k of element i goes to out[k * n + i]; the results stand in the order of the statements.
#define BEGIN(type) \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; \
    if (i >= n) \
        return; \
    type a = in_a[i], b = in_b[i]; \
    auto put = [&](type value) { out[k++ * n + i] = value; };

// IEEE operations in all four roundings: 28 results
extern "C" __global__ void rounded_f32(const float* in_a, const float* in_b, const float* in_c, float* out, unsigned n)
{
    BEGIN(float)
    float c = in_c[i];
#define MODES(op, ...) put(op##_rn(__VA_ARGS__)); put(op##_rz(__VA_ARGS__)); put(op##_ru(__VA_ARGS__)); put(op##_rd(__VA_ARGS__));
    MODES(__fadd, a, b)
    MODES(__fsub, a, b)
    MODES(__fmul, a, b)
    MODES(__fmaf, a, b, c)
    MODES(__fdiv, a, b)
    MODES(__fsqrt, a)
    MODES(__frcp, a)
}

// 28 results
extern "C" __global__ void rounded_f64(const double* in_a, const double* in_b, const double* in_c, double* out, unsigned n)
{
    BEGIN(double)
    double c = in_c[i];
    MODES(__dadd, a, b)
    MODES(__dsub, a, b)
    MODES(__dmul, a, b)
    MODES(__fma, a, b, c)
    MODES(__ddiv, a, b)
    MODES(__dsqrt, a)
    MODES(__drcp, a)
}

// Exact ones, comparisons and plain expressions: 25 results
extern "C" __global__ void exact_f32(const float* in_a, const float* in_b, const float* in_c, float* out, unsigned n)
{
    BEGIN(float)
    float c = in_c[i];
    float r;
    put(-a);
    put(fabsf(a));
    put(fminf(a, b));
    put(fmaxf(a, b));
    put(copysignf(a, b));
    put(floorf(a));
    put(ceilf(a));
    put(truncf(a));
    put(rintf(a));
    put(roundf(a));
    put(__saturatef(a));
    put(a < b);
    put(a <= b);
    put(a == b);
    put(a != b);
    put(!(a < b));
    put(isnan(a));
    put(isinf(a));
    put(isfinite(a) ? b : c);
    put(a / b);
    put(sqrtf(a));
    put(fmodf(a, b));
    asm("{ .reg .pred p; testp.subnormal.f32 p, %1; selp.f32 %0, 0f3F800000, 0f00000000, p; }" : "=f"(r) : "f"(a));
    put(r);
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    put(r);
    asm("mul.ftz.sat.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    put(r);
}

// 18 results
extern "C" __global__ void exact_f64(const double* in_a, const double* in_b, const double* in_c, double* out, unsigned n)
{
    BEGIN(double)
    double c = in_c[i];
    put(-a);
    put(fabs(a));
    put(fmin(a, b));
    put(fmax(a, b));
    put(copysign(a, b));
    put(floor(a));
    put(ceil(a));
    put(trunc(a));
    put(rint(a));
    put(round(a));
    put(a < b);
    put(a == b);
    put(!(a >= b));
    put(isnan(a));
    put(isfinite(a) ? b : c);
    put(a / b);
    put(sqrt(a));
    put(fmod(a, b));
}

// The approximate instructions of the hardware: 10 results, near, not equal, elsewhere
extern "C" __global__ void approximate_f32(const float* in_a, const float* in_b, const float* in_c, float* out, unsigned n)
{
    BEGIN(float)
    float r;
#define APPROXIMATE(op) asm(#op ".f32 %0, %1;" : "=f"(r) : "f"(a)); put(r);
    APPROXIMATE(rcp.approx)
    APPROXIMATE(rsqrt.approx)
    APPROXIMATE(sqrt.approx)
    APPROXIMATE(ex2.approx)
    APPROXIMATE(lg2.approx)
    APPROXIMATE(sin.approx)
    APPROXIMATE(cos.approx)
    APPROXIMATE(tanh.approx)
    APPROXIMATE(rcp.approx.ftz)
    put(__fdividef(a, b));
}
