// out[py * width + px] = iterations before z = z^2 + c leaves the circle of radius 2, at most max_iterations;
// c = (x0 + px * dx, y0 + py * dy). Two-dimensional grid and block. Every fma is written out, so that all compilers round
// alike.
template <typename T>
__device__ inline void mandelbrot(unsigned* out, unsigned width, unsigned height,
                                  T x0, T y0, T dx, T dy, unsigned max_iterations)
{
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    T cx = fma(T(px), dx, x0), cy = fma(T(py), dy, y0);
    T x = 0, y = 0;
    unsigned i = 0;
    while (i < max_iterations && fma(x, x, y * y) <= T(4)) {
        T next = fma(x, x, fma(-y, y, cx));
        y = fma(T(2) * x, y, cy);
        x = next;
        i++;
    }
    out[py * width + px] = i;
}

extern "C" __global__ void mandelbrot_f32(unsigned* out, unsigned width, unsigned height,
                                          float x0, float y0, float dx, float dy, unsigned max_iterations)
{
    mandelbrot(out, width, height, x0, y0, dx, dy, max_iterations);
}

extern "C" __global__ void mandelbrot_f64(unsigned* out, unsigned width, unsigned height,
                                          double x0, double y0, double dx, double dy, unsigned max_iterations)
{
    mandelbrot(out, width, height, x0, y0, dx, dy, max_iterations);
}
