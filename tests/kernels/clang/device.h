// What the examples need of CUDA C++, for clang without NVIDIA's headers (rebuild.py gives it to clang by -include).
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

struct Index { unsigned x, y, z; };

#define INDEX(register)                                                                           \
    Index { (unsigned)__nvvm_read_ptx_sreg_##register##_x(), (unsigned)__nvvm_read_ptx_sreg_##register##_y(), \
            (unsigned)__nvvm_read_ptx_sreg_##register##_z() }
#define threadIdx INDEX(tid)
#define blockIdx INDEX(ctaid)
#define blockDim INDEX(ntid)
#define gridDim INDEX(nctaid)

// The last operand of shfl: 31 (whole warp) as clamp for down, 0 for up.
__device__ inline unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned delta)
{
    return __nvvm_shfl_sync_down_i32(mask, value, delta, 31);
}

__device__ inline float __shfl_down_sync(unsigned mask, float value, unsigned delta)
{
    return __nvvm_shfl_sync_down_f32(mask, value, delta, 31);
}

__device__ inline double __shfl_down_sync(unsigned mask, double value, unsigned delta)
{
    unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
    unsigned long long low = __shfl_down_sync(mask, (unsigned)bits, delta);
    unsigned long long high = __shfl_down_sync(mask, (unsigned)(bits >> 32), delta);
    return __builtin_bit_cast(double, high << 32 | low);
}

__device__ inline unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned delta)
{
    return __nvvm_shfl_sync_up_i32(mask, value, delta, 0);
}

__device__ inline unsigned atomicAdd(unsigned* address, unsigned value)
{
    return __nvvm_atom_add_gen_i((int*)address, (int)value);
}

__device__ inline float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

__device__ inline double fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
