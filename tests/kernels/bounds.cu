// What a kernel says about its own launch. out[0] = threads in the block.
#define BODY { if (threadIdx.x == 0) out[blockIdx.x] = blockDim.x * blockDim.y * blockDim.z; }

extern "C" __global__ void unbounded(unsigned* out) BODY
extern "C" __global__ void __launch_bounds__(128) max_128(unsigned* out) BODY
extern "C" __global__ void __launch_bounds__(1024) max_1024(unsigned* out) BODY
extern "C" __global__ void __launch_bounds__(256, 4) max_256_min_4(unsigned* out) BODY
extern "C" __global__ void __maxnreg__(32) registers_32(unsigned* out) BODY
