"""Kernels over CUB, libcu++, cooperative groups, CUTLASS and CuTe, by NVRTC."""

import ctypes

from cub_kernels import KERNELS
from cutlass_kernels import HEADERS, sources
from place import TOOLKIT, Place

INCLUDES = """
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
namespace cg = cooperative_groups;
"""
REDUCE = """
template<class T, cub::BlockReduceAlgorithm A> __global__ void f(T* x) {
  using Reduce = cub::BlockReduce<T, 192, A>; __shared__ typename Reduce::TempStorage s; T all = Reduce(s).Sum(x[threadIdx.x], 150); if (!threadIdx.x) x[0] = all; }
template __global__ void f<int, cub::BLOCK_REDUCE_RAKING>(int*); template __global__ void f<double, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(double*);
template __global__ void f<__half, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(__half*); template __global__ void f<unsigned char, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(unsigned char*);
"""
OPTIONS = {"sm_80": [], "sm_89": ["--use_fast_math", "--extra-device-vectorization"], "sm_90": ["--generate-line-info", "--maxrregcount=32"], "sm_75": ["--device-debug"]}

# NVRTC looks for this one by name.
ctypes.CDLL(TOOLKIT / "lib/libnvrtc-builtins.so.13.0", mode=ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(TOOLKIT / "lib/libnvrtc.so.13")


def text_of(program, what):
    size = ctypes.c_size_t()
    library[f"nvrtcGet{what}Size"](program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library[f"nvrtcGet{what}"](program, text)
    return text.value.decode()


def compiled(source, arch, *options, kernel=None):
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    if kernel:
        library.nvrtcAddNameExpression(program, kernel.encode())
    includes = [f"-I{folder}" for folder in (TOOLKIT / "include", TOOLKIT / "include/cccl", HEADERS)]
    given = [option.encode() for option in (f"-arch={arch}", "-std=c++17", *includes, *options)]
    code = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    text, log = text_of(program, "PTX"), text_of(program, "ProgramLog")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if code:
        raise RuntimeError(next((line for line in log.splitlines() if "error" in line), log))
    return text


place = Place("nvrtc")
for name, text in {**KERNELS, "block_reduce": REDUCE}.items():
    for arch, options in OPTIONS.items():
        place.attempt(f"{name}_{arch}", lambda: compiled(INCLUDES + text, arch, *options))
for name, arch, source, kernel in sources():
    # What Hopper's collective products include does not compile with NVRTC.
    if not name.startswith("hopper"):
        place.attempt(f"{name}_{arch}", lambda: compiled(source, arch, "-default-device", kernel=kernel))
place.end()
