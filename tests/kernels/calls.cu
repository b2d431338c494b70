// Functions that stay functions: recursion, pointers to functions, structs in and out.
typedef unsigned (*Operation)(unsigned, unsigned);

__device__ __noinline__ unsigned plus(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned minus(unsigned a, unsigned b) { return a - b; }
__device__ __noinline__ unsigned times(unsigned a, unsigned b) { return a * b; }
__device__ __noinline__ unsigned first(unsigned a, unsigned) { return a; }

__device__ Operation operations[4] = {plus, minus, times, first};

// out[i] = operations[which[i]](a[i], b[i]): lanes of one warp call different functions.
extern "C" __global__ void indirect(const unsigned* which, const unsigned* a, const unsigned* b, unsigned* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = operations[which[i] % 4](a[i], b[i]);
}

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// out[i] = i-th Fibonacci number, by plain recursion.
extern "C" __global__ void recursive(unsigned* out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x);
}

__device__ __noinline__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n == 0 ? false : even(n - 1); }

extern "C" __global__ void mutual(unsigned* out)
{
    out[threadIdx.x] = even(threadIdx.x);
}

struct Matrix { float m[3][3]; };

__device__ __noinline__ Matrix product(Matrix a, Matrix b)
{
    Matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = fmaf(a.m[i][2], b.m[2][j], fmaf(a.m[i][1], b.m[1][j], a.m[i][0] * b.m[0][j]));
    return c;
}

// Structs of 36 bytes as parameters and result of a function.
extern "C" __global__ void structs(const Matrix* a, const Matrix* b, Matrix* out)
{
    out[threadIdx.x] = product(a[threadIdx.x], b[threadIdx.x]);
}

__device__ __noinline__ double ten(signed char a, unsigned short b, int c, long long d, float e, double f, bool g,
                                   const double* h, float2 i, unsigned char j)
{
    return a + b + c + (double)d + e + f + g + *h + i.x + i.y + j;
}

extern "C" __global__ void ten_arguments(const double* in, double* out)
{
    int t = threadIdx.x;
    out[t] = ten((signed char)-t, (unsigned short)t, -2 * t, 3ll * t, t * 0.5f, t * 0.25, t % 2, in + t,
                 make_float2(t, 1.0f), (unsigned char)t);
}

// A pointer to the caller's local variable goes down two calls.
__device__ __noinline__ void increment(unsigned* value) { *value += 1; }
__device__ __noinline__ void add_three(unsigned* value)
{
    increment(value);
    increment(value);
    increment(value);
}

extern "C" __global__ void through_pointer(unsigned* out)
{
    unsigned value = threadIdx.x;
    add_three(&value);
    out[threadIdx.x] = value;
}

struct Shape {
    float size;
    __device__ Shape(float s) : size(s) {}
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    __device__ Square(float s) : Shape(s) {}
    __device__ __noinline__ float area() const override { return size * size; }
};
struct Circle : Shape {
    __device__ Circle(float s) : Shape(s) {}
    __device__ __noinline__ float area() const override { return 3.0f * size * size; }
};

// Virtual functions; even threads have a square, odd ones a (rough) circle.
extern "C" __global__ void virtual_call(float* out)
{
    Square square((float)threadIdx.x);
    Circle circle((float)threadIdx.x);
    const Shape* shape = threadIdx.x % 2 ? (const Shape*)&circle : (const Shape*)&square;
    out[threadIdx.x] = shape->area();
}

// A barrier and a shuffle inside a function.
__device__ __noinline__ unsigned neighbour(unsigned value)
{
    __syncthreads();
    return __shfl_xor_sync(0xffffffffu, value, 1);
}

extern "C" __global__ void barrier_in_function(unsigned* out)
{
    out[threadIdx.x] = neighbour(threadIdx.x * 10);
}
