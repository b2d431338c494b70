"""Device-wide and block-wide algorithms of CUB and Thrust, and kernels of libcu++ and cooperative groups, by nvcc."""

import tempfile
import pathlib

from cub_kernels import KERNELS
from place import TOOLKIT, Place, nvcc

INCLUDES = """
#include <cub/cub.cuh>
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
# Calls of the host, which instantiate the kernels.
DEVICE = {
    "sum": "cub::DeviceReduce::Sum(t, n, (T*)a, (T*)b, 1000);",
    "arg_min": "cub::DeviceReduce::ArgMin(t, n, (T*)a, (cub::KeyValuePair<int, T>*)b, 1000);",
    "inclusive_sum": "cub::DeviceScan::InclusiveSum(t, n, (T*)a, (T*)b, 1000);",
    "scan_by_key": "cub::DeviceScan::ExclusiveSumByKey(t, n, (int*)c, (T*)a, (T*)b, 1000);",
    "radix_sort": "cub::DeviceRadixSort::SortPairs(t, n, (T*)a, (T*)b, (int*)c, (int*)c, 1000);",
    "merge_sort": "cub::DeviceMergeSort::SortKeys(t, n, (T*)a, 1000, Less());",
    "select": "cub::DeviceSelect::Flagged(t, n, (T*)a, (char*)c, (T*)b, (int*)c, 1000);",
    "unique": "cub::DeviceSelect::Unique(t, n, (T*)a, (T*)b, (int*)c, 1000);",
    "histogram": "cub::DeviceHistogram::HistogramEven(t, n, (T*)a, (int*)b, 100, (T)0, (T)100, 1000);",
    "run_lengths": "cub::DeviceRunLengthEncode::Encode(t, n, (T*)a, (T*)b, (int*)c, (int*)c, 1000);",
    "segmented_sort": "cub::DeviceSegmentedSort::SortKeys(t, n, (T*)a, (T*)b, 1000, 10, (int*)c, (int*)c + 1);",
    "segmented_sum": "cub::DeviceSegmentedReduce::Sum(t, n, (T*)a, (T*)b, 10, (int*)c, (int*)c + 1);",
    "differences": "cub::DeviceAdjacentDifference::SubtractLeftCopy(t, n, (T*)a, (T*)b, 1000);",
    "partition": "cub::DevicePartition::If(t, n, (T*)a, (T*)b, (int*)c, 1000, Big());",
}
TYPES = {"int": "int", "float": "float", "double": "double", "u64": "unsigned long long", "half": "__half", "i8": "signed char"}
MORE = "struct Less { template<class T> __device__ bool operator()(const T& a, const T& b) const { return a < b; } };\n" \
    "struct Big { template<class T> __device__ bool operator()(const T& a) const { return a > T(3); } };\n"

place = Place("cub")
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder) / "source.cu"
    headers = ["-I", TOOLKIT / "include/cccl", "--expt-relaxed-constexpr"]

    def compiled(text, arch):
        source.write_text(INCLUDES + MORE + text)
        return nvcc(source, arch, *headers)

    for name, text in KERNELS.items():
        for arch in ["sm_80", "sm_90"]:
            place.attempt(f"{name}_{arch}", lambda: compiled(text, arch))
    for number, (name, call) in enumerate(DEVICE.items()):
        for turn, (word, kind) in enumerate(TYPES.items()):
            if (word in ("half", "i8") and name not in ("sum", "radix_sort", "inclusive_sum")) or (number + turn) % 2:
                continue
            text = f"using T = {kind};\nvoid call(void* t, size_t& n, void* a, void* b, void* c) {{ {call} }}\n"
            place.attempt(f"{name}_{word}", lambda: compiled(text, ["sm_80", "sm_90", "sm_75"][turn % 3]))
place.end()
